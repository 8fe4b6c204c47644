//! What a session has read, so that it does not overwrite what somebody else wrote since.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Files that are remembered; beyond that the oldest knowledge is of little use anyway.
const CAP: usize = 100_000;

/// The files of a session as it last saw them. All its calls share it.
#[derive(Debug, Default)]
pub struct Seen {
    files: Mutex<HashMap<String, Stamp>>,
}

/// By what a change is noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    size: u64,
    modified: Option<std::time::SystemTime>,
    inode: u64,
}

impl Stamp {
    pub(super) fn of(metadata: &cap_std::fs::Metadata) -> Self {
        use cap_fs_ext::MetadataExt;

        let modified = metadata.modified().ok().map(cap_std::time::SystemTime::into_std);
        Self { size: metadata.len(), modified, inode: metadata.ino() }
    }
}

impl Seen {
    /// Whether the file is known to have looked otherwise.
    pub(super) fn changed(&self, path: &str, now: Stamp) -> bool {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.get(path).is_some_and(|then| *then != now)
    }

    /// Takes over what a call has learnt: none for a file that is gone.
    pub(super) fn learn(&self, news: impl IntoIterator<Item = (String, Option<Stamp>)>) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        for (path, stamp) in news {
            match stamp {
                None => {
                    files.remove(&path);
                }
                Some(stamp) if files.len() < CAP || files.contains_key(&path) => {
                    files.insert(path, stamp);
                }
                Some(_) => {}
            }
        }
    }
}
