//! Keys: values that never appear in a log, an error or a debug print.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use thiserror::Error;

/// Keys shorter than this are placeholders (`none`, `ollama`); looking for them would garble texts.
const SHORTEST_SCRUBBED: usize = 8;

/// What stands in a text where a key stood.
const REDACTED: &str = "[key]";

/// A key. Printing it in any way gives `[key]`; only [`Secret::expose`] gives the text.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// Why a text cannot be a key. The text itself is never part of the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BadSecret {
    #[error("the key is empty; set it, or leave it out where the service needs none")]
    Empty,
    #[error(
        "the key has a character at position {at} that cannot stand in an HTTP header; copy it again without line breaks"
    )]
    Character { at: usize },
}

impl Secret {
    /// Takes a key as it stood in a file or a variable: white space around it is dropped, and what
    /// cannot be sent in a header (RFC 9110, section 5.5) is refused.
    pub fn new(raw: &str) -> Result<Self, BadSecret> {
        let key = raw.trim_matches([' ', '\t', '\r', '\n']);
        if key.is_empty() {
            return Err(BadSecret::Empty);
        }
        match key.chars().position(|c| !(' '..='~').contains(&c)) {
            Some(at) => Err(BadSecret::Character { at: at + 1 }),
            None => Ok(Self(key.to_owned())),
        }
    }

    /// The key itself, for the one header that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(REDACTED)
    }
}

impl std::fmt::Display for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(REDACTED)
    }
}

/// Finds keys in foreign text, also in base64 and with percent signs, and takes them out.
#[derive(Clone, Default)]
pub struct Scrubber {
    /// Longest first, so that no shorter form leaves a rest of a longer one.
    forms: Vec<String>,
}

impl std::fmt::Debug for Scrubber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Scrubber({} forms)", self.forms.len())
    }
}

impl Scrubber {
    /// Looks for each of `keys` that is at least eight bytes long.
    pub fn new<'a>(keys: impl IntoIterator<Item = &'a str>) -> Self {
        let mut forms: Vec<String> = keys
            .into_iter()
            .filter(|key| key.len() >= SHORTEST_SCRUBBED)
            .flat_map(|key| {
                let mut forms = vec![key.to_owned(), percent(key, true), percent(key, false)];
                forms.extend(base64_cores(key));
                forms
            })
            .collect();
        forms.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        forms.dedup();
        Self { forms }
    }

    /// `text` with `[key]` in place of every form of every key.
    pub fn scrub(&self, text: &str) -> String {
        self.forms.iter().fold(text.to_owned(), |text, form| {
            if text.contains(form.as_str()) { text.replace(form.as_str(), REDACTED) } else { text }
        })
    }
}

/// Percent-encoding (RFC 3986, section 2.1) of all but the unreserved characters.
fn percent(key: &str, upper: bool) -> String {
    key.bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            _ if upper => format!("%{byte:02X}"),
            _ => format!("%{byte:02x}"),
        })
        .collect()
}

/// The characters that the key gives in base64 wherever it begins within a longer text: three
/// alignments, each without the characters at its ends that depend on the neighbours.
fn base64_cores(key: &str) -> Vec<String> {
    let mut cores = Vec::new();
    for lead in 0..3_usize {
        let mut bytes = vec![0; lead];
        bytes.extend_from_slice(key.as_bytes());
        // The first character that holds no bit of the lead, and the last with bits of the key only.
        let from = (lead * 8).div_ceil(6);
        let to = bytes.len() * 8 / 6;
        for engine in [&STANDARD, &URL_SAFE] {
            let text = engine.encode(&bytes);
            if to > from + SHORTEST_SCRUBBED {
                cores.push(text[from..to].to_owned());
            }
        }
    }
    cores
}

#[cfg(test)]
mod tests {
    use super::*;

    const CANARY: &str = "sk-CANARY/0123+456789";

    #[test]
    fn n41_a_key_is_trimmed_or_refused_without_being_printed() {
        for raw in ["sk-CANARY\r\n", "  sk-CANARY \n", "sk-CANARY\r"] {
            assert_eq!(Secret::new(raw).unwrap().expose(), "sk-CANARY");
        }
        for raw in ["sk-CAN\nARY", "sk-CAN\u{1}ARY", "sk-CAN\u{200b}ARY", "sk-CAN\u{7f}ARY"] {
            let bad = Secret::new(raw).unwrap_err();
            assert_eq!(bad, BadSecret::Character { at: 7 });
            assert!(!bad.to_string().contains("CAN"), "{bad}");
        }
        assert_eq!(Secret::new(" \r\n"), Err(BadSecret::Empty));
    }

    #[test]
    fn n42_no_print_shows_a_key() {
        let secret = Secret::new(CANARY).unwrap();
        assert_eq!(format!("{secret} {secret:?} {:?}", Some(&secret)), "[key] [key] Some([key])");
        let scrubber = Scrubber::new([CANARY]);
        assert!(!format!("{scrubber:?}").contains("CANARY"));
    }

    #[test]
    fn n42_encoded_keys_are_found_wherever_they_begin() {
        let scrubber = Scrubber::new([CANARY]);
        assert_eq!(
            scrubber.scrub(&format!("key {CANARY}, again {CANARY}")),
            "key [key], again [key]"
        );
        assert_eq!(scrubber.scrub("k=sk-CANARY%2F0123%2B456789&"), "k=[key]&");
        assert_eq!(scrubber.scrub("k=sk-CANARY%2f0123%2b456789&"), "k=[key]&");
        for prefix in ["", "B", "Be", "Bearer ", "user:", "x-api-key: "] {
            for engine in [&STANDARD, &URL_SAFE] {
                let encoded = engine.encode(format!("{prefix}{CANARY} and more"));
                let scrubbed = scrubber.scrub(&encoded);
                assert!(scrubbed.contains("[key]"), "{prefix}: {encoded} -> {scrubbed}");
            }
        }
    }

    #[test]
    fn placeholders_do_not_garble_texts() {
        assert_eq!(Scrubber::new(["none", "a"]).scrub("none at all"), "none at all");
    }
}
