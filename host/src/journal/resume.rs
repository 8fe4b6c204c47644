//! Going on with a session that ended, however it ended.

use std::path::Path;

use super::append::Journal;
use super::file::{JournalError, Mode, lock, open};
use super::history::{History, rebuild};
use super::name::SessionId;
use super::read::Records;
use super::record::Entry;
use super::repair::repair;
use crate::model::Message;

/// What a session brings along.
#[derive(Debug)]
pub struct Resumed {
    /// The conversation so far, without a system prompt; every call in it has its result.
    pub messages: Vec<Message>,
    /// Where the session worked, and with which model.
    pub workdir: std::path::PathBuf,
    pub model: String,
    /// Bytes of a torn record that were moved from the log's end to the `.corrupt` file.
    pub torn_bytes: u64,
    /// Names of the calls whose outcome is unknown, or that never began.
    pub interrupted: Vec<String>,
}

impl Journal {
    /// Takes the session up again: locks it, mends its end, reads it strictly and writes the
    /// results that calls lack, so that doing this twice changes nothing more.
    pub fn resume(sessions: &Path, id: &SessionId) -> Result<(Self, Resumed), JournalError> {
        let path = Self::path_of(sessions, id);
        if path.symlink_metadata().is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound) {
            return Err(JournalError::NoSession {
                id: id.to_string(),
                folder: sessions.to_owned(),
            });
        }
        let mut file = open(&path, Mode::Append)?;
        // First the lock: what looks torn may be another process in the middle of writing.
        lock(&file, &path)?;
        let torn_bytes = repair(&mut file, &path, &path.with_extension("corrupt"))?;
        let records = Records::new(open(&path, Mode::Read)?, &path).strict();
        let History { messages, unanswered, workdir, model, records } = rebuild(records)?;
        if records == 0 {
            let cause = "the log is empty".to_owned();
            return Err(JournalError::Damaged(super::ReadError { path, line: 1, cause }));
        }
        let journal = Self::over(file, path, id.clone(), records)?;
        let mut interrupted = Vec::with_capacity(unanswered.len());
        for (call, reply) in unanswered {
            interrupted.push(call.name.clone());
            journal.append(&Entry::Result { id: call.id, name: call.name, ms: 0, reply })?;
        }
        journal.flush()?;
        Ok((journal, Resumed { messages, workdir, model, torn_bytes, interrupted }))
    }
}
