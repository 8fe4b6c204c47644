//! A bounded walk of a directory, before and after a program that nothing confines has run.

use std::collections::{HashMap, HashSet, VecDeque};

use cap_fs_ext::DirExt;
use cap_std::fs::Dir;

use super::entry::{At, FileState, State};
use super::error::UndoError;
use super::look;
use super::store::UndoStore;

/// Folders that programs fill with what they can make again. They are not looked into.
const REMADE: &[&str] = &["node_modules", "target", "__pycache__", ".venv", "venv", ".tox"];

/// How far a scan goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Files and folders looked at.
    pub entries: usize,
    /// Bytes of content kept by all scans of a session together, within the store's own limit.
    pub bytes: u64,
    /// Bytes of the largest file whose content is kept.
    pub file_bytes: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { entries: 50_000, bytes: 64 << 20, file_bytes: 1 << 20 }
    }
}

/// A directory's entries at one moment.
#[derive(Debug)]
pub struct Snapshot {
    pub(super) root: String,
    pub(super) entries: HashMap<String, State>,
    /// Folders whose entries are all known; the empty name is the root.
    pub(super) listed: HashSet<String>,
    /// Folders that were not looked into, and why.
    pub(super) gaps: Vec<(String, &'static str)>,
}

impl Snapshot {
    /// The entries looked at.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The folders that were not looked into, and why.
    pub fn gaps(&self) -> impl Iterator<Item = (&str, &str)> {
        self.gaps.iter().map(|(path, why)| (path.as_str(), *why))
    }
}

/// Contents that scans have kept: a file that has not changed since need not be kept again.
#[derive(Debug, Default)]
pub(super) struct Known {
    files: HashMap<String, FileState>,
    bytes: u64,
}

impl UndoStore {
    /// Walks the directory `dir`, whose canonical path is `root`, and keeps the content of files
    /// within the bounds: to be called before a program runs.
    ///
    /// The first scan of a session reads what it keeps; later ones only look at sizes, times and
    /// inodes where nothing has changed.
    pub fn scan(&self, root: &str, dir: &Dir, bounds: &Bounds) -> Result<Snapshot, UndoError> {
        self.walk(root, dir, bounds, self.limit() > 0 && self.is_attached())
    }

    /// Like [`Self::scan`] without keeping anything: to be called after the program has run.
    pub fn scan_after(
        &self,
        root: &str,
        dir: &Dir,
        bounds: &Bounds,
    ) -> Result<Snapshot, UndoError> {
        self.walk(root, dir, bounds, false)
    }

    fn walk(
        &self,
        root: &str,
        dir: &Dir,
        bounds: &Bounds,
        keep: bool,
    ) -> Result<Snapshot, UndoError> {
        let mut snapshot = Snapshot {
            root: root.to_owned(),
            entries: HashMap::new(),
            listed: HashSet::new(),
            gaps: Vec::new(),
        };
        let dir = dir.try_clone().map_err(|cause| UndoError::io("open", root, cause))?;
        // Breadth first: where the bound cuts something off, it is what lies deepest. Handles
        // are opened when a folder's turn comes, so that a wide tree does not use them up.
        let mut queue = VecDeque::from([String::new()]);
        while let Some(folder) = queue.pop_front() {
            let opened = folder.split('/').filter(|part| !part.is_empty()).try_fold(
                dir.try_clone().map_err(|cause| UndoError::io("open", root, cause))?,
                |dir, part| dir.open_dir_nofollow(part),
            );
            let listing = opened.and_then(|dir| {
                let room = bounds.entries.saturating_sub(snapshot.entries.len());
                Ok((list(&dir, room)?, dir))
            });
            match listing {
                Ok((Listing::Names(names), dir)) => {
                    for name in &names {
                        let path = join(&folder, name);
                        let state = self.entry(root, &path, &dir, name, keep.then_some(bounds))?;
                        if state.is_dir() {
                            match remade(&path, name) {
                                Some(why) => snapshot.gaps.push((path.clone(), why)),
                                None => queue.push_back(path.clone()),
                            }
                        }
                        snapshot.entries.insert(path, state);
                    }
                    snapshot.listed.insert(folder);
                }
                Ok((Listing::TooMany, _)) => snapshot.gaps.push((folder, "too many entries")),
                Ok((Listing::NotText, _)) => {
                    snapshot.gaps.push((folder, "it holds a name that is not UTF-8"));
                }
                Err(_) => snapshot.gaps.push((folder, "it could not be read")),
            }
        }
        Ok(snapshot)
    }

    fn entry(
        &self,
        root: &str,
        path: &str,
        dir: &Dir,
        name: &str,
        keep: Option<&Bounds>,
    ) -> Result<State, UndoError> {
        let state = look::glance(dir, name)
            .unwrap_or_else(|error| State::Other { what: format!("unreadable: {error}") });
        let State::File(mut file) = state else { return Ok(state) };
        let absolute = At::new(root, path).absolute();
        let known = self.known(|known| known.files.get(&absolute).cloned());
        if let Some(known) = known
            && State::File(known.clone()).untouched(&State::File(file.clone()))
        {
            return Ok(State::File(known));
        }
        let Some(bounds) = keep else { return Ok(State::File(file)) };
        let spent = self.known(|known| known.bytes);
        if file.size > bounds.file_bytes {
            file.lost = Some("it was too large to be kept before a command ran".to_owned());
        } else if file.size > bounds.bytes.saturating_sub(spent) {
            file.lost = Some("there was no more room to keep it before a command ran".to_owned());
        } else {
            match look::open_file(dir, name).map(|opened| self.keep_file(&opened, path)) {
                Ok(Ok(kept)) => {
                    self.known(|known| {
                        known.bytes += kept.size;
                        known.files.insert(absolute, kept.clone());
                    });
                    return Ok(State::File(kept));
                }
                Ok(Err(UndoError::TooLarge { .. })) => {
                    file.lost = Some("the limit for old content was reached".to_owned());
                }
                Ok(Err(error)) => return Err(error),
                Err(error) => file.lost = Some(format!("it could not be read: {error}")),
            }
        }
        Ok(State::File(file))
    }
}

fn remade(path: &str, name: &str) -> Option<&'static str> {
    if path == ".git/objects" || path.ends_with("/.git/objects") {
        Some("Git's own store, which only grows")
    } else if REMADE.contains(&name) {
        Some("a folder that programs fill with what they can make again")
    } else {
        None
    }
}

enum Listing {
    Names(Vec<String>),
    TooMany,
    NotText,
}

/// All names of the folder, or none: an entry missing from half a list would look like a new one.
fn list(dir: &Dir, room: usize) -> std::io::Result<Listing> {
    let mut names = Vec::new();
    for entry in dir.entries()? {
        if names.len() >= room {
            return Ok(Listing::TooMany);
        }
        match entry?.file_name().into_string() {
            Ok(name) => names.push(name),
            Err(_) => return Ok(Listing::NotText),
        }
    }
    names.sort_unstable();
    Ok(Listing::Names(names))
}

fn join(above: &str, name: &str) -> String {
    if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") }
}
