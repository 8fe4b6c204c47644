//! One request on its way, up to the head of its answer.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, LOCATION};
use http::{HeaderMap, HeaderValue, Method, Response};
use http_body_util::BodyExt as _;
use reqwest::{Body, Url};
use tokio::sync::OwnedSemaphorePermit;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

use crate::policy::{HttpRefusal, Target};

use super::HttpAccess;
use super::answer::AnswerBody;
use super::clients::Way;
use super::fault::{self, Fault};
use super::hooks::Call;
use super::redirects::Hop;
use super::resolve::Barred;
use super::scrub::Scrub;

/// A connection may outlive its call's deadline by this much at the very most. Usually it ends
/// with the call, whose end drops it.
const GRACE: Duration = Duration::from_secs(2);
/// What a guest that limits only the wait for an answer allows for connecting.
const CONNECT: Duration = Duration::from_secs(10);

/// A request that was allowed.
pub(super) struct Exchange {
    pub access: Arc<HttpAccess>,
    pub call: Arc<Call>,
    pub target: Target,
    pub way: Way,
    /// How the call came to ask this URL.
    pub hop: Hop,
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Option<Body>,
    pub options: RequestOptions,
    pub deadline: Instant,
    /// Held until the answer is read or dropped.
    pub slot: Arc<OwnedSemaphorePermit>,
}

impl Exchange {
    /// Sends the request and gives the answer, its head checked and its body still to come.
    pub(super) async fn run(mut self) -> Result<Response<WasiBody>, Error> {
        let answer = match self.send().await {
            Ok(response) => {
                self.log(response.status().as_str());
                self.accept(response)
            }
            Err(fault) => {
                if !matches!(fault, Fault::Refused(_)) {
                    self.log("no answer");
                }
                Err(fault)
            }
        };
        answer.map_err(|fault| {
            self.call.log.fault(&fault);
            fault.to_guest()
        })
    }

    async fn send(&mut self) -> Result<Response<Body>, Fault> {
        let place = self.target.place();
        let rule = self.access.rules.rules.get(self.target.rule).ok_or_else(|| Fault::Client {
            place: place.clone(),
            cause: "the rule is gone".into(),
        })?;
        let client = self
            .access
            .clients
            .client(&self.target, rule, &self.way)
            .map_err(|cause| Fault::Client { place: place.clone(), cause })?;
        let left = self.deadline.saturating_duration_since(Instant::now());
        let mut request = client
            .request(self.method.clone(), self.url.clone())
            .headers(std::mem::take(&mut self.headers))
            .timeout(left + GRACE);
        if let Some(body) = self.body.take() {
            request = request.body(body);
        }
        let first = self
            .options
            .first_byte_timeout
            .map_or(left + GRACE, |first| first + self.options.connect_timeout.unwrap_or(CONNECT));
        match tokio::time::timeout(first, request.send()).await {
            Ok(Ok(response)) => Ok(response.into()),
            Ok(Err(error)) => Err(match fault::find::<Barred>(&error) {
                Some(barred) => self.barred(barred).into(),
                None => Fault::of(&error, &place, &self.access.scrub),
            }),
            Err(_) => Err(Fault::Late { place }),
        }
    }

    fn barred(&self, barred: &Barred) -> HttpRefusal {
        let rule = self.access.rules.rules.get(self.target.rule);
        HttpRefusal::Resolved {
            place: self.target.place(),
            address: barred.address,
            range: barred.range,
            toml: rule
                .map(|rule| rule.clone().with_addresses([barred.address]).to_toml())
                .unwrap_or_default(),
            plugin: self.access.plugin.clone(),
        }
    }

    /// Judges the head of an answer, and passes it on with what the guest may see.
    fn accept(&self, response: Response<Body>) -> Result<Response<WasiBody>, Fault> {
        let (mut parts, body) = response.into_parts();
        let place = self.target.place();
        if parts.status.is_redirection()
            && let Some(location) =
                parts.headers.get(LOCATION).and_then(|value| value.to_str().ok())
        {
            let mut redirects = self.call.redirects.lock().unwrap_or_else(PoisonError::into_inner);
            redirects.note(&self.url, &self.hop, location)?;
        }
        let scrub = &self.access.scrub;
        if !scrub.is_idle() {
            if let Some(coding) = encoding(&parts.headers) {
                return Err(Fault::Encoded { place, coding });
            }
            clean(&mut parts.headers, scrub);
        }
        let limit = self.access.rules.limits.response_body;
        let announced = parts
            .headers
            .get(CONTENT_LENGTH)
            .and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
        if self.method != Method::HEAD && announced.is_some_and(|length| length > limit) {
            return Err(Fault::ResponseTooLarge { place, limit });
        }
        let body = AnswerBody::new(body, self, limit).boxed_unsync();
        Ok(Response::from_parts(parts, body))
    }

    fn log(&self, came: &str) {
        self.call.log.asked(&self.method, &self.target.place(), self.way.is_proxy(), came);
    }
}

/// The coding of a body that is not as it is.
fn encoding(headers: &HeaderMap) -> Option<String> {
    headers.get_all(CONTENT_ENCODING).iter().find_map(|value| {
        let coding = String::from_utf8_lossy(value.as_bytes()).trim().to_ascii_lowercase();
        (!coding.is_empty() && coding != "identity").then_some(coding)
    })
}

fn clean(headers: &mut HeaderMap, scrub: &Scrub) {
    for value in headers.values_mut() {
        if let Some(clean) = scrub.bytes(value.as_bytes())
            && let Ok(clean) = HeaderValue::from_bytes(&clean)
        {
            *value = clean;
        }
    }
}
