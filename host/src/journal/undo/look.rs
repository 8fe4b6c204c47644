//! Looking at one entry of an open directory, never following a link and never blocking.

use std::fs::File;
use std::io::{self, Read};

use cap_fs_ext::{FollowSymlinks, MetadataExt as _, OpenOptionsFollowExt};
use cap_std::fs::{Dir, Metadata, OpenOptions};
use sha2::{Digest, Sha256};

use super::HASH_LIMIT;
use super::entry::{FileState, State};

/// What stands under a name, without the content of files.
pub(super) fn glance(parent: &Dir, name: &str) -> io::Result<State> {
    let metadata = match parent.symlink_metadata(name) {
        Ok(metadata) => metadata,
        Err(error) if is_absence(&error) => return Ok(State::Absent),
        Err(error) => return Err(error),
    };
    let kind = metadata.file_type();
    Ok(if kind.is_file() {
        State::File(file_state(&metadata))
    } else if kind.is_dir() {
        State::Dir { mode: mode_of(&metadata), ino: metadata.ino(), born: born(&metadata) }
    } else if kind.is_symlink() {
        match parent.read_link_contents(name)?.into_os_string().into_string() {
            Ok(target) => State::Symlink { target },
            Err(_) => State::Other { what: "a link whose target is not UTF-8".into() },
        }
    } else {
        State::Other { what: "neither a file, a folder nor a link".into() }
    })
}

/// What stands under a name, with the hash of a file up to [`HASH_LIMIT`].
pub(super) fn look(parent: &Dir, name: &str) -> io::Result<State> {
    match glance(parent, name)? {
        State::File(state) if state.size <= HASH_LIMIT => {
            let mut file = open_file(parent, name)?;
            let mut state = state_of(&file)?;
            state.hash = hash(&mut file)?;
            Ok(State::File(state))
        }
        other => Ok(other),
    }
}

/// Opens the regular file `name` itself for reading.
pub(super) fn open_file(parent: &Dir, name: &str) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No);
    // Something else may stand there by now, and opening a FIFO would wait for its other end.
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    let file = parent.open_with(name, &options)?.into_std();
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file any more"));
    }
    Ok(file)
}

pub(super) fn state_of(file: &File) -> io::Result<FileState> {
    Ok(file_state(&Metadata::from_file(file)?))
}

/// The identity of an entry, which stays when it is moved.
pub(super) fn identity(parent: &Dir, name: &str) -> io::Result<(u64, u64)> {
    let metadata = parent.symlink_metadata(name)?;
    Ok((metadata.dev(), metadata.ino()))
}

/// The hash of what is left to read, or none when that is over the limit.
fn hash(file: &mut File) -> io::Result<Option<String>> {
    let mut hasher = Sha256::new();
    let copied = io::copy(&mut file.take(HASH_LIMIT + 1), &mut hasher)?;
    Ok((copied <= HASH_LIMIT).then(|| hex(hasher)))
}

pub(super) fn hex(hasher: Sha256) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digest = hasher.finalize();
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

/// A name below something that is not a directory is absent too.
pub(super) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn file_state(metadata: &Metadata) -> FileState {
    let (uid, gid) = owner_of(metadata);
    FileState {
        size: metadata.len(),
        mode: mode_of(metadata),
        uid,
        gid,
        mtime: mtime_of(metadata),
        ino: metadata.ino(),
        hash: None,
        content: None,
        lost: None,
    }
}

fn born(metadata: &Metadata) -> Option<i64> {
    let created = metadata.created().ok()?.into_std();
    i64::try_from(created.duration_since(std::time::UNIX_EPOCH).ok()?.as_nanos()).ok()
}

#[cfg(unix)]
fn mtime_of(metadata: &Metadata) -> i64 {
    use cap_std::fs::MetadataExt;
    metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec())
}

#[cfg(unix)]
fn mode_of(metadata: &Metadata) -> u32 {
    use cap_std::fs::MetadataExt;
    metadata.mode() & 0o7777
}

#[cfg(unix)]
fn owner_of(metadata: &Metadata) -> (u32, u32) {
    use cap_std::fs::MetadataExt;
    (metadata.uid(), metadata.gid())
}

#[cfg(not(unix))]
fn mtime_of(metadata: &Metadata) -> i64 {
    let since = metadata.modified().ok().map(cap_std::time::SystemTime::into_std);
    let since = since.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    since.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or_default()
}

#[cfg(not(unix))]
fn mode_of(_metadata: &Metadata) -> u32 {
    0
}

#[cfg(not(unix))]
fn owner_of(_metadata: &Metadata) -> (u32, u32) {
    (0, 0)
}
