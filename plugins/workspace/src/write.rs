//! `write_file`: a whole file in one step, with what changed told.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use clawhold_sdk::failure::failure;
use clawhold_sdk::{Args, Failure, FailureCode, Reply};
use serde_json::json;

use crate::decode::{self, Charset};
use crate::{diff, fault, links, names::shown, replace};

/// The largest old text that is compared with the new one. Beyond, only the sizes are told.
const MAX_COMPARED: usize = 4 << 20;

/// Runs the tool.
pub fn call(mut args: Args) -> Result<Reply, Failure> {
    let path = args.text("path")?;
    let content = args.text("content")?;
    run(&path, &content)
}

/// Makes `path` hold `content`.
pub fn run(path: &str, content: &str) -> Result<Reply, Failure> {
    if path.is_empty() || path.ends_with('/') {
        return Err(failure(
            FailureCode::InvalidArguments,
            format!("`{}` names no file", shown(path)),
        )
        .hint("give the name of the file to write"));
    }
    let target = links::target(path)?;
    let old = old_content(path, &target)?;
    if let Old::Known(bytes) = &old
        && bytes == content.as_bytes()
    {
        let text = format!("`{}` has this content already; nothing was written", shown(path));
        return Ok(reply(text, path, content, "unchanged"));
    }
    replace::replace(&target, content.as_bytes())
        .map_err(|error| fault::io("write", path, &error))?;
    Ok(told(path, content, &old))
}

enum Old {
    None,
    Known(Vec<u8>),
    /// Larger than what is compared.
    Large,
}

fn old_content(path: &str, target: &Path) -> Result<Old, Failure> {
    let told = |error| fault::io("write", path, &error);
    let file = match File::open(target) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Old::None),
        Err(error) => return Err(told(error)),
    };
    let mut bytes = Vec::new();
    file.take(MAX_COMPARED as u64 + 1).read_to_end(&mut bytes).map_err(told)?;
    Ok(if bytes.len() > MAX_COMPARED { Old::Large } else { Old::Known(bytes) })
}

fn told(path: &str, content: &str, old: &Old) -> Reply {
    let size = content.len();
    let name = shown(path);
    match old {
        Old::None => {
            let diff = diff::unified(&name, "", content);
            let text = format!("created `{name}`: {size} bytes, {} lines", diff.added);
            reply(text, path, content, "created").and_diff(diff.text)
        }
        Old::Large => {
            let text = format!(
                "replaced `{name}`: {size} bytes; the old content was larger than {} MiB and is not compared",
                MAX_COMPARED >> 20
            );
            reply(text, path, content, "replaced")
        }
        Old::Known(bytes) => {
            let charset = decode::detect(bytes);
            let mut text = format!("replaced `{name}`: {size} bytes, before {}", bytes.len());
            if charset != Charset::UTF_8 {
                text += &format!("; it was {} and is UTF-8 now", charset.name());
            }
            let reply = reply(text, path, content, "replaced");
            if memchr::memchr(0, bytes).is_some() && charset.lines_are_bytes() {
                // A diff of binary data tells nobody anything.
                return reply;
            }
            reply.and_diff(diff::unified(&name, &decode::decode(bytes, charset).0, content).text)
        }
    }
}

fn reply(text: String, path: &str, content: &str, outcome: &str) -> Reply {
    Reply::text(text).structured(&json!({"path": path, "outcome": outcome, "bytes": content.len()}))
}
