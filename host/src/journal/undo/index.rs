//! The index on disk: whole lines, appended; a torn last line is what a crash leaves.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::super::file::{JournalError, Mode, lock, open};
use super::entry::{At, Entry, FORMAT};
use super::error::UndoError;

/// The index, open for appending and locked against a second writer.
#[derive(Debug)]
pub(super) struct Index {
    file: File,
    path: PathBuf,
    /// Where the next line begins.
    length: u64,
}

impl Index {
    /// Opens the index in the folder `undo`, which must exist, and gives what it holds.
    pub(super) fn open(undo: &Path) -> Result<(Self, Vec<Entry>), UndoError> {
        let path = path_in(undo);
        let file = open(&path, Mode::CreateOrAppend)?;
        lock(&file, &path)?;
        let (entries, length) = parse(&file, &path)?;
        let mut index = Self { file, path, length };
        // A torn line was never acknowledged, so what it announced was not done.
        index.cut()?;
        if entries.is_empty() {
            index.append(&Entry::Begin { format: FORMAT })?;
        }
        Ok((index, entries))
    }

    /// Writes one line with one `write`; when that fails, takes back what made it.
    pub(super) fn append(&mut self, entry: &Entry) -> Result<(), UndoError> {
        let mut line = serde_json::to_vec(entry)
            .map_err(|cause| UndoError::file("write to", &self.path, cause.into()))?;
        line.push(b'\n');
        if let Err(cause) = self.file.write_all(&line) {
            // If this fails too, the next opening cuts the line off.
            let _ = self.cut();
            return Err(UndoError::file("write to", &self.path, cause));
        }
        self.length += line.len() as u64;
        Ok(())
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    pub(super) fn sync(&self) -> Result<(), UndoError> {
        self.file.sync_data().map_err(|cause| UndoError::file("flush", &self.path, cause))
    }

    fn cut(&mut self) -> Result<(), UndoError> {
        self.file
            .set_len(self.length)
            .map_err(|cause| UndoError::file("mend the end of", &self.path, cause))
    }
}

impl Drop for Index {
    /// Closing the file would do, but for a child that another thread is just starting: for a
    /// moment it has a copy of the file, and with it the lock.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

fn path_in(undo: &Path) -> PathBuf {
    undo.join("index.jsonl")
}

/// The lines of the index in the folder `undo` and the length of the whole ones; none if there
/// is no index.
pub(super) fn read(undo: &Path) -> Result<(Vec<Entry>, u64), UndoError> {
    let path = path_in(undo);
    match open(&path, Mode::Read) {
        Ok(file) => parse(&file, &path),
        Err(JournalError::Io { cause, .. }) if cause.kind() == std::io::ErrorKind::NotFound => {
            Ok((Vec::new(), 0))
        }
        Err(error) => Err(error.into()),
    }
}

fn parse(mut file: &File, path: &Path) -> Result<(Vec<Entry>, u64), UndoError> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|cause| UndoError::file("read", path, cause))?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let mut entries = Vec::new();
    for (at, line) in bytes[..whole].split_inclusive(|byte| *byte == b'\n').enumerate() {
        let damaged = |cause| UndoError::Damaged { path: path.to_owned(), line: at + 1, cause };
        let entry: Entry = match serde_json::from_slice(line) {
            Ok(entry) => entry,
            Err(error) => {
                return Err(newer(line, path).unwrap_or_else(|| damaged(error.to_string())));
            }
        };
        match (&entry, at) {
            (Entry::Begin { format }, 0) if *format <= FORMAT => {}
            (Entry::Begin { format }, 0) => {
                return Err(UndoError::Newer {
                    path: path.to_owned(),
                    found: *format,
                    known: FORMAT,
                });
            }
            (_, 0) => return Err(damaged("it does not begin as an index does".into())),
            _ => {}
        }
        if !places(&entry).into_iter().all(At::is_sound) {
            return Err(damaged("it names a path that no turn can have changed".into()));
        }
        entries.push(entry);
    }
    Ok((entries, whole as u64))
}

/// The first line of a format to come may have keys that this one cannot read.
fn newer(line: &[u8], path: &Path) -> Option<UndoError> {
    let line: serde_json::Value = serde_json::from_slice(line).ok()?;
    let found = u32::try_from(line.get("format")?.as_u64()?).ok()?;
    (found > FORMAT).then(|| UndoError::Newer { path: path.to_owned(), found, known: FORMAT })
}

/// The paths that an undo would follow.
fn places(entry: &Entry) -> Vec<&At> {
    match entry {
        Entry::Begin { .. } | Entry::Undo { .. } | Entry::Gap { .. } => Vec::new(),
        Entry::Keep { at, .. } | Entry::After { at, .. } => vec![at],
        Entry::Move { from, to, .. } => vec![from, to],
    }
}
