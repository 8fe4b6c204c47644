//! The directory that a session works in, opened once and held.

mod wide;
mod workdir;

pub use wide::{TooWide, WideRule};
pub use workdir::{OpenError, Workdir};
