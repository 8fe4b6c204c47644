//! Texts in a form in which spellings that differ only in what a level forgives are the same
//! bytes, with the way back to where they stand.
//!
//! Searching the folded form with a linear substring search keeps every level linear, however the
//! text repeats itself.

use std::ops::Range;

use super::lines::Line;

/// A folded text, and for each place at which the lengths come apart where it is in both.
#[derive(Debug, Default)]
pub struct Folded {
    /// The folded text.
    pub bytes: Vec<u8>,
    /// Pairs (in the folded text, in the original), both rising.
    marks: Vec<(usize, usize)>,
}

impl Folded {
    /// Where `at` of the folded text stands in the original.
    fn original(&self, at: usize) -> usize {
        match self.marks.partition_point(|(folded, _)| *folded <= at) {
            0 => at,
            after => {
                let (folded, original) = self.marks[after - 1];
                original + (at - folded)
            }
        }
    }

    /// The stretch of the original behind a stretch of the folded text.
    pub fn range(&self, folded: Range<usize>) -> Range<usize> {
        self.original(folded.start)..self.original(folded.end)
    }

    fn push(&mut self, folded: &[u8], original_len: usize, original_at: usize) {
        self.bytes.extend_from_slice(folded);
        if folded.len() != original_len {
            self.marks.push((self.bytes.len(), original_at + original_len));
        }
    }
}

/// Folds CRLF and lone CR to LF.
pub fn endings(text: &[u8]) -> Folded {
    let mut out = Folded { bytes: Vec::with_capacity(text.len()), marks: Vec::new() };
    let mut from = 0;
    while let Some(found) = memchr::memchr(b'\r', &text[from..]) {
        let at = from + found;
        out.bytes.extend_from_slice(&text[from..at]);
        let width = if text.get(at + 1) == Some(&b'\n') { 2 } else { 1 };
        out.push(b"\n", width, at);
        from = at + width;
    }
    out.bytes.extend_from_slice(&text[from..]);
    out
}

/// Folds line ends, and typographic quotes, dashes and spaces to those of a typewriter.
pub fn typography(text: &[u8]) -> Folded {
    typographic(text, true)
}

/// Folds the typography of one line. A CR in it is data, and stays: in the folded text nothing
/// but the end of a line may look like one.
pub fn typography_of_line(line: &[u8]) -> Vec<u8> {
    typographic(line, false).bytes
}

fn typographic(text: &[u8], endings: bool) -> Folded {
    let mut out = Folded { bytes: Vec::with_capacity(text.len()), marks: Vec::new() };
    let mut at = 0;
    for chunk in text.utf8_chunks() {
        let mut chars = chunk.valid().chars().peekable();
        while let Some(c) = chars.next() {
            let start = at;
            at += c.len_utf8();
            if endings && c == '\r' {
                at += usize::from(chars.next_if_eq(&'\n').is_some());
                out.push(b"\n", at - start, start);
                continue;
            }
            let plain = plain(c);
            out.push(plain.encode_utf8(&mut [0; 4]).as_bytes(), at - start, start);
        }
        out.bytes.extend_from_slice(chunk.invalid());
        at += chunk.invalid().len();
    }
    out
}

/// The typewriter's form of a character, or the character.
fn plain(c: char) -> char {
    match c {
        '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{ff07}' => '\'',
        '\u{201c}'..='\u{201f}' | '\u{2033}' | '\u{ff02}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{ff0d}' => '-',
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        c => c,
    }
}

/// Lines one below the other, each folded by `fold`, with a line feed before the first and after
/// each: so what is found between line feeds is whole lines.
#[derive(Debug)]
pub struct FoldedLines {
    /// The folded text.
    pub bytes: Vec<u8>,
    /// Where the line feed before each line stands, and that after the last.
    starts: Vec<usize>,
}

impl FoldedLines {
    /// Folds each line.
    pub fn new<'a, T: AsRef<[u8]>>(lines: &[Line<'a>], fold: impl Fn(&'a [u8]) -> T) -> Self {
        let mut bytes = vec![b'\n'];
        let mut starts = vec![0];
        for line in lines {
            bytes.extend_from_slice(fold(line.content).as_ref());
            starts.push(bytes.len());
            bytes.push(b'\n');
        }
        Self { bytes, starts }
    }

    /// The numbers of the lines, from 0, that a match covers.
    pub fn lines(&self, found: &Range<usize>) -> Range<usize> {
        let at = |place: usize| self.starts.partition_point(|start| *start < place);
        at(found.start)..at(found.end - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn req_052_ranges_lead_back() {
        let folded = endings(b"a\r\nb\rc\n");
        assert_eq!(folded.bytes, b"a\nb\nc\n");
        for (range, expect) in [(0..1, 0..1), (1..2, 1..3), (2..4, 3..5), (0..6, 0..7)] {
            assert_eq!(folded.range(range), expect);
        }
    }

    #[test]
    fn typographic_characters_become_plain_ones() {
        let text = "“a”\u{a0}–\r\n’x".as_bytes();
        let folded = typography(text);
        assert_eq!(folded.bytes, b"\"a\" -\n'x");
        assert_eq!(folded.range(1..2), 3..4);
        assert_eq!(folded.range(0..folded.bytes.len()), 0..text.len());
        assert_eq!(&text[folded.range(4..5)], "–".as_bytes());
    }

    #[test]
    fn whole_lines_are_counted() {
        let lines = super::super::lines::split(b"a\n b\nc", false);
        let folded = FoldedLines::new(&lines, <[u8]>::trim_ascii);
        assert_eq!(folded.bytes, b"\na\nb\nc\n");
        assert_eq!(folded.lines(&(0..3)), 0..1);
        assert_eq!(folded.lines(&(2..7)), 1..3);
    }
}
