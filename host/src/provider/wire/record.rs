//! What went over the wire, for a log that shows whole requests and answers.

use std::sync::{Arc, Mutex, PoisonError};

use crate::provider::Scrubber;

/// One request and what came of it. Both texts are whole, and without keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchanged<'e> {
    pub provider: &'e str,
    pub model: &'e str,
    /// Which request for the same reply it was, from 1.
    pub attempt: u32,
    /// The body of the request, JSON.
    pub request: &'e str,
    /// The body of the answer as far as it came: a stream as it stood, an error, or nothing.
    pub response: &'e str,
    /// Why it failed, in a few words; none if it gave a reply.
    pub fault: Option<&'e str>,
}

/// Who is told of every exchange, after its end.
pub type Recorder = Arc<dyn Fn(&Exchanged<'_>) + Send + Sync>;

/// Bytes of an answer on their way to a recorder; does nothing where there is none.
#[derive(Debug, Clone, Default)]
pub(super) struct Tape(Option<Arc<Mutex<Vec<u8>>>>);

impl Tape {
    pub(super) fn new(on: bool) -> Self {
        Self(on.then(Arc::default))
    }

    pub(super) fn add(&self, bytes: &[u8]) {
        if let Some(tape) = &self.0 {
            tape.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        }
    }

    /// All of it, scrubbed as a whole: a key may have come in two pieces.
    pub(super) fn text(&self, scrubber: &Scrubber) -> String {
        let Some(tape) = &self.0 else { return String::new() };
        let bytes = tape.lock().unwrap_or_else(PoisonError::into_inner);
        scrubber.scrub(&String::from_utf8_lossy(&bytes))
    }
}
