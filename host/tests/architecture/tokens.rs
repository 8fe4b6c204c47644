//! Rust source as words and signs, without comments; literals are no words.
//!
//! Much less than a parser: enough to see paths, macros and keywords where they are code.

use std::iter::Peekable;
use std::str::Chars;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    /// A word, `::`, one sign, or an ordinary string with a quote before it.
    pub(crate) text: String,
    pub(crate) line: usize,
    /// How many `mod name { … }` of the same file are around it.
    pub(crate) inline: usize,
    /// Whether it is compiled for tests only.
    pub(crate) test: bool,
}

pub(crate) fn read(source: &str) -> Vec<Token> {
    let mut tokens = Scanner { rest: source.chars().peekable(), line: 1, found: Vec::new() }.scan();
    count_modules(&mut tokens);
    mark_tests(&mut tokens);
    tokens
}

struct Scanner<'a> {
    rest: Peekable<Chars<'a>>,
    line: usize,
    found: Vec<Token>,
}

impl Scanner<'_> {
    fn scan(mut self) -> Vec<Token> {
        while let Some(c) = self.next() {
            match c {
                '/' if self.rest.peek() == Some(&'/') => self.skip_line(),
                '/' if self.rest.peek() == Some(&'*') => self.skip_block(),
                '"' => self.string(),
                '\'' => self.skip_quote(),
                c if c.is_alphanumeric() || c == '_' => self.word(c),
                ':' if self.rest.peek() == Some(&':') => {
                    self.next();
                    self.push("::".into());
                }
                c if c.is_whitespace() => {}
                c => self.push(c.to_string()),
            }
        }
        self.found
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.next()?;
        self.line += usize::from(c == '\n');
        Some(c)
    }

    fn push(&mut self, text: String) {
        self.found.push(Token { text, line: self.line, inline: 0, test: false });
    }

    fn word(&mut self, first: char) {
        let mut word = String::from(first);
        while let Some(c) = self.rest.next_if(|c| c.is_alphanumeric() || *c == '_') {
            word.push(c);
        }
        let hashes_follow = self.rest.peek() == Some(&'#');
        match &*word {
            "r" | "br" | "cr" if hashes_follow => self.raw_string_or_word(),
            "r" | "br" | "cr" if self.rest.next_if_eq(&'"').is_some() => self.skip_raw(0),
            // The prefix of a literal, which the next round skips.
            "b" | "c" if matches!(self.rest.peek(), Some('"' | '\'')) => {}
            _ => self.push(word),
        }
    }

    /// Behind an `r`: either `#"…"#` with any number of `#`, or a raw word as in `r#type`.
    fn raw_string_or_word(&mut self) {
        let mut hashes = 0;
        while self.rest.next_if_eq(&'#').is_some() {
            hashes += 1;
        }
        if self.rest.next_if_eq(&'"').is_some() {
            self.skip_raw(hashes);
        }
    }

    fn skip_raw(&mut self, hashes: usize) {
        while let Some(c) = self.next() {
            let mut closing = 0;
            while c == '"' && closing < hashes && self.rest.next_if_eq(&'#').is_some() {
                closing += 1;
            }
            if c == '"' && closing == hashes {
                return;
            }
        }
    }

    fn skip_line(&mut self) {
        while self.next().is_some_and(|c| c != '\n') {}
    }

    /// Block comments nest.
    fn skip_block(&mut self) {
        let mut depth = 0;
        let mut last = '/';
        while let Some(c) = self.next() {
            match (last, c) {
                ('/', '*') => depth += 1,
                ('*', '/') => depth -= 1,
                _ => {
                    last = c;
                    continue;
                }
            }
            if depth == 0 {
                return;
            }
            // Neither sign may count for another pair.
            last = ' ';
        }
    }

    /// Kept, with a quote before it so that it is never taken for a word: attributes hold paths.
    fn string(&mut self) {
        let mut text = String::from('"');
        while let Some(c) = self.next() {
            match c {
                '\\' => {
                    self.next();
                }
                '"' => break,
                c => text.push(c),
            }
        }
        self.push(text);
    }

    /// A character, or a lifetime: that has no second quote.
    fn skip_quote(&mut self) {
        match self.next() {
            Some('\\') => {
                self.next();
                while self.next().is_some_and(|c| c != '\'') {}
            }
            Some(c) if self.rest.next_if_eq(&'\'').is_some() || !c.is_alphanumeric() => {}
            _ => while self.rest.next_if(|c| c.is_alphanumeric() || *c == '_').is_some() {},
        }
    }
}

/// Whether the tokens from `at` on read `texts`.
pub(crate) fn reads(tokens: &[Token], at: usize, texts: &[&str]) -> bool {
    texts.iter().enumerate().all(|(i, text)| tokens.get(at + i).is_some_and(|t| t.text == *text))
}

/// The index behind the bracket that closes the one at `open`.
pub(crate) fn closing(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match &*token.text {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

fn count_modules(tokens: &mut [Token]) {
    for at in 0..tokens.len() {
        if tokens[at].text == "mod" && reads(tokens, at + 2, &["{"]) {
            let end = closing(tokens, at + 2);
            for token in &mut tokens[at + 2..end] {
                token.inline += 1;
            }
        }
    }
}

/// Marks each item behind `#[cfg(test)]`, to its `;` or closing brace.
fn mark_tests(tokens: &mut [Token]) {
    const ATTRIBUTE: &[&str] = &["#", "[", "cfg", "(", "test", ")", "]"];
    if reads(tokens, 0, &["#", "!", "[", "cfg", "(", "test", ")", "]"]) {
        for token in tokens.iter_mut() {
            token.test = true;
        }
    }
    for at in 0..tokens.len() {
        if !reads(tokens, at, ATTRIBUTE) {
            continue;
        }
        let mut end = at + ATTRIBUTE.len();
        while let Some(token) = tokens.get(end) {
            match &*token.text {
                ";" => break,
                "{" => {
                    end = closing(tokens, end);
                    break;
                }
                // Attributes and parameters may hold any sign.
                "(" | "[" => end = closing(tokens, end),
                _ => end += 1,
            }
        }
        let end = end.min(tokens.len());
        for token in &mut tokens[at..end] {
            token.test = true;
        }
    }
}
