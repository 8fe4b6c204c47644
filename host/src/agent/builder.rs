//! Putting an agent together.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{Agent, AgentError, Budget, Price, Reporter, Silent};
use crate::journal::Journal;
use crate::model::Message;
use crate::provider::Provider;
use crate::tool::{Limits, Registry};

/// The settings of an agent to be. What is not set: no system prompt, the default [`Budget`],
/// no log, nobody told, nothing that cancels.
pub struct AgentBuilder {
    provider: Arc<dyn Provider>,
    registry: Arc<Registry>,
    workdir: PathBuf,
    system_prompt: Option<String>,
    history: Vec<Message>,
    budget: Budget,
    price: Option<Price>,
    limits: Limits,
    reporter: Arc<dyn Reporter>,
    journal: Option<Arc<Journal>>,
    cancel: CancellationToken,
    terminate: CancellationToken,
}

impl AgentBuilder {
    pub(super) fn new(
        provider: Arc<dyn Provider>,
        registry: Arc<Registry>,
        workdir: PathBuf,
    ) -> Self {
        Self {
            provider,
            registry,
            workdir,
            system_prompt: None,
            history: Vec::new(),
            budget: Budget::default(),
            price: None,
            limits: Limits::default(),
            reporter: Arc::new(Silent),
            journal: None,
            cancel: CancellationToken::new(),
            terminate: CancellationToken::new(),
        }
    }

    /// The first message of every request; see [`system_prompt`](super::system_prompt).
    #[must_use]
    pub fn system_prompt(mut self, text: impl Into<String>) -> Self {
        self.system_prompt = Some(text.into());
        self
    }

    /// A conversation to go on from, without its system prompt.
    #[must_use]
    pub fn history(mut self, messages: Vec<Message>) -> Self {
        self.history = messages;
        self
    }

    /// The bounds of each run.
    #[must_use]
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// What the model's tokens cost; without it nothing is known of money.
    #[must_use]
    pub fn price(mut self, price: Option<Price>) -> Self {
        self.price = price;
        self
    }

    /// How many calls of one reply run, and how many of them at the same time.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Who hears of everything that happens.
    #[must_use]
    pub fn reporter(mut self, reporter: Arc<dyn Reporter>) -> Self {
        self.reporter = reporter;
        self
    }

    /// The session's log; none keeps no log.
    #[must_use]
    pub fn journal(mut self, journal: impl Into<Option<Arc<Journal>>>) -> Self {
        self.journal = journal.into();
        self
    }

    /// Cancelling this ends the run within a second, as interrupted.
    #[must_use]
    pub fn cancel(mut self, token: CancellationToken) -> Self {
        self.cancel = token;
        self
    }

    /// Cancelling this ends the run in the same way, as terminated.
    #[must_use]
    pub fn terminate(mut self, token: CancellationToken) -> Self {
        self.terminate = token;
        self
    }

    /// The agent. It refuses a working directory that is none.
    pub fn build(self) -> Result<Agent, AgentError> {
        if !self.workdir.is_dir() {
            return Err(AgentError::Workdir { path: self.workdir });
        }
        let call_ids = self.history.iter().flat_map(|message| &message.tool_calls);
        let call_ids = call_ids.map(|call| call.id.clone()).collect();
        let mut messages: Vec<Message> =
            self.system_prompt.map(Message::system).into_iter().collect();
        messages.extend(self.history);
        Ok(Agent {
            provider: self.provider,
            registry: self.registry,
            workdir: self.workdir,
            messages,
            budget: self.budget,
            price: self.price,
            limits: self.limits,
            reporter: self.reporter,
            journal: self.journal,
            cancel: self.cancel,
            terminate: self.terminate,
            call_ids,
            turns_before: 0,
        })
    }
}

impl fmt::Debug for AgentBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentBuilder")
            .field("provider", &self.provider.name())
            .field("workdir", &self.workdir)
            .field("tools", &self.registry)
            .finish_non_exhaustive()
    }
}
