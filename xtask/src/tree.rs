//! Folders as wholes: listing, copying, replacing.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// All files below `folder`, in a fixed order. Build folders are left out; a folder that is not
/// there has no files.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_path_buf()];
    while let Some(next) = pending.pop() {
        for path in entries(&next)? {
            let name = path.file_name().unwrap_or_default();
            if !path.is_dir() {
                found.push(path);
            } else if name != "target" && name != ".git" {
                pending.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// What lies directly in `folder`, in a fixed order.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let listing = match fs::read_dir(folder) {
        Ok(listing) => listing,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Failure::file("list", folder, &error)),
    };
    let mut found = Vec::new();
    for entry in listing {
        let entry = entry.map_err(|error| Failure::file("list", folder, &error))?;
        found.push(entry.path());
    }
    found.sort();
    Ok(found)
}

/// Copies all files below `from` to the same places below `to`.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    for file in files(from)? {
        let Ok(inner) = file.strip_prefix(from) else {
            continue;
        };
        let goal = to.join(inner);
        if let Some(parent) = goal.parent() {
            make(parent)?;
        }
        fs::copy(&file, &goal).map_err(|error| Failure::file("copy to", &goal, &error))?;
    }
    Ok(())
}

pub(crate) fn make(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| Failure::file("make", folder, &error))
}

/// Removes `folder` and all in it; it need not be there.
pub(crate) fn remove(folder: &Path) -> Result<(), Failure> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Failure::file("remove", folder, &error))
        }
        _ => Ok(()),
    }
}

pub(crate) fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(file).map_err(|error| Failure::file("read", file, &error))
}

/// Puts `content` at `file` at once: a reader sees the old file or the new one, never half of it.
/// A file that holds `content` already is not touched, so that nothing is built again for it.
pub(crate) fn replace(file: &Path, content: &[u8]) -> Result<(), Failure> {
    if fs::read(file).is_ok_and(|old| old == content) {
        return Ok(());
    }
    if let Some(parent) = file.parent() {
        make(parent)?;
    }
    let mut name = file.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}", std::process::id()));
    let fresh = file.with_file_name(name);
    fs::write(&fresh, content)
        .and_then(|()| fs::rename(&fresh, file))
        .map_err(|error| Failure::file("write", file, &error))
}
