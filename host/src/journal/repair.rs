//! Mending the end of a log after a crash, before anything is appended to it.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use super::file::{JournalError, Mode, open};
use super::read::parse;
use super::record::MAX_RECORD;

/// Makes `file` end with a whole record and its newline. A torn record goes to `corrupt`, added
/// to what is there, and is on the disk before it leaves the log. Returns how many bytes went.
pub(super) fn repair(file: &mut File, path: &Path, corrupt: &Path) -> Result<u64, JournalError> {
    let fail = |cause| JournalError::io("mend", path, cause);
    let end = file.seek(SeekFrom::End(0)).map_err(fail)?;
    let tail = find_tail(file, end).map_err(fail)?;
    let mut torn = 0;
    let (mut keep, mut newline) = (tail.start, false);
    if tail.end > tail.start {
        if is_record(file, &tail).map_err(fail)? {
            // The record made it, only its newline did not, or something else came after it.
            keep = tail.end;
            newline = true;
        } else {
            torn = end - tail.start;
            save(file, &tail, end, path, corrupt)?;
        }
    }
    if newline && tail.terminated {
        (keep, newline) = (keep + 1, false);
    }
    if keep < end {
        file.set_len(keep).map_err(fail)?;
    }
    if newline {
        file.write_all(b"\n").map_err(fail)?;
    }
    if keep < end || newline {
        file.sync_data().map_err(fail)?;
    }
    Ok(torn)
}

/// The last line that is not blank: from `start` to `end`, where white space follows.
struct Tail {
    start: u64,
    end: u64,
    /// A newline stands right behind it.
    terminated: bool,
}

/// Looks for the last line from the end backwards, so a long log costs no more than a short one.
fn find_tail(file: &mut File, length: u64) -> std::io::Result<Tail> {
    const BLOCK: u64 = 64 * 1024;
    let mut block = Vec::new();
    let (mut at, mut end, mut after) = (length, None, None);
    while at > 0 {
        let from = at.saturating_sub(BLOCK);
        file.seek(SeekFrom::Start(from))?;
        block.resize((at - from) as usize, 0);
        file.read_exact(&mut block)?;
        for (index, byte) in block.iter().enumerate().rev() {
            let place = from + index as u64;
            match end {
                None if byte.is_ascii_whitespace() => after = Some(*byte),
                None => end = Some(place + 1),
                Some(end) if *byte == b'\n' => {
                    return Ok(Tail { start: place + 1, end, terminated: after == Some(b'\n') });
                }
                Some(_) => {}
            }
        }
        at = from;
    }
    Ok(Tail { start: 0, end: end.unwrap_or(0), terminated: after == Some(b'\n') })
}

fn is_record(file: &mut File, tail: &Tail) -> std::io::Result<bool> {
    let length = tail.end - tail.start;
    if length > MAX_RECORD as u64 {
        return Ok(false);
    }
    let mut line = vec![0; length as usize];
    file.seek(SeekFrom::Start(tail.start))?;
    file.read_exact(&mut line)?;
    Ok(parse(&line).is_ok())
}

fn save(
    file: &mut File,
    tail: &Tail,
    end: u64,
    path: &Path,
    corrupt: &Path,
) -> Result<(), JournalError> {
    let fail = |cause| JournalError::io("save the torn end of", path, cause);
    let mut out = open(corrupt, Mode::CreateOrAppend)?;
    file.seek(SeekFrom::Start(tail.start)).map_err(fail)?;
    std::io::copy(&mut file.take(end - tail.start), &mut out).map_err(fail)?;
    out.write_all(b"\n").map_err(fail)?;
    out.sync_all().map_err(fail)
}
