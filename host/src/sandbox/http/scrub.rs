//! Takes secrets out of what comes back, whole or in a stream that is cut anywhere.
//!
//! What is found is overwritten with stars of the same length, so lengths that were announced
//! stay true and a stream needs no rewriting.

use bytes::Bytes;

use crate::policy::SecretHeader;

use super::forms;

/// The spellings of a plugin's secrets, ready to be looked for.
pub(super) struct Scrub {
    forms: Vec<Vec<u8>>,
    /// Which forms begin with a byte, by that byte.
    by_first: Vec<Vec<u16>>,
    longest: usize,
}

impl Scrub {
    pub(super) fn new(secrets: &[SecretHeader]) -> Self {
        let forms = forms::all(secrets);
        let mut by_first = vec![Vec::new(); if forms.is_empty() { 0 } else { 256 }];
        for (at, form) in forms.iter().enumerate() {
            if let (Some(first), Ok(at)) = (form.first(), u16::try_from(at)) {
                by_first[usize::from(*first)].push(at);
            }
        }
        let longest = forms.iter().map(Vec::len).max().unwrap_or(0);
        Self { forms, by_first, longest }
    }

    /// Whether there is nothing to look for.
    pub(super) fn is_idle(&self) -> bool {
        self.forms.is_empty()
    }

    /// `bytes` with every secret overwritten; none where it holds none.
    pub(super) fn bytes(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut clean = None;
        self.cover(bytes, |from, to| {
            clean.get_or_insert_with(|| bytes.to_vec())[from..to].fill(b'*');
        });
        clean
    }

    pub(super) fn text(&self, text: &str) -> String {
        match self.bytes(text.as_bytes()) {
            Some(clean) => String::from_utf8_lossy(&clean).into_owned(),
            None => text.to_owned(),
        }
    }

    /// Tells `found` of every occurrence of every form, overlapping ones included.
    fn cover(&self, bytes: &[u8], mut found: impl FnMut(usize, usize)) {
        if self.is_idle() {
            return;
        }
        for (at, first) in bytes.iter().enumerate() {
            for form in self.starting(*first) {
                if bytes[at..].starts_with(form) {
                    found(at, at + form.len());
                }
            }
        }
    }

    fn starting(&self, first: u8) -> impl Iterator<Item = &Vec<u8>> {
        self.by_first[usize::from(first)].iter().map(|at| &self.forms[usize::from(*at)])
    }

    /// From where on the end of `bytes` could be the beginning of a form.
    fn undecided(&self, bytes: &[u8]) -> usize {
        let from = bytes.len().saturating_sub(self.longest.saturating_sub(1));
        let open =
            |at: &usize| self.starting(bytes[*at]).any(|form| form.starts_with(&bytes[*at..]));
        (from..bytes.len()).find(open).unwrap_or(bytes.len())
    }
}

/// One body on its way.
pub(super) struct Stream {
    scrub: std::sync::Arc<Scrub>,
    /// What may be the beginning of a secret, as it came: shorter than the longest form.
    held: Vec<u8>,
    /// So many bytes at the start of `held` belong to a secret that was found already.
    covered: usize,
}

impl Stream {
    pub(super) fn new(scrub: std::sync::Arc<Scrub>) -> Self {
        Self { scrub, held: Vec::new(), covered: 0 }
    }

    /// Takes a piece; gives what is decided, which may be nothing yet.
    pub(super) fn push(&mut self, piece: &[u8]) -> Bytes {
        self.held.extend_from_slice(piece);
        let cut = self.scrub.undecided(&self.held);
        self.give(cut)
    }

    /// The rest, when no more comes.
    pub(super) fn finish(&mut self) -> Bytes {
        self.give(self.held.len())
    }

    fn give(&mut self, cut: usize) -> Bytes {
        let mut clean = self.held.clone();
        clean[..self.covered].fill(b'*');
        let mut reach = self.covered;
        self.scrub.cover(&self.held, |from, to| {
            clean[from..to].fill(b'*');
            // What begins in the rest is found again there.
            if from < cut {
                reach = reach.max(to);
            }
        });
        clean.truncate(cut);
        self.held.drain(..cut);
        self.covered = reach.saturating_sub(cut).min(self.held.len());
        clean.into()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    const CANARY: &str = "sk-CANARY/0123+\"456";

    fn scrub(secret: &str, format: &str) -> Arc<Scrub> {
        let secret = SecretHeader::new("a.example", "authorization", secret, format).unwrap();
        Arc::new(Scrub::new(&[secret]))
    }

    #[test]
    fn a_secret_is_found_wherever_the_stream_is_cut() {
        let scrub = scrub(CANARY, "Bearer {}");
        let body = format!(
            "a {CANARY}{CANARY} sk-CAN {} sk-CANARY%2F0123%2B%22456 end sk-CANARY",
            STANDARD.encode(format!("x{CANARY}"))
        );
        let whole = scrub.bytes(body.as_bytes()).unwrap();
        let text = String::from_utf8(whole.clone()).unwrap();
        assert!(!text.contains("0123") && text.ends_with("end sk-CANARY"), "{text}");
        assert_eq!(whole.len(), body.len());
        for size in 1..body.len() {
            for shift in [0, 1, size / 2] {
                let mut stream = Stream::new(Arc::clone(&scrub));
                let (head, tail) = body.as_bytes().split_at(shift.min(body.len()));
                let mut got = stream.push(head).to_vec();
                for piece in tail.chunks(size) {
                    got.extend(stream.push(piece));
                    assert!(stream.held.len() < scrub.longest, "what is held is bounded");
                }
                got.extend(stream.finish());
                assert_eq!(got, whole, "pieces of {size} after {shift}");
            }
        }
    }

    #[test]
    fn overlapping_secrets_leave_no_rest() {
        let secret = |text| SecretHeader::new("a.example", "x-key", text, "{}").unwrap();
        let scrub = Arc::new(Scrub::new(&[secret("abcdefgh"), secret("efghijklmnop")]));
        for size in 1..20 {
            let mut stream = Stream::new(Arc::clone(&scrub));
            let mut got = Vec::new();
            for piece in b"- abcdefghijklmnop -".chunks(size) {
                got.extend(stream.push(piece));
            }
            got.extend(stream.finish());
            assert_eq!(got, b"- **************** -", "pieces of {size}");
        }
    }

    #[test]
    fn every_spelling_is_found() {
        let scrub = scrub(CANARY, "{}");
        let hexadecimal: Vec<String> = CANARY.bytes().map(|byte| format!("{byte:02x}")).collect();
        let hexadecimal = hexadecimal.concat();
        for spelling in [
            CANARY.to_owned(),
            "sk-CANARY%2f0123%2b%22456".to_owned(),
            "sk-CANARY/0123+\\\"456".to_owned(),
            "sk-CANARY\\/0123+\\\"456".to_owned(),
            "sk-CANARY/0123+&quot;456".to_owned(),
            hexadecimal.to_uppercase(),
            hexadecimal,
        ] {
            let stars = "*".repeat(spelling.len());
            assert_eq!(scrub.text(&format!("<{spelling}>")), format!("<{stars}>"));
        }
        for lead in ["", "B", "Be", "Bearer "] {
            let encoded = STANDARD.encode(format!("{lead}{CANARY} and more"));
            assert!(scrub.text(&encoded).contains("********"), "{lead}");
        }
        assert_eq!(scrub.text("sk-CANARY alone"), "sk-CANARY alone");
    }

    #[test]
    fn what_basic_credentials_hold_is_found_too() {
        let scrub = scrub(&STANDARD.encode("user:pass-CANARY"), "Basic {}");
        assert_eq!(scrub.text("hello user:pass-CANARY"), format!("hello {}", "*".repeat(16)));
        assert_eq!(scrub.text("your pass-CANARY"), format!("your {}", "*".repeat(11)));
    }

    #[test]
    fn without_secrets_nothing_is_looked_for() {
        let scrub = Scrub::new(&[]);
        assert!(scrub.is_idle());
        assert_eq!(scrub.bytes(b"anything"), None);
    }
}
