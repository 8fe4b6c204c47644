//! `list_dir`: what is in a folder.

use std::fs;

use clawhold_sdk::failure::failure;
use clawhold_sdk::{Args, Failure, FailureCode, Reply};
use serde_json::json;

use crate::disk::Kind;
use crate::fault;
use crate::names::{maybe_not_utf8, shown};
use crate::walk::{Item, Walk, walk};

/// How many entries a reply holds.
const MAX_ENTRIES: usize = 1_000;

/// How much text a reply holds, in bytes.
const MAX_TEXT: usize = 32 * 1024;

/// Runs the tool.
pub fn call(mut args: Args) -> Result<Reply, Failure> {
    let path = args.opt_text("path")?.unwrap_or_else(|| ".".to_owned());
    let depth = args.opt_whole("depth")?.unwrap_or(1).clamp(1, crate::walk::MAX_DEPTH as u64);
    let all = args.opt_flag("all")?.unwrap_or(false);
    run(&path, depth as usize, all)
}

/// Lists `path`, `depth` levels of it.
pub fn run(path: &str, depth: usize, all: bool) -> Result<Reply, Failure> {
    let (mut text, mut entries, mut more) = (String::new(), Vec::new(), 0_usize);
    let options = Walk { base: path, depth, hidden: all, ignored: all };
    let mut last = String::new();
    let tally = walk(&options, |item| {
        if entries.len() >= MAX_ENTRIES || text.len() >= MAX_TEXT {
            more += 1;
            return;
        }
        let mut entry = Entry::of(item);
        if maybe_not_utf8(item.name) {
            // Beside a file that is really called `\xff` the other one cannot be reached.
            if last == item.rel {
                entry = Entry { size: None, foreign: true, ..entry };
            }
            item.rel.clone_into(&mut last);
        }
        entry.write(&mut text);
        entries.push(entry.to_json());
    })
    .map_err(|error| not_listed(path, &error))?;

    if entries.is_empty() {
        text.push_str("(empty folder)\n");
    }
    if more > 0 {
        text += &format!("[{more} more entries; list a folder in it, or find names with glob]\n");
    }
    if tally.unwanted > 0 {
        text += &format!("[{} hidden or git-ignored; `all` shows them]\n", tally.unwanted);
    }
    text += &tally.notes();
    let more = more + tally.dropped;
    Ok(Reply::text(text).structured(&json!({"path": path, "entries": entries, "more": more})))
}

fn not_listed(path: &str, error: &std::io::Error) -> Failure {
    if fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        return failure(
            FailureCode::InvalidArguments,
            format!("cannot list `{}`: it is a file", shown(path)),
        )
        .hint("read it with read_file, or name the folder that it is in");
    }
    fault::io("list", path, error)
}

struct Entry<'a> {
    rel: &'a str,
    kind: Kind,
    size: Option<u64>,
    to: Option<String>,
    /// The name is not UTF-8: what is shown is an escaped form that cannot be opened.
    foreign: bool,
}

impl<'a> Entry<'a> {
    fn of(item: &Item<'a>) -> Self {
        let mut entry =
            Entry { rel: item.rel, kind: item.kind, size: None, to: None, foreign: false };
        let escaped = maybe_not_utf8(item.name);
        if item.kind == Kind::File || escaped {
            match fs::symlink_metadata(item.path) {
                Ok(metadata) if item.kind == Kind::File => entry.size = Some(metadata.len()),
                Ok(_) => {}
                // A file may really be called `\xff`; then it can be found under that name.
                Err(_) => entry.foreign = escaped,
            }
        }
        if item.kind == Kind::Link {
            entry.to = fs::read_link(item.path).ok().map(|to| to.to_string_lossy().into_owned());
        }
        entry
    }

    fn write(&self, out: &mut String) {
        if self.foreign {
            // Not quoted: a name that really holds a backslash is.
            out.push_str(self.rel);
        } else {
            out.push_str(&shown(self.rel));
        }
        match self.kind {
            Kind::Folder => out.push('/'),
            Kind::Special => out.push_str("  (special file)"),
            Kind::Link => match &self.to {
                Some(to) => *out += &format!(" -> {}", shown(to)),
                None => out.push_str("  (link)"),
            },
            Kind::File => {
                if let Some(size) = self.size {
                    *out += &format!("  {size} B");
                }
            }
        }
        if self.foreign {
            out.push_str("  (name is not UTF-8; it cannot be opened)");
        }
        out.push('\n');
    }

    fn to_json(&self) -> serde_json::Value {
        let kind = match self.kind {
            Kind::File => "file",
            Kind::Folder => "folder",
            Kind::Link => "link",
            Kind::Special => "special",
        };
        let mut value = json!({"name": self.rel, "kind": kind});
        if let Some(size) = self.size {
            value["size"] = size.into();
        }
        if let Some(to) = &self.to {
            value["to"] = to.as_str().into();
        }
        if self.foreign {
            value["not_utf8"] = true.into();
        }
        value
    }
}
