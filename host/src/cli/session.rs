//! `claw session list` and `claw session show`.

use std::path::Path;

use serde_json::json;

use super::Invocation;
use super::usage::UsageError;
use crate::journal::{self, Entry, JournalError, Record, SessionSummary};
use crate::text::{clip_end, escape_line, escape_text};
use crate::ui::{self, Output, gist};

/// Prints the sessions, newest first.
pub(super) fn list(invocation: &Invocation) -> anyhow::Result<u8> {
    let sessions = journal::list(&invocation.settings.sessions.value)?;
    let output = &invocation.output;
    if invocation.json {
        output.print(&ui::json::to_line(&json!(sessions)));
        return Ok(0);
    }
    for SessionSummary { session, workdir, model, prompt, problem, .. } in &sessions {
        let paint = output.out_paint();
        let workdir = escape_line(&workdir.to_string_lossy());
        let told = match problem {
            Some(problem) => paint.red(&escape_line(problem)),
            None => prompt.clone(),
        };
        let place = paint.dim(&format!("({}, {workdir})", escape_line(model)));
        output.print(&format!("{}  {told}  {place}\n", paint.bold(session)));
    }
    Ok(0)
}

/// Prints one session: the records as they are in JSON, or as a conversation. A damaged line is
/// shown as such, and what follows it still comes.
pub(super) fn show(invocation: &Invocation, id: Option<&str>) -> anyhow::Result<u8> {
    let folder = &invocation.settings.sessions.value;
    let session = find(folder, id)?;
    let records = journal::read(&session.path)?;
    let output = &invocation.output;
    if !invocation.json {
        for record in records {
            match record {
                Ok(record) => show_record(output, &record),
                Err(damage) => output.print(&format!(
                    "{}\n",
                    output.out_paint().red(&escape_line(&damage.to_string()))
                )),
            }
        }
        let touched = super::undo::touched(&session.path.with_extension(""));
        if !touched.is_empty() {
            let heading = output.out_paint().bold("files:");
            output.print(&format!("{heading}\n{}\n", touched.join("\n")));
        }
        return Ok(0);
    }
    // A log may be larger than memory, so the array is written as it is read.
    let mut separator = "[";
    for record in records {
        let value = match record {
            Ok(record) => json!(record),
            Err(damage) => json!({ "type": "damaged", "line": damage.line, "cause": damage.cause }),
        };
        output.print(separator);
        output.print(ui::json::to_line(&value).trim_end());
        separator = ",\n";
    }
    output.print(if separator == "[" { "[]\n" } else { "]\n" });
    Ok(0)
}

/// The session whose id begins with `id`, or the newest.
pub(super) fn find(folder: &Path, id: Option<&str>) -> anyhow::Result<SessionSummary> {
    let mut found = journal::list(folder)?;
    if let Some(id) = id {
        found.retain(|session| session.session.starts_with(id));
        if found.len() > 1 {
            let shown: Vec<&str> = found.iter().take(4).map(|s| s.session.as_str()).collect();
            let id = escape_line(id);
            let text = format!(
                "`{id}` begins {} sessions, such as {}: give more of it",
                found.len(),
                shown.join(", ")
            );
            return Err(UsageError(text).into());
        }
    }
    if found.is_empty() {
        let id = id.map_or_else(|| "(newest)".to_owned(), escape_line);
        return Err(JournalError::NoSession { id, folder: folder.to_owned() }.into());
    }
    Ok(found.swap_remove(0))
}

/// Bytes of a tool's answer to show.
const EXCERPT: usize = 400;

fn show_record(output: &Output, record: &Record) {
    let paint = output.out_paint();
    let line = |text: String| output.print(&format!("{text}\n"));
    match &record.entry {
        Entry::Session { session, workdir, model, .. } => line(format!(
            "{} {} in {} with {}",
            paint.bold(&escape_line(session)),
            escape_line(&record.time),
            escape_line(&workdir.to_string_lossy()),
            escape_line(model)
        )),
        Entry::User { text } => line(format!("{} {}", paint.cyan("user:"), escape_text(text))),
        Entry::Assistant { text, tool_calls, .. } => {
            if !text.is_empty() {
                line(format!("{} {}", paint.green("assistant:"), escape_text(text)));
            }
            for call in tool_calls {
                let (id, name) = (escape_line(&call.id), escape_line(&call.name));
                line(format!(
                    "{} {name} {} {}",
                    paint.green("asks:"),
                    gist(&call.arguments),
                    paint.dim(&id)
                ));
            }
        }
        Entry::Result { id, name, ms, reply } => {
            let word = reply.outcome.word();
            let word = if reply.outcome.is_done() { paint.green(word) } else { paint.red(word) };
            let id = paint.dim(&escape_line(id));
            line(format!("{} {} {word} in {ms} ms {id}", paint.cyan("result:"), escape_line(name)));
            let text = escape_text(&clip_end(&reply.observation(), EXCERPT));
            for part in text.lines() {
                line(format!("    {part}"));
            }
        }
        Entry::Decision { id, verdict, by, reason } => line(format!(
            "{} {} by {}: {} {}",
            paint.yellow("decision:"),
            escape_line(verdict),
            escape_line(by),
            escape_line(reason),
            paint.dim(&escape_line(id))
        )),
        Entry::Note { text } => line(format!("{} {}", paint.yellow("note:"), escape_text(text))),
        Entry::Stop { reason, error } => {
            let error = error.as_ref().map(|e| format!(": {}", escape_line(e))).unwrap_or_default();
            line(format!("{} {}{error}", paint.yellow("stop:"), ui::stop_word(*reason)));
        }
        // The intent says nothing that the request does not, and usage is in the JSON.
        Entry::Call { .. } | Entry::Usage { .. } | Entry::Unknown => {}
    }
}
