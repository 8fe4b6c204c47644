//! The workdir: a handle on one directory, whatever becomes of its path later.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt as _};
use thiserror::Error;

use super::{TooWide, WideRule};

/// An open directory. Cloning shares the handle.
///
/// A link at the path is followed once, here; from then on the handle decides, so a path that is
/// replaced while a session runs never takes the session along.
#[derive(Debug, Clone)]
pub struct Workdir {
    dir: Arc<Dir>,
    canonical: PathBuf,
    given: PathBuf,
}

/// Why a directory cannot be the workdir. Paths are escaped, since they may be anything.
#[derive(Debug, Error)]
pub enum OpenError {
    #[error("the workdir `{path}` does not exist: create it, or name another with `-C DIR`")]
    Missing { path: String },
    #[error(
        "the workdir `{path}` is not a directory: name the directory that it lies in with `-C DIR`"
    )]
    NotADirectory { path: String },
    #[error(
        "the workdir `{path}` cannot be opened: {cause}; check its permissions, or name another with `-C DIR`"
    )]
    Unreadable { path: String, cause: std::io::Error },
    #[error("the workdir `{path}` was replaced while it was being opened: try again")]
    Replaced { path: String },
    #[error("the workdir `{path}` is too wide to lend to a model, because {why}: work in a narrower directory with `-C DIR`{}", permit(.why))]
    TooWide { path: String, why: TooWide },
}

fn permit(why: &TooWide) -> &'static str {
    if why.can_be_allowed() { ", or add `--allow-wide-workdir` if you mean it" } else { "" }
}

impl Workdir {
    /// Opens `path`, relative ones against the current directory of the process, and holds it
    /// against `rule`.
    pub fn open(path: &Path, rule: &WideRule) -> Result<Self, OpenError> {
        let shown = || crate::text::escape_line(&path.to_string_lossy());
        let failed = |cause: std::io::Error| match cause.kind() {
            std::io::ErrorKind::NotFound => OpenError::Missing { path: shown() },
            std::io::ErrorKind::NotADirectory => OpenError::NotADirectory { path: shown() },
            _ => OpenError::Unreadable { path: shown(), cause },
        };
        let given = std::path::absolute(path).map_err(failed)?;
        let canonical = path.canonicalize().map_err(failed)?;
        if !canonical.metadata().map_err(failed)?.is_dir() {
            return Err(OpenError::NotADirectory { path: shown() });
        }
        rule.judge(&canonical).map_err(|why| OpenError::TooWide { path: shown(), why })?;

        let dir = Dir::open_ambient_dir(&canonical, ambient_authority()).map_err(failed)?;
        // Listing needs the right to read, looking at an entry the right to search.
        dir.entries().map_err(failed)?;
        let held = dir.metadata(".").map_err(failed)?;
        // What was judged must be what is held: a link put in place in between would show here.
        let judged = canonical.symlink_metadata().map_err(failed)?;
        let same = {
            use std::os::unix::fs::MetadataExt as _;
            (held.dev(), held.ino()) == (judged.dev(), judged.ino())
        };
        if !same {
            return Err(OpenError::Replaced { path: shown() });
        }
        Ok(Self { dir: Arc::new(dir), canonical, given })
    }

    /// The directory itself; every access goes through this.
    pub fn dir(&self) -> &Arc<Dir> {
        &self.dir
    }

    /// Where the directory was when it was opened, without links.
    pub fn path(&self) -> &Path {
        &self.canonical
    }

    /// The absolute paths by which a model may name the workdir: without links first, then as the
    /// user spelt it, if that differs.
    pub fn spellings(&self) -> Vec<PathBuf> {
        let mut spellings = vec![self.canonical.clone()];
        if self.given != self.canonical {
            spellings.push(self.given.clone());
        }
        spellings
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn open(path: &Path) -> Result<Workdir, OpenError> {
        Workdir::open(path, &WideRule::default())
    }

    #[test]
    fn what_is_no_directory_is_said_so() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.txt");
        std::fs::write(&file, "x").unwrap();
        let check = |path: &Path, part: &str| {
            let error = open(path).unwrap_err().to_string();
            assert!(error.contains(part) && error.contains("-C DIR"), "{error}");
            assert!(!error.contains('\n'), "{error}");
        };
        check(&dir.path().join("gone"), "does not exist");
        check(&file, "is not a directory");
        check(&file.join("below"), "is not a directory");
        check(&dir.path().join("a\nb"), "a\\nb");
    }

    #[test]
    fn f22_a_link_is_followed_once_and_the_handle_stays() {
        let dir = tempfile::tempdir().unwrap();
        let [one, two, link] = ["one", "two", "link"].map(|name| dir.path().join(name));
        std::fs::create_dir(&one).unwrap();
        std::fs::create_dir(&two).unwrap();
        std::fs::write(one.join("a"), "first").unwrap();
        std::fs::write(two.join("a"), "second").unwrap();
        std::os::unix::fs::symlink(&one, &link).unwrap();

        let workdir = open(&link).unwrap();
        assert_eq!(workdir.spellings(), [one.canonicalize().unwrap(), link.clone()]);
        std::fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(&two, &link).unwrap();
        assert_eq!(workdir.dir().read_to_string("a").unwrap(), "first");
    }

    #[test]
    fn f22_a_deleted_workdir_is_an_error_and_its_successor_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("work");
        std::fs::create_dir(&path).unwrap();
        let workdir = open(&path).unwrap();
        std::fs::remove_dir(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("a"), "new").unwrap();
        assert!(workdir.dir().read_to_string("a").is_err());
    }

    #[test]
    fn a_wide_workdir_needs_the_flag() {
        let home = tempfile::tempdir().unwrap();
        let mut rule = WideRule { home: Some(home.path().to_owned()), ..WideRule::default() };
        let error = Workdir::open(home.path(), &rule).unwrap_err().to_string();
        assert!(
            error.contains("home directory") && error.contains("--allow-wide-workdir"),
            "{error}"
        );
        rule.allow = true;
        assert!(Workdir::open(home.path(), &rule).is_ok());
    }
}
