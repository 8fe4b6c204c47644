//! The real file tree below the workdir, as far as a verdict has to look at it.

use std::io;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::policy::looks_secret;

/// Where a path leads once links are followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// To something inside; its path from the workdir, without links.
    Here(PathBuf),
    /// To nothing yet, and what exists of it is inside.
    Absent,
    /// Out of the workdir, or nowhere that could be judged.
    Outside,
}

/// What the rules ask of the file system. Paths are relative to the workdir; they may hold `..`.
pub trait Tree {
    /// The workdir as an absolute path without links.
    fn root(&self) -> &Path;

    fn place(&self, path: &Path) -> Place;

    /// The names in a directory, unsorted, at most `limit` of them. A name that is not UTF-8 comes
    /// as `None`.
    fn names(&self, directory: &Path, limit: usize) -> io::Result<Vec<Option<String>>>;

    /// Whether the path is a directory, links followed.
    fn is_dir(&self, path: &Path) -> bool;

    /// Whether something has this name, be it a link that leads nowhere.
    fn exists(&self, path: &Path) -> bool;

    /// Why commands must be asked about before they get this file, which is inside: it looks like
    /// a secret, for instance. The path comes without links.
    fn guarded(&self, real: &Path) -> Option<String> {
        let _ = real;
        None
    }
}

/// A workdir on disk. Every look goes through a directory handle that follows no link outwards.
#[derive(Debug)]
pub struct RealTree {
    root: PathBuf,
    dir: Dir,
}

impl RealTree {
    /// Opens `workdir`, which has to exist.
    pub fn open(workdir: &Path) -> io::Result<Self> {
        let root = workdir.canonicalize()?;
        let dir = Dir::open_ambient_dir(&root, ambient_authority())?;
        Ok(Self { root, dir })
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The empty path means the workdir itself.
fn named(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

impl Tree for RealTree {
    fn root(&self) -> &Path {
        &self.root
    }

    fn place(&self, path: &Path) -> Place {
        match self.dir.canonicalize(named(path)) {
            Ok(real) => return Place::Here(real),
            Err(error) if is_missing(&error) => {}
            // Among these: the handle refuses to leave the workdir.
            Err(_) => return Place::Outside,
        }
        for ancestor in path.ancestors().skip(1) {
            match self.dir.canonicalize(named(ancestor)) {
                Ok(_) => return Place::Absent,
                Err(error) if is_missing(&error) => {}
                Err(_) => break,
            }
        }
        Place::Outside
    }

    fn names(&self, directory: &Path, limit: usize) -> io::Result<Vec<Option<String>>> {
        self.dir
            .read_dir(named(directory))?
            .take(limit)
            .map(|entry| Ok(entry?.file_name().into_string().ok()))
            .collect()
    }

    fn is_dir(&self, path: &Path) -> bool {
        self.dir.is_dir(named(path))
    }

    fn exists(&self, path: &Path) -> bool {
        self.dir.symlink_metadata(named(path)).is_ok()
    }

    fn guarded(&self, real: &Path) -> Option<String> {
        let secret = looks_secret(&real.to_string_lossy());
        secret.then(|| "the file looks like a secret, which only its user may show".into())
    }
}
