//! The session log: one append-only file of JSON Lines per session, whole after any crash.
//!
//! A record is one line, written by one `write`. What must not be lost is on the disk before the
//! next thing happens: the user's words, the model's reply, the intent before a call that has
//! effects, and such a call's result. So a side effect without a trace cannot be. A reader's
//! result is written at once, which outlives this process, and reaches the disk with the reply
//! that follows.
//!
//! The writer holds an advisory lock on the file (`flock` on Linux, which ends with the process;
//! over NFS it is only as good as the server's). Readers need no lock.

mod append;
mod file;
mod history;
mod list;
mod name;
mod read;
mod record;
mod redact;
mod repair;
mod resume;
mod undo;

pub use append::Journal;
pub use file::JournalError;
pub use history::{History, rebuild};
pub use list::{SessionSummary, latest, list};
pub use name::{SessionId, timestamp};
pub use read::{ReadError, Records, read};
pub use record::{Entry, FORMAT, MAX_RECORD, Record};
pub use resume::Resumed;
pub use undo::{
    Action, Bounds, Change, ChangedPath, Conflict, DEFAULT_LIMIT, HASH_LIMIT, Lost, OnConflict,
    Reason, ScanChanges, Snapshot, Step, StepOutcome, Touched, TurnChanges, Undo, UndoError,
    UndoPlan, UndoReport, UndoStore,
};
