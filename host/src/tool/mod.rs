//! The port to everything that can be called, the registry that routes calls, and the plan by
//! which the calls of one reply run.

mod approve;
mod arguments;
mod check;
mod coerce;
mod nearest;
mod paths;
mod registry;
mod run;
mod schedule;
mod spelling;

use std::sync::Arc;

pub use approve::{Answer, Approver, DenyAll, Question};
pub use paths::{PathScope, Refusal};
pub use registry::{Prepared, RegisterError, Registry};
pub use run::{Limits, Watch, run_calls};
pub use schedule::{Footprint, PathKey, Plan, Wait, plan};
pub use spelling::windows_objection;

use tokio_util::sync::CancellationToken;

use crate::model::{ToolReply, ToolSpec};

/// Something that the model can call.
#[async_trait::async_trait]
pub trait Tool: Send + Sync {
    fn spec(&self) -> &ToolSpec;

    /// Runs one call. `arguments` is a JSON object that already fits the tool's schema. Never an
    /// `Err`: whatever goes wrong is the reply's outcome.
    async fn call(&self, arguments: &serde_json::Value, context: &CallContext) -> ToolReply;
}

/// What a call is told of its surroundings.
#[derive(Clone)]
pub struct CallContext {
    /// The id of the call within its session.
    pub call_id: String,
    /// The number of the turn it belongs to, from 1.
    pub turn: u32,
    /// Cancelled when nobody waits for the result any more.
    pub cancel: CancellationToken,
    /// The call has a task to itself, so it may block the thread on which it is polled.
    pub own_task: bool,
    /// Where the call may say how far it has come.
    pub progress: Arc<dyn Fn(Progress) + Send + Sync>,
}

impl std::fmt::Debug for CallContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallContext")
            .field("call_id", &self.call_id)
            .field("turn", &self.turn)
            .finish_non_exhaustive()
    }
}

impl CallContext {
    /// A call that stands alone: nobody cancels it or watches its progress.
    pub fn detached(call_id: impl Into<String>) -> Self {
        Self {
            call_id: call_id.into(),
            turn: 1,
            cancel: CancellationToken::new(),
            own_task: false,
            progress: Arc::new(|_| {}),
        }
    }
}

/// How far a call has come, in any unit.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Progress {
    pub done: u64,
    pub total: Option<u64>,
    pub message: String,
}
