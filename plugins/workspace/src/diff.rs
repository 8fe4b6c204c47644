//! Unified diffs of bounded size, in time that no input can make quadratic.

use std::fmt::Write;

use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};

/// The largest diff that a reply carries, in bytes.
const MAX_TEXT: usize = 8 * 1024;

/// The longest line that a diff shows in full.
const MAX_LINE: usize = 500;

/// How many differing lines on both sides together are compared one by one. Comparing takes their
/// square at worst.
const MAX_LINES: usize = 4_000;

/// Lines around a change.
const CONTEXT: usize = 3;

/// What changed between two texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    /// The unified diff, empty when nothing changed.
    pub text: String,
    /// Lines that are new.
    pub added: usize,
    /// Lines that are gone.
    pub removed: usize,
}

/// Compares two texts line by line. `name` heads the diff.
pub fn unified(name: &str, old: &str, new: &str) -> Diff {
    if old == new {
        return Diff::default();
    }
    let (old, new) = (lines(old), lines(new));
    let least = old.len().min(new.len());
    // What both have at the start and the end costs nothing, which makes a small edit of a large
    // file cheap.
    let start = (0..least).take_while(|i| old[*i] == new[*i]).count();
    let end =
        (0..least - start).take_while(|i| old[old.len() - 1 - i] == new[new.len() - 1 - i]).count();
    let (old_middle, new_middle) = (&old[start..old.len() - end], &new[start..new.len() - end]);
    let ops = if old_middle.len() + new_middle.len() <= MAX_LINES {
        capture_diff_slices(Algorithm::Myers, old_middle, new_middle)
    } else {
        vec![DiffOp::Replace {
            old_index: 0,
            old_len: old_middle.len(),
            new_index: 0,
            new_len: new_middle.len(),
        }]
    };
    let ops = within(ops, start, end);
    render(name, &old, &new, &ops)
}

/// The lines with their ends.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Moves the operations of the middle to where it stands, and adds the equal lines around it that
/// are shown as context.
fn within(ops: Vec<DiffOp>, start: usize, end: usize) -> Vec<DiffOp> {
    let before = start.min(CONTEXT + 1);
    let after = end.min(CONTEXT + 1);
    let mut out = Vec::with_capacity(ops.len() + 2);
    let equal = |old_index, new_index, len| DiffOp::Equal { old_index, new_index, len };
    if before > 0 {
        out.push(equal(start - before, start - before, before));
    }
    let (mut old_at, mut new_at) = (start, start);
    for op in ops {
        let (_, old, new) = op.as_tag_tuple();
        let (old_len, new_len) = (old.len(), new.len());
        out.push(match op {
            DiffOp::Equal { len, .. } => equal(old_at, new_at, len),
            DiffOp::Delete { .. } => {
                DiffOp::Delete { old_index: old_at, old_len, new_index: new_at }
            }
            DiffOp::Insert { .. } => {
                DiffOp::Insert { old_index: old_at, new_index: new_at, new_len }
            }
            DiffOp::Replace { .. } => {
                DiffOp::Replace { old_index: old_at, old_len, new_index: new_at, new_len }
            }
        });
        old_at += old_len;
        new_at += new_len;
    }
    if after > 0 {
        out.push(equal(old_at, new_at, after));
    }
    out
}

fn render(name: &str, old: &[&str], new: &[&str], ops: &[DiffOp]) -> Diff {
    let mut diff = Diff::default();
    let mut text = format!("--- {name}\n+++ {name}\n");
    let mut full = false;
    for hunk in group_diff_ops(ops.to_vec(), CONTEXT) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { continue };
        let span = |from: usize, to: usize| match to - from {
            1 => format!("{}", from + 1),
            0 => format!("{from},0"),
            len => format!("{},{len}", from + 1),
        };
        if !full {
            let _ = writeln!(
                text,
                "@@ -{} +{} @@",
                span(first.old_range().start, last.old_range().end),
                span(first.new_range().start, last.new_range().end)
            );
        }
        for op in &hunk {
            if let DiffOp::Equal { .. } = op {
                full = put(&mut text, ' ', &old[op.old_range()], full);
                continue;
            }
            diff.removed += op.old_range().len();
            diff.added += op.new_range().len();
            full = put(&mut text, '-', &old[op.old_range()], full);
            full = put(&mut text, '+', &new[op.new_range()], full);
        }
    }
    if full {
        let _ = writeln!(
            text,
            "[the diff goes on; in all {} lines removed, {} added]",
            diff.removed, diff.added
        );
    }
    diff.text = text;
    diff
}

/// Appends lines while there is room; tells whether there is none left.
fn put(text: &mut String, sign: char, lines: &[&str], full: bool) -> bool {
    if full {
        return true;
    }
    for line in lines {
        if text.len() > MAX_TEXT {
            return true;
        }
        text.push(sign);
        let content = line.strip_suffix('\n').unwrap_or(line);
        text.push_str(&clawhold_sdk::clip::clip(content, MAX_LINE));
        text.push('\n');
        if content.len() == line.len() {
            text.push_str("\\ No newline at end of file\n");
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_changes_with_three_lines_around() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let diff = unified("a.txt", old, &old.replace('5', "five"));
        assert_eq!(
            diff.text,
            "--- a.txt\n+++ a.txt\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
        );
        assert_eq!((diff.added, diff.removed), (1, 1));
    }

    #[test]
    fn far_changes_come_in_two_hunks() {
        let old = (1..40).fold(String::new(), |text, i| text + &format!("{i}\n"));
        let new = old.replacen("2\n", "two\n", 1).replace("\n38\n", "\n");
        let diff = unified("n", &old, &new);
        assert_eq!(diff.text.matches("@@ -").count(), 2, "{}", diff.text);
        assert_eq!((diff.added, diff.removed), (1, 2), "{}", diff.text);
    }

    #[test]
    fn a_missing_last_line_feed_is_said() {
        let diff = unified("a", "x", "x\n");
        assert_eq!(diff.text, "--- a\n+++ a\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+x\n");
        assert_eq!(unified("a", "same", "same"), Diff::default());
    }

    #[test]
    fn new_and_emptied_files_have_empty_sides() {
        assert!(unified("a", "", "x\n").text.contains("@@ -0,0 +1 @@\n+x\n"));
        assert!(unified("a", "x\n", "").text.contains("@@ -1 +0,0 @@\n-x\n"));
    }

    #[test]
    fn d07_huge_changes_stay_small_and_quick() {
        let old = (0..200_000).fold(String::new(), |text, i| text + &format!("a{i}\n"));
        let new = old.replace('a', "b");
        let begun = std::time::Instant::now();
        let diff = unified("big", &old, &new);
        assert!(begun.elapsed().as_secs() < 5);
        assert!(diff.text.len() < 2 * MAX_TEXT);
        assert_eq!((diff.added, diff.removed), (200_000, 200_000));
        assert!(diff.text.ends_with("in all 200000 lines removed, 200000 added]\n"));
    }
}
