//! The words everything else speaks: messages, calls, outcomes, receipts. No I/O, no clock.

mod call;
mod message;
mod outcome;
mod spec;
mod stop;
mod usage;

pub use call::ToolCall;
pub use message::{Content, Message, Payload, Role, VendorExtras};
pub use outcome::{Denial, Failure, FailureCode, Outcome, Receipt, ToolReply};
pub use spec::{Effects, PathUse, ToolSpec, x_paths};
pub use stop::StopReason;
pub use usage::Usage;
