//! `claw call`: one tool, without a model.

use std::sync::Arc;

use super::signals::Signals;
use super::usage::USAGE;
use super::{Invocation, stdin};
use crate::app::Host;
use crate::journal::{Entry, Journal};
use crate::model::{Effects, Outcome, StopReason, ToolCall, ToolReply};
use crate::text::escape_line;
use crate::tool::{Limits, Progress, Watch, run_calls};
use crate::ui::{self, Output};

/// The arguments as text: the registry reads them as it reads a model's. None given is an empty
/// object, `-` is standard input.
pub(super) fn arguments(given: Option<&str>) -> anyhow::Result<String> {
    Ok(match given {
        None => "{}".to_owned(),
        Some("-") => stdin::whole()?,
        Some(text) => text.to_owned(),
    })
}

/// Runs the call as a session of one turn, and gives the exit code by its outcome.
pub(super) async fn run(
    invocation: &Invocation,
    tool: &str,
    arguments: String,
) -> anyhow::Result<u8> {
    let signals = Signals::watch()?;
    let host = invocation.open_host()?;
    invocation.tell_refused(&host);
    signals.begin();
    let call = ToolCall { id: "call-1".to_owned(), name: tool.to_owned(), arguments };
    let known = host.registry().definitions().iter().any(|spec| spec.name == tool);
    // A misspelt name is a fault of the command line and leaves no session behind.
    let journal = if known && invocation.settings.keep_session {
        let journal = begin(invocation, &host, &call)?;
        Some(journal)
    } else {
        None
    };
    let mut watch = CallWatch {
        output: Arc::clone(&invocation.output),
        verbose: invocation.verbose,
        journal: journal.as_ref(),
    };
    let calls = std::slice::from_ref(&call);
    let cancel = signals.either();
    let replies =
        run_calls(host.registry(), calls, 1, Limits::default(), &cancel, &mut watch).await;
    let Some(reply) = replies.into_iter().next() else {
        anyhow::bail!("the call of `{}` gave no result", escape_line(tool));
    };
    let (code, stop) = ending(&reply, known, &signals);
    if let Some(journal) = &journal {
        journal.append(&Entry::Stop { reason: stop, error: None })?;
    }
    show(invocation, tool, &reply);
    Ok(code)
}

/// The log of a conversation in which somebody asked for exactly this call, so that everything
/// which reads sessions can read it.
fn begin(invocation: &Invocation, host: &Host, call: &ToolCall) -> anyhow::Result<Journal> {
    let settings = &invocation.settings;
    let start = || {
        let journal = Journal::create(&settings.sessions.value, host.workdir().path(), "none")?
            .with_redactions(settings.secrets());
        journal.append(&Entry::User { text: format!("claw call {}", call.name) })?;
        journal.append(&Entry::Assistant {
            text: String::new(),
            reasoning: None,
            tool_calls: vec![call.clone()],
            attachments: Vec::new(),
            vendor: None,
        })?;
        host.keep_in(&journal);
        Ok(journal)
    };
    start().map_err(super::no_session_log)
}

/// The exit code, and the same for the log.
fn ending(reply: &ToolReply, known: bool, signals: &Signals) -> (u8, StopReason) {
    match reply.outcome {
        Outcome::Done => (0, StopReason::Answered),
        Outcome::Denied => (4, StopReason::Refused),
        Outcome::TimedOut => (124, StopReason::SecondsExhausted),
        Outcome::Failed if !known => (USAGE, StopReason::Failed),
        Outcome::Failed => (1, StopReason::Failed),
        Outcome::Interrupted { .. } | Outcome::NotStarted => {
            let stop = signals.stop().unwrap_or(StopReason::Failed);
            (stop.exit_code(), stop)
        }
    }
}

fn show(invocation: &Invocation, tool: &str, reply: &ToolReply) {
    let output = &invocation.output;
    if invocation.json {
        output.print(&ui::json::to_line(&ui::json::call(tool, reply)));
        return;
    }
    ui::show_reply(output, reply);
    if invocation.verbose {
        let receipt = &reply.receipt;
        output.note(&output.err_paint().dim(&format!(
            "{}: sandbox {}, execution {}, memory {}",
            escape_line(receipt.plugin.as_deref().unwrap_or("host")),
            ui::time(receipt.instantiate_us),
            ui::time(receipt.execute_us),
            ui::size(receipt.peak_memory),
        )));
    }
}

/// Writes the call to the log as it happens.
struct CallWatch<'a> {
    output: Arc<Output>,
    verbose: bool,
    journal: Option<&'a Journal>,
}

impl CallWatch<'_> {
    fn log(&self, entry: impl FnOnce() -> Entry) -> Result<(), String> {
        match self.journal {
            Some(journal) => journal.append(&entry()).map(|_| ()).map_err(|e| e.to_string()),
            None => Ok(()),
        }
    }
}

impl Watch for CallWatch<'_> {
    fn starting(&mut self, call: &ToolCall, effects: Effects) -> Result<(), String> {
        self.log(|| Entry::Call {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            turn: 1,
            effects,
        })
    }

    fn progress(&mut self, _: &ToolCall) -> Arc<dyn Fn(Progress) + Send + Sync> {
        if !self.verbose {
            return Arc::new(|_| {});
        }
        let output = Arc::clone(&self.output);
        Arc::new(move |progress| output.note(&ui::progress(&progress)))
    }

    fn finished(&mut self, call: &ToolCall, reply: &ToolReply, ms: u64) -> Result<(), String> {
        self.log(|| Entry::Result {
            id: call.id.clone(),
            name: call.name.clone(),
            ms,
            reply: reply.clone(),
        })
    }
}
