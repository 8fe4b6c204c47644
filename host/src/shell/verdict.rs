//! What the rules say about a command line, in a form for the runner, a person and a machine.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::lex::{Joint, Redirect};
use super::rule::{Operands, RuleText};

/// The answer about one command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub decision: Decision,
    /// The rules that decided, or `bash.outside` when none did.
    pub rule: Option<String>,
    /// Which character, word or rule decided, and why. Safe to show on a terminal.
    pub reason: String,
    /// The commands as far as they were decoded. When the decision is to allow and `how` is
    /// `Direct`, they are exactly what has to run.
    pub commands: Vec<Planned>,
    pub how: How,
    /// Whatever allowed it did so only for the full sandbox.
    pub needs_sandbox: bool,
}

/// The decision about a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Allow,
    Ask,
    Deny,
}

/// How a line runs, once it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// By us, from `commands`, without a shell.
    Direct,
    /// By a shell inside the sandbox, from the text.
    Shell,
}

/// One command, decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    pub joint: Joint,
    /// The program's name and its arguments; wildcards are expanded if a rule allowed it.
    pub argv: Vec<String>,
    /// `None` if it is not installed.
    pub program: Option<super::resolve::Program>,
    pub redirects: Vec<Redirect>,
    /// Where it runs, relative to the workdir.
    pub cwd: PathBuf,
    /// A wildcard stood in it.
    pub wild: bool,
}

impl Decision {
    /// The word of docs and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }

    /// The exit code of `claw policy check`.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Allow => 0,
            Self::Ask => 10,
            Self::Deny => 11,
        }
    }
}

impl Verdict {
    /// The object that `claw policy check --json` prints.
    pub fn to_json(&self) -> Value {
        let commands: Vec<Value> = self
            .commands
            .iter()
            .map(|c| json!({ "argv": c.argv, "program": c.program.as_ref().map(|p| p.path.to_string_lossy()) }))
            .collect();
        json!({
            "verdict": self.decision.word(),
            "rule": self.rule,
            "reason": self.reason,
            "commands": commands,
        })
    }

    /// The rules that would allow exactly this line again, to be shown and then stored when a
    /// person says "always": one for each command, its arguments word for word.
    ///
    /// `None` where that would be wider than what was shown: lines that were not decoded, that
    /// hold wildcards or that change directory.
    pub fn rules_to_remember(&self) -> Option<Vec<RuleText>> {
        if self.decision != Decision::Ask || self.commands.is_empty() {
            return None;
        }
        let mut rules: Vec<RuleText> = Vec::new();
        for command in &self.commands {
            let (program, args) = command.argv.split_first()?;
            if command.wild || !command.cwd.as_os_str().is_empty() || program == "cd" {
                return None;
            }
            let rule = RuleText {
                program: program.clone(),
                args: args.to_vec(),
                operands: Operands::None,
                needs_sandbox: true,
                ..RuleText::default()
            };
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        Some(rules)
    }
}
