//! `edit_file`: replaces parts of a text and leaves everything else as it is, byte for byte.

pub mod fold;
pub mod indent;
pub mod ladder;
pub mod lines;
pub mod nearest;
mod source;
pub mod splice;

use std::fmt::Write;

use clawhold_sdk::failure::{failure, invalid};
use clawhold_sdk::{Args, Failure, FailureCode, Reply};
use serde_json::json;

use crate::{diff, fault, links, names::shown, replace, write};
use ladder::{Level, Miss};
use source::Source;

/// One change.
#[derive(Debug, Clone, Default)]
pub struct Edit {
    /// What is there.
    pub old: String,
    /// What shall be there.
    pub new: String,
    /// Whether several places are meant.
    pub all: bool,
}

impl Edit {
    fn new(args: &mut Args) -> Result<Self, Failure> {
        Ok(Self {
            old: args.text("old_text")?,
            new: args.text("new_text")?,
            all: args.opt_flag("replace_all")?.unwrap_or(false),
        })
    }
}

/// What one edit did.
#[derive(Debug, Clone)]
struct Done {
    level: Level,
    /// The lines at which it did, at that time.
    lines: Vec<usize>,
}

/// Runs the tool.
pub fn call(mut args: Args) -> Result<Reply, Failure> {
    let path = args.text("path")?;
    let edits = match args.opt_objects("edits")? {
        Some(list) => {
            if args.opt_text("old_text")?.is_some_and(|old| !old.is_empty()) {
                return Err(invalid("both `old_text` and `edits` were given")
                    .hint("put all changes into `edits`, or leave it out"));
            }
            list.into_iter().map(|mut item| Edit::new(&mut item)).collect::<Result<Vec<_>, _>>()?
        }
        None => vec![Edit::new(&mut args)?],
    };
    run(&path, &edits)
}

/// Applies `edits` in order, each to what the one before made; all or none.
pub fn run(path: &str, edits: &[Edit]) -> Result<Reply, Failure> {
    if edits.is_empty() {
        return Err(invalid("`edits` is empty").hint("give at least one edit"));
    }
    let target = links::target(path)?;
    let source = match Source::load(path, &target) {
        Err(failure) if matches!(failure.code, FailureCode::NotFound) => {
            return match edits {
                [only] if only.old.is_empty() => write::run(path, &only.new),
                _ => Err(failure.hint(
                    "look for the name with list_dir or glob; to make a new file use write_file",
                )),
            };
        }
        other => other?,
    };
    let mut text = source.text.clone();
    let mut done = Vec::with_capacity(edits.len());
    for (index, edit) in edits.iter().enumerate() {
        let (next, did) = apply(&text, edit, &source)
            .map_err(|failure| numbered(failure, path, index + 1, edits.len()))?;
        text = next;
        done.push(did);
    }
    if text == source.text {
        return Err(invalid(format!("the edits change nothing in `{}`", shown(path)))
            .hint("the text is already as wanted; go on"));
    }
    let bytes = source.to_bytes(path, &text)?;
    replace::replace(&target, &bytes).map_err(|error| fault::io("write", path, &error))?;
    Ok(told(path, &source, &text, bytes.len(), &done))
}

/// The text after one edit.
fn apply(text: &[u8], edit: &Edit, source: &Source) -> Result<(Vec<u8>, Done), Failure> {
    let strip = |text: &'_ str| text.strip_prefix('\u{feff}').unwrap_or(text).to_owned();
    let (old, new) = (strip(&edit.old), strip(&edit.new));
    if old.is_empty() {
        return Err(invalid("`old_text` is empty, and the file exists")
            .hint("give the text to replace; to replace the whole file use write_file"));
    }
    if old == new {
        return Err(invalid("`old_text` and `new_text` are the same")
            .hint("give the text as it shall be in `new_text`"));
    }
    let (old, new) = (old.as_bytes(), new.as_bytes());
    let found = ladder::find(text, old, edit.all).map_err(|miss| missed(text, old, &miss))?;
    let mut out = Vec::with_capacity(text.len() + new.len());
    let mut at = 0;
    let mut lines = Vec::new();
    for place in &found.places {
        let (bytes, more) = splice::replacement(text, old, new, &found, place);
        source.refuse_lost(&bytes, &text[place.span.clone()])?;
        out.extend_from_slice(&text[at..place.span.start]);
        out.extend_from_slice(&bytes);
        at = place.span.end + more;
        lines.push(place.span.start);
    }
    out.extend_from_slice(&text[at..]);
    Ok((out, Done { level: found.level, lines: line_numbers(text, &lines) }))
}

fn missed(text: &[u8], old: &[u8], miss: &Miss) -> Failure {
    match miss {
        Miss::Nowhere => {
            let failure = failure(FailureCode::NotFound, "`old_text` is not in the file");
            match nearest::describe(text, old) {
                Some(nearest) => {
                    failure.hint(format!("copy the text as the file has it; {nearest}"))
                }
                None => failure.hint("nothing in the file resembles it; read the file again"),
            }
        }
        Miss::Many { level, starts, count } => {
            let places = where_matched(&line_numbers(text, starts), *count);
            let how = match level {
                Level::Exact => String::new(),
                level => format!(" ({})", level.words()),
            };
            failure(
                FailureCode::Conflict,
                format!("`old_text` matches {count} places{how}, {places}; nothing was changed"),
            )
            .hint("give more lines around the one that is meant, or set replace_all")
        }
        Miss::Overlapping { start } => failure(
            FailureCode::Conflict,
            format!(
                "two matches of `old_text` overlap at line {}; nothing was changed",
                lines::number(text, *start)
            ),
        )
        .hint("give a text that cannot overlap with itself"),
    }
}

/// The lines, from 1, of places in rising order.
fn line_numbers(text: &[u8], places: &[usize]) -> Vec<usize> {
    let (mut line, mut from) = (1, 0);
    let count = |place: &usize| {
        line += lines::number(&text[from..], place - from) - 1;
        from = *place;
        line
    };
    places.iter().map(count).collect()
}

/// Each line once, however many of the matches stand in it.
fn where_matched(lines: &[usize], count: usize) -> String {
    let mut each = lines.to_vec();
    each.dedup();
    match each[..] {
        [line] if count == lines.len() => format!("all on line {line}"),
        [line] => format!("the first on line {line}"),
        _ => format!(
            "at lines {}{}",
            listed(&each),
            if count > lines.len() { " and more" } else { "" }
        ),
    }
}

fn listed(lines: &[usize]) -> String {
    let mut out = String::new();
    for (i, line) in lines.iter().take(10).enumerate() {
        let _ = write!(out, "{}{line}", if i == 0 { "" } else { ", " });
    }
    if lines.len() > 10 {
        out.push_str(" and more");
    }
    out
}

/// Says in which file, and which edit of several it was.
fn numbered(mut failure: Failure, path: &str, number: usize, of: usize) -> Failure {
    failure.message = if of > 1 {
        format!("`{}`, edit {number} of {of}: {}; none was applied", shown(path), failure.message)
    } else {
        format!("`{}`: {}", shown(path), failure.message)
    };
    failure
}

fn told(path: &str, source: &Source, text: &[u8], bytes: usize, done: &[Done]) -> Reply {
    let total: usize = done.iter().map(|done| done.lines.len()).sum();
    let mut out = format!(
        "edited `{}`: {total} replacement{}",
        shown(path),
        if total == 1 { "" } else { "s" }
    );
    for (i, done) in done.iter().enumerate() {
        let _ = write!(out, "{}", if i == 0 { ", " } else { "; " });
        if total > 1 {
            let _ = write!(out, "line {}, ", listed(&done.lines));
        }
        out.push_str(done.level.words());
    }
    if let Some(note) = source.note() {
        let _ = write!(out, "; {note}");
    }
    let levels: Vec<_> = done.iter().map(|done| done.level.id()).collect();
    let diff = diff::unified(
        &shown(path),
        &String::from_utf8_lossy(&source.text),
        &String::from_utf8_lossy(text),
    );
    Reply::text(out)
        .structured(&json!({
            "path": path, "outcome": "edited", "bytes": bytes,
            "replacements": total, "levels": levels,
        }))
        .and_diff(diff.text)
}
