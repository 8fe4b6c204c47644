//! A working directory with a session, and what the guard does around effects in it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use clawhold::journal::{
    Change, DEFAULT_LIMIT, OnConflict, Undo, UndoError, UndoPlan, UndoReport, UndoStore,
};

/// A working directory and a session, with a tool that does what the guard does around effects.
pub(crate) struct Desk {
    _folder: tempfile::TempDir,
    pub(crate) root: PathBuf,
    pub(crate) session: PathBuf,
    pub(crate) store: Arc<UndoStore>,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self::with_limit(DEFAULT_LIMIT)
    }

    pub(crate) fn with_limit(limit: u64) -> Self {
        Self::over(limit, tempfile::tempdir().expect("a folder"))
    }

    pub(crate) fn over(limit: u64, folder: tempfile::TempDir) -> Self {
        let base = folder.path().canonicalize().expect("a real path");
        let (root, session) = (base.join("work"), base.join("session"));
        fs::create_dir(&root).expect("a workdir");
        let store = Arc::new(UndoStore::new(limit));
        store.attach(session.clone());
        Self { _folder: folder, root, session, store }
    }

    pub(crate) fn root(&self) -> &str {
        self.root.to_str().expect("utf-8")
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Puts a file there as the user would, outside of any turn.
    pub(crate) fn seed(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).expect("a file")
    }

    pub(crate) fn before(&self, turn: u32, path: &str) -> Result<(), UndoError> {
        let (parent, name) = self.open(path);
        let change = Change { root: self.root(), path, parent: &parent, name: &name };
        self.store.before_change(turn, change)
    }

    pub(crate) fn open(&self, path: &str) -> (Dir, String) {
        let full = self.path(path);
        let parent = full.parent().expect("a parent");
        let dir = Dir::open_ambient_dir(parent, ambient_authority()).expect("a folder");
        (dir, full.file_name().and_then(|n| n.to_str()).expect("a name").to_owned())
    }

    pub(crate) fn after(&self, turn: u32, paths: &[&str]) {
        let changed: Vec<(&str, &str)> = paths.iter().map(|path| (self.root(), *path)).collect();
        self.store.after_call(turn, &changed).expect("noted");
    }

    pub(crate) fn write(&self, turn: u32, path: &str, text: &str) {
        self.before(turn, path).expect("kept");
        fs::write(self.path(path), text).expect("written");
        self.after(turn, &[path]);
    }

    pub(crate) fn mkdir(&self, turn: u32, path: &str) {
        self.before(turn, path).expect("kept");
        fs::create_dir(self.path(path)).expect("made");
        self.after(turn, &[path]);
    }

    pub(crate) fn remove(&self, turn: u32, path: &str) {
        self.before(turn, path).expect("kept");
        let full = self.path(path);
        if full.is_dir() { fs::remove_dir(full) } else { fs::remove_file(full) }.expect("removed");
        self.after(turn, &[path]);
    }

    pub(crate) fn rename(&self, turn: u32, old: &str, new: &str) {
        let ((from, old_name), (to, new_name)) = (self.open(old), self.open(new));
        let from = Change { root: self.root(), path: old, parent: &from, name: &old_name };
        let to = Change { root: self.root(), path: new, parent: &to, name: &new_name };
        self.store.before_rename(turn, from, to).expect("kept");
        fs::rename(self.path(old), self.path(new)).expect("moved");
        self.after(turn, &[old, new]);
    }

    pub(crate) fn undo(&self) -> Undo {
        Undo::open(&self.session).expect("an index")
    }

    pub(crate) fn plan(&self, turn: Option<u32>) -> UndoPlan {
        self.undo().plan(turn).expect("a plan")
    }

    /// Lets go of the session, as a process that has ended has.
    pub(crate) fn leave(&self) {
        self.store.attach(self.session.clone());
    }

    pub(crate) fn apply(&self, turn: Option<u32>) -> UndoReport {
        self.apply_as(turn, OnConflict::Refuse)
    }

    pub(crate) fn apply_as(&self, turn: Option<u32>, mode: OnConflict) -> UndoReport {
        self.leave();
        let undo = self.undo();
        let plan = undo.plan(turn).expect("a plan");
        let report = undo.apply(&plan, mode).expect("applied");
        assert_eq!(report.outcomes.len(), plan.steps.len());
        report
    }

    /// The tree: path to what is there with its permissions.
    pub(crate) fn tree(&self) -> BTreeMap<String, String> {
        let mut tree = BTreeMap::new();
        walk(&self.root, &self.root, &mut tree);
        tree
    }
}

fn walk(root: &Path, folder: &Path, tree: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let metadata = path.symlink_metadata().expect("metadata");
        let mode = metadata.permissions().mode() & 0o7777;
        let what = if metadata.is_dir() {
            walk(root, &path, tree);
            format!("dir {mode:o}")
        } else if metadata.is_symlink() {
            format!("link {}", fs::read_link(&path).expect("a link").display())
        } else {
            format!("file {mode:o} {}", String::from_utf8_lossy(&fs::read(&path).expect("bytes")))
        };
        tree.insert(path.strip_prefix(root).expect("below").display().to_string(), what);
    }
}
