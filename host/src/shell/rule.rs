//! Rules as they stand in a configuration file, and as they are compiled for matching.

use serde::{Deserialize, Serialize};

use super::lex::is_command_name;
use super::options::Options;

/// The rules of `[bash]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RuleSettings {
    /// Whether the rules that come with the program hold too.
    pub shipped_rules: bool,
    /// What becomes of lines that no rule allows. Unset: asked about on a terminal, else refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<Outside>,
    pub allow: Vec<RuleText>,
    /// What these name is refused whatever else allows it, and never asked about.
    pub deny: Vec<RuleText>,
}

impl Default for RuleSettings {
    fn default() -> Self {
        Self { shipped_rules: true, outside: None, allow: Vec::new(), deny: Vec::new() }
    }
}

/// What becomes of a line that no rule allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outside {
    Ask,
    Deny,
    /// It runs where the full sandbox holds it.
    Confine,
}

/// One rule as it is written. A key that does not exist is an error: a misspelt `not_match` must
/// not be lost in silence.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleText {
    /// The program's bare name.
    pub program: String,
    /// Options that may stand between the program and `args`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
    /// The arguments that have to come first, exactly these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// What has to come next: one of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub any_of: Vec<String>,
    /// In an allow rule the options that may occur; in a deny rule those of which one has to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Options that have to occur; `a|b` for either.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<String>,
    #[serde(default)]
    pub operands: Operands,
    /// The program runs code that the workdir holds, so it is never run without the full sandbox.
    #[serde(default)]
    pub needs_sandbox: bool,
    /// Lines that this rule by itself has to fit; looked at when the rules are loaded.
    #[serde(default, rename = "match", skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<String>,
    /// Lines that it must not fit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_match: Vec<String>,
}

/// What the arguments may be that are no options.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operands {
    /// There may be none.
    #[default]
    None,
    /// Paths inside the workdir.
    Paths,
    /// Paths inside the workdir that are made of letters, digits and `_ . / : + -` alone: what is
    /// left of a command's targets once assignments and expressions are kept out.
    Names,
    /// Anything, but no wildcards: file names must not become arguments of unknown meaning.
    Any,
    /// First a pattern, unless an option gave it, then paths.
    PatternThenPaths,
    /// First a script that only prints lines, as `10,20p`, then paths.
    LinesThenPaths,
}

/// A rule that cannot be used. It names the rule by where it stands and what it speaks of.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    #[error("{rule}: {what}")]
    Malformed { rule: String, what: String },
    #[error("{rule}: its `match` line `{line}` does not fit: {why}; correct the rule or the line")]
    ShouldMatch { rule: String, line: String, why: String },
    #[error("{rule}: its `not_match` line `{line}` fits; narrow the rule or correct the line")]
    ShouldNotMatch { rule: String, line: String },
    #[error("the shipped rules cannot be read: {0}")]
    Shipped(String),
}

/// A compiled rule.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    /// How verdicts speak of it.
    pub(super) name: String,
    pub(super) text: RuleText,
    pub(super) options: Options,
    pub(super) requires: Vec<Vec<String>>,
    /// How the program reads its arguments is known, so that `--` can be trusted.
    pub(super) known: bool,
}

impl Rule {
    /// Compiles a rule. `source` is `bash.allow 3` or `shipped`; `known` what the shipped rules
    /// know of the program's options.
    pub(super) fn new(
        text: RuleText,
        source: &str,
        known: Option<&Options>,
    ) -> Result<Self, RuleError> {
        let mut name = format!("{source} `{}", text.program);
        for arg in &text.args {
            name.push(' ');
            name.push_str(arg);
        }
        if !text.any_of.is_empty() {
            name.push(' ');
            name.push_str(&text.any_of.join("|"));
        }
        name.push('`');
        let malformed = |what: String| RuleError::Malformed { rule: name.clone(), what };
        if !is_command_name(&text.program) {
            return Err(malformed(
                "`program` has to be a bare name of letters, digits and `_ . + -`".into(),
            ));
        }
        if text.program == "cd" {
            return Err(malformed("`cd` needs no rule; it is followed inside the workdir".into()));
        }
        if source.starts_with("bash.deny") {
            let narrowed = !text.before.is_empty()
                || !text.requires.is_empty()
                || text.operands != Operands::None;
            if narrowed {
                return Err(malformed(
                    "a deny rule knows `program`, `args`, `any_of` and `options` only".into(),
                ));
            }
        }
        let options = Options::new(&text.options, known).map_err(malformed)?;
        let requires =
            text.requires.iter().map(|r| r.split('|').map(str::to_owned).collect()).collect();
        Ok(Self { name, options, requires, known: known.is_some(), text })
    }

    /// The first arguments that this rule speaks of, where it wants one.
    pub(super) fn subcommands(&self) -> &[String] {
        if self.text.args.is_empty() { &self.text.any_of } else { &self.text.args[..1] }
    }

    /// find reads an expression: there `--` ends nothing, and one dash carries whole words.
    pub(super) fn reads_expressions(&self) -> bool {
        self.options.single_dash() || self.text.program == "find"
    }
}
