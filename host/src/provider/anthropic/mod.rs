//! The messages protocol of Anthropic and of the servers compatible with it.

mod assemble;
mod render;

use std::sync::atomic::{AtomicU64, Ordering};

use tokio_util::sync::CancellationToken;

use self::assemble::MessageAssembler;
use super::wire::{Assembler, Dialect, Framing, KeyHeader, Service, ServiceSettings};
use super::{Events, Provider, ProviderError, Reply, Request};

/// The most tokens of a reply where the settings name none; the protocol demands a number. A model
/// that allows fewer says so, and gets its own.
const MAX_OUTPUT: u64 = 32_000;

/// A service that speaks the messages protocol, version 2023-06-01.
#[derive(Debug)]
pub struct Anthropic {
    service: Service,
    messages: Messages,
}

#[derive(Debug)]
struct Messages {
    settings: ServiceSettings,
    max_output: AtomicU64,
}

impl Anthropic {
    /// Where the vendor's own service is.
    pub const BASE_URL: &'static str = "https://api.anthropic.com";

    /// A client for `settings`. No connection is made yet.
    pub fn new(settings: ServiceSettings) -> Result<Self, ProviderError> {
        let key_header = KeyHeader { name: "x-api-key", prefix: "" };
        let fixed = [("anthropic-version", "2023-06-01")];
        let service = Service::new(settings, &key_header, &fixed, render::OWN_FIELDS)?;
        let settings = service.settings().clone();
        let max_output = AtomicU64::new(settings.max_output.unwrap_or(MAX_OUTPUT));
        Ok(Self { service, messages: Messages { settings, max_output } })
    }
}

#[async_trait::async_trait]
impl Provider for Anthropic {
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
        self.service.generate(&self.messages, request, events, cancel).await
    }
}

impl Dialect for Messages {
    fn path(&self) -> &'static str {
        "v1/messages"
    }

    fn framing(&self) -> Framing {
        Framing::Events
    }

    fn body(&self, request: &Request<'_>) -> Vec<u8> {
        render::body(&self.settings, self.max_output.load(Ordering::Relaxed), request)
    }

    fn assembler(&self, _request: &Request<'_>) -> Box<dyn Assembler> {
        Box::new(MessageAssembler::default())
    }

    /// `max_tokens: 32000 > 8192, which is the maximum allowed …`: then the smaller number.
    fn concede(&self, status: u16, complaint: &str) -> bool {
        let allowed = || {
            let rest = complaint.split_once("max_tokens: ")?.1.split_once(" > ")?.1;
            rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok()
        };
        match allowed() {
            Some(allowed) if status == 400 && allowed > 0 => {
                self.max_output.fetch_min(allowed, Ordering::Relaxed) > allowed
            }
            _ => false,
        }
    }
}
