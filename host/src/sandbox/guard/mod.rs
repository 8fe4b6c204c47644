//! The guarded filesystem: what a guest gets in the place of `wasi:filesystem`.
//!
//! A guest's directories are real handles of exactly the granted ones. On top of that, every
//! operation is judged here, once for all plugins and languages: the parent directory is opened
//! to a handle, the handle's real place is judged, and then the operation acts on one name in it
//! without following a link. Nothing is checked as a string and used later as a path.

mod descriptor;
mod directory;
mod open;
mod place;
mod record;
mod refusal;
mod rename;
mod stream;

use std::path::PathBuf;
use std::sync::Arc;

use cap_std::fs::Dir;
use wasmtime::component::{HasData, ResourceTable};

pub use record::Record;
pub use refusal::{Ruling, Refusal};

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
}

impl Rules {
    /// No directory at all.
    pub fn nothing() -> Self {
        Self { roots: Vec::new(), off_limits: Vec::new(), quota: 0, max_open: 16, umask: 0o022 }
    }
}

/// The guard of one call.
#[derive(Debug)]
pub struct Guard {
    rules: Arc<Rules>,
    /// Whether the call may change nothing, whatever its roots allow.
    read_only: bool,
    record: Record,
    meter: Arc<stream::Meter>,
    open: usize,
    /// Files that this call made and that still bear the name they were made under.
    fresh: Vec<Fresh>,
}

/// A file made by this call, private until it is finished.
#[derive(Debug)]
struct Fresh {
    root: usize,
    path: String,
    parent: Arc<Dir>,
    name: String,
}

impl Guard {
    pub fn new(rules: Arc<Rules>, read_only: bool) -> Self {
        let meter = Arc::new(stream::Meter::new(rules.quota));
        Self { rules, read_only, record: Record::default(), meter, open: 0, fresh: Vec::new() }
    }

    /// Ends the call. Files that it made become readable as the process's mask allows; where the
    /// call `died`, those that look like temporaries are removed instead.
    pub fn finish(mut self, died: bool) -> Record {
        for fresh in std::mem::take(&mut self.fresh) {
            if died && is_temporary(&fresh.name) {
                if fresh.parent.remove_file(&fresh.name).is_ok() {
                    self.record.forget_created(&self.rules.roots[fresh.root].label(&fresh.path));
                }
            } else {
                // The file may be gone or replaced by now; then there is nothing to widen.
                let _ = open::widen(&fresh.parent, &fresh.name, 0o666 & !self.rules.umask);
            }
        }
        if self.meter.exhausted() {
            self.record.refuse(&Refusal::Quota { limit: self.rules.quota });
        }
        self.record
    }

    fn refuse(&mut self, refusal: Refusal) -> wasmtime_wasi::p2::FsError {
        self.record.refuse(&refusal);
        refusal.errno().into()
    }
}

/// The names that atomic replacement uses, ours and what editors do: hidden, ending in `.tmp`.
fn is_temporary(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(".tmp")
}

/// Binds the guard to the linker; see [`HasData`].
#[derive(Debug)]
pub struct Guarded;

impl HasData for Guarded {
    type Data<'a> = GuardView<'a>;
}

/// The guard together with the table in which its descriptors live.
#[derive(Debug)]
pub struct GuardView<'a> {
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
    root: usize,
    path: String,
    read: bool,
    write: bool,
}
