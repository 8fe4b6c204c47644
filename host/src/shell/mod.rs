//! The native `bash` tool, in two independent halves.
//!
//! The allowlist decodes a command line and says whether it may run, must be asked about, or may
//! not; nothing in it starts a process. The other half runs what may run: [`run`] starts and ends
//! processes, [`confine`] is the operating system's sandbox around them, and [`tools`] is what the
//! model sees of it.

mod allowlist;
mod chars;
mod confine;
mod glob;
mod inside;
mod lex;
mod matching;
mod options;
mod resolve;
mod rule;
mod run;
mod selftest;
mod session;
mod shipped;
mod tools;
mod tree;
mod verdict;
mod word;

pub use allowlist::{Allowlist, Surroundings};
pub use confine::{Tier, TierReport};
pub use lex::{Joint, Line, MAX_BYTES, MAX_COMMANDS, Redirect, Refusal, Simple, lex};
pub use resolve::{Program, SearchPath, usual_directories};
pub use rule::{Operands, Outside, RuleError, RuleSettings, RuleText};
pub use run::{RUNNER_ARGUMENT, runner_main};
pub use session::{Approval, Remember, Shell, ShellError, ShellSettings};
pub use tree::{Place, RealTree, Tree};
pub use verdict::{Decision, How, Planned, Verdict};
pub use word::{Atom, Word};
