//! Walking a tree in a fixed order, without following links and without recursion, so that
//! neither a circle nor a tree of any depth does harm.

use std::fs;
use std::io;
use std::rc::Rc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::disk::{self, Kind};
use crate::names;

/// How deep a walk goes at most, in folders.
pub const MAX_DEPTH: usize = 256;

/// How many names of one folder are kept. Beyond, the last in order are dropped and counted.
const MAX_NAMES: usize = 300_000;

/// What to walk.
#[derive(Debug, Clone)]
pub struct Walk<'a> {
    /// The folder at which to begin, as the caller named it.
    pub base: &'a str,
    /// How many levels of folders; 1 is the folder alone.
    pub depth: usize,
    /// Whether entries that begin with a dot are visited. `.git` is never entered.
    pub hidden: bool,
    /// Whether entries that `.gitignore` files exclude are visited.
    pub ignored: bool,
}

/// One entry on the way.
#[derive(Debug)]
pub struct Item<'a> {
    /// The path under which it can be opened.
    pub path: &'a str,
    /// The path below the base.
    pub rel: &'a str,
    /// The last part of the path.
    pub name: &'a str,
    /// What it is.
    pub kind: Kind,
}

/// What a walk left out.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Tally {
    /// Hidden or ignored entries that were not wanted.
    pub unwanted: usize,
    /// Folders below the greatest depth.
    pub too_deep: usize,
    /// Folders that could not be read, and the first of them with the cause.
    pub unreadable: usize,
    /// See `unreadable`.
    pub first_unreadable: Option<String>,
    /// Entries of overfull folders.
    pub dropped: usize,
}

impl Tally {
    /// Sentences on what is missing through no wish of the caller, each in brackets.
    pub fn notes(&self) -> String {
        let mut out = String::new();
        if self.too_deep > 0 {
            out += &format!(
                "[{} folders deeper than {MAX_DEPTH} levels were left out]\n",
                self.too_deep
            );
        }
        if let Some(first) = &self.first_unreadable {
            out +=
                &format!("[{} folders could not be read; the first: {first}]\n", self.unreadable);
        }
        if self.dropped > 0 {
            out += &format!("[{} entries of overfull folders were left out]\n", self.dropped);
        }
        out
    }
}

struct Frame {
    entries: std::vec::IntoIter<(String, Kind)>,
    /// How long the path is before the names of this folder.
    prefix: usize,
    /// How many ignore files held before this folder.
    rules: usize,
}

/// Visits every entry below the base, by name, a folder before what is in it.
pub fn walk(walk: &Walk, mut visit: impl FnMut(&Item)) -> io::Result<Tally> {
    let mut tally = Tally::default();
    let mut path = match walk.base.trim_end_matches('/') {
        "." | "" if !walk.base.starts_with('/') => String::new(),
        base => format!("{base}/"),
    };
    let below = path.len();
    let mut rules = if walk.ignored { Vec::new() } else { rules_above(&path) };
    let held = rules.len();
    let first = read_folder(if path.is_empty() { "." } else { &path }, &mut tally)?;
    let mut stack = Vec::new();
    enter(&mut stack, first, &path, held, walk, &mut rules);
    while let Some(frame) = stack.last_mut() {
        path.truncate(frame.prefix);
        let Some((name, kind)) = frame.entries.next() else {
            rules.truncate(frame.rules);
            stack.pop();
            continue;
        };
        path.push_str(&name);
        let folder = kind == Kind::Folder;
        let hidden = name.starts_with('.');
        // The repository's own store is only ever shown, where all is asked for.
        if name == ".git" && walk.hidden && !walk.ignored {
            continue;
        }
        if (hidden && !walk.hidden) || excluded(&rules, &path, folder) {
            tally.unwanted += 1;
            continue;
        }
        visit(&Item { path: &path, rel: &path[below..], name: &name, kind });
        if !folder || name == ".git" {
            continue;
        }
        if stack.len() >= walk.depth.min(MAX_DEPTH) {
            tally.too_deep += usize::from(walk.depth >= MAX_DEPTH);
            continue;
        }
        match read_folder(&path, &mut tally) {
            Ok(entries) => {
                path.push('/');
                let held = rules.len();
                enter(&mut stack, entries, &path, held, walk, &mut rules);
            }
            Err(error) => {
                tally.unreadable += 1;
                tally
                    .first_unreadable
                    .get_or_insert_with(|| format!("{}: {error}", names::shown(&path)));
            }
        }
    }
    Ok(tally)
}

fn enter(
    stack: &mut Vec<Frame>,
    entries: Vec<(String, Kind)>,
    path: &str,
    held: usize,
    walk: &Walk,
    rules: &mut Vec<Rules>,
) {
    // The listing says whether there is one, so most folders cost no further look.
    let has_rules =
        || entries.binary_search_by(|(name, _)| name.as_str().cmp(".gitignore")).is_ok();
    if !walk.ignored && has_rules() {
        rules.extend(Rules::load(path));
    }
    stack.push(Frame { entries: entries.into_iter(), prefix: path.len(), rules: held });
}

/// The entries of a folder by name.
fn read_folder(path: &str, tally: &mut Tally) -> io::Result<Vec<(String, Kind)>> {
    let mut entries = Vec::new();
    let by_name = |a: &(String, Kind), b: &(String, Kind)| a.0.cmp(&b.0);
    disk::entries(path, |name, kind| {
        entries.push((name, kind));
        if entries.len() >= 2 * MAX_NAMES {
            // Which names remain does not depend on the order in which they came.
            entries.select_nth_unstable_by(MAX_NAMES, by_name);
            tally.dropped += entries.len() - MAX_NAMES;
            entries.truncate(MAX_NAMES);
        }
    })?;
    entries.sort_unstable_by(by_name);
    if entries.len() > MAX_NAMES {
        tally.dropped += entries.len() - MAX_NAMES;
        entries.truncate(MAX_NAMES);
    }
    Ok(entries)
}

/// One ignore file.
#[derive(Debug, Clone)]
struct Rules {
    /// How long the path of its folder is, with the slash.
    prefix: usize,
    globs: Rc<Gitignore>,
}

impl Rules {
    /// `folder` is empty or ends with a slash. A file that cannot be read holds no rules.
    fn load(folder: &str) -> Option<Self> {
        let bytes = fs::read(format!("{folder}.gitignore")).ok()?;
        // The paths that are asked about are relative to the folder already.
        let mut builder = GitignoreBuilder::new(".");
        for line in String::from_utf8_lossy(&bytes).lines() {
            // A rule that makes no sense is no rule, as in git.
            let _ = builder.add_line(None, line);
        }
        let globs = Rc::new(builder.build().ok()?);
        Some(Self { prefix: folder.len(), globs })
    }
}

/// The ignore files of the folders above `base`, when it lies in the working directory.
fn rules_above(base: &str) -> Vec<Rules> {
    if base.starts_with('/') || base.split('/').any(|part| part == ".." || part == ".") {
        return Vec::new();
    }
    let above = base.char_indices().filter(|(_, c)| *c == '/').map(|(at, _)| at + 1);
    std::iter::once(0)
        .chain(above)
        .filter(|end| *end < base.len())
        .filter_map(|end| Rules::load(&base[..end]))
        .collect()
}

/// Whether the innermost rule that speaks of `path` excludes it.
fn excluded(rules: &[Rules], path: &str, folder: bool) -> bool {
    for rules in rules.iter().rev() {
        match rules.globs.matched(&path[rules.prefix..], folder) {
            ignore::Match::Ignore(_) => return true,
            ignore::Match::Whitelist(_) => return false,
            ignore::Match::None => {}
        }
    }
    false
}
