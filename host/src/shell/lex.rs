//! A strict lexer for command lines: it decodes a small, exactly understood part of the shell's
//! language into words, and refuses everything else by naming the character that stopped it.

use super::chars::{is_hidden, is_plain};
use super::word::{Atom, Word, class_at};
use crate::text::escape_line;

/// Longer lines are refused unread.
pub const MAX_BYTES: usize = 8 * 1024;
/// More commands than this in one line are refused.
pub const MAX_COMMANDS: usize = 50;

/// A decoded line: simple commands in the order in which they stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub commands: Vec<Simple>,
}

/// One simple command: at least one word, the first of them the program's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simple {
    pub joint: Joint,
    pub words: Vec<Word>,
    /// In the order in which they stand, which is the order in which they take effect.
    pub redirects: Vec<Redirect>,
}

/// What stands between a command and the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Joint {
    First,
    /// `|`
    Pipe,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `;` or a new line
    Next,
}

/// The only redirections that are understood; none of them names a file that matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Redirect {
    /// `>/dev/null`
    OutToNull,
    /// `2>/dev/null`
    ErrToNull,
    /// `2>&1`
    ErrToOut,
}

/// Why a line was not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{what}` at byte {at}: {why}")]
pub struct Refusal {
    /// Offset in bytes.
    pub at: usize,
    /// The character or word that decided, escaped.
    pub what: String,
    pub why: &'static str,
}

/// Words that the shell reads as grammar when they stand, unquoted, where a command begins.
const KEYWORDS: [&str; 19] = [
    "if", "then", "elif", "else", "fi", "case", "esac", "for", "select", "while", "until", "do",
    "done", "in", "function", "time", "coproc", "!", "[[",
];

/// Decodes `line`. Runs in time proportional to its length and never recurses.
pub fn lex(line: &[u8]) -> Result<Line, Refusal> {
    if line.len() > MAX_BYTES {
        return Err(Refusal { at: MAX_BYTES, what: "…".into(), why: "the line is over 8 KiB" });
    }
    let text = std::str::from_utf8(line).map_err(|error| Refusal {
        at: error.valid_up_to(),
        what: format!("\\x{:02x}", line[error.valid_up_to()]),
        why: "the line is not valid UTF-8",
    })?;
    // Looked for everywhere, also inside quotes and comments: what a person is asked to approve
    // must be what they see.
    if let Some((at, c)) = text.char_indices().find(|&(_, c)| is_hidden(c)) {
        return Err(refuse(
            at,
            c,
            "control, invisible and look-alike blank characters are refused",
        ));
    }
    let mut lexer = Lexer {
        text,
        at: 0,
        line: Line { commands: Vec::new() },
        current: None,
        joint: Joint::First,
        open: false,
    };
    lexer.run()?;
    Ok(lexer.line)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: Line,
    /// The command being read.
    current: Option<Simple>,
    /// What stands before the command that comes next.
    joint: Joint,
    /// The last operator needs a command after it.
    open: bool,
}

impl Lexer<'_> {
    fn run(&mut self) -> Result<(), Refusal> {
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' => self.at += 1,
                // Here a word would begin, so this is a comment.
                '#' => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                '\n' => {
                    self.at += 1;
                    if self.current.is_some() {
                        self.close(Joint::Next)?;
                    }
                }
                ';' | '|' | '&' => self.operator(c)?,
                '>' => self.redirect(1)?,
                '<' => return Err(self.refusal(
                    c,
                    "input redirections, here-documents and process substitutions are not decoded",
                )),
                '(' | ')' => {
                    return Err(self
                        .refusal(c, "subshells, functions and extended patterns are not decoded"));
                }
                _ => self.word()?,
            }
        }
        if self.current.is_some() {
            self.close(Joint::Next)?;
        } else if self.open {
            return Err(Refusal {
                at: self.at,
                what: "end".into(),
                why: "a command is missing after the last operator",
            });
        }
        if self.line.commands.is_empty() {
            return Err(Refusal { at: self.at, what: "end".into(), why: "there is no command" });
        }
        Ok(())
    }

    fn operator(&mut self, c: char) -> Result<(), Refusal> {
        let (joint, length) = match (c, self.rest()[1..].chars().next()) {
            ('&', Some('&')) => (Joint::And, 2),
            ('&', _) => {
                return Err(self.refusal(c, "commands in the background and `&>` are not decoded"));
            }
            ('|', Some('|')) => (Joint::Or, 2),
            ('|', Some('&')) => return Err(self.refusal(c, "`|&` is not decoded; write `2>&1 |`")),
            ('|', _) => (Joint::Pipe, 1),
            (_, Some(';' | '&')) => return Err(self.refusal(c, "case terminators are not decoded")),
            _ => (Joint::Next, 1),
        };
        if self.current.is_none() {
            return Err(self.refusal(c, "a command is missing before the operator"));
        }
        self.at += length;
        self.close(joint)?;
        self.open = joint != Joint::Next;
        Ok(())
    }

    /// Ends the command being read.
    fn close(&mut self, next: Joint) -> Result<(), Refusal> {
        self.line.commands.extend(self.current.take());
        if self.line.commands.len() > MAX_COMMANDS {
            return Err(Refusal {
                at: self.at,
                what: "…".into(),
                why: "the line has over 50 commands",
            });
        }
        self.joint = next;
        self.open = false;
        Ok(())
    }

    /// Reads a redirection of descriptor `from`, standing on its `>`.
    fn redirect(&mut self, from: u8) -> Result<(), Refusal> {
        const WHY: &str =
            "the only redirections decoded are `2>&1`, `>/dev/null` and `2>/dev/null`";
        let start = self.at;
        let Some(command) = &mut self.current else {
            return Err(self.refusal('>', "a redirection before the command's name is not decoded"));
        };
        let after = &self.text[self.at + 1..];
        let (redirect, end) = if from == 2 && after.starts_with("&1") {
            (Redirect::ErrToOut, self.at + 3)
        } else {
            let target = after.trim_start_matches([' ', '\t']);
            if !target.starts_with("/dev/null") {
                return Err(refuse(start, '>', WHY));
            }
            let end = self.text.len() - target.len() + "/dev/null".len();
            (if from == 2 { Redirect::ErrToNull } else { Redirect::OutToNull }, end)
        };
        // The target has to end here: `>/dev/nullx` and `2>&12` are something else.
        if !matches!(
            self.text[end..].chars().next(),
            None | Some(' ' | '\t' | '\n' | ';' | '|' | '&')
        ) {
            return Err(refuse(start, '>', WHY));
        }
        command.redirects.push(redirect);
        self.at = end;
        Ok(())
    }

    fn word(&mut self) -> Result<(), Refusal> {
        let start = self.at;
        let mut atoms: Vec<Atom> = Vec::new();
        let mut wild = false;
        let mut bare = true;
        // The character before, if it was not quoted: it decides what `~` and `^` mean.
        let mut before: Option<char> = None;
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\n' | ';' | '|' | '&' | '<' | '>' | '(' | ')' => break,
                '\'' => {
                    bare = false;
                    before = None;
                    self.single_quoted(&mut atoms)?;
                    continue;
                }
                '"' => {
                    bare = false;
                    before = None;
                    self.double_quoted(&mut atoms)?;
                    continue;
                }
                '\\' => {
                    bare = false;
                    before = None;
                    match self.rest()[1..].chars().next() {
                        None => return Err(self.refusal(c, "nothing follows the backslash")),
                        Some('\n') => {
                            return Err(self.refusal(c, "continued lines are not decoded"));
                        }
                        Some(escaped) => {
                            atoms.push(Atom::Char(escaped));
                            self.at += 1 + escaped.len_utf8();
                        }
                    }
                    continue;
                }
                '*' => atoms.push(Atom::Star),
                '?' => atoms.push(Atom::One),
                '[' => match class_at(self.rest()) {
                    Some((class, length)) => {
                        wild = true;
                        before = None;
                        atoms.push(class);
                        self.at += length;
                        continue;
                    }
                    None => {
                        return Err(self.refusal(
                            c,
                            "only simple bracket patterns such as `[a-z]` are decoded",
                        ));
                    }
                },
                // Neither has a meaning after a letter or a digit; `HEAD~1` and `HEAD^` are common.
                '~' | '^' if before.is_some_and(char::is_alphanumeric) => atoms.push(Atom::Char(c)),
                c if is_plain(c) => atoms.push(Atom::Char(c)),
                c => return Err(self.refusal(c, why_special(c))),
            }
            wild |= matches!(c, '*' | '?');
            before = Some(c);
            self.at += c.len_utf8();
        }
        let word = Word::new(atoms, wild, bare);
        // An unquoted number right before `>` is a descriptor, not an argument.
        let number = word.is_bare() && word.text().bytes().all(|b| b.is_ascii_digit());
        if number && matches!(self.peek(), Some('>' | '<')) {
            return match word.text() {
                "2" if self.peek() == Some('>') => self.redirect(2),
                _ => Err(Refusal {
                    at: start,
                    what: word.text().to_owned(),
                    why: "only descriptor 2 may be redirected by number",
                }),
            };
        }
        self.add(word, start)
    }

    fn add(&mut self, word: Word, start: usize) -> Result<(), Refusal> {
        if let Some(command) = &mut self.current {
            command.words.push(word);
            return Ok(());
        }
        let refused = |why| Err(Refusal { at: start, what: escape_line(word.text()), why });
        if word.is_bare() && KEYWORDS.contains(&word.text()) {
            return refused("a keyword of the shell, not a command");
        }
        if word.is_wild() {
            return refused("a pattern cannot name a command");
        }
        if !is_command_name(word.text()) {
            return refused(
                "a command is named by letters, digits and `_ . + -` only, without a path",
            );
        }
        let (joint, words, redirects) = (self.joint, vec![word], Vec::new());
        self.current = Some(Simple { joint, words, redirects });
        Ok(())
    }

    fn single_quoted(&mut self, atoms: &mut Vec<Atom>) -> Result<(), Refusal> {
        let inner = &self.rest()[1..];
        let Some(length) = inner.find('\'') else {
            return Err(self.refusal('\'', "the quote is never closed"));
        };
        atoms.extend(inner[..length].chars().map(Atom::Char));
        self.at += length + 2;
        Ok(())
    }

    /// Inside double quotes a backslash hides `$`, backtick, `"` and itself, and is an ordinary
    /// character before anything else.
    fn double_quoted(&mut self, atoms: &mut Vec<Atom>) -> Result<(), Refusal> {
        let start = self.at;
        self.at += 1;
        while let Some(c) = self.peek() {
            match c {
                '"' => {
                    self.at += 1;
                    return Ok(());
                }
                '$' | '`' => return Err(self.refusal(c, why_special(c))),
                '\\' => match self.rest()[1..].chars().next() {
                    Some('\n') => return Err(self.refusal(c, "continued lines are not decoded")),
                    Some(escaped @ ('$' | '`' | '"' | '\\')) => {
                        atoms.push(Atom::Char(escaped));
                        self.at += 2;
                    }
                    _ => {
                        atoms.push(Atom::Char('\\'));
                        self.at += 1;
                    }
                },
                c => {
                    atoms.push(Atom::Char(c));
                    self.at += c.len_utf8();
                }
            }
        }
        Err(refuse(start, '"', "the quote is never closed"))
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn refusal(&self, c: char, why: &'static str) -> Refusal {
        refuse(self.at, c, why)
    }
}

fn refuse(at: usize, c: char, why: &'static str) -> Refusal {
    let mut what = escape_line(c.encode_utf8(&mut [0; 4]));
    // Blanks of other scripts are harmless to a terminal, but a reader would take them for a space.
    if is_hidden(c) && what.starts_with(c) {
        what = c.escape_unicode().to_string();
    }
    Refusal { at, what, why }
}

/// Whether rules may speak of a program by this name.
pub(super) fn is_command_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('-')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'+' | b'-'))
}

fn why_special(c: char) -> &'static str {
    match c {
        '$' => "variables, substitutions and arithmetic are not decoded",
        '`' => "command substitutions are not decoded",
        '{' | '}' => "groups and brace expansions are not decoded",
        '~' => "home directories are not expanded; quote the character if it is part of a name",
        '!' => "negation and history are not decoded; quote the character if it is part of a name",
        '#' => "not decoded inside a word; quote the character if it is part of a name",
        _ => "not decoded outside quotes",
    }
}
