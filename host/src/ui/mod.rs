//! What the user sees: the two streams, colour, text for people and JSON for programs.

mod approver;
pub mod json;
mod output;
mod paint;
mod reply;
mod report;
#[cfg(test)]
mod testing;
mod words;

pub use approver::TerminalApprover;
pub use output::Output;
pub use paint::Paint;
pub use reply::show_reply;
pub use report::RunReporter;
pub use words::{count, gist, progress, size, stop_word, time};
