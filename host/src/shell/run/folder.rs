//! Where output and quarantined files are kept: the session's folder, or a temporary one.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// A place that is made only when something has to be kept.
#[derive(Debug, Default)]
pub(in crate::shell) struct Folder {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The session's own, once there is a session.
    session: Option<PathBuf>,
    /// Removed with this value.
    temporary: Option<PathBuf>,
    /// Where the temporary one is made.
    below: PathBuf,
    count: u64,
}

impl Folder {
    /// A folder that has no session yet; temporary ones are made in `below`.
    pub(in crate::shell) fn new(below: PathBuf) -> Self {
        Self { state: Mutex::new(State { below, ..State::default() }) }
    }

    /// Keeps things in the session's folder from now on.
    pub(in crate::shell) fn of_session(&self, folder: PathBuf) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).session = Some(folder);
    }

    /// A path for a new file or folder, whose parent exists.
    pub(in crate::shell) fn fresh(&self, kind: &str) -> io::Result<PathBuf> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = match (&state.session, &state.temporary) {
            (Some(session), _) => {
                use std::os::unix::fs::DirBuilderExt as _;
                std::fs::DirBuilder::new().recursive(true).mode(0o700).create(session)?;
                session.clone()
            }
            (None, Some(temporary)) => temporary.clone(),
            (None, None) => {
                let made = private_folder(&state.below)?;
                state.temporary = Some(made.clone());
                made
            }
        };
        loop {
            state.count += 1;
            let path = folder.join(format!("{kind}-{}", state.count));
            if path.symlink_metadata().is_err() {
                return Ok(path);
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(temporary) = &state.temporary {
            // What cannot be removed is the user's own temporary directory's business.
            let _ = std::fs::remove_dir_all(temporary);
        }
    }
}

/// A new directory that only its owner may enter.
pub(in crate::shell) fn private_folder(below: &std::path::Path) -> io::Result<PathBuf> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(below)?;
    for _ in 0..8 {
        let mut bytes = [0_u8; 8];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        let path = below.join(format!("bash-{:016x}", u64::from_le_bytes(bytes)));
        match std::fs::DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| path),
        }
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists))
}
