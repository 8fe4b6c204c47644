//! What lives and dies with one call.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::clocks::{WasiClocksCtx, WasiClocksCtxView};

use crate::tool::Progress;

use super::guard::{Guard, GuardView};
use super::http::HttpState;
use super::limits::MemoryMeter;
use super::output::Output;
use super::try_out::Asked;

/// Resources that a guest may hold: descriptors, streams, pollables.
const MAX_RESOURCES: usize = 4096;

/// The data of a call's store.
pub(super) struct CallState {
    pub table: ResourceTable,
    pub guard: Guard,
    pub http: HttpState,
    pub clocks: WasiClocksCtx,
    pub memory: MemoryMeter,
    pub output: Arc<Output>,
    /// Environment variables, exactly those that were granted.
    pub environment: Arc<[(String, String)]>,
    pub settings: Arc<BTreeMap<String, String>>,
    /// Where what the guest asks for is noted, when somebody wants to know.
    pub asked: Option<Arc<Asked>>,
    pub cancel: CancellationToken,
    pub progress: Arc<dyn Fn(Progress) + Send + Sync>,
}

impl std::fmt::Debug for CallState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallState").field("guard", &self.guard).finish_non_exhaustive()
    }
}

impl CallState {
    /// The table that goes with a state; its size is bounded from the start.
    pub(super) fn table() -> ResourceTable {
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_RESOURCES);
        table
    }

    pub(super) fn files(&mut self) -> GuardView<'_> {
        GuardView { guard: &mut self.guard, table: &mut self.table }
    }

    pub(super) fn clocks(&mut self) -> WasiClocksCtxView<'_> {
        WasiClocksCtxView { ctx: &mut self.clocks, table: &mut self.table }
    }
}
