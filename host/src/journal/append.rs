//! The writing end of a session log.

use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use serde::Serialize;

use super::file::{JournalError, Mode, lock, make_folder, open, sync_folder};
use super::name::{SessionId, timestamp};
use super::record::{Entry, FORMAT, MAX_RECORD};
use super::redact::Redactions;
use crate::model::{Content, Payload, ToolReply};
use crate::text::clip_middle;

/// A session's log, open for writing and locked. Shared freely: records are whole lines, in the
/// order in which they are handed in.
pub struct Journal {
    id: SessionId,
    path: PathBuf,
    redactions: Redactions,
    state: Mutex<State>,
}

struct State {
    file: File,
    /// The number of the next record.
    seq: u64,
    /// The length of the file, which is where the next record begins.
    length: u64,
    /// Something was written since the last flush.
    unflushed: bool,
    /// Ids of calls with effects that have no result yet.
    effectful: HashSet<String>,
    /// Why nothing can be written any more.
    broken: Option<String>,
}

impl Drop for State {
    /// Closing the file would do, but for a child that another thread is just starting: until it
    /// has become its program it holds a copy of the file, and with that the lock.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// A record on its way out, borrowed.
#[derive(Serialize)]
struct Line<'a> {
    seq: u64,
    time: &'a str,
    #[serde(flatten)]
    entry: &'a Entry,
}

impl Journal {
    /// Begins a session of its own in the folder `sessions`, which is made if it is missing.
    pub fn create(sessions: &Path, workdir: &Path, model: &str) -> Result<Self, JournalError> {
        make_folder(sessions)?;
        let (id, path, file) = create_file(sessions)?;
        lock(&file, &path)?;
        sync_folder(sessions);
        let header = Entry::Session {
            format: FORMAT,
            session: id.to_string(),
            workdir: workdir.to_owned(),
            model: model.to_owned(),
        };
        let journal = Self::over(file, path, id, 0)?;
        journal.append(&header)?;
        Ok(journal)
    }

    /// Leaves these secrets out of every record from now on. They are replaced where they stand
    /// exactly so; ones shorter than six bytes are ignored.
    #[must_use]
    pub fn with_redactions(mut self, secrets: Vec<String>) -> Self {
        self.redactions = Redactions::new(secrets);
        self
    }

    pub(super) fn over(
        file: File,
        path: PathBuf,
        id: SessionId,
        seq: u64,
    ) -> Result<Self, JournalError> {
        let length =
            file.metadata().map_err(|cause| JournalError::io("look at", &path, cause))?.len();
        let state =
            State { file, seq, length, unflushed: false, effectful: HashSet::new(), broken: None };
        Ok(Self { id, path, redactions: Redactions::default(), state: Mutex::new(state) })
    }

    pub fn id(&self) -> &SessionId {
        &self.id
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file of the session `id` in the folder `sessions`.
    pub fn path_of(sessions: &Path, id: &SessionId) -> PathBuf {
        sessions.join(format!("{id}.jsonl"))
    }

    /// The folder beside the log for what is too large for it; made now if it is missing.
    pub fn folder(&self) -> Result<PathBuf, JournalError> {
        let folder = self.path.with_extension("");
        make_folder(&folder)?;
        Ok(folder)
    }

    /// Writes one record and returns its number. What must survive a power cut is on the disk
    /// when this returns.
    ///
    /// When writing fails, the bytes that made it are taken back and every later call fails too:
    /// a log with a hole must not look like one without. A record over [`MAX_RECORD`] bytes is
    /// clipped when it is a result, refused otherwise; a refusal writes nothing and breaks nothing.
    pub fn append(&self, entry: &Entry) -> Result<u64, JournalError> {
        let time = timestamp(SystemTime::now());
        let mut state = self.state();
        self.whole(&state)?;
        let line = self.line(state.seq, &time, entry)?;
        let written = state.file.write_all(line.as_bytes());
        if let Err(cause) = written {
            // Nothing more can be done when this fails too; the next resume mends the end.
            let _ = state.file.set_len(state.length);
            return Err(self.fail(&mut state, "write to", cause));
        }
        state.length += line.len() as u64;
        state.unflushed = true;
        let seq = state.seq;
        state.seq += 1;
        if must_last(&mut state.effectful, entry) {
            self.sync(&mut state)?;
        }
        Ok(seq)
    }

    /// Puts everything written so far on the disk.
    pub fn flush(&self) -> Result<(), JournalError> {
        let mut state = self.state();
        self.whole(&state)?;
        self.sync(&mut state)
    }

    fn sync(&self, state: &mut State) -> Result<(), JournalError> {
        if !state.unflushed {
            return Ok(());
        }
        // After a failed flush the kernel may have dropped the pages: trying again proves nothing.
        if let Err(cause) = state.file.sync_data() {
            return Err(self.fail(state, "flush", cause));
        }
        state.unflushed = false;
        Ok(())
    }

    fn line(&self, seq: u64, time: &str, entry: &Entry) -> Result<String, JournalError> {
        // Without the secrets before it is measured, since what replaces them may be longer.
        let json = |entry: &Entry| {
            serde_json::to_string(&Line { seq, time, entry })
                .map(|line| self.redactions.apply(line))
                .map_err(|error| JournalError::io("write to", &self.path, error.into()))
        };
        let mut line = json(entry)?;
        if line.len() >= MAX_RECORD
            && let Entry::Result { id, name, ms, reply } = entry
        {
            let reply = clipped(reply);
            line = json(&Entry::Result { id: id.clone(), name: name.clone(), ms: *ms, reply })?;
        }
        if line.len() >= MAX_RECORD {
            return Err(JournalError::TooLong { bytes: line.len(), limit: MAX_RECORD });
        }
        line.push('\n');
        Ok(line)
    }

    fn whole(&self, state: &State) -> Result<(), JournalError> {
        match &state.broken {
            None => Ok(()),
            Some(cause) => {
                Err(JournalError::Broken { path: self.path.clone(), cause: cause.clone() })
            }
        }
    }

    fn fail(&self, state: &mut State, what: &'static str, cause: std::io::Error) -> JournalError {
        state.broken = Some(cause.to_string());
        JournalError::io(what, &self.path, cause)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Journal({}, {} records)", self.path.display(), self.state().seq)
    }
}

fn create_file(sessions: &Path) -> Result<(SessionId, PathBuf, File), JournalError> {
    let mut attempts = 0;
    loop {
        let id = SessionId::new(SystemTime::now());
        let path = Journal::path_of(sessions, &id);
        attempts += 1;
        match open(&path, Mode::Create) {
            Ok(file) => return Ok((id, path, file)),
            Err(JournalError::Io { cause, .. })
                if cause.kind() == std::io::ErrorKind::AlreadyExists && attempts < 8 => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether the record has to be on the disk before anything else happens. Results of readers
/// wait for the next record that has to, which is the model's reply to them: losing one to a
/// power cut loses nothing that was done, and flushing each would double what a turn costs.
fn must_last(effectful: &mut HashSet<String>, entry: &Entry) -> bool {
    match entry {
        Entry::User { .. } | Entry::Assistant { .. } | Entry::Stop { .. } => true,
        Entry::Call { id, effects, .. } => {
            !effects.read_only && {
                effectful.insert(id.clone());
                true
            }
        }
        Entry::Result { id, .. } => effectful.remove(id),
        Entry::Session { .. }
        | Entry::Decision { .. }
        | Entry::Note { .. }
        | Entry::Usage { .. }
        | Entry::Unknown => false,
    }
}

/// A result that fits into a record, whatever it held: each byte may take six in JSON.
fn clipped(reply: &ToolReply) -> ToolReply {
    let share = MAX_RECORD / 8 / (reply.content.len() + 1);
    let piece = |content: &Content| match &content.payload {
        Payload::Text(text) => Content {
            mime_type: content.mime_type.clone(),
            payload: Payload::Text(clip_middle(text, share)),
        },
        Payload::Bytes(bytes) if bytes.len() > share => Content::text(format!(
            "[{}, {} bytes, too large for the session log]",
            content.mime_type,
            bytes.len()
        )),
        Payload::Bytes(_) | Payload::Link(_) => content.clone(),
    };
    let mut failure = reply.failure.clone();
    if let Some(failure) = &mut failure {
        failure.message = clip_middle(&failure.message, share);
    }
    ToolReply {
        outcome: reply.outcome.clone(),
        content: reply.content.iter().take(10_000).map(piece).collect(),
        structured: None,
        failure,
        receipt: reply.receipt.clone(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn c11_a_log_that_cannot_be_written_stays_closed() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::create(folder.path(), folder.path(), "m").unwrap();
        // A handle for reading only fails as a full disk does, and at once.
        journal.state().file = File::open(journal.path()).unwrap();
        let before = std::fs::read(journal.path()).unwrap();
        let note = Entry::Note { text: "x".into() };
        assert!(matches!(journal.append(&note), Err(JournalError::Io { .. })));
        assert!(matches!(journal.append(&note), Err(JournalError::Broken { .. })));
        assert!(matches!(journal.flush(), Err(JournalError::Broken { .. })));
        assert_eq!(std::fs::read(journal.path()).unwrap(), before);
    }
}
