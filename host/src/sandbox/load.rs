//! From a file to a plugin whose tools are known: read, recognised, compiled, asked.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use thiserror::Error;
use tokio_util::sync::CancellationToken;
use wasmtime::component::Component;

use crate::model::ToolSpec;
use crate::policy::{BadManifest, Manifest};
use crate::text::escape_line;

use super::cache::Stamp;
use super::compile::CompileError;
use super::contract::{self, BadTools};
use super::guard::Rules;
use super::hash::sha256_hex;
use super::imports;
use super::kind::{NotAComponent, expect_component};
use super::manifest;
use super::run::{self, Surroundings};
use super::{Prepared, Runtime};

/// The time that a plugin has to say which tools it offers.
const LISTING_TIME: Duration = Duration::from_secs(5);

/// Where a component comes from.
#[derive(Debug, Clone)]
pub enum Source {
    /// Part of the binary.
    Embedded {
        wasm: &'static [u8],
        sha256: &'static str,
    },
    File(PathBuf),
}

/// Why a plugin is not there. The texts carry the whole chain of causes.
#[derive(Debug, Error)]
pub enum LoadError {
    #[error("cannot read it: {0}")]
    Read(#[from] std::io::Error),
    #[error("it is {size} bytes large; at most {limit} are loaded (setting `max_wasm`)")]
    TooLarge { size: u64, limit: u64 },
    #[error(transparent)]
    Kind(#[from] NotAComponent),
    #[error(transparent)]
    Compile(#[from] CompileError),
    #[error("it needs what this host does not have: {0}")]
    Imports(String),
    #[error(
        "it exports no `clawhold:tool/tools@0.1.0`, so it offers no tools; see docs/plugin-guide.md"
    )]
    NotAPlugin,
    #[error("it cannot be linked: {0}")]
    Link(String),
    #[error("asking it for its tools failed: {0}")]
    Listing(String),
    #[error("its tools are not accepted: {0}")]
    Tools(#[from] BadTools),
    #[error("{place} is not accepted: {why}")]
    Manifest { place: String, why: BadManifest },
    #[error("it offers other tools each time it is asked, so nobody could know what is approved")]
    Unsteady,
}

/// A component whose tools are known. The machine code is loaded at the first call.
pub struct Plugin {
    pub name: String,
    /// Hash of the component, in hexadecimal.
    pub sha256: String,
    pub source: Source,
    pub tools: Vec<ToolSpec>,
    /// What it declares: the side-car's word where there is one, else the component's own.
    pub manifest: Option<Manifest>,
    runtime: Arc<Runtime>,
    prepared: Mutex<Option<Prepared>>,
}

impl std::fmt::Debug for Plugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plugin")
            .field("name", &self.name)
            .field("sha256", &self.sha256)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

impl Plugin {
    /// Loads the plugin `name`. Takes milliseconds from the cache, and as long as compiling takes
    /// otherwise.
    pub fn load(runtime: &Arc<Runtime>, name: &str, source: Source) -> Result<Self, LoadError> {
        let (wasm, sha256) = match &source {
            Source::Embedded { wasm, sha256 } => (Some((*wasm).into()), (*sha256).to_owned()),
            Source::File(path) => identify(runtime, path)?,
        };
        let known = runtime.cache.as_ref().and_then(|cache| cache.find(&sha256));
        let beside = match &source {
            Source::Embedded { .. } => None,
            Source::File(path) => manifest::beside(path)?,
        };
        let (tools, embedded, prepared) = match known.filter(|entry| entry.name == name) {
            Some(entry) => (entry.tools, entry.manifest, None),
            None => {
                let wasm: std::borrow::Cow<'_, [u8]> = match wasm {
                    Some(wasm) => wasm,
                    None => read(runtime, &source)?.into(),
                };
                let (tools, manifest, prepared) = first_sight(runtime, name, &wasm, &sha256)?;
                (tools, manifest, Some(prepared))
            }
        };
        let runtime = Arc::clone(runtime);
        let prepared = Mutex::new(prepared);
        let manifest = beside.or(embedded);
        Ok(Self { name: name.to_owned(), sha256, source, tools, manifest, runtime, prepared })
    }

    pub(super) fn runtime(&self) -> &Arc<Runtime> {
        &self.runtime
    }

    /// The code, ready to be instantiated.
    pub(super) fn prepared(&self) -> Result<Prepared, LoadError> {
        let mut slot = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(prepared) = slot.as_ref() {
            return Ok(prepared.clone());
        }
        let cached = self.runtime.cache.as_ref().and_then(|cache| {
            cache.find(&self.sha256)?;
            deserialize(&self.runtime, &cache.code_path(&self.sha256)).ok()
        });
        let component = match cached {
            Some(component) => component,
            // The cache was cleared while we ran: make the code again, of the same component.
            None => {
                let wasm = read(&self.runtime, &self.source)?;
                if sha256_hex(&wasm) != self.sha256 {
                    let changed = "the file has been replaced since it was loaded";
                    return Err(LoadError::Read(std::io::Error::other(changed)));
                }
                let code = self.runtime.compiler.compile(&self.runtime.engine, &wasm)?;
                from_code(&self.runtime, &code)?
            }
        };
        let prepared = prepare(&self.runtime, &component)?;
        *slot = Some(prepared.clone());
        Ok(prepared)
    }
}

type Bytes = Option<std::borrow::Cow<'static, [u8]>>;

/// The hash of a file, and its bytes where they had to be read for it.
fn identify(runtime: &Runtime, path: &Path) -> Result<(Bytes, String), LoadError> {
    let metadata = std::fs::metadata(path)?;
    let stamp = Stamp::from_metadata(&metadata);
    if let Some(cache) = &runtime.cache
        && let Some(sha256) = cache.known_hash(path, &stamp)
    {
        return Ok((None, sha256));
    }
    let wasm = read_file(runtime, path)?;
    let sha256 = sha256_hex(&wasm);
    if let Some(cache) = &runtime.cache {
        // Only a note for the next start; without it the file is read again.
        let _ = cache.note_hash(path, stamp, &sha256);
    }
    Ok((Some(wasm.into()), sha256))
}

fn read(runtime: &Runtime, source: &Source) -> Result<Vec<u8>, LoadError> {
    match source {
        Source::Embedded { wasm, .. } => Ok(wasm.to_vec()),
        Source::File(path) => read_file(runtime, path),
    }
}

pub(super) fn read_file(runtime: &Runtime, path: &Path) -> Result<Vec<u8>, LoadError> {
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(LoadError::Read(std::io::Error::other("it is not a regular file")));
    }
    if metadata.len() > runtime.max_wasm {
        return Err(LoadError::TooLarge { size: metadata.len(), limit: runtime.max_wasm });
    }
    Ok(std::fs::read(path)?)
}

/// Compiles a component that the cache does not know, asks it for its tools, and keeps both.
fn first_sight(
    runtime: &Arc<Runtime>,
    name: &str,
    wasm: &[u8],
    sha256: &str,
) -> Result<(Vec<ToolSpec>, Option<Manifest>, Prepared), LoadError> {
    expect_component(wasm, wasmtime::Engine::detect_precompiled(wasm).is_some())?;
    let manifest = manifest::embedded(wasm)?;
    let code = runtime.compiler.compile(&runtime.engine, wasm)?;
    let component = from_code(runtime, &code)?;
    let prepared = prepare(runtime, &component)?;
    let tools = list(runtime, name, &prepared)?;
    if let Some(cache) = &runtime.cache {
        // A cache that cannot be written costs time at the next start, nothing else.
        let _ = cache.keep(sha256, &code, name, &tools, manifest.as_ref());
    }
    Ok((tools, manifest, prepared))
}

pub(super) fn prepare(runtime: &Runtime, component: &Component) -> Result<Prepared, LoadError> {
    let problems = imports::problems(&runtime.engine, component);
    if !problems.is_empty() {
        return Err(LoadError::Imports(problems.join("; ")));
    }
    if !imports::exports_tools(&runtime.engine, component) {
        return Err(LoadError::NotAPlugin);
    }
    let chain = |error: wasmtime::Error| LoadError::Link(escape_line(&format!("{error:#}")));
    let instance = runtime.linker.instantiate_pre(component).map_err(chain)?;
    Prepared::new(instance).map_err(chain)
}

/// Asks for the tools, and once more: what is approved must be what is offered later.
pub(super) fn list(
    runtime: &Arc<Runtime>,
    name: &str,
    prepared: &Prepared,
) -> Result<Vec<ToolSpec>, LoadError> {
    let tools = list_once(runtime, name, prepared)?;
    if list_once(runtime, name, prepared)? != tools {
        return Err(LoadError::Unsteady);
    }
    Ok(tools)
}

fn list_once(
    runtime: &Arc<Runtime>,
    name: &str,
    prepared: &Prepared,
) -> Result<Vec<ToolSpec>, LoadError> {
    let deadline = Instant::now() + LISTING_TIME;
    let surroundings = Surroundings::bare(Arc::new(Rules::nothing()));
    let cancel = CancellationToken::new();
    let specs = run::list_tools(runtime, prepared, &surroundings, deadline, &cancel)
        .map_err(|why| LoadError::Listing(escape_line(&why)))?;
    Ok(contract::tools(name, specs)?)
}

/// Loads machine code that the compiler of this process has just made.
#[expect(unsafe_code, reason = "see the comment at the call")]
pub(super) fn from_code(runtime: &Runtime, code: &[u8]) -> Result<Component, LoadError> {
    // SAFETY: the bytes come from our own compiler, in this process or in a child of the same
    // binary over a pipe that nobody else holds; nothing has stored them in between. wasmtime
    // itself checks that they were made by this version with this configuration.
    let component = unsafe { Component::deserialize(&runtime.engine, code) };
    component.map_err(|error| LoadError::Link(format!("{error:#}")))
}

/// Loads machine code from the cache.
#[expect(unsafe_code, reason = "see the comment at the call")]
fn deserialize(runtime: &Runtime, path: &Path) -> Result<Component, LoadError> {
    // SAFETY: `Cache::find` has just found that the file lies in a directory that only this user
    // can enter, and that it is the very file that we wrote there: same inode, size and times of
    // change, or else the same hash. wasmtime checks version and configuration.
    let component = unsafe { Component::deserialize_file(&runtime.engine, path) };
    component.map_err(|error| LoadError::Link(format!("{error:#}")))
}
