//! Why a request came to nothing: in the words of the receipt, and as the guest sees it.

use std::error::Error as StdError;

use thiserror::Error;
use wasmtime_wasi_http::Error as WasiError;

use crate::model::FailureCode;
use crate::policy::HttpRefusal;
use crate::text::escape_line;

use super::super::guard::Ruling;
use super::request::Unsent;
use super::resolve::Unresolved;
use super::scrub::Scrub;

/// No URL stands in it beyond host and port: paths and queries may hold keys.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum Fault {
    #[error(transparent)]
    Refused(#[from] HttpRefusal),
    #[error(
        "the request to `{place}` carries more than {limit} bytes, as many as one may; send less"
    )]
    RequestTooLarge { place: String, limit: u64 },
    #[error(
        "the answer of `{place}` is larger than {limit} bytes, as much as one request may bring; ask for less, for example for a part or a page"
    )]
    ResponseTooLarge { place: String, limit: u64 },
    #[error(
        "this call has made {limit} requests, as many as one call may; ask for less, or in several calls"
    )]
    TooMany { limit: u32 },
    #[error(
        "this call has {limit} requests under way, as many as it may at once; wait for one before the next"
    )]
    TooManyAtOnce { limit: u32 },
    #[error(
        "the answer of `{place}` came encoded (`{}`) although it was asked for as it is; it could repeat a secret unseen, so it is not passed on",
        escape_line(coding)
    )]
    Encoded { place: String, coding: String },
    #[error("`{place}` was not found: {cause}")]
    NoAddress { place: String, cause: String },
    #[error("`{place}` could not be reached: {cause}")]
    Unreachable { place: String, cause: String, kind: Kind },
    #[error("`{place}` did not answer in time")]
    Late { place: String },
    #[error("the exchange with `{place}` broke off: {cause}")]
    Broken { place: String, cause: String },
    #[error("the request to `{place}` was not sent whole: {cause}")]
    Unsent { place: String, cause: String },
    #[error("no client for `{place}`: {cause}")]
    Client { place: String, cause: String },
}

/// How a connection failed, as far as guests tell it apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Refused,
    Encryption,
    Other,
}

impl Fault {
    pub(super) fn ruling(&self) -> Ruling {
        Ruling::Failed(match self {
            Self::Refused(_) => return Ruling::Denied,
            Self::RequestTooLarge { .. }
            | Self::ResponseTooLarge { .. }
            | Self::TooMany { .. }
            | Self::TooManyAtOnce { .. } => FailureCode::TooLarge,
            Self::Encoded { .. } => FailureCode::Unsupported,
            Self::Late { .. } => FailureCode::TimedOut,
            Self::NoAddress { .. } => FailureCode::NotFound,
            Self::Unsent { .. } => FailureCode::Failed,
            Self::Unreachable { .. } | Self::Broken { .. } | Self::Client { .. } => {
                FailureCode::Unavailable
            }
        })
    }

    /// The place with which it may go better the next time.
    pub(super) fn passing(&self) -> Option<&str> {
        match self {
            Self::NoAddress { place, .. }
            | Self::Unreachable { place, .. }
            | Self::Late { place }
            | Self::Broken { place, .. } => Some(place),
            _ => None,
        }
    }

    /// What the guest sees.
    pub(super) fn to_guest(&self) -> WasiError {
        match self {
            Self::Refused(HttpRefusal::Resolved { .. } | HttpRefusal::AddressByProxy { .. }) => {
                WasiError::DestinationIpProhibited
            }
            Self::Refused(HttpRefusal::Redirects { .. }) => WasiError::LoopDetected,
            Self::Refused(_) => WasiError::HttpRequestDenied,
            Self::RequestTooLarge { limit, .. } => WasiError::HttpRequestBodySize(Some(*limit)),
            Self::ResponseTooLarge { limit, .. } => WasiError::HttpResponseBodySize(Some(*limit)),
            Self::TooMany { .. } | Self::TooManyAtOnce { .. } => WasiError::ConnectionLimitReached,
            Self::Encoded { coding, .. } => {
                WasiError::HttpResponseContentCoding(Some(coding.clone()))
            }
            Self::NoAddress { .. } => WasiError::DnsError { rcode: None, info_code: None },
            Self::Unreachable { kind: Kind::Refused, .. } => WasiError::ConnectionRefused,
            Self::Unreachable { kind: Kind::Encryption, .. } => WasiError::TlsProtocolError,
            Self::Unreachable { kind: Kind::Other, .. } => WasiError::DestinationUnavailable,
            Self::Late { .. } => WasiError::HttpResponseTimeout,
            Self::Broken { .. } => WasiError::HttpResponseIncomplete,
            Self::Unsent { .. } => WasiError::HttpProtocolError,
            Self::Client { .. } => WasiError::ConfigurationError,
        }
    }

    /// Reads a client's error. Ours come out of it as they went in; of all others only what is
    /// below the client's own text is told, because that one holds the URL.
    pub(super) fn of(error: &reqwest::Error, place: &str, scrub: &Scrub) -> Self {
        let place = place.to_owned();
        match find::<Unsent>(error) {
            Some(Unsent::TooLarge { limit }) => {
                return Self::RequestTooLarge { place, limit: *limit };
            }
            Some(Unsent::ByGuest(cause)) => {
                return Self::Unsent { place, cause: escape_line(cause) };
            }
            None => {}
        }
        let cause = scrub.text(&escape_line(&causes(error)));
        if find::<Unresolved>(error).is_some() {
            return Self::NoAddress { place, cause };
        }
        if error.is_timeout() {
            return Self::Late { place };
        }
        if error.is_connect() {
            let io = find::<std::io::Error>(error).map(std::io::Error::kind);
            let kind = if find::<rustls::Error>(error).is_some() {
                Kind::Encryption
            } else if io == Some(std::io::ErrorKind::ConnectionRefused) {
                Kind::Refused
            } else {
                Kind::Other
            };
            return Self::Unreachable { place, cause, kind };
        }
        Self::Broken { place, cause }
    }
}

/// The first `T` among `error` and its causes. An I/O error may carry one inside.
pub(super) fn find<'a, T: StdError + 'static>(
    error: &'a (dyn StdError + 'static),
) -> Option<&'a T> {
    let mut at = Some(error);
    while let Some(error) = at {
        if let Some(found) = error.downcast_ref::<T>() {
            return Some(found);
        }
        let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        if let Some(found) = inner.and_then(|inner| find::<T>(inner)) {
            return Some(found);
        }
        at = error.source();
    }
    None
}

/// The causes below `error`, each said once.
fn causes(error: &reqwest::Error) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut at = error.source();
    while let Some(cause) = at {
        let text = cause.to_string();
        if !parts.iter().any(|part| part.contains(&text)) {
            parts.push(text);
        }
        at = cause.source();
    }
    if parts.is_empty() { "the connection was lost".to_owned() } else { parts.join(": ") }
}
