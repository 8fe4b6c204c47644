//! The one wasmtime engine of the process, and the clock that lets calls be stopped.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

/// How often a running guest is asked whether its time is up.
const TICK: Duration = Duration::from_millis(5);

/// Calls that may run at the same time; more wait their turn.
pub(super) const MAX_CALLS: u32 = 16;

/// The engine, with pooled memory where the address space allows it and without elsewhere.
pub(super) fn new_engine() -> wasmtime::Result<Engine> {
    // A limit on the address space (`ulimit -v`, some containers) makes the reservation fail;
    // then memory is mapped for each call, which costs some ten microseconds.
    Engine::new(config(true)).or_else(|_| Engine::new(config(false)))
}

fn config(pooled: bool) -> &'static Config {
    static POOLED: std::sync::OnceLock<Config> = std::sync::OnceLock::new();
    static PLAIN: std::sync::OnceLock<Config> = std::sync::OnceLock::new();
    let slot = if pooled { &POOLED } else { &PLAIN };
    slot.get_or_init(|| {
        let mut config = Config::new();
        config
            .epoch_interruption(true)
            .wasm_memory64(false)
            // The guest's stack lies on the fibre's, with room for the host calls above it.
            .max_wasm_stack(512 << 10)
            .async_stack_size(2 << 20)
            .memory_init_cow(true);
        if pooled {
            config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool()));
        }
        config
    })
}

fn pool() -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(MAX_CALLS * 2)
        .total_stacks(MAX_CALLS * 2)
        // A component of an interpreter has a dozen modules and more.
        .total_core_instances(MAX_CALLS * 32)
        .max_core_instances_per_component(100)
        .total_memories(MAX_CALLS * 4)
        .max_memories_per_component(8)
        .total_tables(MAX_CALLS * 16)
        .max_tables_per_component(32)
        .table_elements(100_000)
        .max_component_instance_size(4 << 20)
        .max_core_instance_size(4 << 20)
        .max_memory_size(4 << 30)
        // What small guests touch stays mapped between calls and is reset by hand, which is quicker
        // than giving pages back to the kernel and faulting them in again. The kernel tells which
        // pages those are (Linux 6.7); a guest's data lies behind its stack of a megabyte.
        .linear_memory_keep_resident(4 << 20)
        .pagemap_scan(Enabled::Auto)
        .table_keep_resident(32 << 10)
        .async_stack_keep_resident(16 << 10)
        .max_unused_warm_slots(MAX_CALLS);
    pool
}

/// Advances the engine's epoch while calls run, and sleeps while none does.
#[derive(Debug)]
pub(super) struct Ticker {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    running: usize,
    started: bool,
    closed: bool,
}

impl Ticker {
    pub(super) fn new() -> Self {
        Self { shared: Arc::default() }
    }

    /// Keeps the clock ticking until the guard is dropped.
    pub(super) fn running(&self, engine: &Engine) -> Running {
        let mut state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.running += 1;
        if !state.started {
            state.started = true;
            let (shared, weak) = (Arc::clone(&self.shared), engine.weak());
            // The thread holds the engine weakly: it ends with it and never keeps it alive.
            let spawned = std::thread::Builder::new().name("epoch".into()).spawn(move || {
                while shared.wait_until_running() {
                    std::thread::sleep(TICK);
                    match weak.upgrade() {
                        Some(engine) => engine.increment_epoch(),
                        None => return,
                    }
                }
            });
            // Without a thread there is no clock; the next call tries again.
            state.started = spawned.is_ok();
        } else if state.running == 1 {
            self.shared.changed.notify_one();
        }
        Running { shared: Arc::clone(&self.shared) }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.shared.changed.notify_one();
    }
}

impl Shared {
    fn wait_until_running(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = |state: &mut State| state.running == 0 && !state.closed;
        let state = self.changed.wait_while(state, idle).unwrap_or_else(PoisonError::into_inner);
        !state.closed
    }
}

/// While this lives, the epoch advances.
#[derive(Debug)]
pub(super) struct Running {
    shared: Arc<Shared>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner).running -= 1;
    }
}
