//! Why the guard says no, in words that a model can act on.

use std::io;

use thiserror::Error;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use crate::model::FailureCode;

/// One refusal. The texts name the path as the user knows it, escaped.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum Refusal {
    #[error(
        "`{path}` leads outside the directories that this tool may use; name a path below the working directory"
    )]
    Outside { path: String },
    #[error(
        "`{path}` is a symlink with an absolute target, which is not followed; name the target itself, relative to the working directory"
    )]
    AbsoluteLink { path: String },
    #[error(
        "`{path}` is protected (`{place}`): programs of the user act on it, so tools may read it but not write it; ask the user to change it by hand"
    )]
    Protected { path: String, place: String },
    #[error(
        "`{path}` holds protected places, so it may not be renamed, replaced or removed; ask the user to do it by hand"
    )]
    HoldsProtected { path: String },
    #[error("`{path}` cannot be changed: this tool has been given the directory to read only")]
    ReadOnly { path: String },
    #[error("`{path}` belongs to Clawhold's own settings and state, which no tool may touch")]
    OffLimits { path: String },
    #[error("links are not made in the workdir: `{path}`; write a copy instead")]
    Link { path: String },
    #[error(
        "this call has written as much as one call may ({limit} bytes); write less, or in several calls"
    )]
    Quota { limit: u64 },
    #[error("{}", not_written(*why))]
    NotWritten { why: io::ErrorKind },
    #[error("this call holds {limit} files and directories open, as many as one call may")]
    TooManyOpen { limit: usize },
    #[error(
        "`{path}` looks like a file of secrets, which is read only with the user's word; ask the user to name it in `secret_files` in config.toml, or do without it"
    )]
    Secret { path: String },
    #[error(
        "`{path}` has been changed by somebody else since it was read here; read it again, then repeat the change on what it holds now"
    )]
    Stale { path: String },
    #[error("`{path}` is not changed, since its old state could not be kept for undo: {why}")]
    CannotKeep { path: String, why: String },
    #[error("`{path}` is not a regular file but {kind}, and is not opened")]
    NotRegular { path: String, kind: &'static str },
}

/// What a refusal makes of a call that then fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ruling {
    /// The call was denied something.
    Denied,
    /// The call ran into a limit or a fact.
    Failed(FailureCode),
}

impl Refusal {
    pub(crate) fn ruling(&self) -> Ruling {
        match self {
            Self::Quota { .. } | Self::TooManyOpen { .. } | Self::CannotKeep { .. } => {
                Ruling::Failed(FailureCode::TooLarge)
            }
            Self::NotRegular { .. } => Ruling::Failed(FailureCode::Unsupported),
            Self::NotWritten { .. } => Ruling::Failed(FailureCode::Failed),
            Self::Stale { .. } => Ruling::Failed(FailureCode::Conflict),
            _ => Ruling::Denied,
        }
    }

    /// The operation in one word, for the receipt.
    pub(crate) fn what(&self) -> &'static str {
        match self {
            Self::Protected { .. }
            | Self::HoldsProtected { .. }
            | Self::ReadOnly { .. }
            | Self::CannotKeep { .. } => "write",
            Self::Link { .. } => "link",
            Self::Quota { .. } | Self::NotWritten { .. } => "write-more",
            Self::Secret { .. } => "read",
            Self::Outside { .. }
            | Self::AbsoluteLink { .. }
            | Self::OffLimits { .. }
            | Self::Stale { .. }
            | Self::TooManyOpen { .. }
            | Self::NotRegular { .. } => "open",
        }
    }

    pub(crate) fn subject(&self) -> &str {
        match self {
            Self::Outside { path }
            | Self::AbsoluteLink { path }
            | Self::Protected { path, .. }
            | Self::HoldsProtected { path }
            | Self::ReadOnly { path }
            | Self::OffLimits { path }
            | Self::Link { path }
            | Self::Secret { path }
            | Self::Stale { path }
            | Self::CannotKeep { path, .. }
            | Self::NotRegular { path, .. } => path,
            Self::Quota { .. } | Self::NotWritten { .. } | Self::TooManyOpen { .. } => "",
        }
    }

    /// What the guest sees.
    pub(crate) fn errno(&self) -> ErrorCode {
        match self {
            Self::Quota { .. } => ErrorCode::Quota,
            Self::TooManyOpen { .. } | Self::Stale { .. } => ErrorCode::Busy,
            Self::NotRegular { .. } => ErrorCode::Unsupported,
            Self::NotWritten { .. } => ErrorCode::Io,
            Self::ReadOnly { .. } => ErrorCode::ReadOnly,
            _ => ErrorCode::NotPermitted,
        }
    }
}

/// What the system said to a write, and what helps.
fn not_written(why: io::ErrorKind) -> String {
    match why {
        io::ErrorKind::StorageFull => {
            "the disk is full; write less, or ask the user to free some space".to_owned()
        }
        io::ErrorKind::QuotaExceeded => {
            "the user's disk quota is used up; write less, or ask the user to free some space"
                .to_owned()
        }
        io::ErrorKind::FileTooLarge => {
            "the file would be larger than this system allows; write less, or several files"
                .to_owned()
        }
        other => format!("the system did not take what was written: {other}; tell the user"),
    }
}
