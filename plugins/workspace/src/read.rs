//! `read_file`: a slice of a text by lines, in bounded memory however large the file is.

mod lines;
mod whole;

use std::io::Read;

use clawhold_sdk::failure::{failure, invalid};
use clawhold_sdk::{Args, Failure, FailureCode, Reply};

use crate::decode::{self, Charset};
use crate::disk::File;
use crate::{fault, kind, names::shown};

/// The most text that one reply carries, in bytes of UTF-8.
pub const TEXT_CAP: usize = 32 * 1024;

/// How much of the file is looked at first, which is all of it for most.
const FIRST: usize = 64 * 1024;

/// What to read.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The file.
    pub path: String,
    /// The first line, from 1.
    pub offset: u64,
    /// How many lines at most.
    pub limit: u64,
    /// The encoding, when the caller knows it.
    pub encoding: Option<Charset>,
    /// The byte at which reading starts and from which lines are counted.
    pub from_byte: Option<u64>,
}

impl Request {
    fn new(mut args: Args) -> Result<Self, Failure> {
        let path = args.text("path")?;
        let offset = args.opt_whole("offset")?.unwrap_or(1);
        let limit = args.opt_whole("limit")?.unwrap_or(u64::MAX);
        if offset == 0 || limit == 0 {
            return Err(invalid("`offset` and `limit` count lines from 1")
                .hint("leave them out to read from the start"));
        }
        let encoding = match args.opt_text("encoding")? {
            None => None,
            Some(label) => Some(Charset::by_label(&label).ok_or_else(|| {
                invalid(format!("`{}` is no encoding that is known here", shown(&label)))
                    .hint("use utf-8, gb18030, latin1, shift_jis, euc-kr, big5 or windows-1252, or leave it out")
            })?),
        };
        let from_byte = args.opt_whole("from_byte")?;
        Ok(Self { path, offset, limit, encoding, from_byte })
    }
}

/// Runs the tool.
pub fn call(args: Args) -> Result<Reply, Failure> {
    run(&Request::new(args)?)
}

/// Reads what `request` says. The first piece of the reply is the text as it is in the file; the
/// second, if there is one, says what came of how much and in which encoding.
pub fn run(request: &Request) -> Result<Reply, Failure> {
    let told = |error| fault::io("read", &request.path, &error);
    let mut file = File::open(&request.path).map_err(told)?;
    if let Some(byte) = request.from_byte {
        // No file is so large, and the system takes no such position.
        if i64::try_from(byte).is_err() {
            return Err(lines::past_byte(request, &file, byte));
        }
        file.seek(byte).map_err(told)?;
    }
    // Sized for small files, for which every page of memory that is touched counts.
    let mut first = Vec::with_capacity(4096);
    file.by_ref().take(FIRST as u64).read_to_end(&mut first).map_err(told)?;

    let at_start = request.from_byte.unwrap_or(0) == 0;
    if at_start && first.is_empty() {
        return empty(request, None);
    }
    let marked = if at_start { decode::from_bom(&first) } else { None };
    if request.encoding.is_none()
        && marked.is_none()
        && at_start
        && let Some(kind) = kind::sure(&first)
    {
        return Err(binary(request, kind, &file));
    }
    let charset = request.encoding.or(marked);
    match charset {
        Some(charset) if !charset.lines_are_bytes() => whole::read(request, file, first, charset),
        _ => lines::read(request, file, first, charset),
    }
}

fn empty(request: &Request, charset: Option<Charset>) -> Result<Reply, Failure> {
    if request.offset > 1 {
        return Err(past_end(request, 0));
    }
    let reply = Reply::text("(empty file)");
    Ok(match charset {
        Some(charset) => reply.and_text(format!("[{}]", charset.name())),
        None => reply,
    })
}

fn past_end(request: &Request, lines: u64) -> Failure {
    let count = match lines {
        0 => "no lines: it is empty".to_owned(),
        1 => "1 line".to_owned(),
        lines => format!("{lines} lines"),
    };
    invalid(format!(
        "`offset` {} is past the end: `{}` has {count}",
        request.offset,
        shown(&request.path)
    ))
    .hint(format!("use an offset from 1 to {}", lines.max(1)))
}

fn binary(request: &Request, kind: &str, file: &File) -> Failure {
    let size = match file.size() {
        Ok(size) => format!("{size} bytes"),
        Err(_) => "size unknown".to_owned(),
    };
    failure(
        FailureCode::Unsupported,
        format!("`{}` is not text: {kind}, {size}", shown(&request.path)),
    )
    .hint("read_file shows text only; if this is text in a known encoding, name it in `encoding`")
}
