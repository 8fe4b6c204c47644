//! Opening a log's files: only regular ones, only our own, never through a link.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::ReadError;

#[derive(Debug, Error)]
pub enum JournalError {
    #[error("cannot {what} `{path}`: {cause}")]
    Io { what: &'static str, path: PathBuf, cause: io::Error },
    #[error("`{path}` is {what}, not a session log of yours; move it away")]
    NotOurs { path: PathBuf, what: &'static str },
    #[error("session `{path}` is in use by another process; end that one, or begin a new session")]
    Locked { path: PathBuf },
    #[error("there is no session `{id}` in `{folder}`; `claw session list` shows what there is")]
    NoSession { id: String, folder: PathBuf },
    #[error(transparent)]
    Damaged(#[from] ReadError),
    #[error("a record of {bytes} bytes is over the log's limit of {limit} bytes")]
    TooLong { bytes: usize, limit: usize },
    #[error(
        "the session log `{path}` could not be written before, so nothing more is done: {cause}"
    )]
    Broken { path: PathBuf, cause: String },
}

impl JournalError {
    pub(super) fn io(what: &'static str, path: &Path, cause: io::Error) -> Self {
        Self::Io { what, path: path.to_owned(), cause }
    }
}

/// How a file is opened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Read,
    /// For reading and appending; it must exist.
    Append,
    /// For appending; it must not exist.
    Create,
    /// For appending, whether it exists or not.
    CreateOrAppend,
}

/// Opens `path` and judges what was opened, not what the name meant a moment before.
pub(super) fn open(path: &Path, mode: Mode) -> Result<File, JournalError> {
    let mut options = OpenOptions::new();
    options.read(true);
    match mode {
        Mode::Read => {}
        Mode::Append => {
            options.append(true);
        }
        Mode::Create => {
            options.append(true).create_new(true);
        }
        Mode::CreateOrAppend => {
            options.append(true).create(true);
        }
    }
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt as _;
        // Not blocking, or opening a FIFO would wait for somebody to write into it. The standard
        // library sets close-on-exec, so no child inherits the file or its lock.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(path).map_err(|cause| refused(path, mode, cause))?;
    let metadata = file.metadata().map_err(|cause| JournalError::io("look at", path, cause))?;
    match objection(&metadata) {
        Some(what) => Err(JournalError::NotOurs { path: path.to_owned(), what }),
        None => Ok(file),
    }
}

fn refused(path: &Path, mode: Mode, cause: io::Error) -> JournalError {
    let is_link = path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    if is_link {
        return JournalError::NotOurs { path: path.to_owned(), what: "a symlink" };
    }
    if path.is_dir() {
        return JournalError::NotOurs { path: path.to_owned(), what: "a folder" };
    }
    let what = if mode == Mode::Create { "create" } else { "open" };
    JournalError::io(what, path, cause)
}

fn objection(metadata: &Metadata) -> Option<&'static str> {
    if metadata.is_dir() {
        return Some("a folder");
    }
    if !metadata.is_file() {
        return Some("a pipe or a device");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            return Some("owned by somebody else");
        }
    }
    None
}

/// Takes the lock that keeps a second writer away, without waiting for it.
pub(super) fn lock(file: &File, path: &Path) -> Result<(), JournalError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(JournalError::Locked { path: path.to_owned() }),
        Err(TryLockError::Error(cause)) => Err(JournalError::io("lock", path, cause)),
    }
}

/// Makes `folder` and what is above it, for this user's eyes only.
pub(super) fn make_folder(folder: &Path) -> Result<(), JournalError> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(folder).map_err(|cause| JournalError::io("create the folder", folder, cause))
}

/// Puts a new name in `folder` on the disk. Not every file system can, and none has to.
pub(super) fn sync_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}
