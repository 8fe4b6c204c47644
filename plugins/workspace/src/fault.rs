//! Turning an I/O error into words: which file, what was wrong, what to do next.

use std::io::{Error, ErrorKind};

use clawhold_sdk::failure::failure;
use clawhold_sdk::{Failure, FailureCode};

use crate::names::shown;

/// The failure for `error` while doing `what` (“read”, “write”, “list”) to `path`.
pub fn io(what: &str, path: &str, error: &Error) -> Failure {
    use FailureCode as Code;
    let (code, cause, hint) = match error.kind() {
        ErrorKind::NotFound => {
            (Code::NotFound, "it does not exist", "look for the name with list_dir or glob")
        }
        ErrorKind::PermissionDenied => (
            Code::Denied,
            "permission denied",
            "paths must stay inside the working directory; choose another file or tell the user what is missing",
        ),
        _ if path.is_empty() => (
            Code::InvalidArguments,
            "the path is empty",
            "give the name of a file, such as `src/main.rs`",
        ),
        ErrorKind::IsADirectory => {
            (Code::InvalidArguments, "it is a folder", "look into it with list_dir, or name a file")
        }
        ErrorKind::NotADirectory => (
            Code::InvalidArguments,
            "a part of the path is a file, not a folder",
            "look at the path with list_dir",
        ),
        ErrorKind::StorageFull => {
            (Code::Failed, "the disk is full", "free some space; the file is as it was before")
        }
        ErrorKind::QuotaExceeded => {
            (Code::Failed, "the quota is used up", "write less; the file is as it was before")
        }
        ErrorKind::FileTooLarge => (
            Code::TooLarge,
            "the file would be larger than allowed",
            "write less; the file is as it was before",
        ),
        ErrorKind::ReadOnlyFilesystem => {
            (Code::Denied, "the file system is read-only", "write somewhere else, or tell the user")
        }
        ErrorKind::InvalidFilename => {
            (Code::InvalidArguments, "the name is too long", "use shorter names")
        }
        ErrorKind::InvalidInput if path.contains('\0') => {
            (Code::InvalidArguments, "the path holds a NUL character", "send the path without it")
        }
        _ => return other(what, path, error),
    };
    failure(code, format!("cannot {what} `{}`: {cause}", shown(path))).hint(hint)
}

/// What [`ErrorKind`] has no stable name for is told by its text.
fn other(what: &str, path: &str, error: &Error) -> Failure {
    let text = error.to_string();
    let message = format!("cannot {what} `{}`: {text}", shown(path));
    if text.to_ascii_lowercase().contains("symbolic link") {
        return failure(FailureCode::InvalidArguments, message)
            .hint("the symbolic links of this path lead in a circle; name the real file");
    }
    if what == "write" {
        // Of a failed write a component learns little; what it does know is that the rename has
        // not taken place.
        return failure(FailureCode::Failed, format!("{message}; the file is as it was before"))
            .hint("try again once, or tell the user");
    }
    failure(FailureCode::Failed, message).hint("check the path with list_dir, then try again")
}
