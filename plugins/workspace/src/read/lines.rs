//! Reading lines from a file whose lines can be found in its bytes: UTF-8, GB18030, Latin-1 and
//! most others.

use std::fmt::Write;
use std::io::Read;

use clawhold_sdk::failure::{failure, invalid};
use clawhold_sdk::{Failure, FailureCode, Reply};
use memchr::{memchr, memchr_iter};

use super::{FIRST, Request, TEXT_CAP, binary, empty, past_end};
use crate::decode::{self, Charset};
use crate::disk::File;
use crate::{fault, kind, names::shown};

/// How far a call looks for the first line that it was asked for.
const SEEK_BUDGET: u64 = 256 << 20;

/// How far a call reads on only to say how many lines there are.
const COUNT_BUDGET: u64 = 32 << 20;

/// How much is read at a time after the first stretch.
const CHUNK: usize = 256 * 1024;

/// A stretch of the file in memory.
struct Window {
    bytes: Vec<u8>,
    /// Where in the file `bytes` begins.
    start: u64,
    /// Whether the file ends where `bytes` does.
    last: bool,
}

impl Window {
    /// Moves on to what follows, without growing.
    fn advance(&mut self, file: &mut File) -> std::io::Result<()> {
        self.start += self.bytes.len() as u64;
        self.bytes.clear();
        file.by_ref().take(CHUNK as u64).read_to_end(&mut self.bytes)?;
        self.last = self.bytes.len() < CHUNK;
        Ok(())
    }
}

/// The lines that were found, as bytes.
struct Slice {
    bytes: Vec<u8>,
    /// Where in the file they begin.
    start: u64,
    /// How many lines they are. A line that is cut counts.
    lines: u64,
    /// Whether the only line is cut, being longer than a reply.
    cut: bool,
    /// Whether nothing follows.
    at_end: bool,
}

/// `first` is what has been read of `file` already.
pub(super) fn read(
    request: &Request,
    mut file: File,
    first: Vec<u8>,
    charset: Option<Charset>,
) -> Result<Reply, Failure> {
    let told = |error| fault::io("read", &request.path, &error);
    let start = request.from_byte.unwrap_or(0);
    let last = first.len() < FIRST;
    if first.is_empty() {
        return Err(past_byte(request, &file, start));
    }
    let guess = charset.unwrap_or_else(|| decode::detect(&first));
    // A mark is no part of the first line.
    let bom = if start == 0 { guess.bom_len(&first) } else { torn(&first, guess) };
    let head = first.get(..512).unwrap_or(&first).to_vec();
    let mut window = Window { bytes: first, start, last };
    if window.last && bom == window.bytes.len() {
        return empty(request, Some(guess));
    }

    let from = find_line(request, &mut file, &mut window, bom)?;
    let slice = gather(request, &mut file, &mut window, from, guess).map_err(told)?;
    if let Some(nul) = memchr(0, &slice.bytes) {
        return Err(holds_nul(request, &file, &head, &slice, nul));
    }
    let charset = if charset.is_none() && guess == Charset::UTF_8 {
        decode::detect(&slice.bytes)
    } else {
        guess
    };
    reply(request, &mut file, window, slice, charset).map_err(told)
}

/// Where in `window` the line begins that was asked for.
fn find_line(
    request: &Request,
    file: &mut File,
    window: &mut Window,
    bom: usize,
) -> Result<usize, Failure> {
    let mut missing = request.offset - 1;
    if missing == 0 {
        return Ok(bom);
    }
    let begun = window.start;
    let mut open = false;
    loop {
        for end in memchr_iter(b'\n', &window.bytes) {
            missing -= 1;
            if missing == 0 {
                if end + 1 < window.bytes.len() {
                    return Ok(end + 1);
                }
                // The line begins with the next stretch, if there is one.
                break;
            }
        }
        open = window.bytes.last().map_or(open, |byte| *byte != b'\n');
        if window.last {
            return Err(past_end(request, request.offset - 1 - missing + u64::from(open)));
        }
        if window.start - begun > SEEK_BUDGET {
            return Err(too_deep(request, window.start, request.offset - missing));
        }
        window.advance(file).map_err(|error| fault::io("read", &request.path, &error))?;
        if missing == 0 && !window.bytes.is_empty() {
            return Ok(0);
        }
    }
}

/// Takes lines from `window` on until there are enough, the reply is full or the file ends.
fn gather(
    request: &Request,
    file: &mut File,
    window: &mut Window,
    from: usize,
    charset: Charset,
) -> std::io::Result<Slice> {
    let start = window.start + from as u64;
    let mut bytes = window.bytes.split_off(from);
    window.bytes.clear();
    window.start = start + bytes.len() as u64;
    if !window.last && bytes.len() < TEXT_CAP + 4 {
        window.advance(file)?;
        bytes.append(&mut window.bytes);
        window.start = start + bytes.len() as u64;
    }
    let (mut end, mut lines) = (0, 0);
    for at in memchr_iter(b'\n', &bytes) {
        if at >= TEXT_CAP || lines == request.limit {
            break;
        }
        end = at + 1;
        lines += 1;
    }
    let mut cut = false;
    if lines < request.limit && end < bytes.len() {
        if window.last && bytes.len() <= TEXT_CAP {
            // The last line has no line feed.
            end = bytes.len();
            lines += 1;
        } else if lines == 0 {
            end = TEXT_CAP.min(bytes.len());
            end -= torn_end(&bytes[..end], charset);
            lines = 1;
            cut = !(window.last && end == bytes.len());
        }
    }
    // What is left over stays in the window, for counting.
    window.bytes = bytes.split_off(end);
    window.start = start + end as u64;
    let at_end = window.last && window.bytes.is_empty();
    Ok(Slice { bytes, start, lines, cut, at_end })
}

fn reply(
    request: &Request,
    file: &mut File,
    mut window: Window,
    mut slice: Slice,
    charset: Charset,
) -> std::io::Result<Reply> {
    let crlf = memchr_iter(b'\r', &slice.bytes).any(|at| slice.bytes.get(at + 1) == Some(&b'\n'));
    let (text, lost) = match String::from_utf8(std::mem::take(&mut slice.bytes)) {
        Ok(text) if matches!(charset, Charset::Utf8 { .. }) => (text, 0),
        Ok(text) => own(decode::decode(text.as_bytes(), charset)),
        Err(error) => own(decode::decode(error.as_bytes(), charset)),
    };
    let mut note = String::new();
    let whole = request.offset == 1 && request.from_byte.is_none() && slice.at_end;
    if !whole {
        place(&mut note, request, file, &mut window, &slice)?;
    }
    if charset != Charset::UTF_8 {
        let _ = match charset {
            Charset::Utf8 { clean: false, .. } => {
                write!(note, "[UTF-8 with {lost} bad bytes or runs of them, shown as U+FFFD]")
            }
            Charset::Utf8 { .. } => write!(note, "[{}]", charset.name()),
            _ if lost > 0 => write!(
                note,
                "[decoded from {}; {lost} places could not be and show as U+FFFD]",
                charset.name()
            ),
            _ => write!(note, "[decoded from {}]", charset.name()),
        };
    }
    if crlf {
        note.push_str("[lines end in CRLF]");
    }
    let reply = Reply::text(text);
    Ok(if note.is_empty() { reply } else { reply.and_text(note) })
}

/// Says which lines of how many came, and how to go on.
fn place(
    note: &mut String,
    request: &Request,
    file: &mut File,
    window: &mut Window,
    slice: &Slice,
) -> std::io::Result<()> {
    let next_byte = window.start;
    let (from, to) = (request.offset, request.offset + slice.lines - 1);
    if slice.cut {
        let _ = write!(
            note,
            "[line {from} is cut after {} bytes; go on with from_byte {next_byte}, or with offset {} for the next line]",
            next_byte - slice.start,
            from + 1
        );
        return Ok(());
    }
    let mut left = 0;
    let mut open = false;
    let size = if window.last { 0 } else { file.size()? };
    let countable = window.last || size.saturating_sub(window.start) <= COUNT_BUDGET;
    let mut ended = false;
    while countable && window.start - next_byte <= COUNT_BUDGET {
        left += memchr_iter(b'\n', &window.bytes).count() as u64;
        open = window.bytes.last().map_or(open, |byte| *byte != b'\n');
        ended = window.last;
        if ended {
            break;
        }
        window.advance(file)?;
    }
    let base = request.from_byte.map_or(String::new(), |byte| format!(" counted from byte {byte}"));
    let _ = if ended {
        write!(note, "[lines {from}-{to} of {}{base}", to + left + u64::from(open))
    } else {
        write!(note, "[lines {from}-{to} of more{base}; the file has {size} bytes")
    };
    if !slice.at_end {
        let _ = write!(note, "; go on with offset {}", to + 1);
        if to > 100_000 || request.from_byte.is_some() {
            let _ = write!(note, " or from_byte {next_byte}");
        }
    }
    note.push(']');
    Ok(())
}

fn own((text, lost): (std::borrow::Cow<'_, str>, usize)) -> (String, usize) {
    (text.into_owned(), lost)
}

/// How many bytes at the start belong to a character that began before.
fn torn(bytes: &[u8], charset: Charset) -> usize {
    match charset {
        Charset::Utf8 { .. } => {
            bytes.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count()
        }
        _ => 0,
    }
}

/// How many bytes at the end begin a character that is not complete.
fn torn_end(bytes: &[u8], charset: Charset) -> usize {
    if charset == Charset::Gb18030 {
        // Only from the start can it be told which byte is the first of a pair.
        let mut at = 0;
        while at < bytes.len() {
            let width = match bytes[at..] {
                [0x81..=0xfe, 0x30..=0x39, ..] => 4,
                [0x81..=0xfe, ..] => 2,
                _ => 1,
            };
            if at + width > bytes.len() {
                return bytes.len() - at;
            }
            at += width;
        }
        return 0;
    }
    let from = bytes.len().saturating_sub(3);
    let Some(at) = bytes[from..].iter().rposition(|byte| *byte & 0xc0 == 0xc0) else {
        return 0;
    };
    let needs = match bytes[from + at] {
        0xf0.. => 4,
        0xe0.. => 3,
        _ => 2,
    };
    let has = bytes.len() - from - at;
    if has < needs { has } else { 0 }
}

fn too_deep(request: &Request, byte: u64, line: u64) -> Failure {
    failure(
        FailureCode::TooLarge,
        format!(
            "line {} of `{}` lies beyond the first {} MiB, which is as far as one call looks; line {line} reaches byte {byte}",
            request.offset,
            shown(&request.path),
            SEEK_BUDGET >> 20,
        ),
    )
    .hint(format!("jump with from_byte (for instance {byte}) and count lines from there, or use grep"))
}

pub(super) fn past_byte(request: &Request, file: &File, byte: u64) -> Failure {
    let size = file.size().unwrap_or(0);
    invalid(format!(
        "`from_byte` {byte} is past the end: `{}` has {size} bytes",
        shown(&request.path)
    ))
    .hint(format!("use a from_byte below {size}"))
}

fn holds_nul(request: &Request, file: &File, head: &[u8], slice: &Slice, nul: usize) -> Failure {
    let failure = binary(request, kind::with_nul(head), file);
    let before = memchr_iter(b'\n', &slice.bytes[..nul]).count() as u64;
    if before == 0 {
        return failure;
    }
    let line = request.offset;
    failure.hint(format!(
        "a NUL byte stands at byte {}; {before} lines before it are text: read them with offset {line} and limit {before}",
        slice.start + nul as u64,
    ))
}
