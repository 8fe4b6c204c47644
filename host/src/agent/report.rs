//! What an agent says while it works.

use std::path::Path;

use serde::Serialize;

use super::RunReport;
use crate::model::{Message, ToolCall, ToolReply, Usage};
use crate::tool::Progress;

/// Somebody who listens: a terminal, a stream of JSON, a test.
///
/// Called from whatever task the event happens in, progress from the tool's own; a slow listener
/// holds the run up.
pub trait Reporter: Send + Sync {
    fn event(&self, event: &Event<'_>);
}

/// Listens to nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Reporter for Silent {
    fn event(&self, _: &Event<'_>) {}
}

/// One thing that happened. In JSON each is an object whose `type` is its name in kebab case.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Event<'a> {
    RunStarted {
        /// None without a log.
        session: Option<&'a str>,
        /// Where the tools work.
        workdir: &'a Path,
        provider: &'a str,
        model: &'a str,
    },
    /// A request is about to be made; `messages` and `tools` are what it holds.
    TurnStarted {
        turn: u32,
        messages: usize,
        tools: usize,
    },
    /// Pieces of a reply as they come. They are void when the request is tried again.
    Text {
        text: &'a str,
    },
    Reasoning {
        text: &'a str,
    },
    Retry {
        attempt: u32,
        after_ms: u64,
        why: &'a str,
    },
    /// The reply, complete; its text is to be shown whether or not calls follow.
    Assistant {
        turn: u32,
        message: &'a Message,
        usage: Usage,
        ms: u64,
    },
    CallStarted {
        turn: u32,
        call: &'a ToolCall,
    },
    CallProgress {
        id: &'a str,
        name: &'a str,
        progress: &'a Progress,
    },
    /// The result of a call. One that was refused, or never begun, has no start before it.
    CallFinished {
        turn: u32,
        call: &'a ToolCall,
        reply: &'a ToolReply,
        ms: u64,
    },
    /// Something the user should know.
    Note {
        text: &'a str,
    },
    /// The last event of a run.
    Stopped {
        report: &'a RunReport,
    },
}
