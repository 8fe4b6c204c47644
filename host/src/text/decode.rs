//! From the bytes that a program printed to text: a byte order mark decides, else valid UTF-8
//! stands as it is, else GB18030, or whatever was configured.
//!
//! What is printed comes in pieces, so the choice is made over all of it ([`Detector`]) and a
//! character may lie across a border. Short text is ambiguous: the GBK bytes of some words are
//! valid UTF-8 too, which is why an encoding can be configured.

use encoding_rs::{Decoder, DecoderResult, Encoding, GB18030, UTF_8};

/// Which encoding output is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputEncoding {
    /// By byte order mark, validity and fallback.
    #[default]
    Auto,
    Always(&'static Encoding),
}

impl OutputEncoding {
    /// `auto`, or a label of the Encoding Standard (encoding.spec.whatwg.org), such as `utf-8`,
    /// `gbk`, `gb18030`, `shift_jis`.
    pub fn named(label: &str) -> Option<Self> {
        if label.eq_ignore_ascii_case("auto") {
            return Some(Self::Auto);
        }
        Encoding::for_label(label.as_bytes()).map(Self::Always)
    }
}

/// Watches bytes go by and tells in the end what they are.
pub struct Detector {
    configured: OutputEncoding,
    start: Vec<u8>,
    utf8: Option<Decoder>,
    gb18030: Option<Decoder>,
    scratch: String,
}

impl Detector {
    pub fn new(configured: OutputEncoding) -> Self {
        Self {
            configured,
            start: Vec::new(),
            utf8: Some(UTF_8.new_decoder_without_bom_handling()),
            gb18030: Some(GB18030.new_decoder_without_bom_handling()),
            scratch: String::with_capacity(16 * 1024),
        }
    }

    /// Takes the next bytes, in order.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.start.len() < 3 {
            self.start.extend(bytes.iter().take(3 - self.start.len()));
        }
        if self.configured == OutputEncoding::Auto {
            check(&mut self.utf8, bytes, &mut self.scratch);
            check(&mut self.gb18030, bytes, &mut self.scratch);
        }
    }

    /// The encoding of everything so far. What is valid in none is called UTF-8: its faults then
    /// show as replacement characters, one by one.
    pub fn encoding(&self) -> &'static Encoding {
        if let OutputEncoding::Always(encoding) = self.configured {
            return encoding;
        }
        if let Some((encoding, _)) = Encoding::for_bom(&self.start) {
            return encoding;
        }
        match (&self.utf8, &self.gb18030) {
            (None, Some(_)) => GB18030,
            _ => UTF_8,
        }
    }
}

impl std::fmt::Debug for Detector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Detector")
            .field("encoding", &self.encoding().name())
            .finish_non_exhaustive()
    }
}

/// Drops the decoder at the first bytes that it cannot read. A character that is not complete yet
/// is none of these.
fn check(decoder: &mut Option<Decoder>, mut bytes: &[u8], scratch: &mut String) {
    let Some(reading) = decoder else { return };
    loop {
        scratch.clear();
        let (result, read) = reading.decode_to_string_without_replacement(bytes, scratch, false);
        bytes = &bytes[read..];
        match result {
            DecoderResult::InputEmpty => return,
            DecoderResult::OutputFull => {}
            DecoderResult::Malformed(..) => {
                *decoder = None;
                return;
            }
        }
    }
}

/// The text of `bytes`, without a byte order mark; faults become replacement characters.
pub fn decode_as(bytes: &[u8], encoding: &'static Encoding) -> String {
    encoding.decode_with_bom_removal(bytes).0.into_owned()
}

/// The text of bytes that are all there.
pub fn decode(bytes: &[u8], configured: OutputEncoding) -> String {
    let mut detector = Detector::new(configured);
    detector.feed(bytes);
    decode_as(bytes, detector.encoding())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gbk(text: &str) -> Vec<u8> {
        GB18030.encode(text).0.into_owned()
    }

    #[test]
    fn req_091_mark_then_utf8_then_gb18030() {
        let check = |bytes: &[u8], expect: &str| {
            assert_eq!(decode(bytes, OutputEncoding::Auto), expect, "{bytes:x?}");
        };
        check(b"plain", "plain");
        check("目录 é".as_bytes(), "目录 é");
        check(b"\xef\xbb\xbfwith a mark", "with a mark");
        check(b"\xff\xfea\0b\0", "ab");
        check(&gbk("系统找不到指定的文件。"), "系统找不到指定的文件。");
        check(&gbk("emoji 😀 四字节"), "emoji 😀 四字节");
        check(b"bad \xff\xff end", "bad \u{fffd}\u{fffd} end");
    }

    #[test]
    fn req_065_an_encoding_can_be_configured_because_validity_proves_nothing() {
        // The GBK bytes of this word are valid UTF-8, and mean something else there.
        let bytes = gbk("目录");
        assert!(std::str::from_utf8(&bytes).is_ok());
        let configured = OutputEncoding::named("gbk").expect("a label");
        assert_eq!(decode(&bytes, configured), "目录");
        assert_ne!(decode(&bytes, OutputEncoding::Auto), "目录");
        assert!(OutputEncoding::named("klingon").is_none());
    }

    #[test]
    fn a_character_across_a_border_is_not_a_fault() {
        for text in ["目录", "a目b录c😀"] {
            for bytes in [text.as_bytes().to_vec(), gbk(text)] {
                let whole = decode(&bytes, OutputEncoding::Auto);
                for at in 0..=bytes.len() {
                    let mut detector = Detector::new(OutputEncoding::Auto);
                    detector.feed(&bytes[..at]);
                    detector.feed(&bytes[at..]);
                    assert_eq!(decode_as(&bytes, detector.encoding()), whole, "{at} of {bytes:x?}");
                }
            }
        }
    }
}
