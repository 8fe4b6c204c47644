//! One call in a sandbox of its own: a store, an instance, the call, and nothing left.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use tokio_util::sync::CancellationToken;
use wasmtime::{Store, UpdateDeadline};

use crate::tool::Progress;

use super::bindings::clawhold::tool::types as wit;
use super::drive::{Stopped, drive};
use super::guard::{Guard, Record, Rules};
use super::http::{HttpAccess, HttpRecord, HttpState};
use super::limits::MemoryMeter;
use super::output::Output;
use super::state::CallState;
use super::try_out::Asked;
use super::{Limits, Prepared, Runtime};

/// Bytes that a guest may hand to the host in one call of the host.
const HOSTCALL_BYTES: usize = 16 << 20;
/// Resource handles that a guest may hold.
const MAX_HANDLES: usize = 4096;

/// What a call finds around it.
#[derive(Clone)]
pub(super) struct Surroundings {
    pub rules: Arc<Rules>,
    /// Without it every request is refused.
    pub http: Option<Arc<HttpAccess>>,
    pub read_only: bool,
    pub turn: u32,
    pub limits: Limits,
    pub environment: Arc<[(String, String)]>,
    pub settings: Arc<BTreeMap<String, String>>,
    /// Where what the guest asks for is noted, when somebody wants to know.
    pub asked: Option<Arc<Asked>>,
    pub progress: Arc<dyn Fn(Progress) + Send + Sync>,
}

impl Surroundings {
    /// Nothing but what `rules` allow.
    pub(super) fn bare(rules: Arc<Rules>) -> Self {
        Self {
            rules,
            http: None,
            read_only: true,
            turn: 0,
            limits: Limits::default(),
            environment: Arc::new([]),
            settings: Arc::default(),
            asked: None,
            progress: Arc::new(|_| {}),
        }
    }
}

/// What came of a call, before it is put into words.
pub(super) struct Ran {
    pub result: Result<Result<wit::ToolResult, wit::Failure>, Broken>,
    pub record: Record,
    pub http: HttpRecord,
    pub output: Arc<Output>,
    pub instantiate_us: u64,
    pub execute_us: u64,
    pub peak_memory: u64,
    pub memory_refused: bool,
}

/// How a call ended without an answer.
pub(super) enum Broken {
    Stopped(Stopped),
    /// A trap, an exit, a broken promise of the contract.
    Guest(wasmtime::Error),
    /// A panic in the host's own code.
    Host(String),
}

pub(super) fn call_tool(
    runtime: &Runtime,
    prepared: &Prepared,
    around: &Surroundings,
    tool: &str,
    arguments: &str,
    deadline: Instant,
    cancel: &CancellationToken,
) -> Ran {
    let mut sandbox = Sandbox::new(runtime, around, deadline, cancel);
    let begun = Instant::now();
    let mut instantiated = begun;
    let result = sandbox.enter(deadline, cancel, async |store| {
        let guest = prepared.instantiate_async(&mut *store).await?;
        instantiated = Instant::now();
        guest.clawhold_tool_tools().call_call_tool(store, tool, arguments).await
    });
    let ended = Instant::now();
    let memory = &sandbox.store.data().memory;
    let (peak_memory, memory_refused) = (memory.peak(), memory.refused());
    let failed = !matches!(result, Ok(Ok(_)));
    let state = sandbox.store.into_data();
    Ran {
        result,
        output: state.output,
        record: state.guard.finish(failed),
        http: state.http.finish(),
        instantiate_us: micros(begun, instantiated),
        execute_us: micros(instantiated, ended),
        peak_memory,
        memory_refused,
    }
}

/// Asks for the tools; an error says why there is no answer.
pub(super) fn list_tools(
    runtime: &Runtime,
    prepared: &Prepared,
    around: &Surroundings,
    deadline: Instant,
    cancel: &CancellationToken,
) -> Result<Vec<wit::ToolSpec>, String> {
    let mut sandbox = Sandbox::new(runtime, around, deadline, cancel);
    let result = sandbox.enter(deadline, cancel, async |store| {
        let guest = prepared.instantiate_async(&mut *store).await?;
        guest.clawhold_tool_tools().call_list_tools(store).await
    });
    result.map_err(|broken| match broken {
        Broken::Stopped(stopped) => stopped.to_string(),
        Broken::Guest(error) => super::failure::chain(&error, &sandbox.store.data().output),
        Broken::Host(panic) => panic,
    })
}

struct Sandbox<'a> {
    runtime: &'a Runtime,
    store: Store<CallState>,
}

impl<'a> Sandbox<'a> {
    fn new(
        runtime: &'a Runtime,
        around: &Surroundings,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Self {
        let state = CallState {
            table: CallState::table(),
            guard: Guard::new(Arc::clone(&around.rules), around.read_only, around.turn),
            http: HttpState::new(around.http.clone(), deadline),
            clocks: wasmtime_wasi::clocks::WasiClocksCtx::default(),
            memory: MemoryMeter::new(around.limits.memory),
            output: Arc::default(),
            environment: Arc::clone(&around.environment),
            settings: Arc::clone(&around.settings),
            asked: around.asked.clone(),
            cancel: cancel.clone(),
            progress: Arc::clone(&around.progress),
        };
        let mut store = Store::new(&runtime.engine, state);
        store.limiter(|state| &mut state.memory);
        store.set_hostcall_fuel(HOSTCALL_BYTES);
        store.set_max_component_handles(MAX_HANDLES);
        // Set before anything of the guest runs: its start function is already its code.
        store.set_epoch_deadline(1);
        let cancel = cancel.clone();
        store.epoch_deadline_callback(move |_| {
            if Instant::now() >= deadline {
                Err(Stopped::TimedOut.into())
            } else if cancel.is_cancelled() {
                Err(Stopped::Cancelled.into())
            } else {
                Ok(UpdateDeadline::Continue(1))
            }
        });
        Self { runtime, store }
    }

    /// Runs `body` with the clock ticking; every way in which it can end is told apart.
    fn enter<T>(
        &mut self,
        deadline: Instant,
        cancel: &CancellationToken,
        body: impl AsyncFnOnce(&mut Store<CallState>) -> wasmtime::Result<T>,
    ) -> Result<T, Broken> {
        let _running = self.runtime.ticker.running(&self.runtime.engine);
        let store = &mut self.store;
        let driven = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            drive(body(store), deadline, cancel)
        }));
        match driven {
            Ok(Ok(Ok(value))) => Ok(value),
            Ok(Ok(Err(error))) => Err(match error.downcast_ref::<Stopped>() {
                Some(stopped) => Broken::Stopped(*stopped),
                None => Broken::Guest(error),
            }),
            Ok(Err(stopped)) => Err(Broken::Stopped(stopped)),
            Err(panic) => Err(Broken::Host(panic_text(panic.as_ref()))),
        }
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    format!("a fault of the host: {}", text.as_deref().unwrap_or("a panic without words"))
}

fn micros(from: Instant, to: Instant) -> u64 {
    u64::try_from(to.saturating_duration_since(from).as_micros()).unwrap_or(u64::MAX)
}
