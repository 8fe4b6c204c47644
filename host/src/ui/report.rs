//! A run as it is told on standard error, line by line.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Output, gist, progress, size, stop_word, time};
use crate::agent::{Event, Reporter, RunReport};
use crate::model::{Content, Message, Payload, StopReason, ToolCall, ToolReply, Usage};
use crate::text::{clip_end, escape_line, escape_text};

/// Tells turns, calls, retries and denials. Everything foreign in it is escaped. The answer is
/// not told: it goes to standard output when the run is over.
#[derive(Debug)]
pub struct RunReporter {
    output: Arc<Output>,
    verbose: bool,
    /// The place of each call of the newest reply, from 1: they may end in any order.
    places: Mutex<HashMap<String, usize>>,
}

/// Bytes of a reason on one line.
const REASON: usize = 300;

/// Lines of a diff below its call; the reply to the model has all of it.
const DIFF_LINES: usize = 60;

impl RunReporter {
    pub fn new(output: Arc<Output>, verbose: bool) -> Self {
        Self { output, verbose, places: Mutex::default() }
    }

    fn places(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finished(&self, turn: u32, call: &ToolCall, reply: &ToolReply, ms: u64) {
        let paint = self.output.err_paint();
        let number = self.places().get(&call.id).copied().unwrap_or(1);
        let name = clip_end(&escape_line(&call.name), 64);
        let took = if ms == 0 { time(reply.receipt.execute_us) } else { time(ms * 1000) };
        let ending = if reply.outcome.is_done() {
            let bytes = reply.content.iter().map(bytes_of).sum();
            format!("{}, {}, {took}", paint.green("ok"), size(bytes))
        } else {
            let why = reply.failure.as_ref().map_or("no reason given", |f| f.message.as_str());
            let why = clip_end(&escape_line(why), REASON);
            format!("{}, {took}: {why}", paint.red(reply.outcome.word()))
        };
        self.output.note(&format!(
            "{} {} {} {ending}",
            paint.dim(&format!("[{turn}.{number}]")),
            paint.bold(&name),
            gist(&call.arguments)
        ));
        for denial in &reply.receipt.denials {
            self.output.note(&format!(
                "    {} {} `{}`: {}",
                paint.yellow("denied:"),
                escape_line(&denial.what),
                escape_line(&denial.subject),
                clip_end(&escape_line(&denial.reason), REASON)
            ));
        }
        if self.output.err_is_terminal() || self.verbose {
            reply.content.iter().filter_map(diff_of).for_each(|diff| self.diff(diff));
        }
    }

    fn diff(&self, diff: &str) {
        let mut shown: Vec<&str> = diff.lines().take(DIFF_LINES).collect();
        let left_out = diff.lines().count() - shown.len();
        let rest = format!("[{left_out} lines more]");
        if left_out > 0 {
            shown.push(&rest);
        }
        let text =
            shown.iter().map(|line| escape_line(&line.replace('\t', "    "))).collect::<Vec<_>>();
        for line in self.output.err_paint().diff(&text.join("\n")).lines() {
            self.output.note(&format!("    {line}"));
        }
    }

    /// Text that comes with calls would be lost otherwise; text without them is the answer.
    fn assistant(&self, message: &Message, usage: Usage, ms: u64) {
        let ids = message.tool_calls.iter().map(|call| call.id.clone());
        *self.places() = ids.zip(1..).collect();
        if !message.tool_calls.is_empty() && !message.content.trim().is_empty() {
            self.output.note(escape_text(&message.content).trim_end());
        }
        if self.verbose {
            self.output.note(&self.output.err_paint().dim(&format!(
                "reply in {}: {} tokens in ({} cached), {} out",
                time(ms * 1000),
                usage.input,
                usage.cached,
                usage.output
            )));
        }
    }

    fn stopped(&self, report: &RunReport) {
        let paint = self.output.err_paint();
        if let Some(error) = &report.error {
            let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
            let error = escape_line(&error.to_string());
            self.output.note(&format!("{} {error}{hint}", paint.red("error:")));
        }
        if report.stop != StopReason::Answered {
            let turns = super::count(report.turns as usize, "turn");
            let more = hint(report.stop).map(|hint| format!("; {hint}")).unwrap_or_default();
            let word = stop_word(report.stop);
            self.output.note(&format!("{} {word} after {turns}{more}", paint.yellow("stopped:")));
        }
        if self.verbose {
            let cost = report.cost.map(|cost| format!(", cost {cost:.4}")).unwrap_or_default();
            self.output.note(&paint.dim(&format!(
                "{}, {} tokens in, {} out{cost}",
                super::count(report.turns as usize, "turn"),
                report.usage.input,
                report.usage.output
            )));
        }
    }
}

impl Reporter for RunReporter {
    fn event(&self, event: &Event<'_>) {
        let (output, paint) = (&self.output, self.output.err_paint());
        match event {
            Event::RunStarted { session, workdir, provider, model } => {
                let session = session.map(|s| format!(", session {}", escape_line(s)));
                output.note(&paint.dim(&format!(
                    "workdir {}, model {}/{}{}",
                    escape_line(&workdir.to_string_lossy()),
                    escape_line(provider),
                    escape_line(model),
                    session.unwrap_or_default()
                )));
            }
            Event::TurnStarted { turn, messages, tools } => {
                let more = if self.verbose {
                    format!(": {messages} messages, {tools} tools")
                } else {
                    String::new()
                };
                output.note(&paint.cyan(&format!("turn {turn}{more}")));
            }
            Event::Retry { attempt, after_ms, why } => output.note(&format!(
                "{} {}; attempt {attempt} in {:.1} s",
                paint.yellow("retry:"),
                clip_end(&escape_line(why), REASON),
                *after_ms as f64 / 1000.0
            )),
            Event::Assistant { message, usage, ms, .. } => self.assistant(message, *usage, *ms),
            Event::CallStarted { turn, call } if self.verbose => output.note(&paint.dim(&format!(
                "begin {} of turn {turn}: {}",
                escape_line(&call.name),
                clip_end(&escape_line(&call.arguments), REASON)
            ))),
            Event::CallProgress { progress: reported, .. } if self.verbose => {
                output.note(&progress(reported));
            }
            Event::CallFinished { turn, call, reply, ms } => self.finished(*turn, call, reply, *ms),
            Event::Note { text } => {
                output.note(&format!("{} {}", paint.yellow("note:"), escape_line(text)));
            }
            Event::Stopped { report } => self.stopped(report),
            // Pieces come again in the whole reply; see `Event::Assistant`.
            Event::Text { .. }
            | Event::Reasoning { .. }
            | Event::CallStarted { .. }
            | Event::CallProgress { .. } => {}
        }
    }
}

/// What lifts the bound that was met.
fn hint(stop: StopReason) -> Option<&'static str> {
    Some(match stop {
        StopReason::TurnsExhausted => "`--max-turns N` allows more",
        StopReason::TokensExhausted => "`--max-tokens N` allows more",
        StopReason::SecondsExhausted => "`--max-seconds N` allows more",
        StopReason::CostExhausted => "`--max-cost AMOUNT` allows more",
        _ => return None,
    })
}

fn bytes_of(content: &Content) -> u64 {
    match &content.payload {
        Payload::Text(text) | Payload::Link(text) => text.len() as u64,
        Payload::Bytes(bytes) => bytes.len() as u64,
    }
}

fn diff_of(content: &Content) -> Option<&str> {
    content.as_text().filter(|_| content.mime_type == "text/x-diff")
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
