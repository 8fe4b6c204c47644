//! What an adapter has to say for itself: how a request is written and how a reply is put
//! together. Everything else is the same for all of them.

use serde_json::{Map, Value};

use super::complaint::{Complaint, harmless};
use super::fault::Fault;
use super::ids::unique_ids;
use super::sse::Event;
use crate::model::{Message, ToolCall, Usage, VendorExtras};
use crate::provider::{Events, Reply, ReplyStop, Request};

/// Where the extras of single calls are kept in the extras of a message: call id to fields.
pub(in crate::provider) const CALL_EXTRAS: &str = "tool_calls";

/// How a streamed reply is cut into events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::provider) enum Framing {
    /// Server-sent events.
    Events,
    /// One JSON value a line.
    Lines,
}

/// One vendor's protocol.
pub(in crate::provider) trait Dialect: Send + Sync {
    /// The last part of the URL: `chat/completions`.
    fn path(&self) -> &'static str;

    fn framing(&self) -> Framing;

    /// The body of the request. Equal requests give equal bytes.
    fn body(&self, request: &Request<'_>) -> Vec<u8>;

    fn assembler(&self, request: &Request<'_>) -> Box<dyn Assembler>;

    /// Whether the refusal is about something that can be left out. If so, the next body is
    /// without it, and the request is made again at once.
    fn concede(&self, _status: u16, _complaint: &str) -> bool {
        false
    }
}

impl Event {
    /// The data as JSON. What ends within a value was cut; anything else was never JSON.
    pub(in crate::provider) fn json(&self) -> Result<Value, AssemblyError> {
        serde_json::from_str(&self.data).map_err(|cause| {
            let text = format!("an event of it is not JSON ({cause})");
            if cause.is_eof() { AssemblyError::Cut(text) } else { AssemblyError::Malformed(text) }
        })
    }
}

/// Whether more is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::provider) enum Flow {
    More,
    Done,
}

/// Puts one reply together.
pub(in crate::provider) trait Assembler: Send {
    fn event(&mut self, event: &Event, show: Events<'_>) -> Result<Flow, AssemblyError>;

    /// A reply that came in one piece although a stream was asked for.
    fn whole(&mut self, reply: &Value, show: Events<'_>) -> Result<(), AssemblyError>;

    /// After the last event, or when the body ended as it should. Says whether the reply is whole.
    fn finish(&mut self) -> Result<Draft, AssemblyError>;
}

/// Why a reply cannot be put together. Texts are raw; the driver scrubs them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::provider) enum AssemblyError {
    /// The service reports an error in place of the rest.
    Complaint(Complaint),
    /// It ended too early.
    Cut(String),
    /// It is not what the protocol says.
    Malformed(String),
}

impl AssemblyError {
    /// The error that stands in `value`.
    pub(in crate::provider) fn complaint(value: &Value) -> Self {
        match Complaint::of_json(value) {
            Some(complaint) => Self::Complaint(complaint),
            None => Self::Malformed(format!("an error without a message: {value}")),
        }
    }

    pub(super) fn into_fault(self, scrubber: &crate::provider::Scrubber) -> Fault {
        match self {
            Self::Complaint(complaint) => complaint.within_reply(scrubber),
            Self::Cut(cause) => Fault::cut(harmless(&cause, scrubber)),
            Self::Malformed(cause) => Fault::malformed(harmless(&cause, scrubber)),
        }
    }
}

/// A call as it came, perhaps without an id.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::provider) struct DraftCall {
    pub(in crate::provider) id: String,
    pub(in crate::provider) name: String,
    pub(in crate::provider) arguments: String,
    /// Fields of the call beyond the common form.
    pub(in crate::provider) extras: Map<String, Value>,
}

/// A reply that is whole, before it joins the conversation.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::provider) struct Draft {
    pub(in crate::provider) content: String,
    pub(in crate::provider) reasoning: Option<String>,
    pub(in crate::provider) calls: Vec<DraftCall>,
    /// Fields of the message beyond the common form.
    pub(in crate::provider) extras: Map<String, Value>,
    pub(in crate::provider) usage: Usage,
    pub(in crate::provider) stop: ReplyStop,
}

impl Draft {
    /// The reply within its conversation: every call gets an id that occurs nowhere else, and
    /// what only this service understands is labelled with its name.
    pub(super) fn into_reply(mut self, provider: &str, conversation: &[Message]) -> Reply {
        unique_ids(self.calls.iter_mut().map(|call| &mut call.id), conversation);
        let mut call_extras = Map::new();
        let mut message = Message::assistant(self.content);
        for call in self.calls {
            if !call.extras.is_empty() {
                call_extras.insert(call.id.clone(), Value::Object(call.extras));
            }
            message.tool_calls.push(ToolCall {
                id: call.id,
                name: call.name,
                arguments: call.arguments,
            });
        }
        if !call_extras.is_empty() {
            self.extras.insert(CALL_EXTRAS.into(), Value::Object(call_extras));
        }
        if self.reasoning.is_some() || !self.extras.is_empty() {
            message.vendor =
                Some(VendorExtras { provider: provider.to_owned(), fields: self.extras });
        }
        message.reasoning = self.reasoning;
        Reply { message, usage: self.usage, stop: self.stop }
    }
}

/// What `message` brought along from the service `provider`; nothing if it came from another.
pub(in crate::provider) fn own_extras<'m>(
    message: &'m Message,
    provider: &str,
) -> Option<&'m Map<String, Value>> {
    message
        .vendor
        .as_ref()
        .filter(|vendor| vendor.provider == provider)
        .map(|vendor| &vendor.fields)
}
