//! The `wasi:filesystem` interfaces (WASI 0.2), answered by the guard.

use std::io;
use std::sync::Arc;

use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    self, Descriptor, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry,
    DirectoryEntryStream, ErrorCode, Filesize, MetadataHashValue, NewTimestamp, OpenFlags,
    PathFlags,
};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult};

use crate::text::escape_line;

use super::directory::DirStream;
use super::metadata::{file_times, identity, stat_of};
use super::place::{Target, Trouble};
use super::stream::{Reader, read_at, write_all_at};
use super::{GuardView, Node, Refusal};

impl preopens::Host for GuardView<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
        let rules = Arc::clone(&self.guard.rules);
        let mut directories = Vec::with_capacity(rules.roots.len());
        for (index, root) in rules.roots.iter().enumerate() {
            let fd = self.table.push(Node::Dir(self.guard.root_node(index)))?;
            self.guard.open += 1;
            directories.push((Resource::new_own(fd.rep()), root.guest_name.clone()));
        }
        Ok(directories)
    }
}

impl types::Host for GuardView<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        error.downcast()
    }

    fn filesystem_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        let error = self.table.get(&error)?;
        Ok(error.downcast_ref::<io::Error>().map(|error| {
            if error.kind() == io::ErrorKind::QuotaExceeded {
                ErrorCode::Quota
            } else {
                ErrorCode::from(error)
            }
        }))
    }
}

impl types::HostDescriptor for GuardView<'_> {
    fn read_via_stream(
        &mut self,
        fd: Resource<Descriptor>,
        offset: Filesize,
    ) -> FsResult<Resource<DynInputStream>> {
        let file = self.file(&fd)?;
        if !file.read {
            return Err(ErrorCode::NotPermitted.into());
        }
        let stream: DynInputStream = Box::new(Reader { file: Arc::clone(&file.file), at: offset });
        Ok(self.table.push(stream)?)
    }

    fn write_via_stream(
        &mut self,
        fd: Resource<Descriptor>,
        offset: Filesize,
    ) -> FsResult<Resource<DynOutputStream>> {
        self.writer(&fd, Some(offset))
    }

    fn append_via_stream(
        &mut self,
        fd: Resource<Descriptor>,
    ) -> FsResult<Resource<DynOutputStream>> {
        self.writer(&fd, None)
    }

    async fn advise(
        &mut self,
        fd: Resource<Descriptor>,
        _offset: Filesize,
        _len: Filesize,
        _advice: types::Advice,
    ) -> FsResult<()> {
        // A hint, and the kernel reads ahead well enough without it.
        self.file(&fd)?;
        Ok(())
    }

    async fn sync_data(&mut self, fd: Resource<Descriptor>) -> FsResult<()> {
        self.flush_to_disk(&fd, std::fs::File::sync_data)
    }

    async fn sync(&mut self, fd: Resource<Descriptor>) -> FsResult<()> {
        self.flush_to_disk(&fd, std::fs::File::sync_all)
    }

    async fn get_flags(&mut self, fd: Resource<Descriptor>) -> FsResult<DescriptorFlags> {
        Ok(match self.node(&fd).map_err(FsError::trap)? {
            Node::File(file) => {
                when(file.read, DescriptorFlags::READ) | when(file.write, DescriptorFlags::WRITE)
            }
            Node::Dir(dir) => {
                let writable = !self.guard.read_only && self.guard.rules.roots[dir.root].writable;
                DescriptorFlags::READ | when(writable, DescriptorFlags::MUTATE_DIRECTORY)
            }
        })
    }

    async fn get_type(&mut self, fd: Resource<Descriptor>) -> FsResult<DescriptorType> {
        Ok(match self.node(&fd).map_err(FsError::trap)? {
            Node::File(_) => DescriptorType::RegularFile,
            Node::Dir(_) => DescriptorType::Directory,
        })
    }

    async fn set_size(&mut self, fd: Resource<Descriptor>, size: Filesize) -> FsResult<()> {
        let file = Arc::clone(&self.writable(&fd)?.file);
        let grown = size.saturating_sub(file.metadata().map_err(FsError::from)?.len());
        let result = self.guard.meter.spend(grown).and_then(|()| file.set_len(size));
        self.checked(result.map_err(Trouble::Io))
    }

    async fn set_times(
        &mut self,
        fd: Resource<Descriptor>,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        let times = file_times(accessed, modified)?;
        let file = Arc::clone(&self.writable(&fd)?.file);
        Ok(file.set_times(times)?)
    }

    async fn read(
        &mut self,
        fd: Resource<Descriptor>,
        length: Filesize,
        offset: Filesize,
    ) -> FsResult<(Vec<u8>, bool)> {
        let file = self.file(&fd)?;
        if !file.read {
            return Err(ErrorCode::NotPermitted.into());
        }
        let size = usize::try_from(length).unwrap_or(usize::MAX);
        let bytes = read_at(&file.file, size, offset)?;
        let end = bytes.is_empty() && size > 0;
        Ok((bytes.into(), end))
    }

    async fn write(
        &mut self,
        fd: Resource<Descriptor>,
        bytes: Vec<u8>,
        offset: Filesize,
    ) -> FsResult<Filesize> {
        let file = Arc::clone(&self.writable(&fd)?.file);
        let result = self
            .guard
            .meter
            .spend(bytes.len() as u64)
            .and_then(|()| write_all_at(&file, &bytes, offset));
        self.checked(result.map_err(Trouble::Io))?;
        Ok(bytes.len() as u64)
    }

    async fn read_directory(
        &mut self,
        fd: Resource<Descriptor>,
    ) -> FsResult<Resource<DirectoryEntryStream>> {
        let dir = self.dir(&fd)?;
        let judged = self.guard.may_read(dir.root, &dir.path).map_err(Trouble::Refused);
        self.checked(judged)?;
        let label = self.guard.rules.roots[dir.root].label(&dir.path);
        self.guard.record.read(&label);
        let stream = DirStream::new(&dir.dir)?;
        let stream = self.table.push(stream)?;
        Ok(Resource::new_own(stream.rep()))
    }

    async fn create_directory_at(
        &mut self,
        fd: Resource<Descriptor>,
        path: String,
    ) -> FsResult<()> {
        let dir = self.dir(&fd)?;
        let result = self.guard.create_directory(&dir, &path);
        self.checked(result)
    }

    async fn stat(&mut self, fd: Resource<Descriptor>) -> FsResult<DescriptorStat> {
        let metadata = match self.node(&fd).map_err(FsError::trap)? {
            Node::File(file) => cap_std::fs::Metadata::from_file(&file.file)?,
            Node::Dir(dir) => dir.dir.dir_metadata()?,
        };
        Ok(stat_of(&metadata))
    }

    async fn stat_at(
        &mut self,
        fd: Resource<Descriptor>,
        flags: PathFlags,
        path: String,
    ) -> FsResult<DescriptorStat> {
        let dir = self.dir(&fd)?;
        let looked = self.guard.look(&dir, &path, flags.contains(PathFlags::SYMLINK_FOLLOW));
        let looked = self.checked(looked)?;
        Ok(stat_of(&looked))
    }

    async fn set_times_at(
        &mut self,
        fd: Resource<Descriptor>,
        _flags: PathFlags,
        path: String,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        let times = file_times(accessed, modified)?;
        let dir = self.dir(&fd)?;
        let result = self.guard.locate(&dir, &path).and_then(|target| match target {
            Target::Entry(place) => self.set_times_of(&place, times),
            Target::Directory(_) => Err(io::Error::from(io::ErrorKind::IsADirectory).into()),
        });
        self.checked(result)
    }

    async fn link_at(
        &mut self,
        fd: Resource<Descriptor>,
        _flags: PathFlags,
        _old: String,
        _new_fd: Resource<Descriptor>,
        new: String,
    ) -> FsResult<()> {
        self.dir(&fd)?;
        Err(self.guard.refuse(&Refusal::Link { path: escape_line(&new) }))
    }

    async fn symlink_at(
        &mut self,
        fd: Resource<Descriptor>,
        _old: String,
        new: String,
    ) -> FsResult<()> {
        self.dir(&fd)?;
        Err(self.guard.refuse(&Refusal::Link { path: escape_line(&new) }))
    }

    async fn open_at(
        &mut self,
        fd: Resource<Descriptor>,
        path_flags: PathFlags,
        path: String,
        open_flags: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Resource<Descriptor>> {
        let dir = self.dir(&fd)?;
        let follow = path_flags.contains(PathFlags::SYMLINK_FOLLOW);
        let opened = self.guard.open_at(&dir, &path, follow, open_flags, flags);
        let node = self.checked(opened)?;
        self.push(node)
    }

    async fn readlink_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<String> {
        let dir = self.dir(&fd)?;
        let target = self.guard.locate(&dir, &path).and_then(|target| match target {
            Target::Entry(place) => {
                self.guard.may_read(place.root, &place.path)?;
                self.guard.link_target(&place)?;
                Ok(place.parent.read_link_contents(&place.name)?)
            }
            Target::Directory(_) => Err(io::Error::from(io::ErrorKind::InvalidInput).into()),
        });
        let target = self.checked(target)?;
        target.into_os_string().into_string().map_err(|_| ErrorCode::IllegalByteSequence.into())
    }

    async fn remove_directory_at(
        &mut self,
        fd: Resource<Descriptor>,
        path: String,
    ) -> FsResult<()> {
        let dir = self.dir(&fd)?;
        let result = self.guard.remove_directory(&dir, &path);
        self.checked(result)
    }

    async fn rename_at(
        &mut self,
        fd: Resource<Descriptor>,
        old: String,
        new_fd: Resource<Descriptor>,
        new: String,
    ) -> FsResult<()> {
        let (from, to) = (self.dir(&fd)?, self.dir(&new_fd)?);
        let result = self.guard.rename(&from, &old, &to, &new);
        self.checked(result)
    }

    async fn unlink_file_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<()> {
        let dir = self.dir(&fd)?;
        let result = self.guard.unlink(&dir, &path);
        self.checked(result)
    }

    async fn is_same_object(
        &mut self,
        a: Resource<Descriptor>,
        b: Resource<Descriptor>,
    ) -> wasmtime::Result<bool> {
        Ok(identity(self.node(&a)?)? == identity(self.node(&b)?)?)
    }

    async fn metadata_hash(&mut self, fd: Resource<Descriptor>) -> FsResult<MetadataHashValue> {
        let (device, inode) = identity(self.node(&fd).map_err(FsError::trap)?)?;
        Ok(MetadataHashValue { lower: inode, upper: device })
    }

    async fn metadata_hash_at(
        &mut self,
        fd: Resource<Descriptor>,
        flags: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        use cap_fs_ext::MetadataExt;

        let dir = self.dir(&fd)?;
        let looked = self.guard.look(&dir, &path, flags.contains(PathFlags::SYMLINK_FOLLOW));
        let metadata = self.checked(looked)?;
        Ok(MetadataHashValue { lower: metadata.ino(), upper: metadata.dev() })
    }

    fn drop(&mut self, fd: Resource<Descriptor>) -> wasmtime::Result<()> {
        self.table.delete(Resource::<Node>::new_own(fd.rep()))?;
        self.guard.open = self.guard.open.saturating_sub(1);
        Ok(())
    }
}

impl types::HostDirectoryEntryStream for GuardView<'_> {
    async fn read_directory_entry(
        &mut self,
        stream: Resource<DirectoryEntryStream>,
    ) -> FsResult<Option<DirectoryEntry>> {
        let stream = Resource::<DirStream>::new_borrow(stream.rep());
        Ok(self.table.get_mut(&stream)?.next()?)
    }

    fn drop(&mut self, stream: Resource<DirectoryEntryStream>) -> wasmtime::Result<()> {
        self.table.delete(Resource::<DirStream>::new_own(stream.rep()))?;
        Ok(())
    }
}

fn when(holds: bool, flag: DescriptorFlags) -> DescriptorFlags {
    if holds { flag } else { DescriptorFlags::empty() }
}
