//! The bytes that stand for `new_text` at a place that matched.
//!
//! What the caller left as it was stays as the file has it, byte for byte: only lines that differ
//! between the old text and the new are written, with the line end, the indentation and the
//! typography of what they replace.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::indent::Shift;
use super::ladder::{Found, Level, Place};
use super::lines::{self, Line, indent};

/// The replacement at `place`, and how many bytes after its span go too (the line end of a
/// deleted last line).
pub fn replacement(
    text: &[u8],
    old: &[u8],
    new: &[u8],
    found: &Found,
    place: &Place,
) -> (Vec<u8>, usize) {
    match &place.lines {
        Some(lines) => whole_lines(text, old, new, found, place, lines.len()),
        None => (substring(text, old, new, found.level, place), 0),
    }
}

fn substring(text: &[u8], old: &[u8], new: &[u8], level: Level, place: &Place) -> Vec<u8> {
    let region = &text[place.span.clone()];
    let plain = |text| memchr::memchr(b'\r', text).is_none();
    if level == Level::Exact && plain(new) && plain(text) {
        return new.to_vec();
    }
    // Where line ends were forgiven a lone CR counts as one, whatever it is elsewhere.
    let cr_ends = lines::cr_only(text) || level > Level::Exact;
    let region_lines = lines::split(region, cr_ends);
    let mut old_lines = lines::split(old, cr_ends);
    if old_lines.len() != region_lines.len() {
        old_lines.clone_from(&region_lines);
    }
    let new_lines = lines::split(new, cr_ends);
    let near = lines::ending_near(text, place.span.end, cr_ends);
    let mut out = Vec::with_capacity(new.len());
    for (line, origin) in new_lines.iter().zip(origins(&old_lines, &new_lines)) {
        match origin {
            Origin::Same(at) => out.extend_from_slice(region_lines[at].content),
            Origin::Instead(at) if level == Level::Typography => out.extend(keep_typography(
                region_lines[at].content,
                old_lines[at].content,
                line.content,
            )),
            _ => out.extend_from_slice(line.content),
        }
        if !line.ending.is_empty() {
            out.extend_from_slice(ending(origin, &region_lines, near, line.ending));
        }
    }
    out
}

fn whole_lines(
    text: &[u8],
    old: &[u8],
    new: &[u8],
    found: &Found,
    place: &Place,
    count: usize,
) -> (Vec<u8>, usize) {
    let cr_ends = lines::cr_only(text);
    let mut region_lines = lines::split(&text[place.span.clone()], cr_ends);
    // A blank last line is nothing at all without its end, which the span leaves out.
    region_lines.resize(count, Line { content: b"", ending: b"" });
    let old_all = lines::split(old, cr_ends);
    let (head, tail) = found.dropped;
    let old_lines = &old_all[head..old_all.len() - tail];
    let new_all = lines::split(new, cr_ends);
    let new_lines = without_blank(&new_all, head, tail);

    let after = &text[place.span.end..];
    if new_lines.is_empty() {
        // Lines that are deleted take their end along, if the caller named it.
        let named = old_all.last().is_some_and(|line| !line.ending.is_empty());
        let width = match after {
            [b'\r', b'\n', ..] => 2,
            [b'\n', ..] => 1,
            [b'\r', ..] if cr_ends => 1,
            _ => 0,
        };
        return (Vec::new(), if named { width } else { 0 });
    }

    let shift = (found.level >= Level::Indentation).then(|| {
        let pairs = old_lines.iter().zip(&region_lines);
        Shift::learn(pairs.map(|(old, region)| (old.content, region.content)))
    });
    let near = lines::ending_near(text, place.span.end, cr_ends);
    let mut out = Vec::with_capacity(new.len());
    let last = new_lines.len() - 1;
    for (i, (line, origin)) in new_lines.iter().zip(origins(old_lines, new_lines)).enumerate() {
        match origin {
            Origin::Same(at) => out.extend_from_slice(region_lines[at].content),
            Origin::Instead(at) => {
                let (old, region) = (old_lines[at].content, region_lines[at].content);
                let moved = moved(line.content, shift.as_ref(), Some((old, region)));
                if found.level == Level::Typography {
                    let (body, margin) = (moved.trim_ascii_start(), indent(&moved));
                    out.extend_from_slice(margin);
                    out.extend(keep_typography(region.trim_ascii(), old.trim_ascii(), body));
                } else {
                    out.extend(moved);
                }
            }
            Origin::Inserted(_) => out.extend(moved(line.content, shift.as_ref(), None)),
        }
        // The end of the last line stands behind the span already.
        if i < last {
            let own = if line.ending.is_empty() { b"\n" } else { line.ending };
            out.extend_from_slice(ending(origin, &region_lines, near, own));
        }
    }
    (out, 0)
}

/// A new line at the indentation of the file; `instead` is the line that it replaces, as written
/// and as in the file.
fn moved(content: &[u8], shift: Option<&Shift>, instead: Option<(&[u8], &[u8])>) -> Vec<u8> {
    let Some(shift) = shift else {
        return content.to_vec();
    };
    let body = content.trim_ascii_start();
    if body.is_empty() {
        return Vec::new();
    }
    let written = indent(content);
    let mut out = match instead {
        Some((old, region)) if indent(old) == written => indent(region).to_vec(),
        _ => shift.apply(written),
    };
    out.extend_from_slice(body);
    out
}

/// Where a new line comes from; the number is that of an old line.
#[derive(Debug, Clone, Copy)]
enum Origin {
    /// The caller left it as it was.
    Same(usize),
    /// It stands in place of this one.
    Instead(usize),
    /// It is additional, before this one.
    Inserted(usize),
}

/// Lines that are compared one by one at most; the search takes their square at worst.
const MAX_COMPARED: usize = 4_000;

fn origins(old: &[Line], new: &[Line]) -> Vec<Origin> {
    let contents = |lines: &[Line]| -> Vec<Vec<u8>> {
        lines.iter().map(|line| line.content.to_vec()).collect()
    };
    let ops = if old.len() + new.len() > MAX_COMPARED {
        vec![DiffOp::Replace { old_index: 0, old_len: old.len(), new_index: 0, new_len: new.len() }]
    } else {
        capture_diff_slices(Algorithm::Myers, &contents(old), &contents(new))
    };
    let mut out = Vec::with_capacity(new.len());
    for op in ops {
        match op {
            DiffOp::Equal { old_index, len, .. } => {
                out.extend((old_index..old_index + len).map(Origin::Same));
            }
            DiffOp::Insert { old_index, new_len, .. } => {
                out.extend(std::iter::repeat_n(Origin::Inserted(old_index), new_len));
            }
            DiffOp::Replace { old_index, old_len, new_len, .. } => {
                out.extend((0..new_len).map(|i| {
                    if i < old_len {
                        Origin::Instead(old_index + i)
                    } else {
                        Origin::Inserted(old_index + old_len)
                    }
                }));
            }
            DiffOp::Delete { .. } => {}
        }
    }
    out
}

/// The line end of a new line: that of the line it comes from, else of one beside it, else what
/// is usual near it, else its own.
fn ending<'a>(
    origin: Origin,
    region: &[Line<'a>],
    near: Option<&'a [u8]>,
    own: &'a [u8],
) -> &'a [u8] {
    let of = |at: usize| region.get(at).map(|line| line.ending).filter(|end| !end.is_empty());
    let found = match origin {
        Origin::Same(at) | Origin::Instead(at) => of(at).or_else(|| of(at.checked_sub(1)?)),
        Origin::Inserted(at) => at.checked_sub(1).and_then(of).or_else(|| of(at)),
    };
    found.or(near).unwrap_or(own)
}

/// The new lines without as many blank ones at both ends as the old text had too many.
fn without_blank<'a, 'b>(lines: &'b [Line<'a>], head: usize, tail: usize) -> &'b [Line<'a>] {
    let blank = |line: &&Line| line.content.trim_ascii().is_empty();
    let head = lines.iter().take(head).take_while(blank).count();
    let rest = &lines[head..];
    let tail = rest.iter().rev().take(tail).take_while(blank).count();
    &rest[..rest.len() - tail]
}

/// `new` with the file's characters where the caller's old and new line agree, at the start and
/// the end.
fn keep_typography(file: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let (Ok(file), Ok(old), Ok(written)) =
        (std::str::from_utf8(file), std::str::from_utf8(old), std::str::from_utf8(new))
    else {
        return new.to_vec();
    };
    let chars = |text: &str| text.chars().collect::<Vec<char>>();
    let (file, old, written) = (chars(file), chars(old), chars(written));
    if file.len() != old.len() {
        return new.to_vec();
    }
    let least = old.len().min(written.len());
    let start = (0..least).take_while(|i| old[*i] == written[*i]).count();
    let end = (0..least - start)
        .take_while(|i| old[old.len() - 1 - i] == written[written.len() - 1 - i])
        .count();
    let mut out = String::with_capacity(new.len());
    out.extend(&file[..start]);
    out.extend(&written[start..written.len() - end]);
    out.extend(&file[file.len() - end..]);
    out.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::super::fold;
    use super::*;

    #[test]
    fn typography_outside_the_change_stays() {
        let got = keep_typography(
            "say “hi” to Bob".as_bytes(),
            b"say \"hi\" to Bob",
            b"say \"hi\" to Ann",
        );
        assert_eq!(String::from_utf8_lossy(&got), "say “hi” to Ann");
        assert_eq!(fold::typography(&got).bytes, b"say \"hi\" to Ann");
    }
}
