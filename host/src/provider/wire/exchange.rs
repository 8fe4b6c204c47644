//! One request and the head of its answer.

use reqwest::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION,
};
use reqwest::{Client, Response, StatusCode, Url};
use tokio::time::{Instant, timeout_at};

use super::body::{Body, whole_seconds};
use super::client::told;
use super::complaint::{Complaint, harmless};
use super::fault::Fault;
use super::record::Tape;
use super::{Limits, Timeouts};
use crate::provider::Scrubber;

/// Redirects that are followed for one request.
const REDIRECTS: usize = 3;

/// Of an error answer: how many bytes are read.
const ERROR_BODY: usize = 64 << 10;

/// What one request needs beside its body.
pub(super) struct Exchange<'a> {
    pub(super) client: &'a Client,
    pub(super) url: Url,
    /// Ready for the wire, the key among them.
    pub(super) headers: &'a HeaderMap,
    pub(super) timeouts: Timeouts,
    pub(super) limits: Limits,
    pub(super) scrubber: &'a Scrubber,
    pub(super) tape: Tape,
}

/// An answer with status 200 to 299.
pub(super) struct Answer {
    pub(super) body: Body,
    /// The media type, lower case, without parameters; empty where none was said.
    pub(super) media_type: String,
}

impl Exchange<'_> {
    /// Sends `content`. Redirects are followed within the origin only, with method and body, so
    /// the key goes to the host that it was given for and to no other.
    pub(super) async fn post(&self, content: &[u8]) -> Result<Answer, Fault> {
        let began = Instant::now();
        let mut url = self.url.clone();
        for _ in 0..=REDIRECTS {
            let response = self.send(url.clone(), content, began).await?;
            let status = response.status();
            if status.is_redirection() {
                url = self.follow(&url, &response)?;
                continue;
            }
            if !status.is_success() {
                return Err(self.refused(status, response, began).await);
            }
            return self.accept(response, began);
        }
        let cause = format!("more than {REDIRECTS} redirects");
        Err(Fault::Malformed { cause, again: false })
    }

    async fn send(&self, url: Url, content: &[u8], began: Instant) -> Result<Response, Fault> {
        let request = self
            .client
            .post(url)
            .headers(self.headers.clone())
            .header(ACCEPT_ENCODING, HeaderValue::from_static("identity"))
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .body(content.to_vec());
        let patience = self.timeouts.first_byte.min(self.timeouts.total);
        match timeout_at(began + patience, request.send()).await {
            Err(_) => Err(Fault::Silent { seconds: whole_seconds(patience) }),
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) if error.is_connect() => {
                let cause = harmless(&told(&error), self.scrubber);
                Err(Fault::Connect { permanent: is_certificate(&cause), cause })
            }
            Ok(Err(error)) => Err(Fault::cut(harmless(&told(&error), self.scrubber))),
        }
    }

    fn follow(&self, from: &Url, response: &Response) -> Result<Url, Fault> {
        let refuse = |cause: String| Fault::Malformed {
            cause: harmless(&cause, self.scrubber),
            again: false,
        };
        let status = response.status().as_u16();
        let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        let to = location.and_then(|location| from.join(location).ok());
        let Some(to) = to else {
            return Err(refuse(format!("a redirect (HTTP {status}) to nowhere")));
        };
        let target = format!("{}{}", to.origin().ascii_serialization(), to.path());
        if to.origin() != from.origin() {
            let cause = format!(
                "a redirect (HTTP {status}) to another origin, {target}, which is not followed; \
                 if it is right, set it as `base_url`"
            );
            return Err(refuse(cause));
        }
        if !matches!(status, 301 | 302 | 307 | 308) {
            return Err(refuse(format!("a redirect (HTTP {status}) to {target}, which is no API")));
        }
        Ok(to)
    }

    async fn refused(&self, status: StatusCode, response: Response, began: Instant) -> Fault {
        let headers = response.headers().clone();
        let text = self.body(response, began).remains(ERROR_BODY).await;
        Complaint::of_body(&text, self.scrubber).answer(status.as_u16(), &headers, self.scrubber)
    }

    fn accept(&self, response: Response, began: Instant) -> Result<Answer, Fault> {
        let text = |name| {
            response.headers().get(name).map(|value| String::from_utf8_lossy(value.as_bytes()))
        };
        // Nothing was asked for but the plain bytes, and nothing else is unpacked: no bombs.
        if let Some(coding) = text(CONTENT_ENCODING)
            && !coding.trim().eq_ignore_ascii_case("identity")
        {
            let cause = format!("it is encoded as `{coding}`, which was not asked for");
            return Err(Fault::Malformed { cause: harmless(&cause, self.scrubber), again: false });
        }
        let media_type = text(CONTENT_TYPE).unwrap_or_default();
        let media_type =
            media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        Ok(Answer { body: self.body(response, began), media_type })
    }

    fn body(&self, response: Response, began: Instant) -> Body {
        Body::new(response, self.timeouts, self.limits, self.tape.clone(), began)
    }
}

/// Whether a failed connection is one of trust, which no second try mends.
fn is_certificate(cause: &str) -> bool {
    cause.contains("certificate") || cause.contains("UnknownIssuer")
}
