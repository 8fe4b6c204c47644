//! A decoded word: its text, and its pattern where it holds unquoted wildcards.

/// One word of a command, with quotes and backslashes taken off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    text: String,
    pattern: Option<Vec<Atom>>,
    bare: bool,
}

/// One position of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Atom {
    Char(char),
    /// `*`: any run of characters, also none, but never a `/`.
    Star,
    /// `?`
    One,
    /// `[a-z]`, or with `negated` `[!a-z]`: ranges with both ends included, and how it was written.
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
        text: String,
    },
}

impl Word {
    /// `wild` says that some atom is not a plain character, `bare` that nothing was quoted.
    pub(super) fn new(atoms: Vec<Atom>, wild: bool, bare: bool) -> Self {
        let mut text = String::with_capacity(atoms.len());
        for atom in &atoms {
            match atom {
                Atom::Char(c) => text.push(*c),
                Atom::Star => text.push('*'),
                Atom::One => text.push('?'),
                Atom::Class { text: written, .. } => text.push_str(written),
            }
        }
        Self { text, pattern: wild.then_some(atoms), bare }
    }

    /// What the program would be given; for a pattern, its text as the shell leaves it when
    /// nothing fits.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The atoms of a word with wildcards.
    pub fn pattern(&self) -> Option<&[Atom]> {
        self.pattern.as_deref()
    }

    pub fn is_wild(&self) -> bool {
        self.pattern.is_some()
    }

    /// No part of it was quoted or escaped.
    pub fn is_bare(&self) -> bool {
        self.bare
    }
}

/// Reads a bracket pattern at the beginning of `text`: letters, digits, `_`, `.` and ranges of
/// them. Named classes, `^`, quotes and stray brackets are left to the shell, which reads them
/// differently from place to place.
pub(super) fn class_at(text: &str) -> Option<(Atom, usize)> {
    let end = text.find(']')?;
    let inner = text.get(1..end)?;
    let (negated, members) = match inner.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, inner),
    };
    let mut ranges = Vec::new();
    let mut rest = members.chars();
    while let Some(first) = rest.next() {
        if !is_member(first) {
            return None;
        }
        let mut ahead = rest.clone();
        if ahead.next() == Some('-') {
            let last =
                ahead.next().filter(|&c| is_member(c) && c >= first && same_kind(first, c))?;
            ranges.push((first, last));
            rest = ahead;
        } else {
            ranges.push((first, first));
        }
    }
    let class = Atom::Class { negated, ranges, text: text[..=end].to_owned() };
    (!members.is_empty()).then_some((class, end + 1))
}

fn is_member(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '.'
}

/// A range within one kind means the same in every locale that orders by code point.
fn same_kind(a: char, b: char) -> bool {
    (a.is_ascii_digit() && b.is_ascii_digit())
        || (a.is_ascii_lowercase() && b.is_ascii_lowercase())
        || (a.is_ascii_uppercase() && b.is_ascii_uppercase())
}
