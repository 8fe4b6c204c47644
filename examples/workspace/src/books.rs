//! The books, and who has them.

#[derive(Debug)]
pub struct Book {
    pub title: &'static str,
    pub lent_to: Option<String>,
}

#[derive(Debug)]
pub struct Shelf {
    pub books: Vec<Book>,
}

impl Shelf {
    pub fn with_samples() -> Self {
        let titles = ["The Art of Computer Programming", "红楼梦", "Pippi Långstrump"];
        let book = |title| Book { title, lent_to: None };
        Shelf { books: titles.into_iter().map(book).collect() }
    }

    /// The names of all who have a book, each once.
    pub fn readers(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.books.iter().filter_map(|b| b.lent_to.as_deref()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}
