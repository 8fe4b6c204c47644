//! What an undo would do: steps in their order, conflicts, and what is lost.

use std::fmt;

use crate::text::escape_line;

use super::entry::{At, FileState, State, absolute};

/// The way back from some turns, as things stood when it was made.
#[derive(Debug)]
pub struct UndoPlan {
    /// The turns that it undoes, ascending.
    pub turns: Vec<u32>,
    /// In the order in which they must be done.
    pub steps: Vec<Step>,
    /// What stays as it is, and why.
    pub lost: Vec<Lost>,
    /// The length of the index that it was made from.
    pub(super) length: u64,
}

impl UndoPlan {
    /// The steps that stand against somebody else's change.
    pub fn conflicts(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| step.conflict.is_some())
    }
}

/// One change to one path.
#[derive(Debug)]
pub struct Step {
    /// The granted directory, absolute.
    pub root: String,
    /// Relative to `root`.
    pub path: String,
    pub action: Action,
    /// Set where somebody else's work would be lost.
    pub conflict: Option<Conflict>,
    /// What is to be put there, for files.
    pub(super) file: Option<FileState>,
    /// What stood there when this was planned; none where an earlier step has to do with it.
    pub(super) found: Option<State>,
}

impl Step {
    pub(super) fn at(&self) -> At {
        At::new(&self.root, &self.path)
    }

    pub fn absolute(&self) -> String {
        absolute(&self.root, &self.path)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Put an old content in the place of the present one.
    Restore {
        size: u64,
        mode: u32,
    },
    /// Make a file again that is gone.
    Recreate {
        size: u64,
        mode: u32,
    },
    /// Remove a file, a link or an empty directory.
    Remove,
    MakeDirectory {
        mode: u32,
    },
    /// Make a symbolic link again.
    Link {
        target: String,
    },
    /// Move what is here back to where it was.
    MoveBack {
        root: String,
        path: String,
    },
}

/// Why a step would cost somebody else's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    pub reason: Reason,
    /// From the present content to the one that undo would put there; only for text, and cut off
    /// when long. Not escaped.
    pub diff: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// It is not as the turn left it.
    ChangedSince,
    /// It was there when the turn ended, and is not now.
    RemovedSince,
    /// It was gone when the turn ended, and something is there now.
    CreatedSince,
    /// A later turn, which is not undone, changed it as well.
    ChangedByTurn(u32),
    /// The call that changed it did not end, so nobody knows how it left the path.
    Unsettled,
    /// The directory that was moved is not where the turn moved it.
    NotWhereItWas,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ChangedSince => f.write_str("it was changed since"),
            Self::RemovedSince => f.write_str("it was removed since"),
            Self::CreatedSince => f.write_str("something was put there since"),
            Self::ChangedByTurn(turn) => {
                write!(f, "turn {turn} changed it as well; undo that one first, or both at once")
            }
            Self::Unsettled => f.write_str(
                "the call that changed it was cut off, so a later change could not be told apart",
            ),
            Self::NotWhereItWas => f.write_str("it is not where the turn moved it any more"),
        }
    }
}

/// Something that undo does not bring back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    pub root: String,
    /// Relative to `root`; `.` for all of it.
    pub path: String,
    pub why: String,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", escape_line(&self.path), escape_line(&self.why))
    }
}
