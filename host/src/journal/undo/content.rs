//! Old contents on disk: small ones in one pack, since making a file costs more than filling it;
//! large ones in files of their own, which the kernel can copy without our seeing the bytes.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::super::file::{Mode, open};
use super::HASH_LIMIT;
use super::entry::{Content, FileState};
use super::error::UndoError;
use super::look::hex;

/// Contents up to this many bytes go into the pack.
pub(super) const SMALL: u64 = 64 << 10;

/// The writing end.
#[derive(Debug)]
pub(super) struct Contents {
    folder: PathBuf,
    pack: File,
    pack_length: u64,
    next: u64,
}

impl Contents {
    /// Over the folder `undo`, which must exist; `next` is the first free number.
    pub(super) fn open(folder: &Path, next: u64) -> Result<Self, UndoError> {
        let path = pack_in(folder);
        let pack = open(&path, Mode::CreateOrAppend)?;
        let pack_length =
            pack.metadata().map_err(|cause| UndoError::file("look at", &path, cause))?.len();
        Ok(Self { folder: folder.to_owned(), pack, pack_length, next })
    }

    /// Adds `bytes` to the pack.
    pub(super) fn pack(&mut self, bytes: &[u8]) -> Result<Content, UndoError> {
        if let Err(cause) = self.pack.write_all(bytes) {
            // Left over bytes are only waste: the next offset is taken from the real length.
            let _ = self.pack.set_len(self.pack_length);
            return Err(UndoError::file("write to", &pack_in(&self.folder), cause));
        }
        let at = self.pack_length;
        self.pack_length += bytes.len() as u64;
        Ok(Content::Pack(at))
    }

    /// A new file for a large content. One number may be taken already: by a copy whose line a
    /// crash has cut off.
    pub(super) fn create(&mut self) -> Result<LargeContent, UndoError> {
        loop {
            let number = self.next;
            self.next += 1;
            let path = numbered(&self.folder, number);
            match open(&path, Mode::Create) {
                Ok(file) => return Ok(LargeContent { file, path, number }),
                Err(_) if path.symlink_metadata().is_ok() => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    pub(super) fn sync(&self) -> Result<(), UndoError> {
        let path = pack_in(&self.folder);
        self.pack.sync_data().map_err(|cause| UndoError::file("flush", &path, cause))
    }
}

/// A file for one content, to be filled without holding anything else up.
#[derive(Debug)]
pub(super) struct LargeContent {
    file: File,
    path: PathBuf,
    number: u64,
}

impl LargeContent {
    /// Copies the first `state.size` bytes of `from`, and puts into `state` what it has found.
    pub(super) fn fill(mut self, from: &File, state: &mut FileState) -> Result<(), UndoError> {
        let result = self.copy(from, state);
        if let Err(cause) = result {
            // The number is not in the index, so nobody would ever look at the file again.
            let _ = std::fs::remove_file(&self.path);
            return Err(UndoError::file("keep old content in", &self.path, cause));
        }
        state.content = Some(Content::File(self.number));
        Ok(())
    }

    fn copy(&mut self, from: &File, state: &mut FileState) -> io::Result<()> {
        let mut from = from.take(state.size);
        if state.size <= HASH_LIMIT {
            let mut hasher = Sha256::new();
            state.size = hashed_copy(&mut from, &mut self.file, &mut hasher)?;
            state.hash = Some(hex(hasher));
        } else {
            // An appending file cannot be the target of a copy in the kernel.
            let mut target = std::fs::OpenOptions::new().write(true).open(&self.path)?;
            state.size = io::copy(&mut from, &mut target)?;
            target.sync_data()?;
        }
        Ok(())
    }
}

/// Writes the kept content of `state` to `to`. Damaged content is an error; `to` may then hold
/// some of it.
pub(super) fn restore(folder: &Path, state: &FileState, to: &mut File) -> io::Result<()> {
    let mut from = reader(folder, state)?;
    let (copied, hash) = if state.hash.is_some() {
        let mut hasher = Sha256::new();
        (hashed_copy(&mut from, to, &mut hasher)?, Some(hex(hasher)))
    } else {
        (io::copy(&mut from, to)?, None)
    };
    if copied != state.size || hash != state.hash {
        return Err(io::Error::new(io::ErrorKind::InvalidData, DAMAGED));
    }
    Ok(())
}

/// The kept content of `state` in memory; the caller has looked at the size.
pub(super) fn load(folder: &Path, state: &FileState) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader(folder, state)?.read_to_end(&mut bytes)?;
    let hash = state.hash.is_some().then(|| hex(Sha256::new_with_prefix(&bytes)));
    if bytes.len() as u64 != state.size || hash != state.hash {
        return Err(io::Error::new(io::ErrorKind::InvalidData, DAMAGED));
    }
    Ok(bytes)
}

const DAMAGED: &str = "the kept content is damaged";

fn reader(folder: &Path, state: &FileState) -> io::Result<io::Take<File>> {
    let (path, at) = match state.content {
        Some(Content::Pack(at)) => (pack_in(folder), at),
        Some(Content::File(number)) => (numbered(folder, number), 0),
        None => return Err(io::Error::new(io::ErrorKind::NotFound, "its content was not kept")),
    };
    let mut file = open(&path, Mode::Read).map_err(io::Error::other)?;
    if at > 0 {
        file.seek(SeekFrom::Start(at))?;
    }
    Ok(file.take(state.size))
}

fn hashed_copy(from: &mut impl Read, to: &mut File, hasher: &mut Sha256) -> io::Result<u64> {
    let mut buffer = vec![0; SMALL as usize];
    let mut copied = 0;
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return Ok(copied),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hasher.update(&buffer[..read]);
        to.write_all(&buffer[..read])?;
        copied += read as u64;
    }
}

fn pack_in(folder: &Path) -> PathBuf {
    folder.join("pack")
}

fn numbered(folder: &Path, number: u64) -> PathBuf {
    folder.join(number.to_string())
}
