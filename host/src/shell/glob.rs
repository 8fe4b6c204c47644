//! Wildcards, expanded by us inside the workdir, so that what was judged is what the program gets.

use std::path::Path;

use super::inside::{below_root, stays_inside};
use super::tree::{Place, Tree};
use super::word::{Atom, Word};
use crate::text::escape_line;

/// More results than this are refused: the program's argument list would not be readable any more.
pub(super) const MAX_RESULTS: usize = 1000;
/// How many directory entries one expansion looks at.
pub(super) const MAX_ENTRIES: usize = 20_000;

/// The names that fit a word with wildcards, sorted by code point as in the C locale.
///
/// Differs from the shell where the shell surprises: no match is an error, and a result whose
/// first part was found by a wildcard begins with `./`, so no name can pass for an option. Names
/// that begin with a dot fit only a pattern that begins with one.
pub(super) fn expand(word: &Word, cwd: &Path, tree: &dyn Tree) -> Result<Vec<String>, String> {
    let Some(pattern) = word.pattern() else { return Ok(vec![word.text().to_owned()]) };
    let shown = || escape_line(word.text());
    let mut budget = MAX_ENTRIES;
    // Prefixes of results, each as it will be written; a `/` closes every finished part.
    let mut found = vec![String::new()];
    let mut parts = pattern.split(|a| *a == Atom::Char('/')).peekable();
    let mut first = true;
    while let Some(part) = parts.next() {
        let last = parts.peek().is_none();
        let mut next = Vec::new();
        for prefix in &found {
            let literal = literal(part);
            let names = match &literal {
                // A doubled, leading or closing slash.
                Some(name) if name.is_empty() => vec![String::new()],
                Some(name) if name == ".." => {
                    return Err(format!("`{}` mixes wildcards and `..`", shown()));
                }
                Some(name) => vec![name.clone()],
                None => fitting(part, prefix, cwd, tree, &mut budget)
                    .map_err(|why| format!("`{}`: {why}", shown()))?,
            };
            for name in names {
                let safe = if first && literal.is_none() { "./" } else { "" };
                let path = format!("{prefix}{safe}{name}");
                let kept = keep(&path, last, literal.is_some(), cwd, tree)
                    .map_err(|why| format!("`{}`: {why}", shown()))?;
                if kept {
                    next.push(if last { path } else { path + "/" });
                }
            }
            if next.len() > MAX_RESULTS {
                return Err(format!("`{}` fits more than {MAX_RESULTS} names", shown()));
            }
        }
        found = next;
        first = false;
    }
    found.sort();
    if found.is_empty() {
        return Err(format!("`{}` fits no name; quote it if it is meant as it stands", shown()));
    }
    Ok(found)
}

/// Whether a partial result stands for something: directories on the way, anything at the end.
/// A directory that leads outside is an error: a shell would list what is in it.
fn keep(
    path: &str,
    last: bool,
    literal: bool,
    cwd: &Path,
    tree: &dyn Tree,
) -> Result<bool, &'static str> {
    // The empty beginning of an absolute pattern.
    if path.is_empty() {
        return Ok(true);
    }
    let Some(relative) = below_root(path, cwd, tree.root()).filter(|p| stays_inside(p)) else {
        // Parents of the workdir on the way down to it.
        return Ok(!last && literal && tree.root().starts_with(path));
    };
    if last && !path.ends_with('/') {
        // A name that was just read from its directory exists.
        return Ok(!literal || tree.exists(&relative));
    }
    if tree.place(&relative) == Place::Outside {
        return Err("a directory on the way leads out of the workdir");
    }
    Ok(tree.is_dir(&relative))
}

/// The entries of the directory `prefix` that fit `part`.
fn fitting(
    part: &[Atom],
    prefix: &str,
    cwd: &Path,
    tree: &dyn Tree,
    budget: &mut usize,
) -> Result<Vec<String>, &'static str> {
    let directory = below_root(prefix, cwd, tree.root())
        .filter(|p| stays_inside(p))
        .ok_or("wildcards are expanded inside the workdir only")?;
    // A directory that cannot be read has nothing that fits, as in the shell.
    let names = tree.names(&directory, *budget + 1).unwrap_or_default();
    *budget = budget.checked_sub(names.len()).ok_or("too many directory entries to look at")?;
    let dotted = part.first() == Some(&Atom::Char('.'));
    let mut result = Vec::new();
    for name in names {
        let Some(name) = name else {
            return Err("a name in that directory is not valid UTF-8");
        };
        if name.starts_with('.') == dotted && fits(part, &name) {
            result.push(name);
        }
    }
    Ok(result)
}

/// The text of a part without wildcards.
fn literal(part: &[Atom]) -> Option<String> {
    part.iter().map(|a| if let Atom::Char(c) = a { Some(*c) } else { None }).collect()
}

/// Whether `name` fits `pattern`. Goes back to the last star only, so the time is bounded by the
/// product of both lengths.
pub(super) fn fits(pattern: &[Atom], name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        match (pattern.get(p), name.get(n)) {
            (None, None) => return true,
            (Some(Atom::Star), _) => {
                star = Some((p, n));
                p += 1;
                continue;
            }
            (Some(atom), Some(&c)) if fits_one(atom, c) => {
                p += 1;
                n += 1;
                continue;
            }
            _ => {}
        }
        // Let the last star take one character more.
        match star {
            Some((at, taken)) if taken < name.len() => {
                star = Some((at, taken + 1));
                p = at + 1;
                n = taken + 1;
            }
            _ => return false,
        }
    }
}

fn fits_one(atom: &Atom, c: char) -> bool {
    match atom {
        Atom::Char(wanted) => *wanted == c,
        Atom::One => true,
        Atom::Star => false,
        Atom::Class { negated, ranges, .. } => {
            ranges.iter().any(|&(low, high)| low <= c && c <= high) != *negated
        }
    }
}
