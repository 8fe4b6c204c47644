//! Changing the directory tree: making, moving and removing entries.

use std::io;

use cap_fs_ext::DirExt;

use super::place::{Place, Target, Trouble};
use super::{DirNode, Guard, open};

/// What an entry made costs of the quota: about what a file system spends on it.
const ENTRY_COST: u64 = 4096;

impl Guard {
    pub(super) fn create_directory(&mut self, from: &DirNode, path: &str) -> Result<(), Trouble> {
        let place = self.entry(from, path, io::ErrorKind::AlreadyExists)?;
        self.may_write(&place)?;
        self.meter.spend(ENTRY_COST)?;
        self.keep(&place)?;
        place.parent.create_dir(&place.name)?;
        self.changing(&place);
        self.record.create(&self.rules.roots[place.root].label(&place.path));
        Ok(())
    }

    pub(super) fn remove_directory(&mut self, from: &DirNode, path: &str) -> Result<(), Trouble> {
        let place = self.entry(from, path, io::ErrorKind::InvalidInput)?;
        self.may_displace(&place)?;
        self.keep_removed(&place)?;
        place.parent.remove_dir(&place.name)?;
        self.changing(&place);
        self.record.remove(&self.rules.roots[place.root].label(&place.path));
        Ok(())
    }

    pub(super) fn unlink(&mut self, from: &DirNode, path: &str) -> Result<(), Trouble> {
        let place = self.entry(from, path, io::ErrorKind::IsADirectory)?;
        if place.must_be_dir {
            return Err(io::Error::from(io::ErrorKind::NotADirectory).into());
        }
        self.may_displace(&place)?;
        if let Ok(now) = place.parent.symlink_metadata(&place.name) {
            self.expect_unchanged(&place, &now)?;
        }
        self.keep_removed(&place)?;
        place.parent.remove_file_or_symlink(&place.name)?;
        self.changing(&place);
        self.fresh.retain(|fresh| fresh.root != place.root || fresh.path != place.path);
        self.record.remove(&self.rules.roots[place.root].label(&place.path));
        Ok(())
    }

    pub(super) fn rename(
        &mut self,
        from: &DirNode,
        old: &str,
        to: &DirNode,
        new: &str,
    ) -> Result<(), Trouble> {
        let old = self.entry(from, old, io::ErrorKind::InvalidInput)?;
        let new = self.entry(to, new, io::ErrorKind::InvalidInput)?;
        self.may_displace(&old)?;
        self.may_displace(&new)?;
        let replaced = new.parent.symlink_metadata(&new.name).ok();
        if let Some(replaced) = &replaced {
            self.expect_unchanged(&new, replaced)?;
        }
        self.keep_renamed(&old, &new)?;
        let fresh = self.fresh.iter().position(|f| f.root == old.root && f.path == old.path);
        if fresh.is_some() {
            self.finish_fresh(&old, replaced.as_ref())?;
        }
        old.parent.rename(&old.name, &new.parent, &new.name)?;
        self.changing(&old);
        self.changing(&new);
        if let Some(at) = fresh {
            self.fresh.swap_remove(at);
        }
        let label = |place: &Place| self.rules.roots[place.root].label(&place.path);
        let (old, new) = (label(&old), label(&new));
        if old != new {
            self.record.remove(&old);
            if replaced.is_some() { self.record.write(&new) } else { self.record.create(&new) }
        }
        Ok(())
    }

    /// A file of this call gets its final permissions just before it takes its final name: those
    /// of the file that it replaces, or what the process's mask allows.
    #[cfg(unix)]
    fn finish_fresh(
        &self,
        temporary: &Place,
        replaced: Option<&cap_std::fs::Metadata>,
    ) -> io::Result<()> {
        use cap_std::fs::MetadataExt;

        let old = replaced.filter(|old| old.is_file());
        let mode = old.map_or(0o666 & !self.rules.umask, |old| old.mode() & 0o7777);
        if let Some(old) = old {
            open::hand_over(&temporary.parent, &temporary.name, old.uid(), old.gid())?;
        }
        // After the owner, since changing that clears the set-user-id bits.
        open::widen(&temporary.parent, &temporary.name, mode)
    }

    #[cfg(not(unix))]
    fn finish_fresh(
        &self,
        _temporary: &Place,
        _replaced: Option<&cap_std::fs::Metadata>,
    ) -> io::Result<()> {
        Ok(())
    }

    /// The place of `path`, which must name an entry rather than a directory as a whole.
    fn entry(
        &self,
        from: &DirNode,
        path: &str,
        otherwise: io::ErrorKind,
    ) -> Result<Place, Trouble> {
        match self.locate(from, path)? {
            Target::Entry(place) => Ok(place),
            Target::Directory(_) => Err(io::Error::from(otherwise).into()),
        }
    }
}
