//! A reply's body, read within its limits of time and size.

use std::time::Duration;

use reqwest::Response;
use tokio::time::{Instant, timeout};

use super::client::told;
use super::fault::Fault;
use super::record::Tape;
use super::{Limits, Timeouts};

pub(super) struct Body {
    response: Response,
    timeouts: Timeouts,
    total: usize,
    read: usize,
    tape: Tape,
    /// When nobody waits for the first byte any more.
    first_by: Instant,
    /// When nobody waits for anything any more.
    whole_by: Instant,
}

impl Body {
    /// `began` is when the request was sent.
    pub(super) fn new(
        response: Response,
        timeouts: Timeouts,
        limits: Limits,
        tape: Tape,
        began: Instant,
    ) -> Self {
        Self {
            response,
            timeouts,
            total: limits.total,
            read: 0,
            tape,
            first_by: began + timeouts.first_byte,
            whole_by: began + timeouts.total,
        }
    }

    /// The next piece, or none when the body ended as it should.
    pub(super) async fn next(&mut self) -> Result<Option<impl AsRef<[u8]> + use<>>, Fault> {
        let now = Instant::now();
        // Until the first byte the longer wait holds: headers may come long before a word.
        let patience = if self.read == 0 {
            self.first_by.saturating_duration_since(now).max(self.timeouts.idle)
        } else {
            self.timeouts.idle
        };
        let left = self.whole_by.saturating_duration_since(now);
        // A timer alone does not do: a body that is always ready never lets it come to its turn.
        if left.is_zero() {
            return Err(Fault::Overdue { seconds: whole_seconds(self.timeouts.total) });
        }
        match timeout(patience.min(left), self.response.chunk()).await {
            Err(_) if left <= patience => {
                Err(Fault::Overdue { seconds: whole_seconds(self.timeouts.total) })
            }
            Err(_) => Err(Fault::Silent { seconds: whole_seconds(patience) }),
            Ok(Err(cause)) => Err(Fault::cut(told(&cause))),
            Ok(Ok(None)) => Ok(None),
            Ok(Ok(Some(piece))) => {
                self.read += piece.len();
                self.tape.add(&piece);
                if self.read > self.total {
                    let cause = format!("it is larger than {} bytes", self.total);
                    return Err(Fault::Malformed { cause, again: false });
                }
                Ok(Some(piece))
            }
        }
    }

    /// Of an answer that is an error anyway: what came of it, however it ended.
    pub(super) async fn remains(&mut self, most: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while bytes.len() < most
            && let Ok(Some(piece)) = self.next().await
        {
            bytes.extend_from_slice(piece.as_ref());
        }
        bytes.truncate(most);
        bytes
    }

    /// Reads the little that follows a reply's last word, so that the connection can serve the
    /// next request. A body that does not end soon costs the connection; one that breaks off was
    /// not what it promised.
    pub(super) async fn settle(mut self) -> Result<(), Fault> {
        const SOON: Duration = Duration::from_millis(50);
        let until = Instant::now() + SOON;
        while let Ok(piece) = tokio::time::timeout_at(until, self.next()).await {
            if piece?.is_none() {
                break;
            }
        }
        Ok(())
    }
}

/// For messages: seconds, rounded up.
pub(super) fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}
