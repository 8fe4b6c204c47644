//! Reading files and folders with as few calls to the host as there can be.
//!
//! Everything here could be `std::fs`, and natively is. As a component a call to the host is what
//! costs: the standard library makes a stream for each file that is read, and asks for an inode
//! number for each name in a folder. Both double the time of a search. Writing and everything
//! rare stays with `std::fs`.

#[cfg(not(target_os = "wasi"))]
mod native;
#[cfg(target_os = "wasi")]
mod wasi;

use std::fs::FileType;

#[cfg(not(target_os = "wasi"))]
pub use native::{File, entries};
#[cfg(target_os = "wasi")]
pub use wasi::{File, entries};

/// What a directory entry is, as the directory says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, to whatever.
    Link,
    /// A FIFO, a socket, a device: nothing that is opened here.
    Special,
}

impl Kind {
    fn of(kind: FileType) -> Self {
        if kind.is_file() {
            Self::File
        } else if kind.is_dir() {
            Self::Folder
        } else if kind.is_symlink() {
            Self::Link
        } else {
            Self::Special
        }
    }
}
