//! Where plugins run. Each call has a fresh store and a fresh instance; nothing survives it but
//! the files that it was allowed to write.

mod bindings;
mod cache;
mod compile;
mod contract;
mod discover;
mod drive;
mod engine;
mod failure;
mod guard;
mod hash;
mod host_calls;
mod http;
mod imports;
mod inspect;
mod kind;
mod limits;
mod link;
mod load;
mod manifest;
mod output;
mod plugin_tool;
mod run;
mod standard;
mod state;
mod try_out;
mod wasi;
mod workers;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use wasmtime::Engine;
use wasmtime::component::Linker;

pub use compile::{CHILD_ARGUMENT, CompileError, Compiler, child_main};
pub use contract::BadTools;
pub use discover::{Found, files, load_all};
pub use guard::{Root, Rules, Seen};
pub use http::{HttpAccess, Lookup, Proxies};
pub use imports::{CONTRACT_VERSION, ImportState};
pub use inspect::{Fault, Import, Inspection, inspect};
pub use kind::NotAComponent;
pub use load::{LoadError, Plugin, Source};
pub use manifest::{MANIFEST_SECTION, side_car};
pub use plugin_tool::{Access, tools};
pub use standard::{STANDARD_NAME, is_standard, standard_plugin};
pub use try_out::{Asked, Tried, try_out};

use cache::Cache;
use engine::{MAX_CALLS, Ticker};
use state::CallState;
use workers::Workers;

/// A linked component, ready for instances.
type Prepared = bindings::ToolPluginPre<CallState>;

/// What the runtime is built with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where compiled plugins are kept; none compiles them at each start.
    pub cache: Option<PathBuf>,
    pub compiler: Compiler,
    /// Bytes of the largest component that is loaded.
    pub max_wasm: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { cache: None, compiler: Compiler::InProcess, max_wasm: 64 << 20 }
    }
}

/// What one call may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of linear memory, all memories together.
    pub memory: usize,
    pub timeout: Duration,
    /// Bytes of content in a result.
    pub output: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory: 256 << 20, timeout: Duration::from_mins(1), output: 1 << 20 }
    }
}

/// The engine and everything that all plugins share.
pub struct Runtime {
    engine: Engine,
    linker: Linker<CallState>,
    ticker: Ticker,
    workers: Workers,
    slots: Arc<Semaphore>,
    cache: Option<Cache>,
    cache_trouble: Option<String>,
    compiler: Compiler,
    max_wasm: u64,
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime")
            .field("cache", &self.cache)
            .field("compiler", &self.compiler)
            .finish_non_exhaustive()
    }
}

impl Runtime {
    /// An error means that this machine cannot run WebAssembly at all.
    pub fn new(settings: Settings) -> Result<Arc<Self>, wasmtime::Error> {
        let engine = engine::new_engine()?;
        let linker = link::new_linker(&engine)?;
        let opened = settings.cache.map(|dir| Cache::open(&dir, &fingerprint(&engine)));
        let (cache, cache_trouble) = match opened {
            None => (None, None),
            Some(Ok(cache)) => (Some(cache), None),
            // Slower, never less safe: everything is compiled at each start.
            Some(Err(error)) => (None, Some(error.to_string())),
        };
        Ok(Arc::new(Self {
            engine,
            linker,
            ticker: Ticker::new(),
            workers: Workers::new(MAX_CALLS as usize),
            slots: Arc::new(Semaphore::new(MAX_CALLS as usize)),
            cache,
            cache_trouble,
            compiler: settings.compiler,
            max_wasm: settings.max_wasm,
        }))
    }

    /// Why there is no cache although one was asked for.
    pub fn cache_trouble(&self) -> Option<&str> {
        self.cache_trouble.as_deref()
    }
}

/// Names the engine's version and configuration.
fn fingerprint(engine: &Engine) -> String {
    use std::hash::{DefaultHasher, Hash, Hasher};

    let mut hasher = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    env!("CARGO_PKG_VERSION").hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
