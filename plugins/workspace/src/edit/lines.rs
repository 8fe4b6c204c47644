//! Lines with their ends, on bytes: a text may hold bytes that are not UTF-8.

/// A line and what ends it: nothing, LF, CRLF or CR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Without the end.
    pub content: &'a [u8],
    /// Empty for a last line that nothing ends.
    pub ending: &'a [u8],
}

/// The lines of `text`. A CR that stands alone ends a line only where `cr_ends` says so: in most
/// texts it is data. Text that ends with a line end has no empty line after it.
pub fn split(text: &[u8], cr_ends: bool) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut from = 0;
    let mut at = 0;
    while let Some(found) = memchr::memchr2(b'\n', b'\r', &text[at..]) {
        let end = at + found;
        let width = match text[end..] {
            [b'\r', b'\n', ..] => 2,
            [b'\r', ..] if !cr_ends => {
                at = end + 1;
                continue;
            }
            _ => 1,
        };
        lines.push(Line { content: &text[from..end], ending: &text[end..end + width] });
        from = end + width;
        at = from;
    }
    if from < text.len() {
        lines.push(Line { content: &text[from..], ending: b"" });
    }
    lines
}

/// Whether CR alone ends the lines of `text`, as in files from long ago.
pub fn cr_only(text: &[u8]) -> bool {
    memchr::memchr(b'\n', text).is_none() && memchr::memchr(b'\r', text).is_some()
}

/// The number of the line, from 1, that `at` is in; counted by LF, as `read_file` does.
pub fn number(text: &[u8], at: usize) -> usize {
    memchr::memchr_iter(b'\n', &text[..at]).count() + 1
}

/// The white space at the start.
pub fn indent(content: &[u8]) -> &[u8] {
    &content[..content.len() - content.trim_ascii_start().len()]
}

/// The line end that text put at `at` should have: that of the line there, else of the one
/// before. `None` in a text of one line.
pub fn ending_near(text: &[u8], at: usize, cr_ends: bool) -> Option<&[u8]> {
    let is_end = |i: usize| text[i] == b'\n' || (cr_ends && text[i] == b'\r');
    let end =
        (at..text.len()).find(|i| is_end(*i)).or_else(|| (0..at).rev().find(|i| is_end(*i)))?;
    if text[end] == b'\n' && end > 0 && text[end - 1] == b'\r' {
        return Some(&text[end - 1..=end]);
    }
    Some(&text[end..=end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, cr_ends: bool, expect: &[(&str, &str)]) {
        let got: Vec<_> = split(text.as_bytes(), cr_ends)
            .iter()
            .map(|line| (line.content.to_vec(), line.ending.to_vec()))
            .collect();
        let expect: Vec<_> = expect
            .iter()
            .map(|(content, ending)| (content.as_bytes().to_vec(), ending.as_bytes().to_vec()))
            .collect();
        assert_eq!(got, expect, "{text:?}");
    }

    #[test]
    fn f52_lines_keep_their_ends() {
        check("", false, &[]);
        check("a", false, &[("a", "")]);
        check("a\nb\r\n\nc", false, &[("a", "\n"), ("b", "\r\n"), ("", "\n"), ("c", "")]);
        check("a\rb\n", false, &[("a\rb", "\n")]);
        check("a\rb\r\n", true, &[("a", "\r"), ("b", "\r\n")]);
    }

    #[test]
    fn the_nearest_line_end_counts() {
        let text = b"a\r\nb\nc";
        assert_eq!(ending_near(text, 0, false), Some(&b"\r\n"[..]));
        assert_eq!(ending_near(text, 3, false), Some(&b"\n"[..]));
        assert_eq!(ending_near(text, 6, false), Some(&b"\n"[..]));
        assert_eq!(ending_near(b"abc", 1, false), None);
    }
}
