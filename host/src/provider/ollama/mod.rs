//! The native chat protocol of Ollama.

mod assemble;
mod printed;
mod render;

use tokio_util::sync::CancellationToken;

use self::assemble::OllamaAssembler;
use super::wire::{Assembler, Dialect, Framing, KeyHeader, Service, ServiceSettings};
use super::{Events, Provider, ProviderError, Reply, Request};

/// A local (or any other) Ollama.
#[derive(Debug)]
pub struct Ollama {
    service: Service,
    chat: Chat,
}

#[derive(Debug)]
struct Chat {
    settings: ServiceSettings,
}

impl Ollama {
    /// Where a local server listens unless told otherwise.
    pub const BASE_URL: &'static str = "http://127.0.0.1:11434";

    /// A client for `settings`; `base_url` is with or without `/api/chat`, and see
    /// [`Ollama::base_url`]. `context` becomes `num_ctx`. No connection is made yet.
    pub fn new(settings: ServiceSettings) -> Result<Self, ProviderError> {
        let service = Service::new(settings, &KeyHeader::BEARER, &[], render::OWN_FIELDS)?;
        let settings = service.settings().clone();
        Ok(Self { service, chat: Chat { settings } })
    }

    /// The base URL that the variable `OLLAMA_HOST` stands for: a host, with or without scheme and
    /// port. An address that means "all of this machine" to a server is this machine to a client.
    pub fn base_url(host: &str) -> String {
        let host = host.trim().trim_end_matches('/');
        let (scheme, rest) = host.split_once("://").unwrap_or(("", host));
        let (place, path) = rest
            .split_once('/')
            .map_or((rest, String::new()), |(place, path)| (place, format!("/{path}")));
        let after_address = place.rsplit(']').next().unwrap_or(place);
        let (name, port) = match after_address.rsplit_once(':') {
            Some((_, port)) => (&place[..place.len() - port.len() - 1], Some(port)),
            None => (place, None),
        };
        let name = match name {
            "" | "0.0.0.0" => "127.0.0.1",
            "[::]" => "[::1]",
            name => name,
        };
        match (scheme, port) {
            ("", port) => format!("http://{name}:{}{path}", port.unwrap_or("11434")),
            (scheme, Some(port)) => format!("{scheme}://{name}:{port}{path}"),
            (scheme, None) => format!("{scheme}://{name}{path}"),
        }
    }
}

#[async_trait::async_trait]
impl Provider for Ollama {
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
        "api/chat"
    }

    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn body(&self, request: &Request<'_>) -> Vec<u8> {
        render::body(&self.settings, request)
    }

    fn assembler(&self, request: &Request<'_>) -> Box<dyn Assembler> {
        Box::new(OllamaAssembler::new(request.tools))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn req_101_every_form_of_the_host_gives_a_url() {
        let check = |host: &str, want: &str| assert_eq!(Ollama::base_url(host), want, "{host}");
        check("127.0.0.1:11434", "http://127.0.0.1:11434");
        check("0.0.0.0", "http://127.0.0.1:11434");
        check("0.0.0.0:80", "http://127.0.0.1:80");
        check(":5000", "http://127.0.0.1:5000");
        check("box", "http://box:11434");
        check("[::1]", "http://[::1]:11434");
        check("[::]:9", "http://[::1]:9");
        check("https://box.example/", "https://box.example");
        check("http://localhost:11434/api/chat", "http://localhost:11434/api/chat");
    }
}
