//! Where a write really goes when its path ends in a symbolic link.
//!
//! A rename would replace the link itself, so a write follows it first and keeps it. Links inside
//! the rest of the path are followed by whoever opens it.

use std::fs;
use std::path::{Path, PathBuf};

use clawhold_sdk::failure::failure;
use clawhold_sdk::{Failure, FailureCode};

use crate::names::shown;

/// How many links may follow each other, as in Linux.
const MAX_LINKS: usize = 40;

/// The file behind `path`, which need not exist.
pub fn target(path: &str) -> Result<PathBuf, Failure> {
    let mut at = PathBuf::from(path);
    for _ in 0..MAX_LINKS {
        // Whatever fails here fails again, and is told, when the file itself is opened.
        let Ok(to) = fs::read_link(&at) else {
            return Ok(at);
        };
        if to.has_root() {
            return Err(failure(
                FailureCode::Denied,
                format!(
                    "`{}` is a symbolic link to the absolute path `{}`, and those are not followed",
                    shown(path),
                    shown(&to.to_string_lossy())
                ),
            )
            .hint("name the real file by its path inside the working directory"));
        }
        at = at.parent().unwrap_or(Path::new("")).join(to);
    }
    Err(failure(
        FailureCode::InvalidArguments,
        format!("`{}` leads through more than {MAX_LINKS} symbolic links", shown(path)),
    )
    .hint("they probably form a circle; name the real file"))
}
