//! What a line of the log holds.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::model::{
    Content, Effects, Message, StopReason, ToolCall, ToolReply, Usage, VendorExtras,
};

/// The version of the format that this host writes. A reader refuses a newer one by name.
pub const FORMAT: u32 = 1;

/// The longest line, in bytes. Results are clipped to it; anything else longer is refused.
pub const MAX_RECORD: usize = 16 * 1024 * 1024;

/// One line: `{"seq":3,"time":"2026-01-31T12:00:00.000Z","type":"user",…}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// 0 for the header, then one more each line.
    pub seq: u64,
    /// UTC, as RFC 3339 writes it, to the millisecond.
    pub time: String,
    #[serde(flatten)]
    pub entry: Entry,
}

#[expect(clippy::large_enum_variant, reason = "records are written and read one at a time")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Entry {
    /// The header, always the first line and only there.
    Session {
        format: u32,
        session: String,
        workdir: PathBuf,
        model: String,
    },
    User {
        text: String,
    },
    /// A reply, whole. The keys are those of a line of the `script` provider, so that a log can
    /// be played again.
    Assistant {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reasoning: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Content>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        vendor: Option<VendorExtras>,
    },
    /// The intent: this call is about to begin.
    Call {
        id: String,
        name: String,
        arguments: String,
        turn: u32,
        effects: Effects,
    },
    /// What policy or a person said of a call.
    Decision {
        id: String,
        verdict: String,
        /// The rule, or who decided.
        by: String,
        reason: String,
    },
    Result {
        id: String,
        name: String,
        ms: u64,
        #[serde(flatten)]
        reply: ToolReply,
    },
    /// Something worth keeping that is none of the above.
    Note {
        text: String,
    },
    /// What one request cost; `ms` is how long it took.
    Usage {
        turn: u32,
        ms: u64,
        #[serde(flatten)]
        usage: Usage,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
    },
    /// A run ended. More may follow, when the session goes on.
    Stop {
        reason: StopReason,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A type of a later version of this format.
    #[serde(other)]
    Unknown,
}

impl Entry {
    /// The record of an assistant message.
    pub fn assistant(message: &Message) -> Self {
        Self::Assistant {
            text: message.content.clone(),
            reasoning: message.reasoning.clone(),
            tool_calls: message.tool_calls.clone(),
            attachments: message.attachments.clone(),
            vendor: message.vendor.clone(),
        }
    }
}
