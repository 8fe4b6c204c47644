//! Runs a call's future on the current thread until it ends, its time is up or nobody waits.
//!
//! A call that only computes and reads files never waits for anything, so the common way through
//! here sets no timer and wakes nobody.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Instant;

use tokio_util::sync::CancellationToken;

/// Why a call was stopped from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Stopped {
    #[error("its time was up")]
    TimedOut,
    #[error("it was cancelled")]
    Cancelled,
}

/// Polls `future` to its end. On the way out of an early stop the future is dropped, and with it
/// whatever it was waiting for.
pub(super) fn drive<F: Future>(
    future: F,
    deadline: Instant,
    cancel: &CancellationToken,
) -> Result<F::Output, Stopped> {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    let mut cancelled = pin!(cancel.cancelled());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Ok(output);
        }
        if cancelled.as_mut().poll(&mut context).is_ready() {
            return Err(Stopped::Cancelled);
        }
        let now = Instant::now();
        if now >= deadline {
            return Err(Stopped::TimedOut);
        }
        std::thread::park_timeout(deadline - now);
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_future_that_never_ends_is_left_at_the_deadline() {
        let deadline = Instant::now() + Duration::from_millis(5);
        let result = drive(std::future::pending::<()>(), deadline, &CancellationToken::new());
        assert_eq!(result, Err(Stopped::TimedOut));
    }

    #[test]
    fn cancelling_from_elsewhere_wakes_the_thread() {
        let cancel = CancellationToken::new();
        let other = cancel.clone();
        let thread = std::thread::spawn(move || other.cancel());
        let deadline = Instant::now() + Duration::from_mins(1);
        assert_eq!(drive(std::future::pending::<()>(), deadline, &cancel), Err(Stopped::Cancelled));
        thread.join().expect("the cancelling thread");
    }
}
