//! The responses protocol of OpenAI, with the whole history in every request: nothing of a
//! conversation is kept by the service.

mod assemble;
mod render;

use tokio_util::sync::CancellationToken;

use self::assemble::ResponseAssembler;
use super::wire::{Assembler, Dialect, Framing, KeyHeader, Service, ServiceSettings};
use super::{Events, Provider, ProviderError, Reply, Request};

/// A service that speaks the responses protocol.
#[derive(Debug)]
pub struct OpenAiResponses {
    service: Service,
    responses: Responses,
}

#[derive(Debug)]
struct Responses {
    settings: ServiceSettings,
}

impl OpenAiResponses {
    /// Where the vendor's own service is.
    pub const BASE_URL: &'static str = "https://api.openai.com/v1";

    /// A client for `settings`. No connection is made yet.
    pub fn new(settings: ServiceSettings) -> Result<Self, ProviderError> {
        let service = Service::new(settings, &KeyHeader::BEARER, &[], render::OWN_FIELDS)?;
        let settings = service.settings().clone();
        Ok(Self { service, responses: Responses { settings } })
    }
}

#[async_trait::async_trait]
impl Provider for OpenAiResponses {
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
        self.service.generate(&self.responses, request, events, cancel).await
    }
}

impl Dialect for Responses {
    fn path(&self) -> &'static str {
        "responses"
    }

    fn framing(&self) -> Framing {
        Framing::Events
    }

    fn body(&self, request: &Request<'_>) -> Vec<u8> {
        render::body(&self.settings, request)
    }

    fn assembler(&self, _request: &Request<'_>) -> Box<dyn Assembler> {
        Box::new(ResponseAssembler::default())
    }
}
