//! Opening: judged before anything is created or cut, never blocking, regular files only.

use std::ffi::OsStr;
use std::io;
use std::sync::Arc;

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsMaybeDirExt};
use cap_std::fs::{Dir, Metadata, OpenOptions};
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorFlags, OpenFlags};

use crate::text::escape_line;

use super::place::{MAX_LINKS, Place, Target, Trouble, explain, join};
use super::seen::Stamp;
use super::{DirNode, FileNode, Fresh, Guard, Node, Refusal};

impl Guard {
    pub(super) fn open_at(
        &mut self,
        from: &DirNode,
        path: &str,
        follow: bool,
        how: OpenFlags,
        access: DescriptorFlags,
    ) -> Result<Node, Trouble> {
        if self.open >= self.rules.max_open {
            return Err(Refusal::TooManyOpen { limit: self.rules.max_open }.into());
        }
        let asked = path;
        let (mut from, mut path) = (from.clone(), path.to_owned());
        for links in 0..MAX_LINKS {
            let located = self.locate(&from, &path).map_err(|trouble| match trouble {
                // Named is what was asked for, which leads there, and not the end of its link.
                Trouble::Refused(Refusal::Outside { .. }) if links > 0 => {
                    Refusal::Outside { path: escape_line(asked) }.into()
                }
                other => other,
            });
            let place = match located? {
                Target::Directory(node) => return self.open_directory(node, how, access),
                Target::Entry(place) => place,
            };
            match self.open_entry(&place, how, access) {
                Err(Trouble::Io(error)) if is_link(&error) && follow && !exclusive(how) => {
                    path = self.link_target(&place)?;
                    from = self.root_node(place.root);
                }
                other => return other,
            }
        }
        Err(loop_error().into())
    }

    pub(super) fn root_node(&self, root: usize) -> DirNode {
        DirNode { dir: Arc::clone(&self.rules.roots[root].dir), root, path: String::new() }
    }

    /// The target of the link at `place`, as a path from its root.
    pub(super) fn link_target(&self, place: &Place) -> Result<String, Trouble> {
        let target = place.parent.read_link_contents(&place.name)?;
        let label = || escape_line(&self.rules.roots[place.root].label(&place.path));
        if target.is_absolute() {
            return Err(Refusal::AbsoluteLink { path: label() }.into());
        }
        let Some(target) = target.to_str() else {
            return Err(io::Error::from(io::ErrorKind::InvalidData).into());
        };
        let above = place.path.rsplit_once('/').map_or("", |(above, _)| above);
        Ok(join(above, target))
    }

    /// The path named a directory as a whole, so there is nothing to create or to cut.
    fn open_directory(
        &mut self,
        node: DirNode,
        how: OpenFlags,
        access: DescriptorFlags,
    ) -> Result<Node, Trouble> {
        self.may_read(node.root, &node.path)?;
        if exclusive(how) {
            return Err(io::Error::from(io::ErrorKind::AlreadyExists).into());
        }
        if access.contains(DescriptorFlags::WRITE) || how.contains(OpenFlags::TRUNCATE) {
            return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
        }
        self.open += 1;
        Ok(Node::Dir(node))
    }

    fn open_entry(
        &mut self,
        place: &Place,
        how: OpenFlags,
        access: DescriptorFlags,
    ) -> Result<Node, Trouble> {
        let create = how.contains(OpenFlags::CREATE);
        let truncate = how.contains(OpenFlags::TRUNCATE);
        let write = access.contains(DescriptorFlags::WRITE);
        let changes = create || truncate || write;
        if changes {
            self.may_write(place)?;
        } else {
            self.may_read(place.root, &place.path)?;
        }
        if how.contains(OpenFlags::DIRECTORY) || place.must_be_dir {
            if create {
                return Err(io::Error::from(io::ErrorKind::InvalidInput).into());
            }
            let dir = match place.parent.open_dir_nofollow(&place.name) {
                Ok(dir) => dir,
                // A link is no directory either; told apart, so that it can be followed.
                Err(_) if place.is_link() => return Err(loop_error().into()),
                Err(error) => return Err(explain(error, &place.path)),
            };
            self.open += 1;
            return Ok(Node::Dir(DirNode {
                dir: Arc::new(dir),
                root: place.root,
                path: place.path.clone(),
            }));
        }
        if changes {
            self.keep(place)?;
        }
        let opened = open_file(place, create, exclusive(how), changes);
        let (file, created) = opened.map_err(|error| self.why_not_opened(place, error))?;
        self.admit(place, file, created, truncate, access)
    }

    /// Sockets, and devices with nothing behind them, cannot even be opened.
    fn why_not_opened(&self, place: &Place, error: io::Error) -> Trouble {
        let kind = place.parent.symlink_metadata(&place.name).map(|metadata| metadata.file_type());
        match kind {
            Ok(kind) if !kind.is_file() && !kind.is_dir() && !kind.is_symlink() => {
                let label = self.rules.roots[place.root].label(&place.path);
                Refusal::NotRegular { path: escape_line(&label), kind: name_of(kind) }.into()
            }
            _ => error.into(),
        }
    }

    /// Looks at what was opened before the guest gets it.
    fn admit(
        &mut self,
        place: &Place,
        file: std::fs::File,
        created: bool,
        truncate: bool,
        access: DescriptorFlags,
    ) -> Result<Node, Trouble> {
        let metadata = Metadata::from_file(&file)?;
        let kind = metadata.file_type();
        let label = self.rules.roots[place.root].label(&place.path);
        if kind.is_dir() {
            if truncate || access.contains(DescriptorFlags::WRITE) {
                return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
            }
            self.open += 1;
            let dir = Arc::new(Dir::from_std_file(file));
            return Ok(Node::Dir(DirNode { dir, root: place.root, path: place.path.clone() }));
        }
        if !kind.is_file() {
            return Err(
                Refusal::NotRegular { path: escape_line(&label), kind: name_of(kind) }.into()
            );
        }
        let read = access.contains(DescriptorFlags::READ);
        let write = access.contains(DescriptorFlags::WRITE);
        if read && !created {
            self.may_show(place)?;
        }
        if !created && (truncate || write) {
            self.expect_unchanged(place, &metadata)?;
        }
        if created || truncate || write {
            self.changing(place);
        }
        if created {
            self.record.create(&label);
            self.fresh.push(Fresh {
                root: place.root,
                path: place.path.clone(),
                parent: Arc::clone(&place.parent),
                name: place.name.clone(),
            });
        } else if truncate {
            self.record.write(&label);
            file.set_len(0)?;
        } else if write {
            self.record.write(&label);
        }
        if read && !created {
            self.record.read(&label);
            self.read.push((label, Stamp::of(&metadata)));
        }
        self.open += 1;
        Ok(Node::File(FileNode { file: Arc::new(file), read, write }))
    }
}

/// Opens the entry itself, never what a link points to. The flag says whether it was made now.
fn open_file(
    place: &Place,
    create: bool,
    only_new: bool,
    write: bool,
) -> io::Result<(std::fs::File, bool)> {
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).maybe_dir(true);
    // A FIFO would otherwise hang the thread until somebody opens its other end.
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed()).mode(0o600);
    }
    options.write(write);
    if !create {
        return Ok((place.parent.open_with(&place.name, &options)?.into_std(), false));
    }
    let mut new = options.clone();
    new.create_new(true).maybe_dir(false);
    match place.parent.open_with(&place.name, &new) {
        Ok(file) => Ok((file.into_std(), true)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !only_new => {
            Ok((place.parent.open_with(&place.name, &options)?.into_std(), false))
        }
        Err(error) => Err(error),
    }
}

/// Gives the regular file `name` the permission bits `mode`.
#[cfg(unix)]
pub(super) fn widen(parent: &Dir, name: &OsStr, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No);
    let file = parent.open_with(name, &options)?.into_std();
    file.set_permissions(std::fs::Permissions::from_mode(mode))
}

/// Gives the file `name` to the owner `uid` and group `gid`, as far as this process may.
#[cfg(unix)]
pub(super) fn hand_over(parent: &Dir, name: &OsStr, uid: u32, gid: u32) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;

    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No);
    let file = parent.open_with(name, &options)?.into_std();
    let now = file.metadata()?;
    if (now.uid(), now.gid()) != (uid, gid) {
        // Only root may give files away; for everybody else the file stays their own.
        let _ = std::os::unix::fs::fchown(&file, Some(uid), Some(gid));
    }
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn widen(_parent: &Dir, _name: &OsStr, _mode: u32) -> io::Result<()> {
    Ok(())
}

fn exclusive(how: OpenFlags) -> bool {
    how.contains(OpenFlags::EXCLUSIVE)
}

/// Opening without following says `ELOOP` for a link.
pub(super) fn is_link(error: &io::Error) -> bool {
    error.kind() == loop_error().kind()
}

pub(super) fn loop_error() -> io::Error {
    #[cfg(unix)]
    return rustix::io::Errno::LOOP.into();
    #[cfg(not(unix))]
    io::Error::other("too many levels of symbolic links")
}

#[cfg(unix)]
fn name_of(kind: cap_std::fs::FileType) -> &'static str {
    use cap_std::fs::FileTypeExt;

    if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_char_device() {
        "a character device"
    } else if kind.is_block_device() {
        "a block device"
    } else {
        "something else"
    }
}

#[cfg(not(unix))]
fn name_of(_kind: cap_std::fs::FileType) -> &'static str {
    "something else"
}
