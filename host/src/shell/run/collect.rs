//! Output as it comes: the beginning and the end for the model, all of it in a file.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use encoding_rs::Encoding;

use super::folder::Folder;
use crate::text::{Detector, OutputEncoding, decode_as, plain_text};

/// Bytes of one command's output that are kept on disk.
const MOST_KEPT: u64 = 64 << 20;

/// Takes bytes from the reading thread, and shows at any time what has come.
#[derive(Debug)]
pub(in crate::shell) struct Collector {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Half of the cap each.
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    detector: Detector,
    folder: Arc<Folder>,
    kept: Kept,
}

#[derive(Debug)]
enum Kept {
    /// It still fits into memory.
    NotYet,
    File {
        file: File,
        path: PathBuf,
        bytes: u64,
    },
    Failed(String),
}

/// Some of the output as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::shell) struct Piece {
    pub(in crate::shell) text: String,
    /// Bytes between the beginning and the end that are left out, and where they begin.
    pub(in crate::shell) omitted: u64,
    pub(in crate::shell) omitted_at: u64,
    /// Bytes in all.
    pub(in crate::shell) total: u64,
}

impl Collector {
    /// `cap` bytes are shown; with `log` everything goes to the file from the start.
    pub(in crate::shell) fn new(
        cap: usize,
        encoding: OutputEncoding,
        folder: Arc<Folder>,
        log: bool,
    ) -> Self {
        let mut state = State {
            half: (cap / 2).max(64),
            head: Vec::new(),
            tail: VecDeque::new(),
            total: 0,
            detector: Detector::new(encoding),
            folder,
            kept: Kept::NotYet,
        };
        if log {
            state.keep();
        }
        Self { state: Mutex::new(state) }
    }

    pub(super) fn feed(&self, bytes: &[u8]) {
        let mut state = self.lock();
        state.detector.feed(bytes);
        state.total += bytes.len() as u64;
        if matches!(state.kept, Kept::NotYet) && state.total > 2 * state.half as u64 {
            state.keep();
        }
        state.write(bytes);
        let room = state.half - state.head.len().min(state.half);
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        state.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(state.half)..];
        state.tail.extend(rest);
        let over = state.tail.len().saturating_sub(state.half);
        state.tail.drain(..over);
    }

    /// Beginning and end, with what stands in between counted.
    pub(in crate::shell) fn show(&self) -> Piece {
        let state = self.lock();
        let encoding = state.detector.encoding();
        let (front, back) = state.tail.as_slices();
        let tail = [front, back].concat();
        let whole = state.head.len() as u64 + tail.len() as u64;
        if whole >= state.total {
            let text = text_of(&[state.head.as_slice(), &tail].concat(), encoding);
            return Piece { text, omitted: 0, omitted_at: 0, total: state.total };
        }
        // Whole lines where there are any: no character is split there in any encoding.
        let head = &state.head[..last_line_end(&state.head)];
        let skipped = first_line_end(&tail);
        let omitted_at = head.len() as u64;
        let omitted = state.total - omitted_at - (tail.len() - skipped) as u64;
        let text = format!(
            "{}\n[… {omitted} bytes left out …]\n{}",
            text_of(head, encoding).trim_end_matches('\n'),
            text_of(&tail[skipped..], encoding)
        );
        Piece { text, omitted, omitted_at, total: state.total }
    }

    /// Up to `limit` bytes from `offset` on, whole lines where possible, and where to go on.
    pub(in crate::shell) fn read(
        &self,
        offset: u64,
        limit: usize,
    ) -> Result<(String, u64), String> {
        let state = self.lock();
        let encoding = state.detector.encoding();
        let mut bytes = state.bytes(offset, limit + 1)?;
        if bytes.len() > limit {
            bytes.truncate(limit);
            bytes.truncate(last_line_end(&bytes));
        }
        Ok((text_of(&bytes, encoding), offset + bytes.len() as u64))
    }

    /// The last `lines` lines, as far as `limit` bytes hold them.
    pub(in crate::shell) fn last_lines(
        &self,
        lines: usize,
        limit: usize,
    ) -> Result<String, String> {
        let state = self.lock();
        let end = state.end();
        let bytes = state.bytes(end.saturating_sub(limit as u64), limit)?;
        let text = text_of(&bytes, state.detector.encoding());
        let mut starts = text.trim_end_matches('\n').rmatch_indices('\n').map(|(at, _)| at + 1);
        let from = if lines == 0 { text.len() } else { starts.nth(lines - 1).unwrap_or(0) };
        Ok(text[from..].to_owned())
    }

    pub(in crate::shell) fn total(&self) -> u64 {
        self.lock().total
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Begins the file, with what is in memory: all that has come so far.
    fn keep(&mut self) {
        let made = self.folder.fresh("output").and_then(|path| Ok((create(&path)?, path)));
        match made {
            Ok((file, path)) => {
                self.kept = Kept::File { file, path, bytes: 0 };
                let (front, back) = self.tail.as_slices();
                let so_far = [self.head.as_slice(), front, back].concat();
                self.write(&so_far);
            }
            Err(error) => self.kept = Kept::Failed(error.to_string()),
        }
    }

    fn write(&mut self, new: &[u8]) {
        let Kept::File { file, bytes, .. } = &mut self.kept else { return };
        let room = usize::try_from(MOST_KEPT - *bytes).unwrap_or(usize::MAX);
        let part = &new[..new.len().min(room)];
        match file.write_all(part) {
            Ok(()) => *bytes += part.len() as u64,
            Err(error) => self.kept = Kept::Failed(error.to_string()),
        }
    }

    /// How far the bytes reach that can be read again.
    fn end(&self) -> u64 {
        match &self.kept {
            Kept::File { bytes, .. } => *bytes,
            _ => (self.head.len() + self.tail.len()) as u64,
        }
    }

    fn bytes(&self, offset: u64, limit: usize) -> Result<Vec<u8>, String> {
        match &self.kept {
            Kept::File { path, .. } => read_at(path, offset, limit).map_err(|e| e.to_string()),
            Kept::NotYet => {
                let (front, back) = self.tail.as_slices();
                let all = [self.head.as_slice(), front, back].concat();
                let from = usize::try_from(offset).unwrap_or(usize::MAX).min(all.len());
                Ok(all[from..all.len().min(from + limit)].to_vec())
            }
            Kept::Failed(why) => Err(format!("the rest of the output could not be kept: {why}")),
        }
    }
}

fn create(path: &Path) -> io::Result<File> {
    std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

fn read_at(path: &Path, offset: u64, limit: usize) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(limit as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn text_of(bytes: &[u8], encoding: &'static Encoding) -> String {
    plain_text(&decode_as(bytes, encoding))
}

/// Behind the last newline, or everything.
fn last_line_end(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|b| *b == b'\n').map_or(bytes.len(), |at| at + 1)
}

/// Behind the first newline, or the beginning.
fn first_line_end(bytes: &[u8]) -> usize {
    let at = bytes.iter().position(|b| *b == b'\n').map_or(0, |at| at + 1);
    if at == bytes.len() { 0 } else { at }
}
