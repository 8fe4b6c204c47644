//! `glob`: files by name.

use std::fs;
use std::io::ErrorKind;
use std::time::SystemTime;

use clawhold_sdk::failure::invalid;
use clawhold_sdk::{Args, Failure, Reply};
use serde_json::json;

use crate::disk::Kind;
use crate::names::shown;
use crate::walk::{MAX_DEPTH, Tally, Walk, walk};
use crate::{fault, pattern};

/// How many paths a reply holds.
const MAX_PATHS: usize = 1_000;

/// How many matches are kept, to sort them by time.
const MAX_KEPT: usize = 100_000;

/// In which order paths come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// By name, folder by folder.
    #[default]
    Name,
    /// The last changed first.
    Mtime,
}

/// Runs the tool.
pub fn call(mut args: Args) -> Result<Reply, Failure> {
    let pattern = args.text("pattern")?;
    let path = args.opt_text("path")?.unwrap_or_else(|| ".".to_owned());
    let sort = match args.opt_text("sort")?.as_deref() {
        None | Some("name") => Sort::Name,
        Some("mtime") => Sort::Mtime,
        Some(other) => {
            return Err(invalid(format!("`sort` is `name` or `mtime`, not `{}`", shown(other))));
        }
    };
    run(&pattern, &path, sort)
}

/// Finds the files below `path` that match. A pattern that ends with a slash finds folders.
pub fn run(given: &str, path: &str, sort: Sort) -> Result<Reply, Failure> {
    let bare = given.strip_prefix("./").unwrap_or(given);
    let folders = bare.ends_with('/') && bare.len() > 1;
    let bare = if folders { bare.trim_end_matches('/') } else { bare };
    // Checked as a whole first: the part that is walked may not hold the fault.
    pattern::compile(bare)?;
    let (start, rest) = pattern::split_literal(bare);
    let matcher = pattern::compile(rest)?;
    let base = joined(path, start);

    let (mut found, mut dropped) = (Vec::new(), 0_usize);
    // Folders that the pattern names are searched even if they are ignored, as a shell would.
    let options = Walk { base: &base, depth: depth_of(rest), hidden: true, ignored: false };
    let walked = walk(&options, |item| {
        let wanted = if folders {
            item.kind == Kind::Folder
        } else {
            matches!(item.kind, Kind::File | Kind::Link)
        };
        if wanted && matcher.is_match(item.rel) {
            if found.len() < MAX_KEPT {
                found.push(item.path.to_owned());
            } else {
                dropped += 1;
            }
        }
    });
    let tally = match walked {
        Ok(tally) => tally,
        // The literal part may name nothing; the path that the caller gave must exist.
        Err(error)
            if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
                && base != path =>
        {
            fs::read_dir(path).map_err(|error| fault::io("search", path, &error))?;
            Tally::default()
        }
        Err(error) => return Err(fault::io("search", path, &error)),
    };
    if sort == Sort::Mtime {
        newest_first(&mut found);
    }
    Ok(reply(given, folders, &found, dropped, &tally))
}

/// A pattern without `**` needs no deeper walk than it has parts.
fn depth_of(pattern: &str) -> usize {
    if pattern.contains("**") || pattern.contains(['{', '[']) {
        MAX_DEPTH
    } else {
        pattern.split('/').count()
    }
}

fn joined(path: &str, start: &str) -> String {
    match (path.trim_end_matches('/'), start) {
        (_, "") => path.to_owned(),
        ("." | "", start) if !path.starts_with('/') => start.to_owned(),
        (path, start) => format!("{path}/{start}"),
    }
}

fn newest_first(found: &mut Vec<String>) {
    let time =
        |path: &String| fs::symlink_metadata(path).and_then(|metadata| metadata.modified()).ok();
    let mut timed: Vec<(Option<SystemTime>, String)> =
        std::mem::take(found).into_iter().map(|path| (time(&path), path)).collect();
    // Equal times leave the order by name.
    timed.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
    found.extend(timed.into_iter().map(|(_, path)| path));
}

fn reply(pattern: &str, folders: bool, found: &[String], dropped: usize, tally: &Tally) -> Reply {
    let mut text = String::new();
    for path in found.iter().take(MAX_PATHS) {
        text.push_str(&shown(path));
        text.push_str(if folders { "/\n" } else { "\n" });
    }
    let more = found.len().saturating_sub(MAX_PATHS) + dropped;
    if found.is_empty() {
        text +=
            &format!("no {} match `{}`", if folders { "folders" } else { "files" }, shown(pattern));
        if !pattern.contains("**") {
            text += &format!("; `**/{}` looks in all folders", pattern.trim_start_matches("./"));
        }
        text.push('\n');
    }
    if more > 0 {
        text += &format!("[{more} more; use a narrower pattern]\n");
    }
    if tally.unwanted > 0 && found.is_empty() {
        text += &format!("[{} git-ignored entries were left out]\n", tally.unwanted);
    }
    text += &tally.notes();
    let shown: Vec<_> = found.iter().take(MAX_PATHS).collect();
    Reply::text(text).structured(&json!({"paths": shown, "more": more}))
}
