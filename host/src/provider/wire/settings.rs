//! What a service over HTTP needs to be told.

use std::time::Duration;

use serde_json::{Map, Value};

use super::{Recorder, RetryPolicy};
use crate::provider::Secret;

/// The settings of one service and model. [`ServiceSettings::new`] fills in the rest.
#[derive(Clone)]
pub struct ServiceSettings {
    /// The name under which the service is configured. What it sends beyond the common form is
    /// kept under this name and goes back to no other.
    pub name: String,
    /// The model, as the service calls it.
    pub model: String,
    /// Where the API is; the adapter adds the last part of the path. `key` and `headers` go to
    /// the scheme, host and port of this URL and nowhere else.
    pub base_url: String,
    pub key: Option<Secret>,
    /// Sent with every request, after the adapter's own and in their place.
    pub headers: Vec<(String, String)>,
    /// Further fields of the request body, `temperature` or `reasoning_effort` say.
    pub body: Map<String, Value>,
    /// The most tokens of one reply; none leaves it to the service where that is possible.
    pub max_output: Option<u64>,
    /// The size of the context in tokens, for services that have to be told.
    pub context: Option<u64>,
    /// Whether pictures are sent. Without, the model reads of them in the text only.
    pub images: bool,
    /// Certificates in PEM that are trusted beside those of the operating system.
    pub extra_roots: Option<Vec<u8>>,
    pub retry: RetryPolicy,
    pub timeouts: Timeouts,
    pub limits: Limits,
    /// Told of every exchange, for a log of whole requests.
    pub recorder: Option<Recorder>,
}

impl ServiceSettings {
    pub fn new(
        name: impl Into<String>,
        model: impl Into<String>,
        base_url: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            model: model.into(),
            base_url: base_url.into(),
            key: None,
            headers: Vec::new(),
            body: Map::new(),
            max_output: None,
            context: None,
            images: true,
            extra_roots: None,
            retry: RetryPolicy::default(),
            timeouts: Timeouts::default(),
            limits: Limits::default(),
            recorder: None,
        }
    }
}

/// Neither the key nor the values of headers, nor a query of the URL, are shown.
impl std::fmt::Debug for ServiceSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("ServiceSettings")
            .field("name", &self.name)
            .field("model", &self.model)
            .field("key", &self.key)
            .field("headers", &headers)
            .finish_non_exhaustive()
    }
}

/// How long each part of one attempt may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Until a connection stands, TLS included.
    pub connect: Duration,
    /// From the request to the first byte of the reply's body. Long, because a local model may
    /// have to be loaded, and a reasoning model may think before it says anything.
    pub first_byte: Duration,
    /// Between two pieces of the body.
    pub idle: Duration,
    /// For all of it, however steadily it comes.
    pub total: Duration,
}

impl Default for Timeouts {
    /// 10 s, 5 min, 90 s, 30 min.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_mins(5),
            idle: Duration::from_secs(90),
            total: Duration::from_mins(30),
        }
    }
}

/// How many bytes are taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// One line, and one event, of a stream.
    pub line: usize,
    /// The whole body.
    pub total: usize,
}

impl Default for Limits {
    /// 8 MiB and 64 MiB.
    fn default() -> Self {
        Self { line: 8 << 20, total: 64 << 20 }
    }
}
