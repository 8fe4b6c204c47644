//! Why a command could not do its work, together with what its user does next.

use std::fmt;
use std::path::Path;

#[derive(Debug)]
pub(crate) struct Failure {
    what: String,
    next: Option<String>,
    usage: bool,
}

impl Failure {
    pub(crate) fn new(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { what: what.into(), next: Some(next.into()), usage: false }
    }

    /// The words on the command line make no sense.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self { what: what.into(), next: Some("see `cargo xtask help`".into()), usage: true }
    }

    /// A file operation that failed; `doing` is a verb such as `read`.
    pub(crate) fn file(doing: &str, path: &Path, error: &std::io::Error) -> Self {
        Self {
            what: format!("cannot {doing} `{}`: {error}", path.display()),
            next: None,
            usage: false,
        }
    }

    /// 2 for wrong usage, as with most tools; 1 for all else.
    pub(crate) fn exit_code(&self) -> u8 {
        if self.usage { 2 } else { 1 }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.what)?;
        match &self.next {
            Some(next) => write!(out, "\nwhat to do: {next}"),
            None => Ok(()),
        }
    }
}
