//! What can go wrong with undo.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::text::escape_line;

use super::super::file::JournalError;

#[derive(Debug, Error)]
pub enum UndoError {
    #[error("cannot {what} `{}`: {cause}", escape_line(path))]
    Io { what: &'static str, path: String, cause: io::Error },
    /// Keeping the old content would pass the limit, so the change must not be made.
    #[error(
        "changing `{}` would lose its {size} bytes: undo has room for {left} bytes more; raise the \
         limit for undo, or set it to 0 to go on without",
        escape_line(path)
    )]
    TooLarge { path: String, size: u64, left: u64 },
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("line {line} of `{}` is damaged: {cause}; nothing was undone", path.display())]
    Damaged { path: PathBuf, line: usize, cause: String },
    #[error(
        "`{}` is of format {found}, and this program knows up to {known}; use a newer one",
        path.display()
    )]
    Newer { path: PathBuf, found: u32, known: u32 },
    #[error("the directory `{}` is {what}; nothing below it was touched", escape_line(root))]
    Root { root: String, what: &'static str },
    #[error("there is nothing to undo in this session")]
    Nothing,
    #[error("turn {turn} changed nothing")]
    NoSuchTurn { turn: u32 },
    #[error("turn {turn} is undone already, by turn {by}; undo turn {by} to get it back")]
    AlreadyUndone { turn: u32, by: u32 },
    #[error(
        "changed since by somebody else: {}; nothing was undone",
        paths.iter().map(|p| format!("`{}`", escape_line(p))).collect::<Vec<_>>().join(", ")
    )]
    Conflicts { paths: Vec<String> },
    #[error("the session went on while this was planned; plan again")]
    Stale,
}

impl UndoError {
    pub(super) fn io(what: &'static str, path: &str, cause: io::Error) -> Self {
        Self::Io { what, path: path.to_owned(), cause }
    }

    pub(super) fn file(what: &'static str, path: &Path, cause: io::Error) -> Self {
        Self::Io { what, path: path.display().to_string(), cause }
    }
}
