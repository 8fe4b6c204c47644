//! What the host tells the runner, and what the runner answers: each one line of JSON.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::shell::confine::Inner;
use crate::shell::lex::{Joint, Redirect};

/// Everything that a runner does in its life.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::shell) struct Job {
    pub(in crate::shell) work: Work,
    /// The workdir; directories of commands are relative to it.
    pub(in crate::shell) root: PathBuf,
    /// The whole environment of the commands.
    pub(in crate::shell) environment: Vec<(String, String)>,
    /// What the runner puts on each command before it starts.
    pub(in crate::shell) inner: Inner,
    /// Milliseconds after which everything is ended; none for what is to stay.
    pub(in crate::shell) timeout_ms: Option<u64>,
}

/// What runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::shell) enum Work {
    /// Decoded commands, started one by one without a shell.
    Direct(Vec<Step>),
    /// A line for a shell.
    Shell { shell: PathBuf, text: String, cwd: PathBuf },
}

/// One decoded command.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::shell) struct Step {
    pub(in crate::shell) joint: Joint,
    pub(in crate::shell) program: PathBuf,
    /// The program's name first.
    pub(in crate::shell) argv: Vec<String>,
    pub(in crate::shell) redirects: Vec<Redirect>,
    pub(in crate::shell) cwd: PathBuf,
}

/// How it ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::shell) struct Ended {
    /// The exit status as a shell counts it: 128 and the signal's number after a signal. None if
    /// nothing came to its end.
    pub(in crate::shell) code: Option<i32>,
    pub(in crate::shell) signal: Option<i32>,
    /// Why it was ended from outside.
    pub(in crate::shell) stop: Option<Stop>,
    /// Processes that the line had left in the background, and that were ended with it.
    pub(in crate::shell) left_behind: bool,
    /// The runner could not do its work.
    pub(in crate::shell) fault: Option<String>,
}

/// Who ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::shell) enum Stop {
    TimedOut,
    /// The host closed its end.
    Asked,
}
