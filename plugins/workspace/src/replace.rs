//! Replacing a file in one step: whoever reads it sees the old bytes or the new, never a mixture.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Writes `bytes` to a new file beside `target` and renames it over `target`. Missing folders are
/// made. Whatever fails, `target` is as it was and the new file is gone.
///
/// The host gives the new file the mode and the owner of the one that it replaces.
pub fn replace(target: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = match target.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let (path, file) = create_beside(folder)?;
    let done = fill(file, bytes).and_then(|()| fs::rename(&path, target));
    if done.is_err() {
        // The first error is the one to tell; a file that cannot be removed either is the host's
        // to clean up.
        let _ = fs::remove_file(&path);
    }
    done
}

fn fill(mut file: File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    // Without this a crash after the rename could leave an empty file under the old name.
    file.sync_all()
}

/// Creates a file under a name that nobody can know beforehand, and never opens one that exists:
/// a link put there in advance leads nowhere.
fn create_beside(folder: &Path) -> io::Result<(PathBuf, File)> {
    let mut tries = 0;
    loop {
        let path = folder.join(format!(".claw-{:016x}.tmp", random()?));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists && tries < 8 => tries += 1,
            Err(error) if error.kind() == ErrorKind::NotFound && tries < 8 => {
                // Only now, so that the usual case costs no look at the parents.
                fs::create_dir_all(folder)?;
                tries = 8;
            }
            Err(error) => return Err(error),
        }
    }
}

fn random() -> io::Result<u64> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(u64::from_le_bytes(bytes))
}
