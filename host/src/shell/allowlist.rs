//! All rules together: a command line in, a verdict out.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::lex::{Joint, Line, Simple, lex};
use super::matching::{Where, allows, denies};
use super::resolve::SearchPath;
use super::rule::{Outside, Rule, RuleError, RuleSettings, RuleText};
use super::selftest;
use super::shipped::shipped;
use super::tree::{Place, Tree};
use super::verdict::{Decision, How, Planned, Verdict};
use crate::text::escape_line;

/// The compiled rules.
#[derive(Debug, Default)]
pub struct Allowlist {
    allow: HashMap<String, Vec<Rule>>,
    deny: HashMap<String, Vec<Rule>>,
    outside: Option<Outside>,
}

/// What surrounds a line that is judged.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    pub tree: &'a dyn Tree,
    /// Where programs are found; a verdict is the same without.
    pub search: Option<&'a SearchPath>,
    /// Somebody can be asked.
    pub terminal: bool,
}

impl std::fmt::Debug for Surroundings<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Surroundings")
            .field("root", &self.tree.root())
            .field("terminal", &self.terminal)
            .finish_non_exhaustive()
    }
}

impl Allowlist {
    /// Compiles the rules and runs their self-tests. An error names the rule.
    pub fn new(settings: &RuleSettings) -> Result<Self, RuleError> {
        let shipped = shipped()?;
        let mut list = Self { outside: settings.outside, ..Self::default() };
        let compile = |texts: &[RuleText], section: &str| -> Result<Vec<Rule>, RuleError> {
            let numbered = texts.iter().enumerate();
            numbered
                .map(|(i, text)| {
                    let known = shipped.known(
                        &text.program,
                        text.args.first().or(text.any_of.first()).map(String::as_str),
                    );
                    Rule::new(text.clone(), &format!("bash.{section} {}", i + 1), known)
                })
                .collect()
        };
        for rule in compile(&settings.deny, "deny")? {
            selftest::run(&rule, |line, rule| {
                line.commands
                    .iter()
                    .any(|c| denied_by(c, rule))
                    .then_some(())
                    .ok_or_else(|| "no command of it is named by the rule".into())
            })?;
            list.deny.entry(rule.text.program.clone()).or_default().push(rule);
        }
        for rule in compile(&settings.allow, "allow")? {
            selftest::run(&rule, selftest::allowed_by)?;
            list.allow.entry(rule.text.program.clone()).or_default().push(rule);
        }
        if settings.shipped_rules {
            for rule in &shipped.rules {
                list.allow.entry(rule.text.program.clone()).or_default().push(rule.clone());
            }
        }
        Ok(list)
    }

    /// Judges one line, to be run in the workdir. Bytes, because nothing about it is believed yet.
    pub fn judge(&self, text: &[u8], around: Surroundings<'_>) -> Verdict {
        let line = match lex(text) {
            Ok(line) => line,
            Err(refusal) => {
                let why = refusal.to_string();
                return match self.mentioned(text) {
                    Some(rule) => deny(
                        rule,
                        format!(
                            "the line is not understood ({why}) and names a program that this rule refuses"
                        ),
                        Vec::new(),
                    ),
                    None => self.outside(why, Vec::new(), around),
                };
            }
        };
        for command in &line.commands {
            let rules = self.deny.get(command.words[0].text());
            if let Some(rule) = rules.into_iter().flatten().find(|rule| denied_by(command, rule)) {
                let why = format!("`{}` is refused by this rule", shown(command));
                return deny(rule, why, as_written(&line, around));
            }
        }
        match self.plan(&line, around) {
            Ok(verdict) => verdict,
            Err(why) => self.outside(why, as_written(&line, around), around),
        }
    }

    fn plan(&self, line: &Line, around: Surroundings<'_>) -> Result<Verdict, String> {
        let mut cwd = PathBuf::new();
        let mut commands = Vec::with_capacity(line.commands.len());
        let mut names: Vec<&str> = Vec::new();
        let mut needs_sandbox = false;
        let mut joint = None;
        for (index, command) in line.commands.iter().enumerate() {
            if command.words[0].text() == "cd" {
                cwd = change_directory(line, index, &cwd, around.tree)?;
                // What follows runs because the change succeeds, so it stands where `cd` stood.
                joint = joint.or(Some(command.joint));
                continue;
            }
            let (rule, argv) = self.rule_for(command, &cwd, around.tree)?;
            if !names.contains(&rule.name.as_str()) {
                names.push(&rule.name);
            }
            needs_sandbox |= rule.text.needs_sandbox;
            let mut planned = planned(command, argv, around);
            planned.cwd.clone_from(&cwd);
            planned.joint = joint.take().unwrap_or(command.joint);
            commands.push(planned);
        }
        if commands.is_empty() {
            return Err("changing the directory does nothing by itself".into());
        }
        let rule = names.join(", ");
        let reason = format!("allowed by {rule}");
        Ok(Verdict {
            decision: Decision::Allow,
            rule: Some(rule),
            reason,
            commands,
            how: How::Direct,
            needs_sandbox,
        })
    }

    /// The first rule that allows the command, with the arguments to run.
    fn rule_for(
        &self,
        command: &Simple,
        cwd: &Path,
        tree: &dyn Tree,
    ) -> Result<(&Rule, Vec<String>), String> {
        let program = command.words[0].text();
        let Some(rules) = self.allow.get(program) else {
            return Err(format!("no rule speaks of `{}`", escape_line(program)));
        };
        if program == "git" {
            own_repository(cwd, tree)?;
        }
        let mut best: Option<(usize, String)> = None;
        for rule in rules {
            match allows(rule, &command.words, Where { cwd, tree }) {
                Ok(argv) => return Ok((rule, argv)),
                Err(miss) if best.as_ref().is_none_or(|(reached, _)| miss.reached > *reached) => {
                    best = Some((miss.reached, format!("{}: {}", rule.name, miss.why)));
                }
                Err(_) => {}
            }
        }
        Err(best.map_or_else(String::new, |(_, why)| why))
    }

    /// A deny rule whose program's name occurs anywhere in a line that was not understood.
    fn mentioned(&self, text: &[u8]) -> Option<&Rule> {
        let in_name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'+' | b'-');
        text.split(|&b| !in_name(b))
            .filter_map(|word| std::str::from_utf8(word).ok())
            .find_map(|word| self.deny.get(word)?.first())
    }

    fn outside(&self, why: String, commands: Vec<Planned>, around: Surroundings<'_>) -> Verdict {
        let (decision, reason) = match self.outside {
            Some(Outside::Confine) => {
                (Decision::Allow, format!("outside the rules, so confined: {why}"))
            }
            Some(Outside::Ask) | None if around.terminal => (Decision::Ask, why),
            Some(Outside::Ask) | None => (Decision::Deny, format!("{why} (nobody can be asked)")),
            Some(Outside::Deny) => (Decision::Deny, why),
        };
        let needs_sandbox = self.outside == Some(Outside::Confine);
        Verdict {
            decision,
            rule: Some("bash.outside".into()),
            reason,
            commands,
            how: How::Shell,
            needs_sandbox,
        }
    }
}

fn deny(rule: &Rule, reason: String, commands: Vec<Planned>) -> Verdict {
    Verdict {
        decision: Decision::Deny,
        rule: Some(rule.name.clone()),
        reason,
        commands,
        how: How::Shell,
        needs_sandbox: true,
    }
}

fn denied_by(command: &Simple, rule: &Rule) -> bool {
    command.words[0].text() == rule.text.program && denies(rule, &command.words)
}

/// Follows a `cd`. It has to be certain to run and to succeed, else nobody knows where the rest runs.
fn change_directory(
    line: &Line,
    index: usize,
    cwd: &Path,
    tree: &dyn Tree,
) -> Result<PathBuf, String> {
    let command = &line.commands[index];
    let before = index.checked_sub(1).map(|i| &line.commands[i]);
    let certain = match command.joint {
        Joint::First | Joint::Next => true,
        Joint::And => before.is_some_and(|b| b.words[0].text() == "cd"),
        Joint::Pipe | Joint::Or => false,
    };
    let after = line.commands.get(index + 1).map(|c| c.joint);
    if !certain || matches!(after, Some(Joint::Pipe | Joint::Or)) {
        return Err("`cd` is followed only where it is certain to run, as in `cd DIR && …`".into());
    }
    let [_, target] = command.words.as_slice() else {
        return Err("`cd` is followed with exactly one directory".into());
    };
    let text = target.text();
    if target.is_wild()
        || text.is_empty()
        || text.starts_with(['-', '~'])
        || !command.redirects.is_empty()
    {
        return Err(format!("`cd {}` is not followed; name a directory", escape_line(text)));
    }
    let shown = escape_line(text);
    let inside = super::inside::below_root(text, cwd, tree.root())
        .filter(|p| super::inside::stays_inside(p));
    let Some(written) = inside else { return Err(format!("`cd {shown}` leaves the workdir")) };
    let directory = simplified(&written);
    match tree.place(&written) {
        // A shell keeps links in its notion of `..`, programs do not; without links both agree.
        Place::Here(real) if simplified(&real) != directory => {
            Err(format!("`cd {shown}` goes through a link"))
        }
        Place::Here(_) if tree.is_dir(&written) => Ok(directory),
        Place::Here(_) => Err(format!("`cd {shown}`: not a directory")),
        Place::Absent => Err(format!("`cd {shown}`: there is no such directory")),
        Place::Outside => Err(format!("`cd {shown}` leaves the workdir through a link")),
    }
}

/// `a/./b/../c` as `a/c`. Only for paths that are known to stay inside and to hold no links.
fn simplified(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for component in path.components() {
        match component {
            std::path::Component::Normal(name) => result.push(name),
            std::path::Component::ParentDir => {
                result.pop();
            }
            _ => {}
        }
    }
    result
}

/// git obeys the configuration of the repository it finds first. That must be the workdir's own,
/// not one that a file set in a directory on the way brings along, with or without the name `.git`.
fn own_repository(cwd: &Path, tree: &dyn Tree) -> Result<(), String> {
    for directory in cwd.ancestors().filter(|d| !d.as_os_str().is_empty()) {
        for sign in [".git", "HEAD"] {
            if tree.exists(&directory.join(sign)) {
                let shown = escape_line(&directory.to_string_lossy());
                return Err(format!(
                    "`{shown}` may be a repository of its own, whose configuration git would obey"
                ));
            }
        }
    }
    Ok(())
}

fn planned(command: &Simple, argv: Vec<String>, around: Surroundings<'_>) -> Planned {
    Planned {
        joint: command.joint,
        program: around.search.and_then(|s| s.find(&argv[0])),
        argv,
        redirects: command.redirects.clone(),
        cwd: PathBuf::new(),
        wild: command.words.iter().any(super::word::Word::is_wild),
    }
}

/// The commands of a line that no plan was made for, wildcards as they stand.
fn as_written(line: &Line, around: Surroundings<'_>) -> Vec<Planned> {
    let words = |c: &Simple| c.words.iter().map(|w| w.text().to_owned()).collect();
    line.commands.iter().map(|c| planned(c, words(c), around)).collect()
}

fn shown(command: &Simple) -> String {
    let words: Vec<String> = command.words.iter().map(|w| escape_line(w.text())).collect();
    words.join(" ")
}
