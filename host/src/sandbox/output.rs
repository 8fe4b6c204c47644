//! What a guest writes to its standard streams and its log: kept for explaining a failure, capped.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

/// Bytes kept of each stream: the end of it, where the reason of a failure stands.
const KEPT: usize = 16 << 10;
/// Lines of log that one call may write, and bytes of each.
const LOG_LINES: usize = 256;
const LOG_LINE: usize = 4096;

/// One call's streams.
#[derive(Debug, Default)]
pub(super) struct Output {
    stderr: Mutex<Tail>,
    stdout: Mutex<Tail>,
    log: Mutex<Vec<String>>,
}

#[derive(Debug, Default)]
struct Tail {
    bytes: Vec<u8>,
}

impl Tail {
    fn push(&mut self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(KEPT)..];
        let surplus = (self.bytes.len() + bytes.len()).saturating_sub(KEPT);
        self.bytes.drain(..surplus.min(self.bytes.len()));
        self.bytes.extend_from_slice(bytes);
    }
}

impl Output {
    pub(super) fn stderr(&self) -> String {
        text(&self.stderr)
    }

    pub(super) fn stdout(&self) -> String {
        text(&self.stdout)
    }

    /// Adds a line to the log; beyond the cap lines are dropped.
    pub(super) fn log(&self, level: &str, message: &str) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if log.len() < LOG_LINES {
            let message = crate::text::clip_end(message, LOG_LINE);
            log.push(format!("{level}: {}", crate::text::escape_text(&message)));
        }
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn text(stream: &Mutex<Tail>) -> String {
    let tail = stream.lock().unwrap_or_else(PoisonError::into_inner);
    crate::text::escape_text(&String::from_utf8_lossy(&tail.bytes))
}

/// Which of the two.
#[derive(Debug, Clone, Copy)]
pub(super) enum Which {
    Stdout,
    Stderr,
}

/// The guest's end of a standard stream.
pub(super) struct Pipe {
    pub output: std::sync::Arc<Output>,
    pub which: Which,
}

#[async_trait::async_trait]
impl Pollable for Pipe {
    async fn ready(&mut self) {}
}

#[async_trait::async_trait]
impl OutputStream for Pipe {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        let stream = match self.which {
            Which::Stdout => &self.output.stdout,
            Which::Stderr => &self.output.stderr,
        };
        stream.lock().unwrap_or_else(PoisonError::into_inner).push(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> Result<usize, StreamError> {
        Ok(64 << 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_flood_is_kept() {
        let mut tail = Tail::default();
        for _ in 0..10 {
            tail.push(&[b'a'; 10_000]);
        }
        tail.push(b"the reason");
        assert_eq!(tail.bytes.len(), KEPT);
        assert!(tail.bytes.ends_with(b"the reason"));
    }
}
