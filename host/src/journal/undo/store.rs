//! Keeping: the old state of each path, before a turn first changes it.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};

use super::super::file::make_folder;
use super::content::{Contents, SMALL};
use super::entry::{At, Content, Entry, FileState, State, absolute, below};
use super::error::UndoError;
use super::index::Index;
use super::look::{self, hex};
use super::place::{Last, Roots};
use super::scan::Known;
use super::{Change, read};

/// Keeps old states for one session; shared by the calls that run at once.
///
/// It does nothing until it is attached to a session's folder, and makes nothing there before
/// something is to be kept.
pub struct UndoStore {
    limit: u64,
    state: Mutex<Inner>,
    /// Told when a path that another call waits for is kept.
    settled: Condvar,
    pub(super) roots: Roots,
}

#[derive(Default)]
struct Inner {
    /// The folder `undo` of the session.
    folder: Option<PathBuf>,
    open: Option<Open>,
    /// The turn that `seen` is about.
    turn: u32,
    /// By absolute path.
    seen: HashMap<String, Seen>,
    known: Known,
}

struct Open {
    index: Index,
    contents: Contents,
    used: u64,
    last_turn: u32,
}

enum Seen {
    /// Another call is keeping it right now.
    Keeping,
    Kept(At),
}

impl UndoStore {
    /// A store that keeps up to `limit` bytes of old content, or only names and kinds if that
    /// is 0.
    pub fn new(limit: u64) -> Self {
        Self { limit, state: Mutex::default(), settled: Condvar::new(), roots: Roots::default() }
    }

    /// From now on keeps below `session_folder`, which need not exist. What was kept for another
    /// session before stays there.
    pub fn attach(&self, mut session_folder: PathBuf) {
        session_folder.push("undo");
        *self.inner() = Inner { folder: Some(session_folder), ..Inner::default() };
    }

    /// The highest turn that the session's index knows, undo turns included; 0 for none. Turns
    /// must be numbered on from here, or old changes would pass for new ones.
    pub fn last_turn(&self) -> Result<u32, UndoError> {
        let inner = self.inner();
        let last = inner.open.as_ref().map_or(0, |open| open.last_turn);
        match &inner.folder {
            Some(folder) if inner.open.is_none() => {
                let (entries, _) = super::index::read(folder)?;
                Ok(read::last_turn(&entries))
            }
            _ => Ok(last),
        }
    }

    /// Keeps the entry as it is, unless this turn has kept it already. To be called before every
    /// effect on it; when it fails, the effect must not happen.
    pub fn before_change(&self, turn: u32, change: Change<'_>) -> Result<(), UndoError> {
        let Some(claim) = self.claim(turn, change)? else { return Ok(()) };
        let old = self.keep(change)?;
        self.append(&Entry::Keep { turn, at: At::new(change.root, change.path), old })?;
        claim.kept();
        Ok(())
    }

    /// Like [`Self::before_change`], for an entry that is about to be unlinked or removed.
    pub fn before_displace(&self, turn: u32, change: Change<'_>) -> Result<(), UndoError> {
        self.before_change(turn, change)
    }

    /// To be called before a rename, with both ends. A directory, or a file too large to keep,
    /// is noted as moved; a file that fits is kept like one that is unlinked.
    pub fn before_rename(
        &self,
        turn: u32,
        from: Change<'_>,
        to: Change<'_>,
    ) -> Result<(), UndoError> {
        if self.inner().folder.is_none() {
            return Ok(());
        }
        self.before_change(turn, to)?;
        let is_dir = look_at(from)?.is_dir();
        if !is_dir {
            // Without its content it could not be made again, so then it is a move as well.
            if self.limit > 0 {
                match self.before_change(turn, from) {
                    Err(UndoError::TooLarge { .. }) => {}
                    done => return done,
                }
            }
        }
        // What was kept below either end is about to change its path, so how the turn left it
        // is noted now; whatever comes to stand there later is something new.
        self.settle_below(turn, &absolute(from.root, from.path))?;
        self.settle_below(turn, &absolute(to.root, to.path))?;
        let (dev, ino) = look::identity(from.parent, from.name)
            .map_err(|cause| UndoError::io("look at", from.path, cause))?;
        let (from, to) = (At::new(from.root, from.path), At::new(to.root, to.path));
        self.append(&Entry::Move { turn, from, to, dev, ino })
    }

    /// Notes how a call left the paths (root and path below it) that it changed. Those that this
    /// turn has not kept are passed over.
    pub fn after_call(&self, turn: u32, changed: &[(&str, &str)]) -> Result<(), UndoError> {
        let mut last = Last::default();
        for (root, path) in changed {
            let kept = {
                let inner = self.inner();
                inner.turn == turn
                    && matches!(inner.seen.get(&absolute(root, path)), Some(Seen::Kept(_)))
            };
            if kept {
                self.settle(turn, At::new(root, path), &mut last)?;
            }
        }
        Ok(())
    }

    /// Puts all that was kept on the disk; worth its milliseconds at the end of a session.
    pub fn flush(&self) -> Result<(), UndoError> {
        match &self.inner().open {
            Some(open) => open.contents.sync().and_then(|()| open.index.sync()),
            None => Ok(()),
        }
    }

    pub(super) fn settle(&self, turn: u32, at: At, last: &mut Last) -> Result<(), UndoError> {
        let new = self.roots.look(&at, last)?;
        self.append(&Entry::After { turn, at, new })
    }

    /// What was kept below the path is kept no more: it has moved away.
    pub(super) fn forget_below(&self, above: &str) {
        self.inner().seen.retain(|path, _| below(path, above).is_none());
    }

    fn settle_below(&self, turn: u32, above: &str) -> Result<(), UndoError> {
        let mut kept = Vec::new();
        self.inner().seen.retain(|path, seen| match seen {
            Seen::Kept(at) if below(path, above).is_some() => {
                kept.push(at.clone());
                false
            }
            _ => true,
        });
        let mut last = Last::default();
        kept.into_iter().try_for_each(|at| self.settle(turn, at, &mut last))
    }

    /// The right to keep a path for this turn, or none if it is kept. Waits while another call
    /// keeps it: that call's copy must be whole before anybody changes the file.
    fn claim(&self, turn: u32, change: Change<'_>) -> Result<Option<Claim<'_>>, UndoError> {
        let mut inner = self.inner();
        if inner.folder.is_none() {
            return Ok(None);
        }
        let path = absolute(change.root, change.path);
        loop {
            inner.enter(turn);
            match inner.seen.get(&path) {
                Some(Seen::Kept(_)) => return Ok(None),
                Some(Seen::Keeping) => {
                    inner = self.settled.wait(inner).unwrap_or_else(PoisonError::into_inner);
                }
                None => break,
            }
        }
        inner.open()?;
        inner.seen.insert(path.clone(), Seen::Keeping);
        drop(inner);
        let at = At::new(change.root, change.path);
        Ok(Some(Claim { store: self, path, at, kept: false }))
    }

    /// Notes that this turn has kept the path in another way; false if it had before.
    pub(super) fn mark_kept(&self, turn: u32, at: &At) -> Result<bool, UndoError> {
        let mut inner = self.inner();
        inner.open()?;
        inner.enter(turn);
        Ok(inner.seen.insert(at.absolute(), Seen::Kept(at.clone())).is_none())
    }

    fn keep(&self, change: Change<'_>) -> Result<State, UndoError> {
        let mut state = match look_at(change)? {
            State::File(state) => state,
            other => return Ok(other),
        };
        if self.limit == 0 {
            state.lost = Some("keeping old content is switched off".to_owned());
            return Ok(State::File(state));
        }
        // Said before anything is read: the file may be huge.
        self.has_room(state.size, change.path)?;
        let file = look::open_file(change.parent, change.name)
            .map_err(|cause| UndoError::io("keep the old content of", change.path, cause))?;
        Ok(State::File(self.keep_file(&file, change.path)?))
    }

    /// Keeps the content of an open file.
    pub(super) fn keep_file(&self, file: &File, path: &str) -> Result<FileState, UndoError> {
        let failed = |cause| UndoError::io("keep the old content of", path, cause);
        let mut state = look::state_of(file).map_err(failed)?;
        if state.size > SMALL {
            return self.keep_large(file, path, state);
        }
        let mut bytes = Vec::with_capacity(state.size as usize);
        read_up_to(file, SMALL, &mut bytes).map_err(failed)?;
        state.size = bytes.len() as u64;
        state.hash = Some(hex(Sha256::new_with_prefix(&bytes)));
        let mut inner = self.inner();
        let open = inner.open()?;
        room(self.limit, open.used, state.size, path)?;
        state.content = Some(open.contents.pack(&bytes)?);
        open.used += state.size;
        Ok(state)
    }

    /// The copy is made without holding others up, in room that is taken beforehand.
    fn keep_large(
        &self,
        file: &File,
        path: &str,
        mut state: FileState,
    ) -> Result<FileState, UndoError> {
        let taken = state.size;
        let target = {
            let mut inner = self.inner();
            let open = inner.open()?;
            room(self.limit, open.used, taken, path)?;
            let target = open.contents.create()?;
            open.used += taken;
            target
        };
        let filled = target.fill(file, &mut state);
        let really = if filled.is_ok() { state.size } else { 0 };
        if let Ok(open) = self.inner().open() {
            open.used = open.used.saturating_sub(taken - really);
        }
        filled.map(|()| state)
    }

    fn has_room(&self, size: u64, path: &str) -> Result<(), UndoError> {
        let used = self.inner().open()?.used;
        room(self.limit, used, size, path)
    }

    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    /// Whether it has a folder to keep things in.
    pub(super) fn is_attached(&self) -> bool {
        self.inner().folder.is_some()
    }

    pub(super) fn append(&self, entry: &Entry) -> Result<(), UndoError> {
        let mut inner = self.inner();
        let open = inner.open()?;
        open.index.append(entry)?;
        open.last_turn = open.last_turn.max(entry.turn());
        Ok(())
    }

    /// The length of the index, which says whether somebody else has gone on with it.
    pub(super) fn index_length(&self) -> Result<u64, UndoError> {
        Ok(self.inner().open()?.index.length())
    }

    /// Content that a scan has kept, by absolute path.
    pub(super) fn known<T>(&self, with: impl FnOnce(&mut Known) -> T) -> T {
        with(&mut self.inner().known)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Forgets what another turn has kept.
    fn enter(&mut self, turn: u32) {
        if self.turn != turn {
            self.turn = turn;
            self.seen.retain(|_, seen| matches!(seen, Seen::Keeping));
        }
    }

    /// The open files, made or opened now if this is the first need of them.
    fn open(&mut self) -> Result<&mut Open, UndoError> {
        let Some(folder) = &self.folder else { return Err(UndoError::Nothing) };
        if self.open.is_none() {
            self.open = Some(Open::at(folder)?);
        }
        self.open.as_mut().ok_or(UndoError::Nothing)
    }
}

impl Open {
    fn at(folder: &Path) -> Result<Self, UndoError> {
        make_folder(folder)?;
        let (index, entries) = Index::open(folder)?;
        let mut next = 0;
        let mut used = 0;
        let undos = read::undo_turns(&entries);
        for entry in &entries {
            let Entry::Keep { turn, old: State::File(FileState { size, content, .. }), .. } = entry
            else {
                continue;
            };
            // What an undo kept is not the session's to answer for.
            if content.is_some() && !undos.contains(turn) {
                used += size;
            }
            if let Some(Content::File(number)) = content {
                next = next.max(number + 1);
            }
        }
        let contents = Contents::open(folder, next)?;
        Ok(Self { index, contents, used, last_turn: read::last_turn(&entries) })
    }
}

/// A path that this call is keeping. Dropped without success it is free again.
struct Claim<'a> {
    store: &'a UndoStore,
    path: String,
    at: At,
    kept: bool,
}

impl Claim<'_> {
    fn kept(mut self) {
        self.kept = true;
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut inner = self.store.inner();
        if self.kept {
            inner.seen.insert(std::mem::take(&mut self.path), Seen::Kept(self.at.clone()));
        } else {
            inner.seen.remove(&self.path);
        }
        drop(inner);
        self.store.settled.notify_all();
    }
}

impl fmt::Debug for UndoStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UndoStore").field("limit", &self.limit).finish_non_exhaustive()
    }
}

fn look_at(change: Change<'_>) -> Result<State, UndoError> {
    look::glance(change.parent, change.name)
        .map_err(|cause| UndoError::io("look at", change.path, cause))
}

fn room(limit: u64, used: u64, size: u64, path: &str) -> Result<(), UndoError> {
    let left = limit.saturating_sub(used);
    if size > left {
        return Err(UndoError::TooLarge { path: path.to_owned(), size, left });
    }
    Ok(())
}

fn read_up_to(file: &File, limit: u64, bytes: &mut Vec<u8>) -> io::Result<usize> {
    file.take(limit).read_to_end(bytes)
}
