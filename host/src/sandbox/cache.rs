//! Compiled plugins and their tool lists, kept in our state directory between runs.
//!
//! Machine code is trusted by whoever loads it, so only what this user's own Clawhold wrote is
//! ever loaded: the directory must belong to us and be closed to everybody else, a file must be
//! the very one that was written (size, times and inode as noted, or else the hash), and it is
//! bound to the engine's configuration and to the hash of the component.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::model::ToolSpec;
use crate::policy::Manifest;

use super::hash::sha256_hex;

/// A directory that has been found to be safe.
#[derive(Debug)]
pub(super) struct Cache {
    dir: PathBuf,
    /// Of engine and host version: code made by another one is not ours.
    engine: String,
}

/// What is known of a component without touching it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// The hash of the machine code, in hexadecimal.
    code_sha256: String,
    stamp: Stamp,
    pub name: String,
    pub tools: Vec<ToolSpec>,
    /// The manifest within the component. An entry that does not say, not even that there is
    /// none, was made by an older host and is not used.
    #[serde(deserialize_with = "Option::deserialize")]
    pub manifest: Option<Manifest>,
}

/// What identifies a file that nobody has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    size: u64,
    /// Seconds and nanoseconds of last change, of content and of inode.
    modified: (i64, i64),
    changed: (i64, i64),
    inode: u64,
    device: u64,
}

impl Cache {
    /// Opens or makes the directory. An error says why it is not to be trusted; the caller then
    /// goes on without a cache.
    pub(super) fn open(dir: &Path, engine: &str) -> io::Result<Self> {
        match fs::symlink_metadata(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => make_private(dir)?,
            Err(error) => return Err(error),
            Ok(_) => {}
        }
        check_private(dir)?;
        Ok(Self { dir: dir.to_owned(), engine: engine.to_owned() })
    }

    /// The entry for the component with this hash, if its code is there and unchanged.
    pub(super) fn find(&self, wasm_sha256: &str) -> Option<Entry> {
        let entry: Entry =
            serde_json::from_slice(&fs::read(self.path(wasm_sha256, "json")).ok()?).ok()?;
        let code = self.path(wasm_sha256, "cwasm");
        if Stamp::of(&code).ok()? == entry.stamp {
            return Some(entry);
        }
        // Copied or restored, perhaps: the content decides.
        let bytes = fs::read(&code).ok()?;
        (sha256_hex(&bytes) == entry.code_sha256).then_some(entry)
    }

    /// Where the machine code lies.
    pub(super) fn code_path(&self, wasm_sha256: &str) -> PathBuf {
        self.path(wasm_sha256, "cwasm")
    }

    /// Keeps code and tool list. Written under other names and renamed, so that nobody ever finds
    /// half of one.
    pub(super) fn keep(
        &self,
        wasm_sha256: &str,
        code: &[u8],
        name: &str,
        tools: &[ToolSpec],
        manifest: Option<&Manifest>,
    ) -> io::Result<()> {
        let path = self.path(wasm_sha256, "cwasm");
        self.write(&path, code)?;
        let entry = Entry {
            code_sha256: sha256_hex(code),
            stamp: Stamp::of(&path)?,
            name: name.to_owned(),
            tools: tools.to_vec(),
            manifest: manifest.cloned(),
        };
        self.write(&self.path(wasm_sha256, "json"), &serde_json::to_vec(&entry)?)
    }

    /// The hash of the file at `path` if it has not changed since it was noted.
    pub(super) fn known_hash(&self, path: &Path, stamp: &Stamp) -> Option<String> {
        let note: Note = serde_json::from_slice(&fs::read(self.note_path(path)).ok()?).ok()?;
        (note.stamp == *stamp && note.path == path).then_some(note.sha256)
    }

    /// Notes the hash of a file, so that a large one is not read again at each start.
    pub(super) fn note_hash(&self, path: &Path, stamp: Stamp, sha256: &str) -> io::Result<()> {
        let note = Note { path: path.to_owned(), stamp, sha256: sha256.to_owned() };
        self.write(&self.note_path(path), &serde_json::to_vec(&note)?)
    }

    fn path(&self, wasm_sha256: &str, extension: &str) -> PathBuf {
        self.dir.join(format!("{wasm_sha256}-{}.{extension}", self.engine))
    }

    fn note_path(&self, path: &Path) -> PathBuf {
        let key = sha256_hex(path.as_os_str().as_encoded_bytes());
        self.dir.join(format!("file-{}.json", &key[..16]))
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut suffix = [0_u8; 8];
        getrandom::fill(&mut suffix).map_err(io::Error::other)?;
        let temporary = self.dir.join(format!(".{:016x}.tmp", u64::from_le_bytes(suffix)));
        let written = create_private(&temporary)
            .and_then(|mut file| file.write_all(bytes))
            .and_then(|()| fs::rename(&temporary, path));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }
}

#[derive(Serialize, Deserialize)]
struct Note {
    path: PathBuf,
    stamp: Stamp,
    sha256: String,
}

impl Stamp {
    /// Of the file itself, links not followed.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        Ok(Self::from_metadata(&fs::symlink_metadata(path)?))
    }

    #[cfg(unix)]
    pub(super) fn from_metadata(metadata: &fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self {
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
            device: metadata.dev(),
        }
    }

    /// Elsewhere the size and the time of change must do.
    #[cfg(not(unix))]
    pub fn from_metadata(metadata: &fs::Metadata) -> Self {
        let modified = metadata
            .modified()
            .ok()
            .and_then(|time| time.duration_since(std::time::SystemTime::UNIX_EPOCH).ok())
            .map_or((0, 0), |since| {
                (since.as_secs().cast_signed(), i64::from(since.subsec_nanos()))
            });
        Self { size: metadata.len(), modified, changed: (0, 0), inode: 0, device: 0 }
    }
}

#[cfg(unix)]
fn make_private(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

#[cfg(not(unix))]
fn make_private(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)
}

#[cfg(unix)]
fn create_private(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    File::options().write(true).create_new(true).mode(0o600).open(path)
}

#[cfg(not(unix))]
fn create_private(path: &Path) -> io::Result<File> {
    File::options().write(true).create_new(true).open(path)
}

/// A directory that is ours alone.
#[cfg(unix)]
fn check_private(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::symlink_metadata(dir)?;
    let refuse = |why: &str| Err(io::Error::other(format!("`{}` {why}", dir.display())));
    if !metadata.is_dir() {
        return refuse("is not a directory; remove it");
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return refuse("belongs to another user");
    }
    if metadata.mode() & 0o077 != 0 {
        return refuse("is open to other users; run `chmod 700` on it");
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_private(dir: &Path) -> io::Result<()> {
    if fs::symlink_metadata(dir)?.is_dir() {
        return Ok(());
    }
    Err(io::Error::other(format!("`{}` is not a directory; remove it", dir.display())))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_was_kept_is_found_and_what_was_changed_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(&dir.path().join("cache"), "e1").unwrap();
        cache.keep("abc", b"code", "p", &[], None).unwrap();
        assert_eq!(cache.find("abc").unwrap().name, "p");
        assert_eq!(cache.find("abd"), None);
        assert_eq!(Cache::open(&dir.path().join("cache"), "e2").unwrap().find("abc"), None);
        fs::write(cache.code_path("abc"), b"evil").unwrap();
        assert_eq!(cache.find("abc"), None);
    }

    #[cfg(unix)]
    #[test]
    fn p34_a_directory_that_others_can_write_is_not_trusted() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let dir = tempfile::tempdir().unwrap();
        let open = dir.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(Cache::open(&open, "e").unwrap_err().to_string().contains("chmod 700"));
        let link = dir.path().join("link");
        symlink(&open, &link).unwrap();
        assert!(Cache::open(&link, "e").unwrap_err().to_string().contains("not a directory"));
    }
}
