//! The native `bash` tool. Its first half is here: the allowlist, which decodes a command line
//! and says whether it may run, must be asked about, or may not. Nothing in it starts a process.

mod allowlist;
mod chars;
mod glob;
mod inside;
mod lex;
mod matching;
mod options;
mod resolve;
mod rule;
mod selftest;
mod shipped;
mod tree;
mod verdict;
mod word;

pub use allowlist::{Allowlist, Surroundings};
pub use lex::{Joint, Line, MAX_BYTES, MAX_COMMANDS, Redirect, Refusal, Simple, lex};
pub use resolve::{Program, SearchPath, usual_directories};
pub use rule::{Operands, Outside, RuleError, RuleSettings, RuleText};
pub use tree::{Place, RealTree, Tree};
pub use verdict::{Decision, How, Planned, Verdict};
pub use word::{Atom, Word};
