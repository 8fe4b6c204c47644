//! The request that is sent in the place of the guest's.

use bytes::Bytes;
use futures_util::StreamExt as _;
use http::header::{ACCEPT_ENCODING, IF_RANGE, RANGE};
use http::{HeaderMap, HeaderName, HeaderValue};
use http_body::Body as _;
use http_body_util::BodyDataStream;
use reqwest::{Body, Url};
use thiserror::Error;
use wasmtime_wasi_http::{DEFAULT_FORBIDDEN_HEADERS, WasiBody};

use crate::policy::Target;

/// Why a body ended before its end.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum Unsent {
    #[error("the body is larger than {limit} bytes")]
    TooLarge { limit: u64 },
    #[error("{0}")]
    ByGuest(String),
}

/// Headers that belong to the connection, which is the host's. Guests are told so when they set
/// one, and find none in an answer.
pub(super) fn is_forbidden(name: &HeaderName) -> bool {
    DEFAULT_FORBIDDEN_HEADERS.contains(name)
        || matches!(name.as_str(), "te" | "trailer" | "expect")
        || name.as_str().starts_with("proxy-")
}

/// The URL of `target` with this path and query. None if a reader of URLs would understand
/// anything else by it than what was judged.
pub(super) fn url(target: &Target, path_and_query: &str) -> Option<Url> {
    let slash = if path_and_query.starts_with('/') { "" } else { "/" };
    let mut url = Url::parse(&format!("{}{slash}{path_and_query}", target.origin())).ok()?;
    url.set_fragment(None);
    let same = url.host_str() == Some(target.host.to_string().as_str())
        && url.port_or_known_default() == Some(target.port)
        && url.username().is_empty()
        && url.password().is_none();
    same.then_some(url)
}

/// Puts the host's own headers in the place of whatever the guest sent by these names.
pub(super) fn prepare(headers: &mut HeaderMap, secrets: Vec<(HeaderName, HeaderValue)>) {
    let forbidden: Vec<HeaderName> =
        headers.keys().filter(|name| is_forbidden(name)).cloned().collect();
    for name in forbidden {
        headers.remove(name);
    }
    // Nothing is decoded here, and in what is encoded no secret could be found.
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    if !secrets.is_empty() {
        // A secret that the answer repeats could be fetched in parts, none of which shows it.
        headers.remove(RANGE);
        headers.remove(IF_RANGE);
    }
    for (name, value) in secrets {
        headers.insert(name, value);
    }
}

/// The guest's body, passed on as it comes, up to `limit` bytes. None for no body.
pub(super) fn body(body: WasiBody, limit: u64) -> Option<Body> {
    if body.is_end_stream() {
        return None;
    }
    let mut left = limit;
    let pieces = BodyDataStream::new(body).map(move |piece| -> Result<Bytes, Unsent> {
        let piece = piece.map_err(|error| Unsent::ByGuest(error.to_string()))?;
        left = left.checked_sub(piece.len() as u64).ok_or(Unsent::TooLarge { limit })?;
        Ok(piece)
    });
    Some(Body::wrap_stream(pieces))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::policy::Host;

    fn target(host: Host) -> Target {
        Target { host, port: 8080, encrypted: true, rule: 0 }
    }

    #[test]
    fn p22_no_path_changes_the_host() {
        let name = target(Host::Name("a.example".into()));
        let check = |path: &str, expect: &str| {
            assert_eq!(url(&name, path).map(String::from).as_deref(), Some(expect), "{path}");
        };
        check("/x?y=1", "https://a.example:8080/x?y=1");
        check("", "https://a.example:8080/");
        check("?q", "https://a.example:8080/?q");
        check("//evil.example/", "https://a.example:8080//evil.example/");
        check("/\\evil.example", "https://a.example:8080//evil.example");
        check("@evil.example/", "https://a.example:8080/@evil.example/");
        check("/../../x#y", "https://a.example:8080/x");
        let address = target(Host::Address("::1".parse().unwrap()));
        assert_eq!(url(&address, "/").map(String::from).as_deref(), Some("https://[::1]:8080/"));
    }

    #[test]
    fn what_belongs_to_the_connection_is_not_the_guests() {
        let mut headers = HeaderMap::new();
        for name in [
            "host",
            "connection",
            "transfer-encoding",
            "proxy-authorization",
            "proxy-x",
            "te",
            "range",
            "accept-encoding",
            "x-key",
            "x-other",
        ] {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static("guest"));
        }
        headers.append("x-key", HeaderValue::from_static("guest again"));
        prepare(
            &mut headers,
            vec![(HeaderName::from_static("x-key"), HeaderValue::from_static("host"))],
        );
        let mut left: Vec<(&str, &[u8])> =
            headers.iter().map(|(n, v)| (n.as_str(), v.as_bytes())).collect();
        left.sort_unstable();
        let expect: [(&str, &[u8]); 3] =
            [("accept-encoding", b"identity"), ("x-key", b"host"), ("x-other", b"guest")];
        assert_eq!(left, expect);
    }
}
