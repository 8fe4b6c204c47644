//! What sessions there are.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::append::Journal;
use super::file::JournalError;
use super::name::SessionId;
use super::read::read;
use super::record::Entry;
use crate::text::{clip_end, escape_line};

/// One session in a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionSummary {
    pub session: String,
    pub path: PathBuf,
    /// When it began, as in its records.
    pub started: String,
    pub workdir: PathBuf,
    pub model: String,
    /// The beginning of the first thing that the user said, on one line.
    pub prompt: String,
    pub bytes: u64,
    /// Why it cannot be read, if so.
    pub problem: Option<String>,
}

/// The sessions in the folder `sessions`, newest first. Only the beginning of each is read. A
/// folder that does not exist has none.
pub fn list(sessions: &Path) -> Result<Vec<SessionSummary>, JournalError> {
    let mut found: Vec<_> = ids(sessions)?.iter().map(|id| summary(sessions, id)).collect();
    // Ids tell the second, records the millisecond.
    found.sort_by(|a, b| {
        let key =
            |one: &SessionSummary| (one.session.get(..15).map(str::to_owned), one.started.clone());
        key(b).cmp(&key(a))
    });
    Ok(found)
}

/// The newest session that worked in `workdir`.
pub fn latest(sessions: &Path, workdir: &Path) -> Result<Option<SessionId>, JournalError> {
    let ids = ids(sessions)?;
    Ok(ids.into_iter().find(|id| {
        let first = read(&Journal::path_of(sessions, id)).ok().and_then(|mut r| r.next()?.ok());
        let entry = first.map(|record| record.entry);
        matches!(entry, Some(Entry::Session { workdir: w, .. }) if w == workdir)
    }))
}

fn ids(sessions: &Path) -> Result<Vec<SessionId>, JournalError> {
    let fail = |cause| JournalError::io("list", sessions, cause);
    let entries = match std::fs::read_dir(sessions) {
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(fail)?,
    };
    let mut ids = Vec::new();
    for entry in entries {
        let name = entry.map_err(fail)?.file_name();
        let stem = name.to_str().and_then(|name| name.strip_suffix(".jsonl"));
        ids.extend(stem.and_then(SessionId::parse));
    }
    ids.sort_unstable_by(|a, b| b.cmp(a));
    Ok(ids)
}

fn summary(sessions: &Path, id: &SessionId) -> SessionSummary {
    let path = Journal::path_of(sessions, id);
    let mut summary = SessionSummary {
        session: id.to_string(),
        started: String::new(),
        workdir: PathBuf::new(),
        model: String::new(),
        prompt: String::new(),
        bytes: path.symlink_metadata().map_or(0, |metadata| metadata.len()),
        problem: None,
        path,
    };
    let records = match read(&summary.path) {
        Ok(records) => records,
        Err(error) => {
            summary.problem = Some(error.to_string());
            return summary;
        }
    };
    // The user's words follow the header at once, or after a note.
    for record in records.take(8) {
        match record {
            Ok(record) => match record.entry {
                Entry::Session { workdir, model, .. } => {
                    summary.started = record.time;
                    summary.workdir = workdir;
                    summary.model = model;
                }
                Entry::User { text } => {
                    summary.prompt = clip_end(&escape_line(&clip_end(&text, 400)), 100);
                    break;
                }
                _ => {}
            },
            Err(error) => {
                summary.problem = Some(error.to_string());
                break;
            }
        }
    }
    summary
}
