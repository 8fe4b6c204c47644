//! Assembly: the only floor that knows every concrete type. Nothing here decides anything; it
//! builds what the settings say and hands it to whoever runs it.

mod doctor;
mod plugins;
mod prompt;
mod service;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;

use crate::config::Settings;
use crate::journal::{Journal, UndoStore};
use crate::sandbox::{self, Compiler, Runtime};
use crate::tool::{PathScope, Registry};
use crate::workspace::Workdir;

pub use doctor::{Check, CheckState, doctor};
pub use plugins::{PluginState, PluginStatus};
pub use service::provider;

/// A workdir with the tools over it.
#[derive(Debug)]
pub struct Host {
    workdir: Workdir,
    registry: Arc<Registry>,
    plugins: Vec<PluginStatus>,
    prompt: String,
    undo: Arc<UndoStore>,
}

impl Host {
    /// Opens the workdir and loads every plugin. A plugin that does not load is in
    /// [`Self::plugins`] with its reason; an error means that nothing can run.
    pub fn open(settings: &Settings) -> anyhow::Result<Self> {
        let workdir = Workdir::open(&settings.workdir.value, &settings.wide_rule())?;
        let runtime = runtime(settings)?;
        let scope = PathScope::new(
            workdir.path().to_owned(),
            workdir.spellings(),
            plugins::absolute_grants(settings),
        );
        let scope = scope.resolving(real_path_in(&workdir));
        let registry = Arc::new(Registry::new().with_paths(scope));
        let undo = Arc::new(UndoStore::new(settings.undo_limit));
        let plugins = plugins::load(settings, &workdir, &runtime, &registry, &undo)
            .context("the plugins cannot be loaded")?;
        let prompt = prompt::system_prompt(&workdir);
        Ok(Self { workdir, registry, plugins, prompt, undo })
    }

    pub fn workdir(&self) -> &Workdir {
        &self.workdir
    }

    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The standard plugin first, then those of the plugin directory by file name.
    pub fn plugins(&self) -> &[PluginStatus] {
        &self.plugins
    }

    /// Keeps the old states of what the tools change in the folder of the session `journal`, from
    /// now on. Before that, nothing is kept.
    pub fn keep_undo(&self, journal: &Journal) {
        self.undo.attach(journal.path().with_extension(""));
    }

    pub fn system_prompt(&self) -> &str {
        &self.prompt
    }
}

/// A sandbox runtime that compiles in a child of this binary and keeps the result.
fn runtime(settings: &Settings) -> anyhow::Result<Arc<Runtime>> {
    let compiler = match own_binary() {
        Some(program) => Compiler::Child { program, time_limit: std::time::Duration::from_secs(60) },
        None => Compiler::InProcess,
    };
    let cache = Some(settings.paths.cache_dir.clone());
    Runtime::new(sandbox::Settings { cache, compiler, ..sandbox::Settings::default() })
        .map_err(|error| anyhow::anyhow!("this machine cannot run WebAssembly: {error:#}"))
}

/// The running program, if it is `claw` itself: a program of somebody else that uses this library
/// would not know the word for compiling.
fn own_binary() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    (program.file_stem()? == "claw").then_some(program)
}

/// For conflict checks: the path behind symlinks, of what exists.
fn real_path_in(workdir: &Workdir) -> impl Fn(&str) -> Option<String> + Send + Sync + 'static {
    let dir = Arc::clone(workdir.dir());
    move |path| {
        let real = dir.canonicalize(Path::new(path)).ok()?;
        real.to_str().map(str::to_owned)
    }
}
