//! Telling quickly that a file cannot hold a match.
//!
//! Most searches are for plain text, and by default capitals do not count. The expression engine
//! finds such text byte by byte where it has no vector instructions of its own for it, as in a
//! component; looking for the rarest of its bytes is many times faster and rules nearly every
//! file out.

use memchr::{memchr, memchr2, memmem};

use super::{Case, Request};

/// A plain text of which a match consists, whatever its capitals.
#[derive(Debug)]
pub(super) struct Prefilter {
    /// In small letters.
    text: Vec<u8>,
    /// Which byte of `text` is looked for first.
    rare: usize,
    /// Whether letters from outside ASCII fold to one of `text`: the Kelvin sign to `k`, the long
    /// s to `s`.
    foreign: bool,
}

impl Prefilter {
    /// `None` where the expression is not plain ASCII text, or capitals count anyway, which the
    /// engine finds quickly enough.
    pub(super) fn new(request: &Request) -> Option<Self> {
        let pattern = request.pattern.as_bytes();
        let plain = pattern.iter().all(|byte| {
            byte.is_ascii_alphanumeric()
                || matches!(
                    byte,
                    b' ' | b'_'
                        | b'-'
                        | b'/'
                        | b':'
                        | b'='
                        | b'"'
                        | b'\''
                        | b','
                        | b';'
                        | b'<'
                        | b'>'
                        | b'@'
                        | b'%'
                        | b'!'
                )
        });
        let folds = match request.case {
            Case::Insensitive => true,
            Case::Smart => !pattern.iter().any(u8::is_ascii_uppercase),
            Case::Sensitive => false,
        };
        if !plain || !folds || pattern.len() < 2 {
            return None;
        }
        let text = pattern.to_ascii_lowercase();
        let rare = (0..text.len()).min_by_key(|at| commonness(text[*at]))?;
        let foreign = text.iter().any(|byte| matches!(byte, b'k' | b's'));
        Some(Self { text, rare, foreign })
    }

    /// Whether `bytes` may hold a match. UTF-16 text always may.
    pub(super) fn may_match(&self, bytes: &[u8]) -> bool {
        self.holds(bytes)
            || (self.foreign
                && (memmem::find(bytes, "\u{212a}".as_bytes()).is_some()
                    || memmem::find(bytes, "\u{17f}".as_bytes()).is_some()))
            || bytes.starts_with(b"\xff\xfe")
            || bytes.starts_with(b"\xfe\xff")
    }

    fn holds(&self, bytes: &[u8]) -> bool {
        let small = self.text[self.rare];
        let capital = small.to_ascii_uppercase();
        let mut from = 0;
        loop {
            let rest = &bytes[from..];
            let found =
                if small == capital { memchr(small, rest) } else { memchr2(small, capital, rest) };
            let Some(found) = found else {
                return false;
            };
            let at = from + found;
            from = at + 1;
            let window = at
                .checked_sub(self.rare)
                .and_then(|start| bytes.get(start..start + self.text.len()));
            if window.is_some_and(|window| window.eq_ignore_ascii_case(&self.text)) {
                return true;
            }
        }
    }
}

/// How common a byte is in text and programs, roughly.
fn commonness(byte: u8) -> usize {
    const BY_USE: &[u8] = b" etaoinsrlcdupm_=\"fhg,:;byv/'-w<>0k1x2";
    BY_USE.iter().rev().position(|known| *known == byte).map_or(0, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, bytes: &str, expect: bool) {
        let filter = Prefilter::new(&Request::of(pattern));
        assert_eq!(
            filter.map(|filter| filter.may_match(bytes.as_bytes())),
            Some(expect),
            "{pattern}"
        );
    }

    #[test]
    fn texts_are_found_whatever_their_capitals() {
        check("needle_here", "a NEEDLE_here b", true);
        check("needle_here", "a needle_her", false);
        check("jj", "jaJj", true);
        check("kiss", "\u{212a}I\u{17f}s", true);
        check("ab", "", false);
    }

    #[test]
    fn what_is_no_plain_text_is_left_to_the_engine() {
        for pattern in ["a.b", "a|b", "Needle", "é", "x", "a\\b", "a$"] {
            assert!(Prefilter::new(&Request::of(pattern)).is_none(), "{pattern}");
        }
    }
}
