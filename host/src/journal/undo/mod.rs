//! What undo needs: the old state of each path, kept before a turn first changes it, and the way
//! back.
//!
//! `<session folder>/undo/` holds `index.jsonl` (one line per thing that happened), `pack` (small
//! old contents, one after the other) and numbered files (large ones), all 0600. Nothing of it
//! exists before something is kept.
//!
//! *What a crash can cost.* Old content is written first, then its line in the index, then the
//! caller makes its change. A process that dies at any point loses nothing, since the kernel has
//! all that was written. A power cut can: nothing is flushed per entry, because a flush (some
//! milliseconds) would cost a hundred times what keeping a small file does, and the change itself
//! is not flushed by the guest either. What that may leave is an index line whose content is
//! short or zeroed. Content up to [`HASH_LIMIT`] is therefore checked against its SHA-256 before
//! it is restored, and damaged content is refused by name. Larger content is not hashed, so it is
//! flushed when it is kept; a flush is small beside copying that much.

mod apply;
mod content;
mod diff;
mod entry;
mod error;
mod index;
mod look;
mod place;
mod plan;
mod planner;
mod read;
mod scan;
mod scan_diff;
mod store;
mod view;

use cap_std::fs::Dir;

pub use apply::{OnConflict, StepOutcome, UndoReport};
pub use error::UndoError;
pub use plan::{Action, Conflict, Lost, Reason, Step, UndoPlan};
pub use read::{Change as ChangedPath, Touched, TurnChanges, Undo};
pub use scan::{Bounds, Snapshot};
pub use scan_diff::ScanChanges;
pub use store::UndoStore;

/// Bytes of old content that a session keeps unless the user says otherwise.
pub const DEFAULT_LIMIT: u64 = 256 << 20;

/// Contents up to this many bytes are hashed, so that they can be told apart for certain.
pub const HASH_LIMIT: u64 = 16 << 20;

/// A path that is about to change.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    /// The canonical absolute path of the granted directory.
    pub root: &'a str,
    /// Where the entry really is, relative to `root`, parts joined by `/`.
    pub path: &'a str,
    /// An open handle of the directory that holds the entry.
    pub parent: &'a Dir,
    /// The entry's name in `parent`.
    pub name: &'a str,
}
