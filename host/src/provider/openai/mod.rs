//! Chat completions: the protocol of `OpenAI` and of every server compatible with it.

mod assemble;
mod render;

use std::sync::atomic::{AtomicBool, Ordering};

use tokio_util::sync::CancellationToken;

use self::assemble::ChatAssembler;
use super::wire::{Assembler, Dialect, Framing, KeyHeader, Service, ServiceSettings};
use super::{Events, Provider, ProviderError, Reply, Request};

/// A service that speaks chat completions.
#[derive(Debug)]
pub struct OpenAi {
    service: Service,
    chat: Chat,
}

#[derive(Debug)]
struct Chat {
    settings: ServiceSettings,
    /// The field for the most tokens of a reply: the vendor itself has renamed it.
    max_output_field: &'static str,
    /// Asking for the counts of a stream; off once a server has refused the field.
    ask_usage: AtomicBool,
}

impl OpenAi {
    /// Where the vendor's own service is.
    pub const BASE_URL: &'static str = "https://api.openai.com/v1";

    /// A client for `settings`. No connection is made yet.
    pub fn new(settings: ServiceSettings) -> Result<Self, ProviderError> {
        let service = Service::new(settings, &KeyHeader::BEARER, &[], render::OWN_FIELDS)?;
        let max_output_field = if service.endpoint().is_host("api.openai.com") {
            "max_completion_tokens"
        } else {
            "max_tokens"
        };
        let settings = service.settings().clone();
        let chat = Chat { settings, max_output_field, ask_usage: AtomicBool::new(true) };
        Ok(Self { service, chat })
    }
}

#[async_trait::async_trait]
impl Provider for OpenAi {
    fn name(&self) -> &str {
        &self.service.settings().name
    }

    fn model(&self) -> &str {
        &self.service.settings().model
    }

    async fn generate(
        &self,
        request: Request<'_>,
        events: Events<'_>,
        cancel: &CancellationToken,
    ) -> Result<Reply, ProviderError> {
        self.service.generate(&self.chat, request, events, cancel).await
    }
}

impl Dialect for Chat {
    fn path(&self) -> &'static str {
        "chat/completions"
    }

    fn framing(&self) -> Framing {
        Framing::Events
    }

    fn body(&self, request: &Request<'_>) -> Vec<u8> {
        let ask_usage = self.ask_usage.load(Ordering::Relaxed);
        render::body(&self.settings, self.max_output_field, ask_usage, request)
    }

    fn assembler(&self, _request: &Request<'_>) -> Box<dyn Assembler> {
        Box::new(ChatAssembler::default())
    }

    fn concede(&self, status: u16, complaint: &str) -> bool {
        matches!(status, 400 | 422)
            && complaint.contains("stream_options")
            && self.ask_usage.swap(false, Ordering::Relaxed)
    }
}
