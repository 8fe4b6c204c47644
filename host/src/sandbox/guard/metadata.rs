//! Looking at files without opening them, and the forms that WASI gives to what is seen.

use std::io;
use std::time::{Duration, SystemTime};

use cap_std::fs::Metadata;
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorStat, ErrorCode, NewTimestamp};
use wasmtime_wasi::p2::{FsError, FsResult};

use super::directory::kind_of;
use super::place::{MAX_LINKS, Target, Trouble};
use super::{DirNode, Guard, Node, open};

impl Guard {
    /// The metadata of `path`, following a link at its end when asked to.
    pub(super) fn look(
        &self,
        from: &DirNode,
        path: &str,
        follow: bool,
    ) -> Result<Metadata, Trouble> {
        let (mut from, mut path) = (from.clone(), path.to_owned());
        for _ in 0..MAX_LINKS {
            let place = match self.locate(&from, &path)? {
                Target::Directory(node) => {
                    self.may_read(node.root, &node.path)?;
                    return Ok(node.dir.dir_metadata()?);
                }
                Target::Entry(place) => place,
            };
            self.may_read(place.root, &place.path)?;
            let metadata = place.parent.symlink_metadata(&place.name)?;
            if metadata.is_symlink() && (follow || place.must_be_dir) {
                path = self.link_target(&place)?;
                from = self.root_node(place.root);
                continue;
            }
            if place.must_be_dir && !metadata.is_dir() {
                return Err(io::Error::from(io::ErrorKind::NotADirectory).into());
            }
            return Ok(metadata);
        }
        Err(open::loop_error().into())
    }
}

/// Device and inode.
pub(super) fn identity(node: &Node) -> io::Result<(u64, u64)> {
    use cap_fs_ext::MetadataExt;

    let metadata = match node {
        Node::File(file) => Metadata::from_file(&file.file)?,
        Node::Dir(dir) => dir.dir.dir_metadata()?,
    };
    Ok((metadata.dev(), metadata.ino()))
}

pub(super) fn stat_of(metadata: &Metadata) -> DescriptorStat {
    use cap_fs_ext::MetadataExt;

    let time = |time: io::Result<cap_std::time::SystemTime>| {
        time.ok().and_then(|time| datetime(time.into_std()))
    };
    DescriptorStat {
        type_: kind_of(metadata.file_type()),
        link_count: metadata.nlink(),
        size: metadata.len(),
        data_access_timestamp: time(metadata.accessed()),
        data_modification_timestamp: time(metadata.modified()),
        status_change_timestamp: time(metadata.created()),
    }
}

/// WASI's time begins in 1970; what is earlier has no time there.
fn datetime(time: SystemTime) -> Option<Datetime> {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(Datetime { seconds: since.as_secs(), nanoseconds: since.subsec_nanos() })
}

pub(super) fn file_times(
    accessed: NewTimestamp,
    modified: NewTimestamp,
) -> FsResult<std::fs::FileTimes> {
    let time = |new: NewTimestamp| match new {
        NewTimestamp::NoChange => Ok(None),
        NewTimestamp::Now => Ok(Some(SystemTime::now())),
        NewTimestamp::Timestamp(at) => SystemTime::UNIX_EPOCH
            .checked_add(Duration::new(at.seconds, at.nanoseconds.min(999_999_999)))
            .map(Some)
            .ok_or(FsError::from(ErrorCode::Invalid)),
    };
    let mut times = std::fs::FileTimes::new();
    if let Some(accessed) = time(accessed)? {
        times = times.set_accessed(accessed);
    }
    if let Some(modified) = time(modified)? {
        times = times.set_modified(modified);
    }
    Ok(times)
}
