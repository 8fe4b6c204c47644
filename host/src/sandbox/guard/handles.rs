//! From a guest's descriptor to what stands behind it, and from trouble to what the guest sees.

use std::io;
use std::sync::Arc;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::filesystem::types::{Descriptor, ErrorCode};
use wasmtime_wasi::p2::{DynOutputStream, FsError, FsResult};

use super::place::{Place, Trouble};
use super::stream::Writer;
use super::{DirNode, FileNode, GuardView, Node, Refusal};

impl GuardView<'_> {
    // The generated interface names the descriptor type of another implementation. A resource is
    // only a number in the table, so ours stands there under that name.
    pub(super) fn node(&self, fd: &Resource<Descriptor>) -> wasmtime::Result<&Node> {
        Ok(self.table.get(&Resource::<Node>::new_borrow(fd.rep()))?)
    }

    pub(super) fn dir(&self, fd: &Resource<Descriptor>) -> FsResult<DirNode> {
        match self.node(fd).map_err(FsError::trap)? {
            Node::Dir(dir) => Ok(dir.clone()),
            Node::File(_) => Err(ErrorCode::NotDirectory.into()),
        }
    }

    pub(super) fn file(&self, fd: &Resource<Descriptor>) -> FsResult<&FileNode> {
        match self.node(fd).map_err(FsError::trap)? {
            Node::File(file) => Ok(file),
            Node::Dir(_) => Err(ErrorCode::IsDirectory.into()),
        }
    }

    pub(super) fn writable(&self, fd: &Resource<Descriptor>) -> FsResult<&FileNode> {
        let file = self.file(fd)?;
        if file.write { Ok(file) } else { Err(ErrorCode::NotPermitted.into()) }
    }

    pub(super) fn push(&mut self, node: Node) -> FsResult<Resource<Descriptor>> {
        let fd = self.table.push(node)?;
        Ok(Resource::new_own(fd.rep()))
    }

    /// Turns what went wrong into what the guest sees, and notes it.
    pub(super) fn fail(&mut self, trouble: Trouble) -> FsError {
        match trouble {
            Trouble::Refused(refusal) => self.guard.refuse(&refusal),
            Trouble::Io(error) if error.kind() == io::ErrorKind::QuotaExceeded => {
                let limit = self.guard.rules.quota;
                self.guard.refuse(&Refusal::Quota { limit })
            }
            Trouble::Io(error) => error.into(),
        }
    }

    pub(super) fn checked<T>(&mut self, result: Result<T, Trouble>) -> FsResult<T> {
        result.map_err(|trouble| self.fail(trouble))
    }

    pub(super) fn set_times_of(
        &self,
        place: &Place,
        times: std::fs::FileTimes,
    ) -> Result<(), Trouble> {
        self.guard.may_write(place)?;
        self.guard.keep(place)?;
        let mut options = cap_std::fs::OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No);
        #[cfg(unix)]
        {
            use cap_std::fs::OpenOptionsExt;
            options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
        }
        let file = place.parent.open_with(&place.name, &options)?.into_std();
        file.set_times(times)?;
        Ok(())
    }

    pub(super) fn writer(
        &mut self,
        fd: &Resource<Descriptor>,
        at: Option<u64>,
    ) -> FsResult<Resource<DynOutputStream>> {
        let file = Arc::clone(&self.writable(fd)?.file);
        let meter = Arc::clone(&self.guard.meter);
        let stream: DynOutputStream = Box::new(Writer { file, at, meter });
        Ok(self.table.push(stream)?)
    }

    pub(super) fn flush_to_disk(
        &self,
        fd: &Resource<Descriptor>,
        flush: fn(&std::fs::File) -> io::Result<()>,
    ) -> FsResult<()> {
        match self.node(fd).map_err(FsError::trap)? {
            Node::File(file) => Ok(flush(&file.file)?),
            Node::Dir(dir) => Ok(flush(&dir.dir.try_clone()?.into_std_file())?),
        }
    }
}
