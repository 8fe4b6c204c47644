//! Which encoding a text is in, and the way to UTF-8 and back.
//!
//! Bytes that are not valid UTF-8 are taken for GB18030 or Latin-1, whichever they look more like.
//! That is a guess; every reader of it says so to the model, which can name another encoding.

use std::borrow::Cow;

use encoding_rs::{Encoding, GB18030, UTF_8, UTF_16BE, UTF_16LE};

/// An encoding of text, with what is needed to write it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charset {
    /// UTF-8. `clean` is false when some bytes are not valid.
    Utf8 { bom: bool, clean: bool },
    /// UTF-16 with a byte order mark, or without one when it was asked for by name.
    Utf16 { big: bool, bom: bool },
    /// UTF-32 with a byte order mark.
    Utf32 { big: bool },
    /// GB18030, which holds GBK and GB2312.
    Gb18030,
    /// ISO 8859-1: each byte is the character of its number.
    Latin1,
    /// Another one, asked for by name.
    Named(&'static Encoding),
}

impl Charset {
    /// Plain UTF-8.
    pub const UTF_8: Self = Self::Utf8 { bom: false, clean: true };

    /// The encoding behind a label such as `gbk` or `shift_jis` (WHATWG Encoding Standard), except
    /// that `latin1` is what it says and not windows-1252.
    pub fn by_label(label: &str) -> Option<Self> {
        match label.trim().to_ascii_lowercase().as_str() {
            "latin1" | "latin-1" | "iso-8859-1" | "iso8859-1" | "iso_8859-1" => Some(Self::Latin1),
            "utf8" | "utf-8" => Some(Self::UTF_8),
            "utf-16" | "utf16" | "utf-16le" => Some(Self::Utf16 { big: false, bom: false }),
            "utf-16be" => Some(Self::Utf16 { big: true, bom: false }),
            other => match Encoding::for_label(other.as_bytes())? {
                found if found == GB18030 || found == encoding_rs::GBK => Some(Self::Gb18030),
                found => Some(Self::Named(found)),
            },
        }
    }

    /// The name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 { bom: true, .. } => "UTF-8 with a byte order mark",
            Self::Utf8 { .. } => "UTF-8",
            Self::Utf16 { big: false, .. } => "UTF-16 (little endian)",
            Self::Utf16 { .. } => "UTF-16 (big endian)",
            Self::Utf32 { big: false } => "UTF-32 (little endian)",
            Self::Utf32 { .. } => "UTF-32 (big endian)",
            Self::Gb18030 => "GB18030",
            Self::Latin1 => "Latin-1",
            Self::Named(encoding) => encoding.name(),
        }
    }

    /// Whether the byte 0x0A is always a line feed, so that lines can be found before decoding.
    pub fn lines_are_bytes(self) -> bool {
        !matches!(self, Self::Utf16 { .. } | Self::Utf32 { .. })
    }

    /// How many bytes of `bytes` are the byte order mark.
    pub fn bom_len(self, bytes: &[u8]) -> usize {
        let mark: &[u8] = match self {
            Self::Utf8 { .. } => b"\xef\xbb\xbf",
            Self::Utf16 { big: false, .. } => b"\xff\xfe",
            Self::Utf16 { .. } => b"\xfe\xff",
            Self::Utf32 { big: false } => b"\xff\xfe\0\0",
            Self::Utf32 { .. } => b"\0\0\xfe\xff",
            _ => return 0,
        };
        if bytes.starts_with(mark) { mark.len() } else { 0 }
    }
}

/// The encoding that the mark at the start of a file says, if there is one.
pub fn from_bom(start: &[u8]) -> Option<Charset> {
    match start {
        [0xef, 0xbb, 0xbf, ..] => Some(Charset::Utf8 { bom: true, clean: true }),
        [0xff, 0xfe, 0, 0, ..] => Some(Charset::Utf32 { big: false }),
        [0, 0, 0xfe, 0xff, ..] => Some(Charset::Utf32 { big: true }),
        [0xff, 0xfe, ..] => Some(Charset::Utf16 { big: false, bom: true }),
        [0xfe, 0xff, ..] => Some(Charset::Utf16 { big: true, bom: true }),
        _ => None,
    }
}

/// The encoding of `bytes`, which are text and may end in the middle of a character.
pub fn detect(bytes: &[u8]) -> Charset {
    if let Some(charset) = from_bom(bytes) {
        return match charset {
            Charset::Utf8 { bom, .. } => Charset::Utf8 { bom, clean: is_utf8(&bytes[3..]) },
            other => other,
        };
    }
    if is_utf8(bytes) {
        return Charset::UTF_8;
    }
    if mostly_utf8(bytes) {
        return Charset::Utf8 { bom: false, clean: false };
    }
    if looks_chinese(bytes) { Charset::Gb18030 } else { Charset::Latin1 }
}

/// The text of `bytes` without a byte order mark, and how many places in it could not be read and
/// became U+FFFD.
pub fn decode(bytes: &[u8], charset: Charset) -> (Cow<'_, str>, usize) {
    let bytes = &bytes[charset.bom_len(bytes)..];
    match charset {
        Charset::Utf8 { .. } => with_losses(UTF_8, bytes),
        Charset::Utf16 { big: false, .. } => with_losses(UTF_16LE, bytes),
        Charset::Utf16 { .. } => with_losses(UTF_16BE, bytes),
        Charset::Utf32 { big } => from_utf32(bytes, big),
        Charset::Gb18030 => with_losses(GB18030, bytes),
        Charset::Latin1 => (encoding_rs::mem::decode_latin1(bytes), 0),
        Charset::Named(encoding) => with_losses(encoding, bytes),
    }
}

/// The bytes of `text` in an encoding that edits can keep; else the first character that it
/// cannot hold.
pub fn encode(text: &str, charset: Charset) -> Result<Vec<u8>, char> {
    match charset {
        Charset::Latin1 => {
            text.chars().map(|c| u8::try_from(u32::from(c)).map_err(|_| c)).collect()
        }
        Charset::Gb18030 => {
            let (bytes, _, lost) = GB18030.encode(text);
            if lost {
                // One private-use character has no code; name it rather than write `&#…;`.
                return Err('\u{e5e5}');
            }
            Ok(bytes.into_owned())
        }
        _ => Ok(text.as_bytes().to_vec()),
    }
}

fn with_losses<'a>(encoding: &'static Encoding, bytes: &'a [u8]) -> (Cow<'a, str>, usize) {
    let (text, lost) = encoding.decode_without_bom_handling(bytes);
    let places = if lost { text.matches('\u{fffd}').count() } else { 0 };
    (text, places)
}

fn from_utf32(bytes: &[u8], big: bool) -> (Cow<'_, str>, usize) {
    let mut lost = 0;
    let mut text = String::with_capacity(bytes.len() / 4);
    for unit in bytes.chunks(4) {
        let code = <[u8; 4]>::try_from(unit).ok().and_then(|unit| {
            char::from_u32(if big { u32::from_be_bytes(unit) } else { u32::from_le_bytes(unit) })
        });
        lost += usize::from(code.is_none());
        text.push(code.unwrap_or('\u{fffd}'));
    }
    (Cow::Owned(text), lost)
}

/// Valid, but for a character that the end cuts.
fn is_utf8(bytes: &[u8]) -> bool {
    match std::str::from_utf8(bytes) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && bytes.len() - error.valid_up_to() < 4,
    }
}

/// A UTF-8 text with a few bad bytes: far more characters of several bytes than errors. In GBK
/// and Latin-1 such characters come about by chance only, and errors are the rule.
fn mostly_utf8(bytes: &[u8]) -> bool {
    let (mut good, mut bad) = (0_usize, 0_usize);
    for chunk in bytes.utf8_chunks() {
        // The longer the sequence, the less it comes about by chance.
        good += chunk.valid().chars().map(|c| [0, 1, 3, 4][c.len_utf8() - 1]).sum::<usize>();
        bad += usize::from(!chunk.invalid().is_empty());
    }
    good >= 4 * bad
}

/// Whether `bytes` read as GB18030 and most characters in it have the shape of common ones.
///
/// Chinese text is runs of pairs of high bytes. In Latin-1 a high byte mostly stands alone between
/// letters, which GB18030 also takes for a character, though a rare one.
fn looks_chinese(bytes: &[u8]) -> bool {
    let (mut common, mut rare) = (0_usize, 0_usize);
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at..] {
            [0..=0x7f, ..] => at += 1,
            [0x81..=0xfe] => break,
            [0xa1..=0xf7, 0xa1..=0xfe, ..] => {
                common += 1;
                at += 2;
            }
            [0x81..=0xfe, 0x40..=0x7e | 0x80..=0xfe, ..] => {
                rare += 1;
                at += 2;
            }
            [0x81..=0xfe, 0x30..=0x39, 0x81..=0xfe, 0x30..=0x39, ..] => {
                common += 1;
                at += 4;
            }
            [0x81..=0xfe, 0x30..=0x39, ref rest @ ..] if rest.len() < 2 => break,
            _ => return false,
        }
    }
    common > 0 && common >= rare
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], charset: Charset, text: &str) {
        assert_eq!(detect(bytes), charset, "{bytes:?}");
        assert_eq!(decode(bytes, charset), (Cow::Borrowed(text), 0), "{bytes:?}");
    }

    #[test]
    fn encodings_are_told_apart() {
        check(b"plain", Charset::UTF_8, "plain");
        check("目录".as_bytes(), Charset::UTF_8, "目录");
        check(b"\xef\xbb\xbfx", Charset::Utf8 { bom: true, clean: true }, "x");
        check(b"\xff\xfea\0\x55\x53", Charset::Utf16 { big: false, bom: true }, "a\u{5355}");
        check(b"\xfe\xff\0a", Charset::Utf16 { big: true, bom: true }, "a");
        check(b"\xff\xfe\0\0a\0\0\0", Charset::Utf32 { big: false }, "a");
        check(b"\0\0\xfe\xff\0\0\0a", Charset::Utf32 { big: true }, "a");
        // Chinese for “Chinese text”, then a Latin-1 word whose accents look like rare hanzi.
        check(b"\xd6\xd0\xce\xc4\xce\xc4\xb1\xbe", Charset::Gb18030, "中文文本");
        check(b"r\xe9sum\xe9 d'\xe9t\xe9", Charset::Latin1, "résumé d'été");
        check(b"caf\xe9\n", Charset::Latin1, "café\n");
    }

    #[test]
    fn f54_a_bad_byte_in_utf_8_does_not_make_it_latin_1() {
        let bytes = [" naïve – “quoted” ".as_bytes(), b"\xff"].concat();
        assert_eq!(detect(&bytes), Charset::Utf8 { bom: false, clean: false });
        let (text, lost) = decode(&bytes, detect(&bytes));
        assert!(text.ends_with('\u{fffd}'));
        assert_eq!(lost, 1);
    }

    #[test]
    fn a_cut_character_at_the_end_is_no_error() {
        assert_eq!(detect(&"目录".as_bytes()[..5]), Charset::UTF_8);
        assert_eq!(detect(b"\xd6\xd0\xce\xc4\xce"), Charset::Gb18030);
    }

    #[test]
    fn labels_are_known_by_many_names() {
        assert_eq!(Charset::by_label("GBK"), Some(Charset::Gb18030));
        assert_eq!(Charset::by_label(" Latin1 "), Some(Charset::Latin1));
        assert_eq!(Charset::by_label("shift_jis").map(Charset::name), Some("Shift_JIS"));
        assert_eq!(Charset::by_label("klingon"), None);
    }

    #[test]
    fn what_an_encoding_cannot_hold_is_named() {
        assert_eq!(encode("é", Charset::Latin1), Ok(vec![0xe9]));
        assert_eq!(encode("é目", Charset::Latin1), Err('目'));
        assert_eq!(encode("中文", Charset::Gb18030), Ok(b"\xd6\xd0\xce\xc4".to_vec()));
    }
}
