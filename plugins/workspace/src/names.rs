//! Showing names so that no two look alike and none does anything to a terminal.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::Write;

/// `name` as it is where that is plain, else as a JSON string. What comes out can be sent back as
/// an argument: inside JSON it is the same text again.
pub fn shown(name: &str) -> Cow<'_, str> {
    if name.is_empty() || needs_quotes(name) {
        Cow::Owned(quoted(name))
    } else {
        Cow::Borrowed(name)
    }
}

/// The text of a name from a folder. One that is not UTF-8 comes with `\xff` escapes, in the form
/// in which the host gives such names to every plugin; it cannot be opened.
pub fn text(name: &OsStr) -> Cow<'_, str> {
    if let Some(text) = name.to_str() {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    for chunk in name.as_encoded_bytes().utf8_chunks() {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    Cow::Owned(out)
}

/// Whether a name holds what [`text`] makes of a byte that is not UTF-8. A file may really be
/// called so; only trying to open it tells.
pub fn maybe_not_utf8(name: &str) -> bool {
    name.match_indices("\\x").any(|(at, _)| {
        matches!(name.as_bytes()[at + 2..], [high, low, ..]
            if matches!(high, b'8' | b'9' | b'a'..=b'f') && low.is_ascii_hexdigit())
    })
}

fn needs_quotes(name: &str) -> bool {
    let plain = name.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\'));
    !plain
        && (name.chars().any(|c| matches!(c, '"' | '\\') || hidden(c))
            || name.starts_with(char::is_whitespace)
            || name.ends_with(char::is_whitespace))
}

/// Characters that show as nothing or reorder what stands beside them.
fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

fn quoted(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 8);
    out.push('"');
    for c in name.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if hidden(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn f37_names_are_unambiguous_and_round_trip() {
        for (name, expect) in [
            ("a.txt", "a.txt"),
            ("-rf", "-rf"),
            ("two words", "two words"),
            ("目录", "目录"),
            ("", r#""""#),
            (" lead", r#"" lead""#),
            ("trail ", r#""trail ""#),
            ("a\nb", r#""a\nb""#),
            ("a\tb", r#""a\tb""#),
            ("\u{1b}[31m", r#""\u001b[31m""#),
            ("x\u{202e}txt", r#""x\u202etxt""#),
            (".g\u{200c}it", r#"".g\u200cit""#),
            ("tag\u{e0041}", r#""tag\udb40\udc41""#),
            (r"back\slash", r#""back\\slash""#),
            (r#"quo"te"#, r#""quo\"te""#),
        ] {
            assert_eq!(shown(name), expect);
            if expect.starts_with('"') {
                let back: String = serde_json::from_str(expect).unwrap();
                assert_eq!(back, name);
            }
        }
    }

    #[test]
    fn f37_escaped_bytes_are_recognised() {
        assert!(maybe_not_utf8(r"a\xff\xfe"));
        assert!(!maybe_not_utf8(r"a\x41"));
        assert!(!maybe_not_utf8(r"a\x"));
        assert!(!maybe_not_utf8("plain"));
    }
}
