//! Changing a small file so that no reader sees half of it and no two writers lose each other's
//! change.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Larger than any file that is kept this way.
const LARGEST: u64 = 4 << 20;

/// Reads `path`, hands its bytes to `change` (none where there is no file), and puts what that
/// gives in the file's place; none leaves it as it is. Other processes that do the same wait.
///
/// The new content is complete on disk before it takes the old one's name, and the directory is
/// flushed after, so a crash leaves the one or the other. A symlink stays, and what it leads to is
/// changed. A new file is for this user alone; an old one keeps its mode.
pub fn update<E: From<io::Error>>(
    path: &Path,
    change: impl FnOnce(Option<&[u8]>) -> Result<Option<Vec<u8>>, E>,
) -> Result<(), E> {
    let path = match path.canonicalize() {
        Ok(real) => real,
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(error.into()),
    };
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir.to_owned(),
        _ => PathBuf::from("."),
    };
    make_private(&dir)?;
    // The directory itself is the lock: it outlives the files in it, and it ends with the process.
    let lock = File::open(&dir)?;
    lock.lock()?;
    let old = read(&path)?;
    if let Some(new) = change(old.as_deref())? {
        replace(&path, &dir, &new)?;
        lock.sync_all()?;
    }
    Ok(())
}

/// The bytes of `path`; none where there is no file.
pub fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    use std::io::Read as _;

    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::other(format!("it is larger than {} MiB", LARGEST >> 20)));
    }
    Ok(Some(bytes))
}

fn replace(path: &Path, dir: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut suffix = [0_u8; 8];
    getrandom::fill(&mut suffix).map_err(io::Error::other)?;
    let temporary = dir.join(format!(".clawhold-{:016x}.tmp", u64::from_le_bytes(suffix)));
    let mode = fs::metadata(path).ok().map(|metadata| metadata.permissions());
    let written = create_private(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        if let Some(mode) = mode {
            file.set_permissions(mode)?;
        }
        file.sync_all()?;
        fs::rename(&temporary, path)
    });
    if written.is_err() {
        // The error that is told is the one that mattered.
        let _ = fs::remove_file(&temporary);
    }
    written
}

#[cfg(unix)]
fn make_private(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

#[cfg(not(unix))]
fn make_private(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)
}

#[cfg(unix)]
fn create_private(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    File::options().write(true).create_new(true).mode(0o600).open(path)
}

#[cfg(not(unix))]
fn create_private(path: &Path) -> io::Result<File> {
    File::options().write(true).create_new(true).open(path)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn c22_no_change_of_many_writers_is_lost() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state/list");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        update(&path, |old| {
                            let mut new = old.unwrap_or_default().to_vec();
                            new.push(b'x');
                            Ok::<_, io::Error>(Some(new))
                        })
                        .unwrap();
                    }
                });
            }
        });
        assert_eq!(fs::read(&path).unwrap().len(), 80);
        assert_eq!(fs::read_dir(dir.path().join("state")).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_modes_stay() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};

        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        fs::write(&real, "a").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&real, &link).unwrap();
        update(&link, |_| Ok::<_, io::Error>(Some(b"b".to_vec()))).unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read(&real).unwrap(), b"b");
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        let new = dir.path().join("new");
        update(&new, |_| Ok::<_, io::Error>(Some(Vec::new()))).unwrap();
        assert_eq!(fs::metadata(&new).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_change_that_fails_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "old").unwrap();
        let failed = update(&path, |_| Err::<Option<Vec<u8>>, _>(io::Error::other("no")));
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
    }
}
