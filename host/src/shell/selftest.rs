//! The `match` and `not_match` lines of a rule, looked at before the rule is used.

use std::io;
use std::path::{Path, PathBuf};

use super::lex::{Line, lex};
use super::matching::{Where, allows};
use super::rule::{Rule, RuleError};
use super::tree::{Place, Tree};

/// Runs the self-tests of a rule. `fits` says whether a decoded line fits it.
pub(super) fn run(
    rule: &Rule,
    fits: impl Fn(&Line, &Rule) -> Result<(), String>,
) -> Result<(), RuleError> {
    let try_line = |line: &str| match lex(line.as_bytes()) {
        Ok(decoded) => fits(&decoded, rule),
        Err(refusal) => Err(refusal.to_string()),
    };
    for line in &rule.text.matches {
        if let Err(why) = try_line(line) {
            return Err(RuleError::ShouldMatch {
                rule: rule.name.clone(),
                line: line.clone(),
                why,
            });
        }
    }
    match rule.text.not_match.iter().find(|line| try_line(line).is_ok()) {
        Some(line) => {
            Err(RuleError::ShouldNotMatch { rule: rule.name.clone(), line: line.clone() })
        }
        None => Ok(()),
    }
}

/// Whether the rule by itself allows every command of the line.
pub(super) fn allowed_by(line: &Line, rule: &Rule) -> Result<(), String> {
    for command in &line.commands {
        if command.words[0].text() != rule.text.program {
            return Err(format!("the rule does not speak of `{}`", command.words[0].text()));
        }
        let at = Where { cwd: Path::new(""), tree: &NoTree };
        allows(rule, &command.words, at).map_err(|miss| miss.why)?;
    }
    Ok(())
}

/// A workdir in which nothing exists, so that paths are judged by their text alone.
#[derive(Debug)]
struct NoTree;

impl Tree for NoTree {
    /// No command line can name it: absolute paths are all outside.
    fn root(&self) -> &Path {
        Path::new("/\0")
    }

    fn place(&self, _: &Path) -> Place {
        Place::Here(PathBuf::new())
    }

    fn names(&self, _: &Path, _: usize) -> io::Result<Vec<Option<String>>> {
        Ok(Vec::new())
    }

    fn is_dir(&self, _: &Path) -> bool {
        false
    }

    fn exists(&self, _: &Path) -> bool {
        false
    }
}
