//! The directory that a session works in, opened once and held.

mod workdir;
mod wide;

pub use wide::{TooWide, WideRule};
pub use workdir::{OpenError, Workdir};
