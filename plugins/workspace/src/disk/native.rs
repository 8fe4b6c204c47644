//! Reading by the standard library alone.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};

use super::Kind;
use crate::names;

/// A file that is read from some byte on.
#[derive(Debug)]
pub struct File(fs::File);

impl File {
    /// Opens a file, following links.
    pub fn open(path: &str) -> io::Result<Self> {
        fs::File::open(path).map(Self)
    }

    /// Goes on at `byte`.
    pub fn seek(&mut self, byte: u64) -> io::Result<()> {
        self.0.seek(SeekFrom::Start(byte)).map(|_| ())
    }

    /// How large the file says it is. What can be read may be more or less.
    pub fn size(&self) -> io::Result<u64> {
        self.0.metadata().map(|metadata| metadata.len())
    }
}

impl Read for File {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

/// Hands each entry of a folder, in no order, to `take`.
pub fn entries(path: &str, mut take: impl FnMut(String, Kind)) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let kind = entry.file_type().map_or(Kind::Special, Kind::of);
        take(names::text(&entry.file_name()).into_owned(), kind);
    }
    Ok(())
}
