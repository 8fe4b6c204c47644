//! The options that a rule admits, and what each of them takes.
//!
//! An entry is the option as it is typed, then what it takes:
//!
//! | entry | admits |
//! |---|---|
//! | `-l`, `--all` | the option alone; if no shipped rule knows it, also `--all=VALUE` |
//! | `-n NUM`, `--lines NUM` | `-n 5`, `-n5`, `--lines 5`, `--lines=5` |
//! | `--color[=WORD]` | `--color`, `--color=always`, never a value in the next argument |
//! | `-NUM` | `-20` |
//!
//! `NUM` is a whole number with or without a sign, `WORD` letters, digits and `_.,:+-`, `WORDS` these
//! with blanks and brackets between, `TEXT` anything, `PATTERN` anything, and then no operand is the
//! pattern any more; `PATH` a path inside the workdir, and `a|b|c` one of those words.

/// What an option takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Takes {
    /// Nothing.
    Flag,
    /// A value, attached or in the next argument.
    Value(Kind),
    /// A value after `=`, or nothing.
    Maybe(Kind),
    /// The rule does not say. Both readings of what follows have to be harmless.
    Unknown,
}

/// What a value may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    Word,
    Words,
    Text,
    Pattern,
    Path,
    Choice(Vec<String>),
}

/// The options of one rule.
#[derive(Debug, Clone, Default)]
pub(super) struct Options {
    /// Single letters, without the dash.
    short: Vec<(char, Takes)>,
    /// Everything else, with its dashes.
    long: Vec<(String, Takes)>,
    /// `-20` is admitted.
    number: bool,
    /// Names of one dash and several letters occur, as `-name` of find, so letters are never
    /// taken for a bundle.
    single_dash: bool,
}

/// An argument, read as options.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Parsed<'a> {
    /// Whole in itself: the option and its attached value, or a bundle of flags.
    Whole,
    /// The next argument is the value.
    Needs(&'a Kind),
    /// Whole, but what it takes is unknown.
    Vague,
    /// The pattern was given by this option.
    GavePattern,
    /// The value after the sign has to be a path inside.
    Path(&'a str),
    /// Not among the options.
    Refused,
}

impl Options {
    /// Reads the entries of a rule. `known` are entries of shipped rules for the same program,
    /// which say what an option takes where the rule itself does not.
    pub(super) fn new(entries: &[String], known: Option<&Options>) -> Result<Self, String> {
        let mut options = Self::default();
        for entry in entries {
            options.add(entry, known)?;
        }
        Ok(options)
    }

    fn add(&mut self, entry: &str, known: Option<&Options>) -> Result<(), String> {
        if entry == "-NUM" {
            self.number = true;
            return Ok(());
        }
        let (name, takes) = split_entry(entry)?;
        let takes =
            takes.or_else(|| known.and_then(|k| k.find(name)).cloned()).unwrap_or(Takes::Unknown);
        self.put(name, takes);
        Ok(())
    }

    /// Marks every option that says nothing as a plain flag: how the shipped rules are written.
    pub(super) fn settle(&mut self) {
        for takes in
            self.short.iter_mut().map(|(_, t)| t).chain(self.long.iter_mut().map(|(_, t)| t))
        {
            if *takes == Takes::Unknown {
                *takes = Takes::Flag;
            }
        }
    }

    /// Adds the options of another rule. Where both know one, what takes more stays: a value that
    /// might be there has to be reckoned with.
    pub(super) fn join(&mut self, other: &Options) {
        let short = other.short.iter().map(|(c, t)| (format!("-{c}"), t));
        let long = other.long.iter().map(|(n, t)| (n.clone(), t));
        for (name, takes) in short.chain(long) {
            match self.find(&name) {
                None => self.put(&name, takes.clone()),
                Some(mine) if mine == takes => {}
                Some(_) => self.set(&name, Takes::Unknown),
            }
        }
    }

    pub(super) fn single_dash(&self) -> bool {
        self.single_dash
    }

    fn put(&mut self, name: &str, takes: Takes) {
        if let Some(letter) = short_letter(name) {
            self.short.push((letter, takes));
        } else {
            self.single_dash |= !name.starts_with("--");
            self.long.push((name.to_owned(), takes));
        }
    }

    fn set(&mut self, name: &str, takes: Takes) {
        self.short.retain(|(c, _)| short_letter(name) != Some(*c));
        self.long.retain(|(n, _)| n != name);
        self.put(name, takes);
    }

    fn find(&self, name: &str) -> Option<&Takes> {
        match short_letter(name) {
            Some(letter) => self.short(letter),
            None => self.long.iter().find(|(n, _)| n == name).map(|(_, t)| t),
        }
    }

    fn short(&self, letter: char) -> Option<&Takes> {
        self.short.iter().find(|(c, _)| *c == letter).map(|(_, t)| t)
    }

    /// Reads an argument that begins with a dash. Names count only in full.
    pub(super) fn parse<'a>(&'a self, argument: &'a str) -> Parsed<'a> {
        if let Some(takes) = self.find(argument) {
            return alone(takes);
        }
        if self.number && argument.len() > 1 && argument[1..].bytes().all(|b| b.is_ascii_digit()) {
            return Parsed::Whole;
        }
        if argument.starts_with("--") || self.single_dash {
            let Some((name, value)) = argument.split_once('=') else { return Parsed::Refused };
            return match self.find(name) {
                // A letter takes its value without a sign: `-n=5` gives it the text `=5`.
                Some(_) if short_letter(name).is_some() => Parsed::Refused,
                Some(Takes::Value(kind) | Takes::Maybe(kind)) => attached(kind, value),
                Some(Takes::Unknown) => Parsed::Path(value),
                Some(Takes::Flag) | None => Parsed::Refused,
            };
        }
        self.bundle(&argument[1..])
    }

    fn bundle<'a>(&'a self, letters: &'a str) -> Parsed<'a> {
        let mut result = Parsed::Whole;
        for (at, letter) in letters.char_indices() {
            let rest = &letters[at + letter.len_utf8()..];
            match self.short(letter) {
                Some(Takes::Flag) => {}
                // Behind a letter of unknown appetite this would be guesswork.
                Some(Takes::Value(_)) if result == Parsed::Vague => return Parsed::Refused,
                Some(Takes::Value(kind)) if rest.is_empty() => return Parsed::Needs(kind),
                Some(Takes::Value(kind)) => return attached(kind, rest),
                // With something behind it, it may be a value or more letters: not in a bundle.
                Some(Takes::Maybe(_)) if rest.is_empty() => {}
                Some(Takes::Unknown) => result = Parsed::Vague,
                Some(Takes::Maybe(_)) | None => return Parsed::Refused,
            }
        }
        result
    }
}

fn alone(takes: &Takes) -> Parsed<'_> {
    match takes {
        Takes::Flag | Takes::Maybe(_) => Parsed::Whole,
        Takes::Value(kind) => Parsed::Needs(kind),
        Takes::Unknown => Parsed::Vague,
    }
}

fn attached<'a>(kind: &Kind, value: &'a str) -> Parsed<'a> {
    match kind {
        Kind::Path => Parsed::Path(value),
        Kind::Pattern => Parsed::GavePattern,
        kind if kind.admits(value) => Parsed::Whole,
        _ => Parsed::Refused,
    }
}

impl Kind {
    /// Whether `value` has the form; a path is judged by its place besides.
    pub(super) fn admits(&self, value: &str) -> bool {
        match self {
            Self::Number => {
                let digits = value.strip_prefix(['+', '-']).unwrap_or(value);
                !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
            }
            Self::Word => {
                value.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.,:+-".contains(&b))
            }
            Self::Words => {
                value.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.,:+-[] ".contains(&b))
            }
            Self::Choice(words) => words.iter().any(|w| w == value),
            Self::Text | Self::Pattern | Self::Path => true,
        }
    }
}

/// The letter of `-x`.
fn short_letter(name: &str) -> Option<char> {
    let mut rest = name.strip_prefix('-')?.chars();
    let letter = rest.next().filter(|&c| c != '-')?;
    rest.next().is_none().then_some(letter)
}

fn split_entry(entry: &str) -> Result<(&str, Option<Takes>), String> {
    let (name, takes) = if let Some((name, rest)) = entry.split_once("[=") {
        let kind = rest.strip_suffix(']').and_then(kind).ok_or_else(|| wrong(entry))?;
        (name, Some(Takes::Maybe(kind)))
    } else if let Some((name, rest)) = entry.split_once(' ') {
        (name, Some(Takes::Value(kind(rest).ok_or_else(|| wrong(entry))?)))
    } else {
        (entry, None)
    };
    let good = name.len() > 1
        && name.starts_with('-')
        && name != "--"
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'0'..=b'9'));
    if good { Ok((name, takes)) } else { Err(wrong(entry)) }
}

fn kind(text: &str) -> Option<Kind> {
    Some(match text {
        "NUM" => Kind::Number,
        "WORD" => Kind::Word,
        "WORDS" => Kind::Words,
        "TEXT" => Kind::Text,
        "PATTERN" => Kind::Pattern,
        "PATH" => Kind::Path,
        words if words.contains('|') => Kind::Choice(words.split('|').map(str::to_owned).collect()),
        _ => return None,
    })
}

fn wrong(entry: &str) -> String {
    format!(
        "`{entry}` is not an option entry; write `-x`, `--name`, `--name NUM` or `--name[=WORD]`, \
         with one of NUM, WORD, WORDS, TEXT, PATTERN, PATH or a choice such as `a|b`"
    )
}
