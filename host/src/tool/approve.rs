//! The port to whoever can be asked before something is done.

/// What somebody is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The tool that asks.
    pub tool: String,
    /// The whole of what would be done, raw: whoever shows it escapes it.
    pub what: String,
    /// Why it is asked about.
    pub reason: String,
    /// What an [`Answer::Always`] would store, raw; none where there is no such answer.
    pub remember: Option<String>,
}

/// What they said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Once,
    Always,
    No,
    /// No, and what the model should know about it.
    NoBecause(String),
}

/// Somebody who can be asked.
#[async_trait::async_trait]
pub trait Approver: Send + Sync {
    /// Comes back when there is an answer; silence is a no after a while.
    async fn ask(&self, question: &Question) -> Answer;
}

/// Nobody is there.
#[derive(Debug, Clone, Copy, Default)]
pub struct DenyAll;

#[async_trait::async_trait]
impl Approver for DenyAll {
    async fn ask(&self, _: &Question) -> Answer {
        Answer::No
    }
}
