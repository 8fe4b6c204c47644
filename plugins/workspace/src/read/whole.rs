//! Reading a file whose lines can only be found after decoding: UTF-16 and UTF-32.

use std::io::Read;

use clawhold_sdk::failure::failure;
use clawhold_sdk::{Failure, FailureCode, Reply, clip};

use super::{Request, TEXT_CAP, empty, past_end};
use crate::decode::{self, Charset};
use crate::disk::File;
use crate::{fault, names::shown};

/// The largest file that is decoded as a whole.
const MAX: usize = 8 << 20;

/// `bytes` is what has been read of `file` already.
pub(super) fn read(
    request: &Request,
    file: File,
    mut bytes: Vec<u8>,
    charset: Charset,
) -> Result<Reply, Failure> {
    file.take((MAX + 1 - bytes.len()) as u64)
        .read_to_end(&mut bytes)
        .map_err(|error| fault::io("read", &request.path, &error))?;
    if bytes.len() > MAX {
        return Err(failure(
            FailureCode::TooLarge,
            format!(
                "`{}` is {} and larger than {} MiB",
                shown(&request.path),
                charset.name(),
                MAX >> 20
            ),
        )
        .hint("convert it to UTF-8 first"));
    }
    let (text, lost) = decode::decode(&bytes, charset);
    if text.is_empty() {
        return empty(request, Some(charset));
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let total = lines.len() as u64;
    if request.offset > total {
        return Err(past_end(request, total));
    }
    let mut out = String::new();
    let mut to = request.offset - 1;
    for line in lines.iter().skip(to as usize).take(request.limit.min(total) as usize) {
        if out.len() + line.len() > TEXT_CAP {
            break;
        }
        out.push_str(line);
        to += 1;
    }
    let mut note = format!("[decoded from {}]", charset.name());
    if lost > 0 {
        note += &format!("[{lost} places could not be decoded and show as U+FFFD]");
    }
    if out.is_empty() {
        out.push_str(clip::head(lines[to as usize], TEXT_CAP));
        to += 1;
        note += &format!("[line {to} is cut after {} bytes of text]", out.len());
    }
    if request.offset > 1 || to < total {
        note += &format!("[lines {}-{to} of {total}", request.offset);
        if to < total {
            note += &format!("; go on with offset {}", to + 1);
        }
        note.push(']');
    }
    Ok(Reply::text(out).and_text(note))
}
