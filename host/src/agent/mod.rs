//! The loop: ask the model, run what it asks for, tell it what came of that, until it asks for
//! nothing more.
//!
//! The loop knows the ports only, a provider and a registry, and decides nothing that is the
//! model's to decide. It has no ceiling of steps; a [`Budget`] outside of it has.

mod budget;
mod builder;
mod calls;
mod report;
mod run_report;
mod system_prompt;
mod turn;

use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;
use tokio_util::sync::CancellationToken;

pub use budget::{Budget, Price};
pub use builder::AgentBuilder;
pub use report::{Event, Reporter, Silent};
pub use run_report::{Files, RunReport, ToolTally};
pub use system_prompt::{Environment, system_prompt};

use crate::journal::{Entry, Journal, JournalError};
use crate::model::{Failure, FailureCode, Message, Outcome, Role, StopReason, ToolReply};
use crate::provider::Provider;
use crate::tool::{Limits, Registry};

/// What keeps a run from beginning or from going on. A model service that fails is none of
/// these: such a run ends with a report that says so.
#[derive(Debug, Error)]
pub enum AgentError {
    #[error("the working directory `{path}` is not a folder that can be entered")]
    Workdir { path: PathBuf },
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("the session log failed, so the run was stopped: {cause}")]
    LogFailed { cause: String },
}

/// One conversation with a model that has tools. It keeps its messages from run to run.
pub struct Agent {
    provider: Arc<dyn Provider>,
    registry: Arc<Registry>,
    workdir: PathBuf,
    messages: Vec<Message>,
    budget: Budget,
    price: Option<Price>,
    limits: Limits,
    reporter: Arc<dyn Reporter>,
    journal: Option<Arc<Journal>>,
    cancel: CancellationToken,
    terminate: CancellationToken,
    /// Ids that calls of this conversation have, so that each is used once.
    call_ids: HashSet<String>,
    /// Turns of earlier runs: a turn's number is used once in a session, since undo goes by it.
    turns_before: u32,
}

impl Agent {
    /// Begins an agent that works in `workdir`; everything else has a default.
    pub fn builder(
        provider: Arc<dyn Provider>,
        registry: Arc<Registry>,
        workdir: impl Into<PathBuf>,
    ) -> AgentBuilder {
        AgentBuilder::new(provider, registry, workdir.into())
    }

    /// The conversation so far, the system prompt first where there is one.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Listens to another token from the next run on: one that was cancelled stays so, and a chat
    /// goes on after Ctrl-C.
    pub fn set_cancel(&mut self, token: CancellationToken) {
        self.cancel = token;
    }

    /// Adds what the user says and runs the loop until the model has answered, a budget is spent,
    /// or something stops it. However it ends, the conversation stays one that a service accepts,
    /// and the next `run` goes on from it.
    pub async fn run(&mut self, prompt: impl Into<String>) -> Result<RunReport, AgentError> {
        let session = self.journal.as_ref().map(|journal| journal.id().to_string());
        self.reporter.event(&Event::RunStarted {
            session: session.as_deref(),
            workdir: &self.workdir,
            provider: self.provider.name(),
            model: self.provider.model(),
        });
        self.settle()?;
        let prompt = prompt.into();
        if let Some(journal) = &self.journal {
            journal.append(&Entry::User { text: prompt.clone() })?;
        }
        self.messages.push(Message::user(prompt));
        let mut report = RunReport::new(session);
        let ended = turn::run(self, &mut report).await;
        self.turns_before += report.turns;
        match ended {
            Ok(stop) => report.stop = stop,
            Err(error) => {
                report.stop = StopReason::Failed;
                self.reporter.event(&Event::Stopped { report: &report });
                return Err(error);
            }
        }
        let written = self.journal.as_ref().map_or(Ok(0), |journal| {
            let error = report.error.as_ref().map(ToString::to_string);
            journal.append(&Entry::Stop { reason: report.stop, error })
        });
        self.reporter.event(&Event::Stopped { report: &report });
        written?;
        Ok(report)
    }

    /// Answers calls that a run left open when its future was dropped, or that a given history
    /// left open: no service takes a conversation in which a call has no result.
    fn settle(&mut self) -> Result<(), JournalError> {
        let Some(at) = self.messages.iter().rposition(|m| m.role != Role::Tool) else {
            return Ok(());
        };
        let answered =
            |id: &str| self.messages[at..].iter().any(|m| m.tool_call_id.as_deref() == Some(id));
        let open = self.messages[at].tool_calls.iter().filter(|call| !answered(&call.id));
        let open: Vec<_> = open.cloned().collect();
        for call in open {
            let failure = Failure::new(FailureCode::Unavailable, "interrupted; outcome unknown");
            let reply = ToolReply::failed(Outcome::Interrupted { after_ms: 0 }, failure);
            self.messages.push(Message::tool_reply(&call.id, &reply));
            if let Some(journal) = &self.journal {
                journal.append(&Entry::Result { id: call.id, name: call.name, ms: 0, reply })?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("provider", &self.provider.name())
            .field("model", &self.provider.model())
            .field("workdir", &self.workdir)
            .field("messages", &self.messages.len())
            .field("tools", &self.registry)
            .field("budget", &self.budget)
            .finish_non_exhaustive()
    }
}
