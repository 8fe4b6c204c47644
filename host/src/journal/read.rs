//! Reading a log, line by line in bounded memory.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::file::{JournalError, Mode, open};
use super::record::{Entry, FORMAT, MAX_RECORD, Record};
use crate::text::{clip_end, escape_line};

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("session log `{path}`, line {line}: {cause}")]
pub struct ReadError {
    pub path: PathBuf,
    /// From 1.
    pub line: u64,
    pub cause: String,
}

/// Opens a log for display: damaged lines come out as errors, and what follows them still comes.
pub fn read(path: &Path) -> Result<Records, JournalError> {
    Ok(Records::new(open(path, Mode::Read)?, path))
}

/// The records of a log in order. Memory stays at one line, whatever the file holds.
#[derive(Debug)]
pub struct Records {
    input: BufReader<File>,
    path: PathBuf,
    line: u64,
    buffer: Vec<u8>,
    failed: bool,
}

impl Records {
    pub(super) fn new(file: File, path: &Path) -> Self {
        Self {
            input: BufReader::with_capacity(64 * 1024, file),
            path: path.to_owned(),
            line: 0,
            buffer: Vec::new(),
            failed: false,
        }
    }

    /// For going on with a session: the first damage ends it, and so does a record that is
    /// missing, repeated or of a version that this host does not know.
    pub(super) fn strict(self) -> impl Iterator<Item = Result<Record, ReadError>> {
        let path = self.path.clone();
        let mut expected = 0_u64;
        let mut failed = false;
        self.map_while(move |record| {
            if failed {
                return None;
            }
            let checked = record.and_then(|record| {
                let wrong = objection(&record, expected);
                expected += 1;
                match wrong {
                    Some(cause) => Err(ReadError { path: path.clone(), line: expected, cause }),
                    None => Ok(record),
                }
            });
            failed = checked.is_err();
            Some(checked)
        })
    }

    fn error(&self, cause: impl Into<String>) -> ReadError {
        ReadError { path: self.path.clone(), line: self.line, cause: cause.into() }
    }

    /// The next line into the buffer, without its end; false at the end of the file. Of a line
    /// that is too long only its being so is kept.
    fn next_line(&mut self) -> std::io::Result<Line> {
        self.buffer.clear();
        let limit = MAX_RECORD as u64 + 1;
        let read = (&mut self.input).take(limit).read_until(b'\n', &mut self.buffer)?;
        if read == 0 {
            return Ok(Line::End);
        }
        if self.buffer.last() == Some(&b'\n') {
            self.buffer.pop();
        } else if self.buffer.len() > MAX_RECORD {
            self.buffer = Vec::new();
            skip_line(&mut self.input)?;
            return Ok(Line::TooLong);
        }
        Ok(Line::Whole)
    }
}

enum Line {
    Whole,
    TooLong,
    End,
}

fn skip_line(input: &mut impl BufRead) -> std::io::Result<()> {
    loop {
        let chunk = input.fill_buf()?;
        if chunk.is_empty() {
            return Ok(());
        }
        let end = chunk.iter().position(|b| *b == b'\n');
        let used = end.map_or(chunk.len(), |at| at + 1);
        input.consume(used);
        if end.is_some() {
            return Ok(());
        }
    }
}

impl Iterator for Records {
    type Item = Result<Record, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.failed {
            self.line += 1;
            match self.next_line() {
                Ok(Line::End) => return None,
                Ok(Line::TooLong) => {
                    return Some(Err(self.error(format!("longer than {MAX_RECORD} bytes"))));
                }
                Ok(Line::Whole) if self.buffer.iter().all(u8::is_ascii_whitespace) => {}
                Ok(Line::Whole) => return Some(parse(&self.buffer).map_err(|c| self.error(c))),
                Err(cause) => {
                    self.failed = true;
                    return Some(Err(self.error(cause.to_string())));
                }
            }
        }
        None
    }
}

/// One line as a record.
pub(super) fn parse(line: &[u8]) -> Result<Record, String> {
    let text = std::str::from_utf8(line).map_err(|error| format!("not UTF-8: {error}"))?;
    serde_json::from_str(text)
        .map_err(|error| clip_end(&escape_line(&format!("not a record: {error}")), 300))
}

fn objection(record: &Record, expected: u64) -> Option<String> {
    match &record.entry {
        Entry::Session { format, .. } if *format > FORMAT => Some(format!(
            "format {format} is newer than this program, which knows {FORMAT}; use a newer `claw`"
        )),
        Entry::Session { .. } if expected > 0 => Some("a second header".into()),
        Entry::Session { .. } if record.seq == 0 => None,
        _ if expected == 0 => Some("the header is missing".into()),
        _ if record.seq != expected => {
            Some(format!("record {} where {expected} is due", record.seq))
        }
        _ => None,
    }
}
