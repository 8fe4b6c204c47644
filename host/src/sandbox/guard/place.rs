//! From a guest's path to a handle of the parent directory and one name in it.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;

use crate::policy::{holds_protected, looks_secret, protected};
use crate::text::escape_line;

use super::{DirNode, Guard, Refusal, Root};

/// Links followed before a path is taken for a loop, as Linux does.
pub(super) const MAX_LINKS: usize = 40;

/// Where an operation takes place.
pub(super) enum Target {
    /// The path names a directory as a whole: `.`, `a/..`.
    Directory(DirNode),
    Entry(Place),
}

/// One name in a directory that has been opened.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub parent: Arc<Dir>,
    pub root: usize,
    /// Where the entry really is, relative to the root.
    pub path: String,
    pub name: OsString,
    /// The path ended in a slash, so only a directory will do.
    pub must_be_dir: bool,
}

impl Place {
    pub(super) fn is_link(&self) -> bool {
        self.parent.symlink_metadata(&self.name).is_ok_and(|metadata| metadata.is_symlink())
    }
}

/// What went wrong on the way: ours to explain, or the system's.
#[derive(Debug)]
pub(super) enum Trouble {
    Refused(Refusal),
    Io(io::Error),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Guard {
    /// Resolves `path` from `from` up to its last part. Links before the last part are followed
    /// as long as they stay inside.
    pub(super) fn locate(&self, from: &DirNode, path: &str) -> Result<Target, Trouble> {
        if path.contains('\0') {
            return Err(io::Error::from(io::ErrorKind::InvalidInput).into());
        }
        if path.is_empty() {
            return Err(io::Error::from(io::ErrorKind::NotFound).into());
        }
        if path.starts_with('/') {
            return Err(Refusal::Outside { path: escape_line(path) }.into());
        }
        let trimmed = path.trim_end_matches('/');
        let must_be_dir = trimmed.len() < path.len();
        let (above, name) = trimmed.rsplit_once('/').unwrap_or(("", trimmed));
        if matches!(name, "." | "..") {
            return Ok(Target::Directory(self.enter(from, trimmed)?));
        }
        let parent = if above.is_empty() { from.clone() } else { self.enter(from, above)? };
        let path = join(&parent.path, name);
        let name = raw_name(&parent.dir, name);
        Ok(Target::Entry(Place { parent: parent.dir, root: parent.root, path, name, must_be_dir }))
    }

    /// Opens the directory `path` below `from` and finds out where it really is.
    pub(super) fn enter(&self, from: &DirNode, path: &str) -> Result<DirNode, Trouble> {
        let dir = match from.dir.open_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && path.contains("\\x") => {
                from.dir.open_dir(unescape(path).ok_or(error)?)
            }
            opened => opened,
        };
        let dir = dir.map_err(|error| explain(error, path))?;
        let root = &self.rules.roots[from.root];
        let real = real_path(&dir, root, &from.path, path)?;
        Ok(DirNode { dir: Arc::new(dir), root: from.root, path: real })
    }

    /// Whether the entry may be read: anywhere below the root but in our own directories.
    pub(super) fn may_read(&self, root: usize, path: &str) -> Result<(), Refusal> {
        if self.rules.off_limits.is_empty() {
            return Ok(());
        }
        let root = &self.rules.roots[root];
        let real = root.real.join(path);
        if self.rules.off_limits.iter().any(|ours| real.starts_with(ours)) {
            return Err(Refusal::OffLimits { path: escape_line(&root.label(path)) });
        }
        Ok(())
    }

    /// Whether the content of a file may be given to the guest.
    pub(super) fn may_show(&self, place: &Place) -> Result<(), Refusal> {
        let label = self.rules.roots[place.root].label(&place.path);
        let granted = |granted: &String| granted == "*" || *granted == label;
        if looks_secret(&label) && !self.rules.secret_files.iter().any(granted) {
            return Err(Refusal::Secret { path: escape_line(&label) });
        }
        Ok(())
    }

    /// Whether the entry may be made, changed or removed.
    ///
    /// The parent is asked once more where it is: somebody may have moved it since the guest
    /// opened it.
    pub(super) fn may_write(&self, place: &Place) -> Result<(), Trouble> {
        let root = &self.rules.roots[place.root];
        let label = || escape_line(&root.label(&place.path));
        if self.read_only || !root.writable {
            return Err(Refusal::ReadOnly { path: label() }.into());
        }
        self.may_read(place.root, &place.path)?;
        let now = match place.path.rsplit_once('/') {
            // Directly in the root, which is pinned by its handle and has no other place.
            None => place.path.clone(),
            Some((above, _)) => {
                join(&real_path(&place.parent, root, "", above)?, last(&place.path))
            }
        };
        // Judged with the root's own name in front: a granted folder may itself be `.git`.
        for path in [&place.path, &now] {
            if let Some(protected) = protected(&root.label(path)) {
                return Err(Refusal::Protected { path: label(), place: protected }.into());
            }
        }
        Ok(())
    }

    /// Like [`Self::may_write`], for an operation that puts something else in the place of a
    /// whole folder, or takes it away.
    pub(super) fn may_displace(&self, place: &Place) -> Result<(), Trouble> {
        self.may_write(place)?;
        let label = self.rules.roots[place.root].label(&place.path);
        if holds_protected(&label) {
            return Err(Refusal::HoldsProtected { path: escape_line(&label) }.into());
        }
        // A folder above our own would take them along to a place that is not watched.
        let real = self.rules.roots[place.root].real.join(&place.path);
        if self.rules.off_limits.iter().any(|ours| ours.starts_with(&real)) {
            return Err(Refusal::OffLimits { path: escape_line(&label) }.into());
        }
        Ok(())
    }
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The name as the file system has it. A listing gives a name that is not UTF-8 with its odd
/// bytes as `\xff`; such a name stands for that file, unless one is really called so.
fn raw_name(parent: &Dir, name: &str) -> OsString {
    if name.contains("\\x")
        && let Some(raw) = unescape(name)
        && parent.symlink_metadata(name).is_err()
        && parent.symlink_metadata(&raw).is_ok()
    {
        return raw;
    }
    name.into()
}

/// The bytes behind the escapes of a listing, where there are any.
#[cfg(unix)]
fn unescape(text: &str) -> Option<OsString> {
    use std::os::unix::ffi::OsStringExt;

    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\\x") {
        bytes.extend_from_slice(before.as_bytes());
        let code = after.get(..2).and_then(|code| u8::from_str_radix(code, 16).ok());
        match code {
            Some(code) if code >= 0x80 => {
                bytes.push(code);
                rest = &after[2..];
            }
            _ => {
                bytes.extend_from_slice(b"\\x");
                rest = after;
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    std::str::from_utf8(&bytes).is_err().then(|| OsString::from_vec(bytes))
}

#[cfg(not(unix))]
fn unescape(_text: &str) -> Option<OsString> {
    None
}

pub(super) fn join(above: &str, name: &str) -> String {
    if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") }
}

/// An escape comes from the resolver as an error without an error number, or as `EXDEV` from the
/// kernel; everything else is the system's own word.
pub(super) fn explain(error: io::Error, path: &str) -> Trouble {
    let escape = error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none();
    #[cfg(unix)]
    let escape = escape || error.raw_os_error() == Some(rustix::io::Errno::XDEV.raw_os_error());
    if escape { Refusal::Outside { path: escape_line(path) }.into() } else { error.into() }
}

/// Where the open directory is now, relative to its root.
fn real_path(dir: &Dir, root: &Root, above: &str, lexical: &str) -> Result<String, Trouble> {
    let outside = || Refusal::Outside { path: escape_line(&root.label(&join(above, lexical))) };
    match handle_path(dir) {
        Some(real) => {
            if let Ok(inside) = real.strip_prefix(&root.real) {
                return utf8(inside).ok_or_else(|| outside().into());
            }
            // The root itself may have been moved since it was opened; its handle knows.
            let moved = handle_path(&root.dir);
            moved
                .and_then(|moved| real.strip_prefix(moved).ok().and_then(utf8))
                .ok_or_else(|| outside().into())
        }
        // No way to ask the system: take the path as written, which `steps` has made sure holds
        // no link.
        None => steps(root, above, lexical).map_err(Trouble::Io),
    }
}

fn utf8(path: &Path) -> Option<String> {
    path.to_str().map(str::to_owned)
}

/// The path of an open handle as the kernel knows it.
#[cfg(target_os = "linux")]
fn handle_path(dir: &Dir) -> Option<PathBuf> {
    use std::os::fd::{AsFd, AsRawFd};
    use std::os::unix::ffi::OsStringExt;

    let mut name = [0_u8; 40];
    let len = {
        use std::io::Write;
        let mut rest = &mut name[..];
        write!(rest, "/proc/self/fd/{}", dir.as_fd().as_raw_fd()).ok()?;
        40 - rest.len()
    };
    let name = std::str::from_utf8(&name[..len]).ok()?;
    let target = rustix::fs::readlink(name, Vec::with_capacity(256)).ok()?;
    Some(PathBuf::from(OsString::from_vec(target.into_bytes())))
}

#[cfg(target_vendor = "apple")]
fn handle_path(dir: &Dir) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;

    let path = rustix::fs::getpath(dir).ok()?;
    Some(PathBuf::from(OsString::from_vec(path.into_bytes())))
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn handle_path(_dir: &Dir) -> Option<PathBuf> {
    None
}

/// Walks the path part by part without following links, and gives it back without `.` and `..`.
/// Slower and stricter than asking the system: a folder behind a link is refused.
fn steps(root: &Root, above: &str, lexical: &str) -> io::Result<String> {
    use cap_fs_ext::DirExt;

    let mut parts: Vec<&str> = above.split('/').filter(|part| !part.is_empty()).collect();
    for part in lexical.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop().ok_or(io::ErrorKind::PermissionDenied)?;
            }
            name => parts.push(name),
        }
    }
    let mut dir = root.dir.try_clone()?;
    for part in &parts {
        dir = dir.open_dir_nofollow(part)?;
    }
    Ok(parts.join("/"))
}
