//! Asking a model service over HTTP: everything that is the same for every vendor.
//!
//! An adapter is a [`Dialect`] (how a request is written) with an [`Assembler`] (how a reply is
//! put together from events). [`Service`] does the rest: it sends, reads within limits, decodes,
//! and tries again where nothing is lost by it.

mod answer;
mod body;
mod calls;
mod client;
mod complaint;
mod dialect;
mod endpoint;
mod exchange;
mod extras;
mod fault;
mod ids;
mod lines;
mod record;
mod retry;
mod schema;
mod sequence;
mod service;
mod settings;
mod sse;
mod wait;

pub use record::{Exchanged, Recorder};
pub use retry::RetryPolicy;
pub use settings::{Limits, ServiceSettings, Timeouts};

pub(super) use calls::{Calls, Fragment};
pub(super) use dialect::{
    Assembler, AssemblyError, CALL_EXTRAS, Dialect, Draft, DraftCall, Flow, Framing, own_extras,
};
pub(super) use endpoint::Endpoint;
pub(super) use extras::{count, merge};
pub(super) use ids::unique_ids;
pub(super) use schema::{wire_arguments, wire_arguments_text, wire_schema};
pub(super) use sequence::{Part, Sequence, parts};
pub(super) use service::{KeyHeader, Service};
pub(super) use sse::Event;
