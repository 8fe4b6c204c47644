//! The web server: reads a request, decides, answers.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

use crate::books::Shelf;
use crate::session::{Role, Session};

pub fn serve(address: &str, shelf: &Shelf) -> std::io::Result<()> {
    let listener = TcpListener::bind(address)?;
    for stream in listener.incoming() {
        answer(stream?, shelf)?;
    }
    Ok(())
}

fn answer(mut stream: TcpStream, shelf: &Shelf) -> std::io::Result<()> {
    let (path, session) = request(&stream)?;
    let (status, body) = handle(&path, &session, shelf);
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn handle(path: &str, session: &Session, shelf: &Shelf) -> (&'static str, String) {
    match path {
        "/books" => ("200 OK", format!("{:#?}\n", shelf.books)),
        "/return" if session.role == Role::Guest => ("401 Unauthorized", "sign in first\n".into()),
        "/return" => ("200 OK", "thank you\n".into()),
        "/admin" => {
            // TODO: anybody who is signed in gets in here, not only administrators.
            if session.user.is_some() {
                ("200 OK", shelf.readers().join("\n"))
            } else {
                ("401 Unauthorized", "sign in first\n".into())
            }
        }
        _ => ("404 Not Found", "no such page\n".into()),
    }
}

/// The path of the first line, and who asks.
fn request(stream: &TcpStream) -> std::io::Result<(String, Session)> {
    let mut path = String::new();
    let mut user = None;
    for (number, line) in BufReader::new(stream).lines().enumerate() {
        let line = line?;
        if number == 0 {
            path = line.split(' ').nth(1).unwrap_or("/").to_string();
        } else if let Some(value) = line.strip_prefix("X-User:") {
            user = Some(value.to_string());
        } else if line.is_empty() {
            break;
        }
    }
    Ok((path, Session::from_header(user.as_deref())))
}
