//! From a program's bare name to the file that runs: a fixed search path, none of it in the
//! workdir, and a record that tells when the file was exchanged.

use std::collections::HashMap;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Where programs are looked for. Each name is looked up once and stays what it was then.
#[derive(Debug)]
pub struct SearchPath {
    directories: Vec<PathBuf>,
    workdir: PathBuf,
    pinned: Mutex<HashMap<String, Option<Program>>>,
}

/// A program file as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The path to start it by. Its last part is the name asked for, since programs that are
    /// links to one file tell themselves apart by it.
    pub path: PathBuf,
    /// Device, inode, size and time of change of the file behind it.
    mark: (u64, u64, u64, i64, i64),
}

impl SearchPath {
    /// Keeps, in order, those of `directories` that are absolute, exist, lie outside `workdir` and
    /// cannot be written by everybody: an entry such as `.` or `node_modules/.bin` would let the
    /// workdir say what `ls` is.
    pub fn new(directories: impl IntoIterator<Item = PathBuf>, workdir: &Path) -> io::Result<Self> {
        let workdir = workdir.canonicalize()?;
        let mut kept: Vec<PathBuf> = Vec::new();
        for directory in directories {
            if !directory.is_absolute() {
                continue;
            }
            let Ok(real) = directory.canonicalize() else { continue };
            let open = real
                .metadata()
                .map_or(true, |m| !m.is_dir() || m.permissions().mode() & 0o002 != 0);
            if !open && !real.starts_with(&workdir) && !kept.contains(&directory) {
                kept.push(directory);
            }
        }
        Ok(Self { directories: kept, workdir, pinned: Mutex::default() })
    }

    pub fn directories(&self) -> &[PathBuf] {
        &self.directories
    }

    /// The program of this name, or `None` if it is not installed or leads into the workdir.
    pub fn find(&self, name: &str) -> Option<Program> {
        // A lookup never panics, so a poisoned lock still holds whole entries.
        let mut pinned = self.pinned.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(known) = pinned.get(name) {
            return known.clone();
        }
        let found = self.directories.iter().find_map(|d| self.program(d.join(name)));
        pinned.insert(name.to_owned(), found.clone());
        found
    }

    fn program(&self, path: PathBuf) -> Option<Program> {
        let real = path.canonicalize().ok()?;
        let meta = real.metadata().ok()?;
        let runs = meta.is_file() && meta.permissions().mode() & 0o111 != 0;
        (runs && !real.starts_with(&self.workdir)).then(|| Program { path, mark: mark(&meta) })
    }
}

impl Program {
    /// Whether the file behind the path is still the one that was found.
    pub fn is_unchanged(&self) -> bool {
        self.path.metadata().is_ok_and(|meta| mark(&meta) == self.mark)
    }
}

fn mark(meta: &std::fs::Metadata) -> (u64, u64, u64, i64, i64) {
    (meta.dev(), meta.ino(), meta.size(), meta.ctime(), meta.ctime_nsec())
}

/// The usual directories of programs on this system, then those of toolchains under `home`.
pub fn usual_directories(home: Option<&Path>) -> Vec<PathBuf> {
    let system = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/go/bin"].map(PathBuf::from);
    let own =
        home.into_iter().flat_map(|h| [".cargo/bin", ".local/bin", "go/bin"].map(|d| h.join(d)));
    system.into_iter().chain(own).collect()
}
