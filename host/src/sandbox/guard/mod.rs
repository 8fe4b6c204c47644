//! The guarded filesystem: what a guest gets in the place of `wasi:filesystem`.
//!
//! A guest's directories are real handles of exactly the granted ones. On top of that, every
//! operation is judged here, once for all plugins and languages: the parent directory is opened
//! to a handle, the handle's real place is judged, and then the operation acts on one name in it
//! without following a link. Nothing is checked as a string and used later as a path.

mod descriptor;
mod directory;
mod handles;
mod keep;
mod metadata;
mod open;
mod place;
mod record;
mod refusal;
mod rename;
mod seen;
mod stream;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

use cap_std::fs::Dir;
use wasmtime::component::{HasData, ResourceTable};

use crate::journal::UndoStore;
use crate::text::escape_line;

use place::Place;
pub(super) use record::Record;
pub(super) use refusal::{Refusal, Ruling};
pub use seen::Seen;
use seen::Stamp;

/// A directory that a guest is given.
#[derive(Debug)]
pub struct Root {
    pub dir: Arc<Dir>,
    /// Its canonical path when it was opened.
    pub real: PathBuf,
    /// The name by which the guest sees it: `.` for the workdir, the absolute path otherwise.
    pub guest_name: String,
    pub writable: bool,
}

impl Root {
    /// `path` below this root as people know it: relative in the workdir, absolute elsewhere.
    fn label(&self, path: &str) -> String {
        match (self.guest_name.as_str(), path) {
            (".", "") => ".".to_owned(),
            (".", path) => path.to_owned(),
            (root, "") => root.to_owned(),
            (root, path) => format!("{}/{path}", root.trim_end_matches('/')),
        }
    }
}

/// What holds for every call of a plugin in a workdir.
#[derive(Debug)]
pub struct Rules {
    pub roots: Vec<Root>,
    /// Absolute directories of ours that no tool may even read. Usually none lies below a root,
    /// and then this is empty.
    pub off_limits: Vec<PathBuf>,
    /// Bytes that one call may write.
    pub quota: u64,
    /// Files and directories that one call may hold open.
    pub max_open: usize,
    /// The process's file mode mask, applied to the files that guests create.
    pub umask: u32,
    /// Files that look like secrets and may be read all the same; `*` is all of them.
    pub secret_files: Vec<String>,
    /// What the session has read so far.
    pub seen: Arc<Seen>,
    /// Where old states are kept; detached where there is no session.
    pub undo: Arc<UndoStore>,
}

impl Rules {
    /// No directory at all.
    pub fn nothing() -> Self {
        Self {
            roots: Vec::new(),
            off_limits: Vec::new(),
            quota: 0,
            max_open: 16,
            umask: 0o022,
            secret_files: Vec::new(),
            seen: Arc::default(),
            undo: Arc::new(UndoStore::new(0)),
        }
    }
}

/// The guard of one call.
#[derive(Debug)]
pub(super) struct Guard {
    rules: Arc<Rules>,
    /// Whether the call may change nothing, whatever its roots allow.
    read_only: bool,
    /// The turn of the session that the call belongs to.
    turn: u32,
    record: Record,
    meter: Arc<stream::Meter>,
    open: usize,
    /// Files that this call made and that still bear the name they were made under.
    fresh: Vec<Fresh>,
    /// Files that this call read, as they were then.
    read: Vec<(String, Stamp)>,
    /// Files that this call changed: from then on it knows them.
    changed: BTreeMap<(usize, String), (Arc<Dir>, OsString)>,
}

/// A file made by this call, private until it is finished.
#[derive(Debug)]
struct Fresh {
    root: usize,
    path: String,
    parent: Arc<Dir>,
    name: OsString,
}

impl Guard {
    pub(super) fn new(rules: Arc<Rules>, read_only: bool, turn: u32) -> Self {
        let meter = Arc::new(stream::Meter::new(rules.quota));
        Self {
            rules,
            read_only,
            turn,
            record: Record::default(),
            meter,
            open: 0,
            fresh: Vec::new(),
            read: Vec::new(),
            changed: BTreeMap::new(),
        }
    }

    /// Ends the call. Files that it made become readable as the process's mask allows; where the
    /// call `failed`, those that look like temporaries are removed instead: the guest may be gone,
    /// or may no longer find them, if their folder has been moved meanwhile.
    pub(super) fn finish(mut self, failed: bool) -> Record {
        for fresh in std::mem::take(&mut self.fresh) {
            if failed && is_temporary(&fresh.name) {
                if fresh.parent.remove_file(&fresh.name).is_ok() {
                    self.record.forget_created(&self.rules.roots[fresh.root].label(&fresh.path));
                }
            } else {
                // The file may be gone or replaced by now; then there is nothing to widen.
                let _ = open::widen(&fresh.parent, &fresh.name, 0o666 & !self.rules.umask);
            }
        }
        self.settle();
        self.learn();
        if self.meter.exhausted() {
            self.record.refuse(&Refusal::Quota { limit: self.rules.quota });
        } else if let Some(why) = self.meter.refused() {
            self.record.refuse(&Refusal::NotWritten { why });
        }
        self.record
    }

    /// Refuses to change a file that somebody else has changed since this session read it.
    fn expect_unchanged(&self, place: &Place, now: &cap_std::fs::Metadata) -> Result<(), Refusal> {
        let label = self.rules.roots[place.root].label(&place.path);
        let known = self.changed.contains_key(&(place.root, place.path.clone())) || !now.is_file();
        if !known && self.rules.seen.changed(&label, Stamp::of(now)) {
            return Err(Refusal::Stale { path: escape_line(&label) });
        }
        Ok(())
    }

    /// Notes that this call has changed the file at `place`.
    fn changing(&mut self, place: &Place) {
        let key = (place.root, place.path.clone());
        self.changed.insert(key, (Arc::clone(&place.parent), place.name.clone()));
    }

    /// Hands what the call has seen to the session: files read, as they were when opened, and
    /// files changed, as they are now.
    fn learn(&mut self) {
        let roots = &self.rules.roots;
        let changed: BTreeMap<String, _> = std::mem::take(&mut self.changed)
            .into_iter()
            .map(|((root, path), at)| (roots[root].label(&path), at))
            .collect();
        let read = std::mem::take(&mut self.read);
        let read = read.into_iter().filter(|(path, _)| !changed.contains_key(path));
        let read: Vec<_> = read.map(|(path, stamp)| (path, Some(stamp))).collect();
        let changed = changed.into_iter().map(|(path, (parent, name))| {
            (path, parent.symlink_metadata(&name).ok().as_ref().map(Stamp::of))
        });
        self.rules.seen.learn(read.into_iter().chain(changed));
    }

    fn refuse(&mut self, refusal: &Refusal) -> wasmtime_wasi::p2::FsError {
        self.record.refuse(refusal);
        refusal.errno().into()
    }
}

/// The names that atomic replacement uses, ours and what editors do: hidden, ending in `.tmp`.
fn is_temporary(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with('.') && name.ends_with(".tmp")
}

/// Binds the guard to the linker; see [`HasData`].
#[derive(Debug)]
pub(super) struct Guarded;

impl HasData for Guarded {
    type Data<'a> = GuardView<'a>;
}

/// The guard together with the table in which its descriptors live.
#[derive(Debug)]
pub(super) struct GuardView<'a> {
    pub guard: &'a mut Guard,
    pub table: &'a mut ResourceTable,
}

/// What a guest's descriptor stands for.
#[derive(Debug, Clone)]
enum Node {
    Dir(DirNode),
    File(FileNode),
}

#[derive(Debug, Clone)]
struct DirNode {
    dir: Arc<Dir>,
    /// Index into the roots.
    root: usize,
    /// Where it was when it was opened, relative to its root; empty for the root itself.
    path: String,
}

#[derive(Debug, Clone)]
struct FileNode {
    file: Arc<std::fs::File>,
    read: bool,
    write: bool,
}
