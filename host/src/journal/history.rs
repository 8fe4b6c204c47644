//! From the records back to the conversation, such that a model service takes it: every call has
//! exactly one result, right after the message that asked for it, in the order of the calls.

use std::path::PathBuf;

use super::read::ReadError;
use super::record::{Entry, Record};
use crate::model::{Failure, FailureCode, Message, Outcome, ToolCall, ToolReply};

/// What a log says, in the form that a run goes on from.
#[derive(Debug, Default)]
pub struct History {
    /// Without the system prompt, which each run brings anew.
    pub messages: Vec<Message>,
    /// Calls of the last reply for which the log has no result, with the one that `messages`
    /// gives them: the process ended before it could be written. They are never run again.
    pub unanswered: Vec<(ToolCall, ToolReply)>,
    pub workdir: PathBuf,
    pub model: String,
    /// How many records there are, so the number of the next one.
    pub records: u64,
}

/// Reads `records` to their end.
pub fn rebuild(
    records: impl Iterator<Item = Result<Record, ReadError>>,
) -> Result<History, ReadError> {
    let mut history = History::default();
    let mut open: Vec<OpenCall> = Vec::new();
    for record in records {
        let record = record?;
        history.records = record.seq + 1;
        match record.entry {
            Entry::Session { workdir, model, .. } => {
                history.workdir = workdir;
                history.model = model;
            }
            Entry::User { text } => {
                history.settle(&mut open);
                history.unanswered.clear();
                history.messages.push(Message::user(text));
            }
            Entry::Assistant { text, reasoning, tool_calls, attachments, vendor } => {
                history.settle(&mut open);
                history.unanswered.clear();
                let calls = tool_calls.iter().cloned();
                open = calls.map(|call| OpenCall { call, begun: false, reply: None }).collect();
                let mut message = Message::assistant(text);
                message.reasoning = reasoning;
                message.tool_calls = tool_calls;
                message.attachments = attachments;
                message.vendor = vendor;
                history.messages.push(message);
            }
            Entry::Call { id, .. } => {
                open.iter_mut().filter(|o| o.call.id == id).for_each(|o| o.begun = true);
            }
            Entry::Result { id, reply, .. } => {
                // The first result counts; one without a call belongs to nothing.
                let slot = open.iter_mut().find(|o| o.call.id == id && o.reply.is_none());
                if let Some(slot) = slot {
                    slot.reply = Some(reply);
                }
            }
            Entry::Decision { .. }
            | Entry::Note { .. }
            | Entry::Usage { .. }
            | Entry::Stop { .. }
            | Entry::Unknown => {}
        }
    }
    history.settle(&mut open);
    Ok(history)
}

struct OpenCall {
    call: ToolCall,
    begun: bool,
    reply: Option<ToolReply>,
}

impl History {
    fn settle(&mut self, open: &mut Vec<OpenCall>) {
        for OpenCall { call, begun, reply } in open.drain(..) {
            let reply = reply.unwrap_or_else(|| {
                let lost = lost(begun);
                self.unanswered.push((call.clone(), lost.clone()));
                lost
            });
            self.messages.push(Message::tool_reply(&call.id, &reply));
        }
    }
}

/// The result of a call that has none. The intent is written before a call begins, so without
/// one it certainly did not.
fn lost(begun: bool) -> ToolReply {
    let (outcome, message) = if begun {
        (Outcome::Interrupted { after_ms: 0 }, "interrupted; outcome unknown")
    } else {
        (Outcome::NotStarted, "interrupted before it started; it had no effect")
    };
    let failure = Failure::new(FailureCode::Unavailable, message)
        .hint("look at the present state before doing it again");
    ToolReply::failed(outcome, failure)
}
