//! Differences as people and `git apply` read them.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use similar::{Algorithm, TextDiff};

use super::entry::{At, Entry, FileState, State, below};
use super::error::UndoError;
use super::place::{Last, Roots};
use super::read::Undo;
use super::{content, look};

/// Files over this many bytes are not compared line by line.
pub(super) const TEXT_LIMIT: u64 = 1 << 20;

/// Lines of a conflict's diff that are shown.
const CONFLICT_LINES: usize = 200;

/// After this long a diff gets coarse instead of exact.
const PATIENCE: Duration = Duration::from_millis(500);

/// The session's changes. See [`Undo::diff`].
pub(super) fn session(undo: &Undo, workdir: &Path) -> Result<String, UndoError> {
    let roots = Roots::default();
    let mut out = String::new();
    let mut seen = HashSet::new();
    for (number, entry) in undo.entries.iter().enumerate() {
        match entry {
            Entry::Keep { at, old, .. } => {
                // A path that a move has brought something to has a history under another name.
                let origin = origin(&undo.entries[..number], at);
                if !seen.insert(origin.absolute()) {
                    continue;
                }
                let now = target(&undo.entries[number..], at);
                if now != *at {
                    seen.insert(now.absolute());
                }
                one(undo, &roots, workdir, (&origin, old), &now, &mut out)?;
            }
            Entry::Move { from, to, .. } => {
                let still = target(&undo.entries[number + 1..], to);
                let there = roots.look(&still, &mut Last::default())?;
                if there != State::Absent && origin(&undo.entries[..number], from) != still {
                    let (from, to) = (label(from, workdir), label(&still, workdir));
                    let _ = writeln!(out, "# moved {} to {}", quoted("", &from), quoted("", &to));
                }
            }
            _ => {}
        }
    }
    Ok(out)
}

/// Where what is at the path came from, through the moves before.
fn origin(before: &[Entry], at: &At) -> At {
    before.iter().rev().fold(at.clone(), |at, entry| match entry {
        Entry::Move { from, to, .. } => carried(&at, to, from),
        _ => at,
    })
}

/// Where what was at the path has got to, through the moves after.
fn target(after: &[Entry], at: &At) -> At {
    after.iter().fold(at.clone(), |at, entry| match entry {
        Entry::Move { from, to, .. } => carried(&at, from, to),
        _ => at,
    })
}

fn carried(at: &At, from: &At, to: &At) -> At {
    match below(&at.absolute(), &from.absolute()) {
        Some(rest) => At::new(&to.root, &format!("{}{rest}", to.path)),
        None => at.clone(),
    }
}

fn one(
    undo: &Undo,
    roots: &Roots,
    workdir: &Path,
    (was, old): (&At, &State),
    is: &At,
    out: &mut String,
) -> Result<(), UndoError> {
    let now = roots.look(is, &mut Last::default())?;
    let same_mode = git_mode(old) == git_mode(&now);
    if same_mode && (old.same(&now) || git_mode(old).is_none()) {
        return Ok(());
    }
    let before = Side {
        name: label(was, workdir),
        mode: git_mode(old),
        bytes: bytes_of(old, |file| content::load(&undo.folder, file).ok()),
    };
    let after = Side {
        name: label(is, workdir),
        mode: git_mode(&now),
        bytes: bytes_of(&now, |_| present(roots, is).ok().flatten()),
    };
    if before.is_link() != after.is_link() && before.mode.is_some() && after.mode.is_some() {
        // A file that became a link, or the reverse, is one gone and one made.
        let nothing = |name: &str| Side { name: name.to_owned(), mode: None, bytes: None };
        write_one(&before, &nothing(&before.name), out);
        write_one(&nothing(&after.name), &after, out);
    } else {
        write_one(&before, &after, out);
    }
    Ok(())
}

/// One side of a difference.
struct Side {
    name: String,
    /// None if there is no file and no link.
    mode: Option<&'static str>,
    /// None if they are not at hand.
    bytes: Option<Vec<u8>>,
}

impl Side {
    fn is_link(&self) -> bool {
        self.mode == Some(LINK)
    }
}

const LINK: &str = "120000";

// Writing to a string does not fail.
fn write_one(before: &Side, after: &Side, out: &mut String) {
    let (mut from, mut to) = (quoted("a/", &before.name), quoted("b/", &after.name));
    let _ = writeln!(out, "diff --git {from} {to}");
    match (before.mode, after.mode) {
        (None, Some(mode)) => {
            let _ = writeln!(out, "new file mode {mode}");
            "/dev/null".clone_into(&mut from);
        }
        (Some(mode), None) => {
            let _ = writeln!(out, "deleted file mode {mode}");
            "/dev/null".clone_into(&mut to);
        }
        (Some(old), Some(new)) if old != new => {
            let _ = writeln!(out, "old mode {old}\nnew mode {new}");
        }
        _ => {}
    }
    if before.name != after.name {
        let _ = writeln!(out, "rename from {}", quoted("", &before.name));
        let _ = writeln!(out, "rename to {}", quoted("", &after.name));
    }
    let none = |side: &Side| side.mode.is_none().then(Vec::new);
    let old = before.bytes.clone().or_else(|| none(before));
    let new = after.bytes.clone().or_else(|| none(after));
    let _ = match (old, new) {
        (Some(old), Some(new)) => match unified(&old, &new, &from, &to) {
            Some(text) => out.write_str(&text),
            None => writeln!(out, "Binary files {from} and {to} differ"),
        },
        _ => writeln!(out, "Files {from} and {to} differ: too large to compare, or not kept"),
    };
}

/// Git tells executable files from others, and nothing more about permissions. It knows neither
/// directories nor devices.
fn git_mode(state: &State) -> Option<&'static str> {
    match state {
        State::File(file) if file.mode & 0o100 != 0 => Some("100755"),
        State::File(_) => Some("100644"),
        State::Symlink { .. } => Some(LINK),
        State::Absent | State::Dir { .. } | State::Other { .. } => None,
    }
}

fn bytes_of(state: &State, load: impl FnOnce(&FileState) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    match state {
        State::File(file) if file.size <= TEXT_LIMIT => load(file),
        State::Symlink { target } => Some(target.clone().into_bytes()),
        _ => None,
    }
}

/// The content of the file that is there now; none if it is no file or too large to show.
pub(super) fn present(roots: &Roots, at: &At) -> Result<Option<Vec<u8>>, UndoError> {
    let Ok((parent, name)) = roots.parent(at, &mut Last::default())? else { return Ok(None) };
    let Ok(file) = look::open_file(&parent, name) else { return Ok(None) };
    let mut bytes = Vec::new();
    match file.take(TEXT_LIMIT + 1).read_to_end(&mut bytes) {
        Ok(read) if read as u64 <= TEXT_LIMIT => Ok(Some(bytes)),
        Ok(_) => Ok(None),
        Err(cause) => Err(UndoError::io("read", &at.absolute(), cause)),
    }
}

/// From what is there to what undo would put there, for a person to judge; none for binary files.
pub(super) fn conflict(path: &str, now: &[u8], old: &[u8]) -> Option<String> {
    let text = unified(now, old, &format!("{path} (now)"), &format!("{path} (after undo)"))?;
    let mut lines = text.split_inclusive('\n');
    let mut shown: String = lines.by_ref().take(CONFLICT_LINES).collect();
    let more = lines.count();
    if more > 0 {
        let _ = writeln!(shown, "({more} more lines)");
    }
    Some(shown)
}

/// A unified diff; empty for equal texts, none if either is not text.
fn unified(old: &[u8], new: &[u8], from: &str, to: &str) -> Option<String> {
    let (old, new) = (text(old)?, text(new)?);
    if old == new {
        return Some(String::new());
    }
    let mut config = TextDiff::configure();
    config.algorithm(Algorithm::Patience).timeout(PATIENCE);
    let diff = config.diff_lines(old, new);
    Some(diff.unified_diff().header(from, to).to_string())
}

fn text(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    (!text.contains('\0')).then_some(text)
}

/// The path below `workdir`, or the absolute one without its first slash.
fn label(at: &At, workdir: &Path) -> String {
    let absolute = at.absolute();
    let below = Path::new(&absolute).strip_prefix(workdir).ok().and_then(Path::to_str);
    below.unwrap_or(absolute.trim_start_matches('/')).to_owned()
}

/// A name as Git writes it: quoted like a string in C if it holds what could break a line.
fn quoted(prefix: &str, name: &str) -> String {
    if !name.chars().any(|c| c.is_control() || matches!(c, '"' | '\\')) {
        return format!("{prefix}{name}");
    }
    let mut out = format!("\"{prefix}");
    for c in name.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    let _ = write!(out, "\\{byte:03o}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
