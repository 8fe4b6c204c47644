//! Running a decided line: a small runner process that stands inside the sandbox, and the host's
//! end of it.
//!
//! The runner is the `claw` binary under another word. Its standard input brings the job and stays
//! open: when it ends, the host is gone or has given up, and everything that was started ends too.
//! Its standard output is the commands' own, both streams in one, so that what was printed comes
//! in the order in which it was printed. Its standard error is the runner's report.

mod collect;
mod descendants;
mod folder;
mod job;
mod launch;
mod lists;
mod processes;
mod runner;

pub(super) use collect::{Collector, Piece};
pub(super) use folder::{Folder, private_folder};
pub(super) use job::{Ended, Job, Step, Stop, Work};
pub(super) use launch::{GRACE, launch};
pub(super) use processes::{Process, Processes};
pub use runner::{RUNNER_ARGUMENT, runner_main};
