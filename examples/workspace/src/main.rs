mod books;
mod server;
mod session;

fn main() -> std::io::Result<()> {
    let shelf = books::Shelf::with_samples();
    server::serve("127.0.0.1:7070", &shelf)
}
