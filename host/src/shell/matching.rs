//! Decoded arguments against one rule.

use std::path::Path;

use super::glob;
use super::inside::path_inside;
use super::options::{Kind, Parsed};
use super::rule::{Operands, Rule};
use super::tree::Tree;
use super::word::Word;
use crate::text::escape_line;

/// Where a command would run.
#[derive(Clone, Copy)]
pub(super) struct Where<'a> {
    /// The directory, relative to the workdir.
    pub(super) cwd: &'a Path,
    pub(super) tree: &'a dyn Tree,
}

/// Why a rule does not allow a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mismatch {
    /// How many words had been accepted; of several rules the one that came furthest explains.
    pub(super) reached: usize,
    pub(super) why: String,
}

/// Matches a command whose first word is the rule's program. Gives the arguments to run, the
/// program's name first, with wildcards replaced by the names they stand for.
pub(super) fn allows(rule: &Rule, words: &[Word], at: Where<'_>) -> Result<Vec<String>, Mismatch> {
    let mut reader = Reader::new(rule, words, at);
    reader.leading()?;
    reader.arguments()?;
    reader.required()?;
    Ok(reader.argv)
}

/// Whether a deny rule speaks of the command. Reads generously: options may stand before the
/// arguments, and names count when abbreviated, bundled or given with a value.
pub(super) fn denies(rule: &Rule, words: &[Word]) -> bool {
    // One of the alternatives has to occur somewhere, in whatever order.
    let choice = &rule.text.any_of;
    let mut chosen = choice.is_empty();
    let mut wanted = rule.text.args.iter().peekable();
    let mut option = rule.text.options.is_empty();
    for word in &words[1..] {
        let text = word.text();
        if wanted.peek().is_some_and(|w| *w == text) {
            wanted.next();
        }
        chosen |= choice.iter().any(|c| c == text);
        option |= rule.text.options.iter().any(|o| names_option(text, o));
    }
    chosen && option && wanted.peek().is_none()
}

fn names_option(argument: &str, option: &str) -> bool {
    let name = argument.split_once('=').map_or(argument, |(name, _)| name);
    if let Some(letter) = option.strip_prefix('-').filter(|o| o.chars().count() == 1) {
        return argument.starts_with('-')
            && !argument.starts_with("--")
            && argument.contains(letter);
    }
    name == option || (name.starts_with("--") && name.len() > 2 && option.starts_with(name))
}

struct Reader<'a> {
    rule: &'a Rule,
    words: &'a [Word],
    at: Where<'a>,
    /// Index of the next word.
    next: usize,
    argv: Vec<String>,
    /// Names of options seen, for `requires`.
    seen: Vec<&'a str>,
    /// `--` was read and can be trusted.
    ended: bool,
    /// An option occurred of which nobody knows what it takes.
    vague: bool,
    /// The option just read may have taken what follows.
    hungry: bool,
    /// An option gave the pattern.
    pattern: bool,
    /// Operands, with their index in `argv` and whether a wildcard found them.
    operands: Vec<(usize, bool)>,
}

impl<'a> Reader<'a> {
    fn new(rule: &'a Rule, words: &'a [Word], at: Where<'a>) -> Self {
        Self {
            rule,
            words,
            at,
            next: 1,
            argv: vec![words[0].text().to_owned()],
            seen: Vec::new(),
            ended: false,
            vague: false,
            hungry: false,
            pattern: false,
            operands: Vec::new(),
        }
    }

    fn leading(&mut self) -> Result<(), Mismatch> {
        while let Some(word) =
            self.peek().filter(|w| self.rule.text.before.iter().any(|b| b == w.text()))
        {
            self.take(word);
        }
        for arg in &self.rule.text.args {
            match self.peek() {
                Some(word) if word.text() == arg && !word.is_wild() => self.take(word),
                Some(word) => {
                    return self.fail(format!(
                        "`{}` stands where the rule wants `{arg}`",
                        escape_line(word.text())
                    ));
                }
                None => return self.fail(format!("the rule wants `{arg}`")),
            }
        }
        let choice = &self.rule.text.any_of;
        match self.peek() {
            _ if choice.is_empty() => Ok(()),
            Some(word) if !word.is_wild() && choice.iter().any(|c| c == word.text()) => {
                self.take(word);
                Ok(())
            }
            _ => self.fail(format!("the rule wants one of `{}` next", choice.join("`, `"))),
        }
    }

    fn arguments(&mut self) -> Result<(), Mismatch> {
        while let Some(word) = self.peek() {
            let text = word.text();
            if !text.starts_with('-') || text == "-" {
                self.operand(word)?;
                self.hungry = false;
            } else if word.is_wild() {
                return self
                    .fail(format!("the pattern `{}` could stand for options", escape_line(text)));
            } else if text == "--" && !self.ended {
                self.end_of_options()?;
            } else if self.ended && self.trusts_end() {
                self.operand(word)?;
            } else {
                self.option(text)?;
            }
        }
        self.judge_operands()
    }

    /// Whether what stands behind `--` may look like an option. Programs that run code look for
    /// options of their plugins and children there too, and unknown ones may not heed it.
    fn trusts_end(&self) -> bool {
        let text = &self.rule.text;
        self.rule.known && !text.needs_sandbox && text.operands != Operands::Any
    }

    /// `--` ends the options, unless the option before it swallowed it as its value.
    fn end_of_options(&mut self) -> Result<(), Mismatch> {
        if self.rule.reads_expressions() {
            return self.fail("`--` does not end the options of this program".into());
        }
        self.ended = !self.hungry;
        self.hungry = false;
        self.argv.push("--".into());
        self.next += 1;
        Ok(())
    }

    fn option(&mut self, text: &'a str) -> Result<(), Mismatch> {
        self.hungry = false;
        let parsed = self.rule.options.parse(text);
        match parsed {
            Parsed::Refused => {
                return self
                    .fail(format!("the option `{}` is not on the rule's list", escape_line(text)));
            }
            Parsed::Path(value) => {
                path_inside(value, self.at.cwd, self.at.tree).or_else(|why| self.fail(why))?;
                // For all that is known, the value may be the pattern too.
                self.vague = true;
            }
            Parsed::GavePattern => self.pattern = true,
            Parsed::Vague => {
                self.vague = true;
                self.hungry = true;
            }
            Parsed::Whole | Parsed::Needs(_) => {}
        }
        self.seen.push(text.split_once('=').map_or(text, |(name, _)| name));
        self.argv.push(text.to_owned());
        self.next += 1;
        if let Parsed::Needs(kind) = parsed { self.value(kind, text) } else { Ok(()) }
    }

    /// The value of an option, in an argument of its own.
    fn value(&mut self, kind: &Kind, option: &str) -> Result<(), Mismatch> {
        let Some(word) = self.peek() else {
            return self.fail(format!("the option `{option}` lacks its value"));
        };
        let text = word.text();
        if word.is_wild() {
            return self.fail(format!(
                "`{}` is expanded before `{option}` gets it; quote it",
                escape_line(text)
            ));
        }
        // A value that looks like an option is more often a way to smuggle one.
        if !kind.admits(text) || (text.starts_with('-') && *kind != Kind::Number) {
            return self.fail(format!(
                "`{}` is not a value that the rule admits for `{option}`",
                escape_line(text)
            ));
        }
        if *kind == Kind::Path {
            path_inside(text, self.at.cwd, self.at.tree).or_else(|why| self.fail(why))?;
        }
        self.pattern |= *kind == Kind::Pattern;
        self.take(word);
        Ok(())
    }

    fn operand(&mut self, word: &'a Word) -> Result<(), Mismatch> {
        let wild = word.is_wild();
        if wild && matches!(self.rule.text.operands, Operands::None | Operands::Any) {
            return self.fail(format!(
                "`{}` would be replaced by file names, which this rule does not take as paths; quote it if it is meant as it stands",
                escape_line(word.text())
            ));
        }
        if !wild {
            self.operands.push((self.argv.len(), false));
            self.take(word);
            return Ok(());
        }
        let names = glob::expand(word, self.at.cwd, self.at.tree).or_else(|why| self.fail(why))?;
        for name in names {
            self.operands.push((self.argv.len(), true));
            self.argv.push(name);
        }
        self.next += 1;
        Ok(())
    }

    /// Judged last, because an option behind the operands may change what they are.
    fn judge_operands(&mut self) -> Result<(), Mismatch> {
        let mut rest = &self.operands[..];
        match self.rule.text.operands {
            Operands::Any => return Ok(()),
            Operands::None => {
                let Some(&(index, _)) = rest.first() else { return Ok(()) };
                return self.fail(format!(
                    "the rule takes no operand such as `{}`",
                    escape_line(&self.argv[index])
                ));
            }
            Operands::Paths | Operands::Names => {}
            // With an option of unknown appetite the first operand may be a path after all.
            Operands::PatternThenPaths if self.pattern || self.vague => {}
            Operands::PatternThenPaths | Operands::LinesThenPaths => {
                let Some((&(index, wild), others)) = rest.split_first() else {
                    return self.fail("the rule wants a pattern or script first".into());
                };
                let first = &self.argv[index];
                if wild {
                    return self.fail(format!(
                        "`{}` was found by a wildcard and cannot be the pattern; quote it",
                        escape_line(first)
                    ));
                }
                if self.rule.text.operands == Operands::LinesThenPaths && !prints_lines(first) {
                    return self.fail(format!(
                        "`{}` does more than print lines, as `10,20p` does",
                        escape_line(first)
                    ));
                }
                rest = others;
            }
        }
        for &(index, _) in rest {
            let operand = &self.argv[index];
            if self.rule.text.operands == Operands::Names && !is_name(operand) {
                return self.fail(format!("`{}` is not a plain name", escape_line(operand)));
            }
            path_inside(&self.argv[index], self.at.cwd, self.at.tree)
                .or_else(|why| self.fail(why))?;
        }
        Ok(())
    }

    fn required(&self) -> Result<(), Mismatch> {
        for choice in &self.rule.requires {
            if !choice.iter().any(|name| self.seen.contains(&name.as_str())) {
                return self
                    .fail(format!("the rule wants `{}` among the options", choice.join("` or `")));
            }
        }
        Ok(())
    }

    fn peek(&self) -> Option<&'a Word> {
        self.words.get(self.next)
    }

    fn take(&mut self, word: &Word) {
        self.argv.push(word.text().to_owned());
        self.next += 1;
    }

    fn fail<T>(&self, why: String) -> Result<T, Mismatch> {
        Err(Mismatch { reached: self.next, why })
    }
}

fn is_name(operand: &str) -> bool {
    operand.bytes().all(|b| b.is_ascii_alphanumeric() || b"_./:+-".contains(&b))
}

/// Scripts of sed that print lines by number, as `5p`, `10,20p`, `1,$p` and several of them with
/// `;` between. Everything else that sed can do, it can also write and execute.
fn prints_lines(script: &str) -> bool {
    let number = |n: &str| n == "$" || (!n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    script.split(';').all(|command| {
        command.strip_suffix('p').is_some_and(|range| {
            range.split_once(',').map_or(number(range), |(a, b)| number(a) && number(b))
        })
    })
}
