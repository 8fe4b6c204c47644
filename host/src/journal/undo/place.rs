//! From a recorded path to an open handle of the directory that holds it, link by link never.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use cap_fs_ext::DirExt;
use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::entry::{At, State, absolute};
use super::error::UndoError;
use super::look;

/// The granted directories, each opened once.
#[derive(Debug, Default)]
pub(super) struct Roots {
    open: Mutex<HashMap<String, Arc<Dir>>>,
}

/// The directory that was opened last: many changes in a row are in the same one. It holds for
/// as long as no directory is moved, made or removed.
#[derive(Debug, Default)]
pub(super) struct Last(Option<(String, Arc<Dir>)>);

impl Roots {
    /// The directory that holds the entry, and the entry's name in it.
    ///
    /// Every part is opened on its own and not followed, so a link that somebody has put there
    /// leads nowhere: it is an error of the kind `NotADirectory`.
    pub(super) fn parent<'a>(
        &self,
        at: &'a At,
        last: &mut Last,
    ) -> Result<io::Result<(Arc<Dir>, &'a str)>, UndoError> {
        let (above, name) = at.path.rsplit_once('/').unwrap_or(("", &at.path));
        let key = absolute(&at.root, above);
        if let Some((last, dir)) = &last.0
            && *last == key
        {
            return Ok(Ok((Arc::clone(dir), name)));
        }
        let mut dir = self.root(&at.root)?;
        for part in above.split('/').filter(|part| !part.is_empty()) {
            match dir.open_dir_nofollow(part) {
                Ok(next) => dir = Arc::new(next),
                Err(error) => return Ok(Err(error)),
            }
        }
        last.0 = Some((key, Arc::clone(&dir)));
        Ok(Ok((dir, name)))
    }

    /// How the entry is now; one whose parent is missing or no directory is absent.
    pub(super) fn look(&self, at: &At, last: &mut Last) -> Result<State, UndoError> {
        let look = match self.parent(at, last)? {
            Ok((parent, name)) => look::look(&parent, name),
            Err(error) => Err(error),
        };
        match look {
            Ok(state) => Ok(state),
            Err(error) if look::is_absence(&error) || is_link(&error) => Ok(State::Absent),
            Err(cause) => Err(UndoError::io("look at", &at.absolute(), cause)),
        }
    }

    /// The granted directory, provided that its path still is what it was: canonical.
    pub(super) fn root(&self, root: &str) -> Result<Arc<Dir>, UndoError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(dir) = open.get(root) {
            return Ok(Arc::clone(dir));
        }
        let refused = |what| UndoError::Root { root: root.to_owned(), what };
        match std::fs::canonicalize(root) {
            Ok(real) if real.as_os_str() == root => {}
            Ok(_) => return Err(refused("behind a link now")),
            Err(error) if look::is_absence(&error) => return Err(refused("gone")),
            Err(cause) => return Err(UndoError::io("open", root, cause)),
        }
        let dir = Dir::open_ambient_dir(root, ambient_authority())
            .map_err(|cause| UndoError::io("open", root, cause))?;
        let dir = Arc::new(dir);
        open.insert(root.to_owned(), Arc::clone(&dir));
        Ok(dir)
    }
}

/// Some systems say so where others say that the link is no directory.
#[cfg(unix)]
fn is_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

#[cfg(not(unix))]
fn is_link(_error: &io::Error) -> bool {
    false
}
