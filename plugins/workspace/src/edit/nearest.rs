//! The place that most resembles a text that was not found, so that the caller sees in what it
//! errs.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use clawhold_sdk::clip;
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::lines;

/// The longest hint, in bytes.
const MAX_TEXT: usize = 1_500;

/// Lines of the old text and of the file that are shown at most.
const MAX_LINES: usize = 40;

/// How alike the longest line and its counterpart must at least be, in percent, to be shown when
/// no line agrees.
const LEAST_ALIKE: usize = 40;

/// Names the lines of `text` nearest to `old` and shows the difference: `-` is what `old` says,
/// `+` what the file has.
pub fn describe(text: &[u8], old: &[u8]) -> Option<String> {
    let cr_ends = lines::cr_only(text);
    let of = |text| -> Vec<&[u8]> {
        lines::split(text, cr_ends).into_iter().map(|line| line.content).collect()
    };
    let (file, old) = (of(text), of(old));
    let start = best_window(&file, &old).or_else(|| most_alike(&file, &old))?;
    let end = (start + old.len()).min(file.len());
    let shown = end.min(start + MAX_LINES);
    let mut out = format!(
        "the nearest is line{} {} (`-` old_text, `+` the file):\n",
        if end - start > 1 { "s" } else { "" },
        if end - start > 1 { format!("{}-{end}", start + 1) } else { format!("{end}") },
    );
    diff(&mut out, &old[..old.len().min(MAX_LINES)], &file[start..shown]);
    if shown < end || old.len() > MAX_LINES {
        out.push_str("…\n");
    }
    Some(clip::clip(out.trim_end(), MAX_TEXT))
}

/// The window in which most of the old lines occur, by length, whatever the white space around.
fn best_window(file: &[&[u8]], old: &[&[u8]]) -> Option<usize> {
    let mut offsets: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (at, line) in old.iter().enumerate() {
        let line = line.trim_ascii();
        // A brace or a blank line says nothing about the place.
        if line.len() > 2 {
            offsets.entry(line).or_default().push(at);
        }
    }
    // Each file line that occurs in the old text votes for the starts that would put it there.
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (at, line) in file.iter().enumerate() {
        let line = line.trim_ascii();
        for offset in offsets.get(line).into_iter().flatten().take(8) {
            if let Some(start) = at.checked_sub(*offset) {
                *votes.entry(start).or_default() += line.len();
            }
        }
    }
    let best = votes.into_iter().max_by_key(|(start, votes)| (*votes, std::cmp::Reverse(*start)));
    best.map(|(start, _)| start)
}

/// Where the counterpart of the longest old line would put the window.
fn most_alike(file: &[&[u8]], old: &[&[u8]]) -> Option<usize> {
    let (offset, anchor) =
        old.iter().enumerate().max_by_key(|(_, line)| line.trim_ascii().len())?;
    let anchor = clip_bytes(anchor.trim_ascii());
    let wanted: HashSet<&[u8]> = anchor.windows(3).collect();
    if wanted.is_empty() {
        return None;
    }
    let alike = |line: &[u8]| {
        let line = clip_bytes(line.trim_ascii());
        let shared = line.windows(3).filter(|gram| wanted.contains(gram)).count();
        200 * shared / (wanted.len() + line.len().saturating_sub(2)).max(1)
    };
    let (at, score) = file
        .iter()
        .enumerate()
        .map(|(at, line)| (at, alike(line)))
        .max_by_key(|(at, score)| (*score, std::cmp::Reverse(*at)))?;
    (score >= LEAST_ALIKE).then(|| at.saturating_sub(offset))
}

/// What is compared of a line; a minified file would otherwise be compared as a whole.
fn clip_bytes(line: &[u8]) -> &[u8] {
    &line[..line.len().min(300)]
}

fn diff(out: &mut String, old: &[&[u8]], file: &[&[u8]]) {
    let mut put = |sign: char, line: &[u8]| {
        let _ = writeln!(out, "{sign}{}", clip::clip(&visible(line), 300));
    };
    for op in capture_diff_slices(Algorithm::Myers, old, file) {
        if let DiffOp::Equal { old_index, len, .. } = op {
            old[old_index..old_index + len].iter().for_each(|line| put(' ', line));
            continue;
        }
        old[op.old_range()].iter().for_each(|line| put('-', line));
        file[op.new_range()].iter().for_each(|line| put('+', line));
    }
}

/// White space that cannot be seen is what a mismatch is often about.
fn visible(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line).replace('\r', "\\r");
    let end = text.trim_end().len();
    text[..end].replace('\t', "→") + &text[end..].replace(' ', "·").replace('\t', "→")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, old: &str, expect: &str) {
        assert_eq!(describe(text.as_bytes(), old.as_bytes()).as_deref(), Some(expect), "{old:?}");
    }

    #[test]
    fn req_056_the_nearest_lines_are_shown() {
        check(
            "fn main() {\n    let total = 10;\n    print(total);\n}\n",
            "    let total = 12;\n    print(total);\n",
            "the nearest is lines 2-3 (`-` old_text, `+` the file):\n-    let total = 12;\n+    let total = 10;\n     print(total);",
        );
        check(
            "alpha beta gamma\n",
            "alpha beta gama",
            "the nearest is line 1 (`-` old_text, `+` the file):\n-alpha beta gama\n+alpha beta gamma",
        );
        assert_eq!(describe(b"one\ntwo\n", b"something else"), None);
        assert_eq!(describe(b"", b"x"), None);
    }
}
