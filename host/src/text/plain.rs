//! Terminal output as plain text: what was meant to be read, without what moves a cursor.

/// Removes control sequences (ECMA-48) and control characters but newline and tab. A carriage
/// return takes back the line so far, as a progress bar means it, and a backspace one character.
pub fn plain_text(text: &str) -> String {
    if !text.contains(|c: char| c.is_control() && c != '\n' && c != '\t') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut line = 0;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\x1b' => match chars.next() {
                Some('[') => skip_parameters(&mut chars),
                Some(']' | 'P' | '_' | '^' | 'X') => skip_string(&mut chars),
                // Two characters more, such as the choice of a character set.
                Some(' '..='/') => {
                    chars.next();
                }
                _ => {}
            },
            '\u{9b}' => skip_parameters(&mut chars),
            '\u{90}' | '\u{9d}' => skip_string(&mut chars),
            '\n' => {
                out.push('\n');
                line = out.len();
            }
            // Before a newline it is only the other way to end a line.
            '\r' => match chars.peek() {
                Some('\n' | '\r') | None => {}
                Some(_) => out.truncate(line),
            },
            '\x08' if out.len() > line => {
                out.pop();
            }
            '\t' => out.push('\t'),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// Up to the final byte of a control sequence.
fn skip_parameters(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while let Some(&c) = chars.peek() {
        // A sequence that was cut off by a newline is over.
        if c == '\n' {
            return;
        }
        chars.next();
        if ('@'..='~').contains(&c) {
            return;
        }
    }
}

/// Up to the bell or the string terminator. One that never ends takes its line only.
fn skip_string(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while let Some(&c) = chars.peek() {
        if c == '\n' {
            return;
        }
        chars.next();
        match c {
            '\x07' | '\u{9c}' => return,
            '\x1b' => {
                chars.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::plain_text;

    #[test]
    fn only_what_is_read_stays() {
        let check = |text: &str, expect: &str| assert_eq!(plain_text(text), expect, "{text:?}");
        check("plain\ttext\n目录", "plain\ttext\n目录");
        check("\x1b[31mred\x1b[0m end", "red end");
        check("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b", "ab");
        check("\x1b(Bx\x1b=y\x1bcz", "xyz");
        check("10%\r20%\r100%\ndone\r\n", "100%\ndone\n");
        check("b\x08bold _\x08x", "bold x");
        check("nul\0bell\x07", "nulbell");
        check("\u{9b}31mx", "x");
        check("\x1b[12", "");
        check("\x1b]never ends\nnext", "\nnext");
        check("a\x08\x08b", "b");
    }
}
