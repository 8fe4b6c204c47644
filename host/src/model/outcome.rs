//! What became of a call.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Content;

/// The one truthful ending of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Done,
    /// It ran, or was refused for what it was given, and did not do what was asked.
    Failed,
    /// The guard or the policy of this host said no. Never a guest's own word.
    Denied,
    TimedOut,
    /// Stopped from outside after so many milliseconds; what it had done by then stands.
    Interrupted {
        after_ms: u64,
    },
    /// Never begun, so certainly without effect.
    NotStarted,
}

impl Outcome {
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Done)
    }

    /// The word of docs and JSON: `done`, `failed`, `denied`, `timed-out`, `interrupted`, `not-started`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Denied => "denied",
            Self::TimedOut => "timed-out",
            Self::Interrupted { .. } => "interrupted",
            Self::NotStarted => "not-started",
        }
    }
}

/// The contract's `failure-code`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureCode {
    InvalidArguments,
    NotFound,
    AlreadyExists,
    Denied,
    Conflict,
    TooLarge,
    Unsupported,
    Unavailable,
    RateLimited,
    TimedOut,
    Failed,
    Internal,
    #[serde(untagged)]
    Other(String),
}

/// Why a call did not succeed, in words for the model and the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub code: FailureCode,
    pub message: String,
    #[serde(default)]
    pub hint: Option<String>,
    #[serde(default)]
    pub retryable: bool,
}

impl Failure {
    pub fn new(code: FailureCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, retryable: false }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Something that a call asked for and the host refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// What was asked for: `write`, `read`, `connect`, `command`.
    pub what: String,
    /// Of what: a path, a host, a name. Escaped, never raw.
    pub subject: String,
    /// Why, and what would allow it.
    pub reason: String,
}

/// What a call did and cost, as the host saw it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
    /// Hash of the component that ran, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Microseconds between asking and beginning.
    pub queue_us: u64,
    /// Microseconds to make the sandbox.
    pub instantiate_us: u64,
    /// Microseconds inside it.
    pub execute_us: u64,
    /// Bytes of linear memory at the most.
    pub peak_memory: u64,
    /// Workdir-relative paths, in the order of first touch, each once.
    pub reads: Vec<String>,
    pub writes: Vec<String>,
    /// Those of `writes` that did not exist before the call, and those that do not after it.
    #[serde(default)]
    pub created: Vec<String>,
    #[serde(default)]
    pub removed: Vec<String>,
    pub hosts: Vec<String>,
    pub denials: Vec<Denial>,
    /// What the plugin wrote to its log, escaped and bounded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
    /// Paths beyond the cap of this receipt: how many more there were.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// A call's result, whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolReply {
    pub outcome: Outcome,
    pub content: Vec<Content>,
    #[serde(default)]
    pub structured: Option<Value>,
    #[serde(default)]
    pub failure: Option<Failure>,
    #[serde(default)]
    pub receipt: Receipt,
}

impl ToolReply {
    pub fn done(content: Vec<Content>) -> Self {
        Self {
            outcome: Outcome::Done,
            content,
            structured: None,
            failure: None,
            receipt: Receipt::default(),
        }
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self::done(vec![Content::text(text)])
    }

    /// A call that ended as `outcome`, explained by `failure`.
    pub fn failed(outcome: Outcome, failure: Failure) -> Self {
        Self {
            outcome,
            content: Vec::new(),
            structured: None,
            failure: Some(failure),
            receipt: Receipt::default(),
        }
    }

    /// The text that the model reads: every piece of text in order, then the failure and its hint.
    pub fn observation(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        for piece in &self.content {
            parts.push(match &piece.payload {
                super::Payload::Text(text) => text.clone(),
                super::Payload::Bytes(bytes) => {
                    format!("[{}, {} bytes]", piece.mime_type, bytes.len())
                }
                super::Payload::Link(uri) => format!("[{} at {uri}]", piece.mime_type),
            });
        }
        if let Some(failure) = &self.failure {
            parts.push(format!("error: {}", failure.message));
            if let Some(hint) = &failure.hint {
                parts.push(format!("hint: {hint}"));
            }
        }
        parts.join("\n")
    }
}
