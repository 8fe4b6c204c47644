//! Being told to stop from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::model::StopReason;

/// Tokens that signals cancel, and which of them did.
#[derive(Debug, Clone)]
pub(super) struct Signals {
    /// Cancelled by an interrupt.
    pub(super) interrupt: CancellationToken,
    /// Cancelled by a request to terminate, or a terminal that went away.
    pub(super) terminate: CancellationToken,
    reason: Arc<AtomicU8>,
    /// Whether there is work that hears of the tokens.
    heard: Arc<AtomicBool>,
}

/// `SIGXFSZ`, the same number on Linux and macOS.
const SIZE_LIMIT: i32 = 25;
const NONE: u8 = 0;
const INTERRUPTED: u8 = 1;
const TERMINATED: u8 = 2;

impl Signals {
    /// Watches for an interrupt, a request to terminate, and a terminal that goes away. Until
    /// [`Signals::begin`] the first one ends the process. After that it lets the work end in good
    /// order, and a second one ends the process, which the session log survives, since each of
    /// its records is written whole. Needs a runtime.
    pub(super) fn watch() -> std::io::Result<Self> {
        let signals = Self {
            interrupt: CancellationToken::new(),
            terminate: CancellationToken::new(),
            reason: Arc::default(),
            heard: Arc::default(),
        };
        for (kind, word) in [
            (SignalKind::interrupt(), INTERRUPTED),
            (SignalKind::terminate(), TERMINATED),
            (SignalKind::hangup(), TERMINATED),
        ] {
            let mut stream = signal(kind)?;
            let signals = signals.clone();
            tokio::spawn(async move {
                while stream.recv().await.is_some() {
                    signals.arrived(word);
                }
            });
        }
        // A limit on the size of files (`ulimit -f`) then fails the write instead of ending the
        // process, and the tool can say so.
        let _ = signal(SignalKind::from_raw(SIZE_LIMIT))?;
        Ok(signals)
    }

    fn arrived(&self, word: u8) {
        let first =
            self.reason.compare_exchange(NONE, word, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        if !first || !self.heard.load(Ordering::SeqCst) {
            std::process::exit(self.stop().map_or(1, |stop| stop.exit_code().into()));
        }
        if word == INTERRUPTED { &self.interrupt } else { &self.terminate }.cancel();
    }

    /// From here on there is work that ends when it is told to. Before, plugins may be compiling
    /// for seconds, with nothing yet to bring to an end.
    pub(super) fn begin(&self) {
        self.heard.store(true, Ordering::SeqCst);
    }

    /// A token that either cancels, for work that does not tell them apart.
    pub(super) fn either(&self) -> CancellationToken {
        let either = CancellationToken::new();
        let (signals, cancel) = (self.clone(), either.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = signals.interrupt.cancelled() => {}
                () = signals.terminate.cancelled() => {}
            }
            cancel.cancel();
        });
        either
    }

    /// Why everything stops; None while nothing has arrived.
    pub(super) fn stop(&self) -> Option<StopReason> {
        match self.reason.load(Ordering::SeqCst) {
            INTERRUPTED => Some(StopReason::Interrupted),
            TERMINATED => Some(StopReason::Terminated),
            _ => None,
        }
    }
}
