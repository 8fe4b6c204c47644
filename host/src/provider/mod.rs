//! The port to model services, and an adapter for each vendor.

mod anthropic;
mod error;
mod ollama;
mod openai;
mod responses;
mod script;
mod secret;
mod wire;

pub use anthropic::Anthropic;
pub use error::ProviderError;
pub use ollama::Ollama;
pub use openai::OpenAi;
pub use responses::OpenAiResponses;
pub use script::ScriptProvider;
pub use secret::{BadSecret, Scrubber, Secret};
pub use wire::{Exchanged, Limits, Recorder, RetryPolicy, ServiceSettings, Timeouts};

use tokio_util::sync::CancellationToken;

use crate::model::{Message, ToolSpec, Usage};

/// A service that continues a conversation.
#[async_trait::async_trait]
pub trait Provider: Send + Sync {
    /// The name under which it is configured; extras of its messages are bound to it.
    fn name(&self) -> &str;

    fn model(&self) -> &str;

    /// Asks for one reply. `events` hears of it as it comes; only what is returned counts: a
    /// reply that broke off is an error, whatever had been shown by then.
    ///
    /// The ids of the returned calls are not empty, and differ from each other and from those of
    /// every call in the request. Their arguments are as the model wrote them, valid JSON or not.
    async fn generate(
        &self,
        request: Request<'_>,
        events: Events<'_>,
        cancel: &CancellationToken,
    ) -> Result<Reply, ProviderError>;
}

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    pub messages: &'a [Message],
    /// In the order in which they are sent; the same bytes each turn, so that caches hold.
    pub tools: &'a [ToolSpec],
}

/// Who hears of a reply as it comes: any `&|delta| …`. (A name of its own, because `async_trait`
/// would tie the lifetime of an unnamed `Delta<'_>` to the call.)
pub type Events<'e> = &'e (dyn for<'d> Fn(Delta<'d>) + Send + Sync);

/// A piece of a reply on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delta<'a> {
    Text(&'a str),
    Reasoning(&'a str),
    /// A request failed and is tried again, as number `attempt`, in `after_ms` milliseconds: what
    /// was shown of this reply is void.
    Retry {
        attempt: u32,
        after_ms: u64,
        why: &'a str,
    },
}

/// A reply, complete.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    pub message: Message,
    pub usage: Usage,
    pub stop: ReplyStop,
}

/// Why the service stopped writing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyStop {
    /// Done, with or without calls.
    Complete,
    /// Cut at its limit of tokens. Calls of such a reply are never run.
    Length,
    /// The service declined: a refusal or a content filter.
    Refusal,
    /// A reason that this host does not know; the reply was complete.
    Other(String),
}
