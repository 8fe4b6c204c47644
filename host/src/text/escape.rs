//! Making foreign text harmless to a terminal and unambiguous to a reader.

use std::fmt::Write as _;

/// For one line: every control character, invisible character and change of writing direction is
/// written as an escape, so that nothing hides and nothing moves the cursor.
pub fn escape_line(text: &str) -> String {
    escape(text, |_| false)
}

/// For running text: like [`escape_line`], but tabs and newlines stay.
pub fn escape_text(text: &str) -> String {
    escape(text, |c| matches!(c, '\n' | '\t'))
}

fn escape(text: &str, keep: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if keep(c) || !hidden(c) {
            out.push(c);
            continue;
        }
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x100 => {
                let _ = write!(out, "\\x{:02x}", c as u32);
            }
            c => {
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
        }
    }
    out
}

/// Control characters (C0, DEL, C1), format characters that are invisible or turn the direction
/// of writing (Unicode Standard Annex 9), line separators, tag characters and variation selectors
/// of the supplementary plane.
fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_the_terminal_raw() {
        assert_eq!(escape_line("a\x1b[31mb"), "a\\x1b[31mb");
        assert_eq!(escape_line("a\nb\u{202e}c\u{e0041}"), "a\\nb\\u{202e}c\\u{e0041}");
        assert_eq!(escape_line("\u{9b}31m"), "\\x9b31m");
    }

    #[test]
    fn ordinary_text_stays_itself() {
        assert_eq!(escape_text("目录\t— é\n👩"), "目录\t— é\n👩");
    }
}
