//! Assembly: the only floor that knows every concrete type. Nothing here decides anything; it
//! builds what the settings say and hands it to whoever runs it.

mod access;
mod administer;
mod bash;
mod consent;
mod doctor;
mod lockfile;
mod network;
mod plugins;
mod prompt;
mod service;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;

use crate::config::Settings;
use crate::journal::{Journal, UndoStore};
use crate::sandbox::{self, Compiler, Runtime};
use crate::tool::{Approver, DenyAll, PathScope, Registry};
use crate::workspace::Workdir;

pub use administer::{
    Checked, Regranted, Trial, check_plugin, grant_plugin, revoke_plugin, try_plugin,
};
pub use bash::{BashState, allowlist};
pub use consent::{Consent, ConsentRequest, Off};
pub use doctor::{Check, CheckState, doctor};
pub use plugins::{PluginState, PluginStatus};
pub use service::provider;
pub use watch::Watch;

use plugins::Loader;
use watch::Snapshot;

/// A workdir with the tools over it.
#[derive(Debug)]
pub struct Host {
    workdir: Workdir,
    registry: Arc<Registry>,
    plugins: Vec<PluginStatus>,
    bash: BashState,
    notices: Vec<String>,
    loader: Arc<Loader>,
    found: Snapshot,
    prompt: String,
    undo: Arc<UndoStore>,
}

impl Host {
    /// Opens the workdir and loads every plugin. A plugin that does not load is in
    /// [`Self::plugins`] with its reason; an error means that nothing can run.
    pub fn open(settings: &Settings) -> anyhow::Result<Self> {
        Self::open_asking(settings, Arc::new(DenyAll))
    }

    /// The same with somebody who can be asked before something is done.
    pub fn open_asking(settings: &Settings, approver: Arc<dyn Approver>) -> anyhow::Result<Self> {
        Self::open_with(settings, approver, None)
    }

    /// The same with somebody who is asked, now, about plugins that want more than they have.
    pub fn open_with(
        settings: &Settings,
        approver: Arc<dyn Approver>,
        consent: Option<&dyn Consent>,
    ) -> anyhow::Result<Self> {
        let workdir = Workdir::open(&settings.workdir.value, &settings.wide_rule())?;
        let runtime = runtime(settings)?;
        let scope = PathScope::new(
            workdir.path().to_owned(),
            workdir.spellings(),
            access::absolute_grants(settings),
        );
        let scope = scope.resolving(real_path_in(&workdir));
        let registry = Arc::new(Registry::new().with_paths(scope));
        let undo = Arc::new(UndoStore::new(settings.undo_limit));
        let loader = Arc::new(Loader::new(settings, &workdir, &runtime, &registry, &undo));
        // Taken before loading: what changes meanwhile is seen as a change later.
        let found = Snapshot::take(&loader);
        let outcomes = loader.load_all(consent).context("the plugins cannot be loaded")?;
        let mut plugins = Vec::with_capacity(outcomes.len());
        let mut notices = Vec::new();
        for (status, lines) in outcomes {
            let name = crate::text::escape_line(&status.name);
            notices.extend(lines.into_iter().map(|line| format!("plugin `{name}` {line}")));
            plugins.push(status);
        }
        let bash = bash::offer(settings, &workdir, &registry, approver)?;
        let prompt = prompt::system_prompt(&workdir, bash.line());
        Ok(Self { workdir, registry, plugins, bash, notices, loader, found, prompt, undo })
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

    /// Whether commands can be run, and how far they are confined.
    pub fn bash(&self) -> &BashState {
        &self.bash
    }

    /// Keeps what this session leaves behind in its folder, from now on: the old states of what
    /// its tools change, and what its commands print. The folder is made when it is needed.
    pub fn keep_in(&self, journal: &Journal) {
        let folder = journal.path().with_extension("");
        if let BashState::Offered(shell) = &self.bash {
            shell.keep_in(folder.clone());
        }
        self.undo.attach(folder);
    }

    /// Lines for the user about what was loaded, escaped.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// From now on follows what happens in the plugin directory, until the result is dropped.
    /// Returns at once; `tell` is called from another thread with lines for the user.
    pub fn watch(&mut self, tell: impl Fn(&str) + Send + 'static) -> Watch {
        let before = std::mem::take(&mut self.found);
        watch::start(Arc::clone(&self.loader), before, Box::new(tell))
    }

    pub fn system_prompt(&self) -> &str {
        &self.prompt
    }
}

/// A sandbox runtime that compiles in a child of this binary and keeps the result.
fn runtime(settings: &Settings) -> anyhow::Result<Arc<Runtime>> {
    let compiler = match own_binary() {
        Some(program) => Compiler::Child { program, time_limit: std::time::Duration::from_mins(1) },
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
