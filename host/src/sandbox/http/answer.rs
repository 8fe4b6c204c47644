//! The body of an answer on its way to the guest: counted, cleaned of secrets, and in pieces, so
//! that no more of it is held than one piece.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep};
use wasmtime_wasi_http::Error;

use super::HttpAccess;
use super::exchange::Exchange;
use super::fault::Fault;
use super::hooks::Call;
use super::scrub::Stream;

/// Ends with an error rather than early: a guest never takes half an answer for a whole one.
pub(super) struct AnswerBody {
    inner: reqwest::Body,
    access: Arc<HttpAccess>,
    call: Arc<Call>,
    place: String,
    limit: u64,
    left: u64,
    /// None where the plugin has no secrets.
    scrub: Option<Stream>,
    /// How long the guest waits for the next piece, if it said so.
    patience: Option<(Duration, Pin<Box<Sleep>>)>,
    /// Given back when all has come.
    slot: Option<Arc<OwnedSemaphorePermit>>,
    ended: bool,
}

impl AnswerBody {
    pub(super) fn new(inner: reqwest::Body, exchange: &Exchange, limit: u64) -> Self {
        let scrub = &exchange.access.scrub;
        Self {
            inner,
            access: Arc::clone(&exchange.access),
            call: Arc::clone(&exchange.call),
            place: exchange.target.place(),
            limit,
            left: limit,
            scrub: (!scrub.is_idle()).then(|| Stream::new(Arc::clone(scrub))),
            patience: exchange
                .options
                .between_bytes_timeout
                .map(|patience| (patience, Box::pin(tokio::time::sleep(patience)))),
            slot: Some(Arc::clone(&exchange.slot)),
            ended: false,
        }
    }

    fn fail(&mut self, fault: &Fault) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        self.ended = true;
        self.slot = None;
        self.call.log.fault(fault);
        Poll::Ready(Some(Err(fault.to_guest())))
    }

    /// All has come; what was held back follows.
    fn end(&mut self) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        self.ended = true;
        self.slot = None;
        self.call.log.recovered(&self.place);
        let rest = self.scrub.as_mut().map(Stream::finish).filter(|rest| !rest.is_empty());
        Poll::Ready(rest.map(|rest| Ok(Frame::data(rest))))
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = &mut *self;
        if this.ended {
            return Poll::Ready(None);
        }
        loop {
            let Poll::Ready(frame) = Pin::new(&mut this.inner).poll_frame(cx) else {
                let Some((_, sleep)) = &mut this.patience else { return Poll::Pending };
                ready!(sleep.as_mut().poll(cx));
                let place = this.place.clone();
                return this.fail(&Fault::Late { place });
            };
            if let Some((patience, sleep)) = &mut this.patience {
                sleep.as_mut().reset(Instant::now() + *patience);
            }
            let frame = match frame {
                None => return this.end(),
                Some(Ok(frame)) => frame,
                Some(Err(error)) => {
                    let fault = Fault::of(&error, &this.place, &this.access.scrub);
                    return this.fail(&fault);
                }
            };
            // What follows a body as trailers is left out: few read it, and it could repeat a
            // secret too.
            let Ok(data) = frame.into_data() else { continue };
            let Some(left) = this.left.checked_sub(data.len() as u64) else {
                let fault =
                    Fault::ResponseTooLarge { place: this.place.clone(), limit: this.limit };
                return this.fail(&fault);
            };
            this.left = left;
            let data = match &mut this.scrub {
                Some(scrub) => scrub.push(&data),
                None => data,
            };
            if !data.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(data))));
            }
        }
    }
}
