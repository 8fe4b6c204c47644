//! The driver: send, decode, put together, and try again where that may help.

use std::sync::OnceLock;

use reqwest::Client;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::client;
use super::dialect::{Dialect, Draft};
use super::exchange::Exchange;
use super::fault::Fault;
use super::record::{Exchanged, Tape};
use super::retry::{Attempts, Next, chance};
use super::{Endpoint, ServiceSettings, answer};
use crate::provider::{Delta, Events, ProviderError, Reply, Request, Scrubber, Secret};

/// One service, ready to be asked.
pub(in crate::provider) struct Service {
    settings: ServiceSettings,
    endpoint: Endpoint,
    headers: HeaderMap,
    scrubber: Scrubber,
    /// Made with the first request: certificates take a while to read.
    client: OnceLock<Client>,
}

/// How a service wants the key: the header, and what stands before the key in it.
pub(in crate::provider) struct KeyHeader {
    pub(in crate::provider) name: &'static str,
    pub(in crate::provider) prefix: &'static str,
}

impl KeyHeader {
    pub(in crate::provider) const BEARER: Self = Self { name: "authorization", prefix: "Bearer " };
}

impl Service {
    /// Checks the settings. `reserved` are the fields of the body that the adapter writes itself,
    /// `fixed` the headers that its protocol needs.
    pub(in crate::provider) fn new(
        settings: ServiceSettings,
        key_header: &KeyHeader,
        fixed: &[(&'static str, &'static str)],
        reserved: &[&str],
    ) -> Result<Self, ProviderError> {
        let wrong = |setting: &'static str, cause: String| ProviderError::Misconfigured {
            provider: settings.name.clone(),
            setting,
            cause,
        };
        let endpoint =
            Endpoint::parse(&settings.base_url).map_err(|cause| wrong("base_url", cause))?;
        if let Some(field) = reserved.iter().find(|field| settings.body.contains_key(**field)) {
            return Err(wrong("body", format!("the field `{field}` is written by the adapter")));
        }
        let headers =
            headers(&settings, key_header, fixed).map_err(|cause| wrong("headers", cause))?;
        let secret_values = settings.headers.iter().map(|(_, value)| value.as_str());
        let scrubber = Scrubber::new(settings.key.iter().map(Secret::expose).chain(secret_values));
        Ok(Self { settings, endpoint, headers, scrubber, client: OnceLock::new() })
    }

    pub(in crate::provider) fn settings(&self) -> &ServiceSettings {
        &self.settings
    }

    pub(in crate::provider) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Asks until there is a reply, the policy is at its end, or nobody waits any more. Nothing of
    /// a request that failed goes into the reply.
    pub(in crate::provider) async fn generate(
        &self,
        dialect: &dyn Dialect,
        request: Request<'_>,
        show: Events<'_>,
        cancel: &CancellationToken,
    ) -> Result<Reply, ProviderError> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ProviderError::Cancelled),
            reply = self.ask(dialect, request, show) => reply,
        }
    }

    async fn ask(
        &self,
        dialect: &dyn Dialect,
        request: Request<'_>,
        show: Events<'_>,
    ) -> Result<Reply, ProviderError> {
        let mut body = dialect.body(&request);
        let mut attempts = Attempts::new(&self.settings.retry);
        loop {
            let number = attempts.made() + 1;
            let fault = match self.recorded(number, dialect, &request, &body, show).await {
                Ok(draft) => return Ok(draft.into_reply(&self.settings.name, request.messages)),
                Err(fault) => fault,
            };
            if let Fault::Refused { status, body: complaint, .. } = &fault
                && dialect.concede(*status, complaint)
            {
                body = dialect.body(&request);
                continue;
            }
            match attempts.failed(&fault, chance()) {
                Next::After(wait) => {
                    let after_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                    let attempt = number + 1;
                    show(Delta::Retry { attempt, after_ms, why: &fault.gist() });
                    sleep(wait).await;
                }
                Next::AskedTooLong(wait) => {
                    return Err(ProviderError::RateLimited {
                        seconds: super::body::whole_seconds(wait),
                    });
                }
                Next::GiveUp => {
                    let url = self.endpoint.shown();
                    return Err(fault.into_error(url, &self.settings.model, attempts.made()));
                }
            }
        }
    }

    /// One request, of which the recorder is told if there is one.
    async fn recorded(
        &self,
        number: u32,
        dialect: &dyn Dialect,
        request: &Request<'_>,
        body: &[u8],
        show: Events<'_>,
    ) -> Result<Draft, Fault> {
        let tape = Tape::new(self.settings.recorder.is_some());
        let end = self.attempt(dialect, request, body, show, tape.clone()).await;
        if let Some(recorder) = &self.settings.recorder {
            recorder(&Exchanged {
                provider: &self.settings.name,
                model: &self.settings.model,
                attempt: number,
                request: &self.scrubber.scrub(&String::from_utf8_lossy(body)),
                response: &tape.text(&self.scrubber),
                fault: end.as_ref().err().map(Fault::gist).as_deref(),
            });
        }
        end
    }

    async fn attempt(
        &self,
        dialect: &dyn Dialect,
        request: &Request<'_>,
        body: &[u8],
        show: Events<'_>,
        tape: Tape,
    ) -> Result<Draft, Fault> {
        let exchange = Exchange {
            client: self.client()?,
            url: self.endpoint.join(dialect.path()),
            headers: &self.headers,
            timeouts: self.settings.timeouts,
            limits: self.settings.limits,
            scrubber: &self.scrubber,
            tape,
        };
        let answer = exchange.post(body).await?;
        let line_cap = self.settings.limits.line;
        answer::read(
            answer,
            dialect.framing(),
            line_cap,
            dialect.assembler(request),
            show,
            &self.scrubber,
        )
        .await
    }

    fn client(&self) -> Result<&Client, Fault> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = client::build(&self.settings, &self.endpoint)
            .map_err(|cause| Fault::Connect { cause, permanent: true })?;
        Ok(self.client.get_or_init(|| client))
    }
}

/// Neither key nor headers.
impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service")
            .field("settings", &self.settings)
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

/// The headers of every request: the protocol's, the key, then the user's, which replace equal ones.
fn headers(
    settings: &ServiceSettings,
    key_header: &KeyHeader,
    fixed: &[(&'static str, &'static str)],
) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in fixed {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    if let Some(key) = &settings.key {
        let text = format!("{}{}", key_header.prefix, key.expose());
        let mut value =
            HeaderValue::try_from(text).map_err(|_| "the key cannot be sent".to_owned())?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_static(key_header.name), value);
    }
    for (name, value) in &settings.headers {
        let bad = |what: &str| {
            format!("the {what} of header `{}` cannot be sent", crate::text::escape_line(name))
        };
        let name = HeaderName::try_from(name.as_str()).map_err(|_| bad("name"))?;
        if matches!(name.as_str(), "host" | "content-length" | "transfer-encoding" | "connection") {
            return Err(format!("`{name}` belongs to the connection and cannot be set"));
        }
        let mut value = HeaderValue::try_from(value.trim()).map_err(|_| bad("value"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}
