//! From files and grants to registered tools, at the start and whenever a file changes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::config::{Narrowing, Settings};
use crate::journal::UndoStore;
use crate::policy::{Effective, Grant, effective};
use crate::sandbox::{self, Plugin, Runtime, STANDARD_NAME, Source, standard_plugin};
use crate::tool::{Registry, Tool};
use crate::workspace::Workdir;

use super::access::{Place, host_ceiling};
use super::consent::{Candidate, Consent, Off, Settled, settle};
use super::lockfile::Lockfile;

/// Names of the host's own tools and of the standard plugin's. A plugin that took one would be
/// mistaken for them, also where they are switched off.
const RESERVED: &[&str] = &[
    "bash",
    "kill_process",
    "process_output",
    "todo",
    "task",
    "load_skill",
    "find_tools",
    "read_file",
    "write_file",
    "edit_file",
    "list_dir",
    "glob",
    "grep",
];

/// What became of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginState {
    Loaded,
    /// Switched off by the user.
    Disabled,
    /// It would load, and waits for the user's word.
    Off(Off),
    /// Not loaded; the causes from the outermost to the root.
    Refused(Vec<String>),
}

/// One plugin as `claw plugin list` shows it.
#[derive(Debug, Clone)]
pub struct PluginStatus {
    pub name: String,
    pub version: Option<String>,
    /// `embedded`, or the path of the file.
    pub source: String,
    pub sha256: Option<String>,
    /// The tools that it offers here.
    pub tools: Vec<String>,
    /// What it may do here; none where it is not known.
    pub effective: Option<Effective>,
    pub state: PluginState,
}

/// Everything that it takes to put a plugin to work, now or later.
#[derive(Debug)]
pub(super) struct Loader {
    settings: Settings,
    place: Place,
    runtime: Arc<Runtime>,
    registry: Arc<Registry>,
    /// Of each tool, the plugin and where that comes from.
    owners: Mutex<BTreeMap<String, (String, String)>>,
    /// Grants that were made while this process ran.
    granted: Mutex<BTreeMap<String, Grant>>,
}

/// A plugin's fate and what the user should hear of it.
pub(super) type Outcome = (PluginStatus, Vec<String>);

impl Loader {
    pub(super) fn new(
        settings: &Settings,
        workdir: &Workdir,
        runtime: &Arc<Runtime>,
        registry: &Arc<Registry>,
        undo: &Arc<UndoStore>,
    ) -> Self {
        Self {
            settings: settings.clone(),
            place: Place::new(settings, workdir, undo),
            runtime: Arc::clone(runtime),
            registry: Arc::clone(registry),
            owners: Mutex::default(),
            granted: Mutex::default(),
        }
    }

    pub(super) fn directory(&self) -> &Path {
        &self.settings.paths.plugins_dir
    }

    /// Loads the standard plugin and those of the plugin directory and registers their tools. The
    /// standard plugin has the first right to its names, then the files in the order of their
    /// names.
    pub(super) fn load_all(&self, consent: Option<&dyn Consent>) -> anyhow::Result<Vec<Outcome>> {
        let mut outcomes = vec![self.load_standard()];
        let files = sandbox::files(self.directory())?;
        if files.is_empty() {
            return Ok(outcomes);
        }
        let lock = Lockfile::read(&self.settings.paths.lock_file);
        let (enabled, off): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|(name, _)| self.grant(name).enabled);
        outcomes.extend(off.iter().map(|(name, path)| {
            let state = PluginState::Disabled;
            (status(name, &path.display().to_string(), None, None, state), Vec::new())
        }));
        for found in sandbox::load_all(&self.runtime, enabled) {
            let loaded = found.plugin.map_err(|error| error.to_string());
            outcomes.push(self.admit(&found.name, &found.path, loaded, &lock, consent));
        }
        Ok(outcomes)
    }

    /// Loads the file of the plugin `name` again, or for the first time, in a running session. A
    /// fate other than loaded leaves what served before.
    pub(super) fn reload(&self, name: &str, path: &Path) -> Outcome {
        if !self.grant(name).enabled {
            let source = path.display().to_string();
            return (status(name, &source, None, None, PluginState::Disabled), Vec::new());
        }
        let lock = Lockfile::read(&self.settings.paths.lock_file);
        let loaded = Plugin::load(&self.runtime, name, Source::File(path.to_owned()));
        let loaded = loaded.map(Arc::new).map_err(|error| error.to_string());
        self.admit(name, path, loaded, &lock, None)
    }

    /// Takes the tools of a plugin out; how many there were.
    pub(super) fn unload(&self, name: &str) -> usize {
        let mut owners = self.owners();
        let tools = owned(&owners, name);
        for tool in &tools {
            self.registry.remove(tool);
            owners.remove(tool);
        }
        tools.len()
    }

    /// Whether the plugin has tools that can be called.
    pub(super) fn serves(&self, name: &str) -> bool {
        !owned(&self.owners(), name).is_empty()
    }

    fn load_standard(&self) -> Outcome {
        let (name, source) = (STANDARD_NAME, "embedded");
        let grant = self.settings.grant(name, true);
        if !grant.enabled {
            return (status(name, source, None, None, PluginState::Disabled), Vec::new());
        }
        let plugin = match standard_plugin(&self.runtime) {
            Ok(plugin) => Arc::new(plugin),
            Err(error) => return refused(name, source, None, error.to_string()),
        };
        let effective = effective(plugin.manifest.as_ref(), &grant, host_ceiling(), true);
        self.put_to_work(&plugin, source, &grant, effective, Vec::new())
    }

    fn admit(
        &self,
        name: &str,
        path: &Path,
        loaded: Result<Arc<Plugin>, String>,
        lock: &Lockfile,
        consent: Option<&dyn Consent>,
    ) -> Outcome {
        let source = path.display().to_string();
        if name == STANDARD_NAME {
            let why = format!("`{name}` is the name of the standard plugin; rename the file");
            return refused(name, &source, None, why);
        }
        let plugin = match loaded {
            Ok(plugin) => plugin,
            Err(why) => return refused(name, &source, None, why),
        };
        let mut grant = self.grant(name);
        let mut effective = effective(plugin.manifest.as_ref(), &grant, host_ceiling(), false);
        // A name that cannot be had is said before anybody is asked for anything.
        if let Some(why) = self.clash(&plugin, &grant) {
            return refused(name, &source, Some(&plugin), why);
        }
        let candidate =
            Candidate { plugin: &plugin, source: &source, grant: &grant, effective: &effective };
        match settle(&candidate, &self.settings, lock, consent) {
            Settled::Off(off) => {
                let state = PluginState::Off(off);
                (status(name, &source, Some(&plugin), Some(effective), state), Vec::new())
            }
            Settled::Load { granted, notices } => {
                if let Some(wider) = granted {
                    let mut granted = self.granted.lock().unwrap_or_else(PoisonError::into_inner);
                    granted.insert(name.to_owned(), wider);
                    drop(granted);
                    grant = self.grant(name);
                    effective = crate::policy::effective(
                        plugin.manifest.as_ref(),
                        &grant,
                        host_ceiling(),
                        false,
                    );
                }
                self.put_to_work(&plugin, &source, &grant, effective, notices)
            }
        }
    }

    /// Registers the tools of a plugin that may be loaded, in place of those that it had.
    fn put_to_work(
        &self,
        plugin: &Arc<Plugin>,
        source: &str,
        grant: &Grant,
        effective: Effective,
        mut notices: Vec<String>,
    ) -> Outcome {
        let name = plugin.name.as_str();
        let access = match self.place.access(name, &effective, &self.settings) {
            Ok(access) => access,
            Err(why) => return refused(name, source, Some(plugin), why),
        };
        let void = effective.warnings.iter();
        notices.extend(void.map(|line| format!("has a grant without effect: {line}")));
        let tools = sandbox::tools(plugin, &access, |tool| grant.offers(tool));
        let state = match self.register(name, source, &tools) {
            Ok(()) => PluginState::Loaded,
            Err(why) => return refused(name, source, Some(plugin), why),
        };
        let mut status = status(name, source, Some(plugin), Some(effective), state);
        status.tools = tools.iter().map(|tool| tool.spec().name.clone()).collect();
        (status, notices)
    }

    fn register(&self, name: &str, source: &str, tools: &[Arc<dyn Tool>]) -> Result<(), String> {
        let mut owners = self.owners();
        let old = owned(&owners, name);
        for tool in tools {
            let tool_name = tool.spec().name.clone();
            // What the plugin has already it may replace; nobody else's.
            let put = if old.contains(&tool_name) {
                self.registry.replace(Arc::clone(tool))
            } else {
                self.registry.register(Arc::clone(tool))
            };
            put.map_err(|error| error.to_string())?;
            owners.insert(tool_name, (name.to_owned(), source.to_owned()));
        }
        for gone in old.iter().filter(|old| !tools.iter().any(|tool| tool.spec().name == **old)) {
            self.registry.remove(gone);
            owners.remove(gone);
        }
        Ok(())
    }

    /// Why a tool of `plugin` cannot have its name. A clash leaves the whole plugin out: half a
    /// plugin would be a riddle.
    fn clash(&self, plugin: &Plugin, grant: &Grant) -> Option<String> {
        let name = &plugin.name;
        let mend =
            format!("rename it, or leave it out with `tools = [...]` under `[plugins.{name}]`");
        let owners = self.owners();
        plugin.tools.iter().map(|tool| &tool.name).filter(|tool| grant.offers(tool)).find_map(
            |tool| {
                if reserved(tool) {
                    return Some(format!(
                        "its tool `{tool}` has a name that is reserved for the host's own; {mend}"
                    ));
                }
                let (owner, source) = owners.get(tool).filter(|(owner, _)| owner != name)?;
                Some(format!(
                    "its tool `{tool}` is offered by `{owner}` ({source}) already; {mend}"
                ))
            },
        )
    }

    /// What holds for a plugin of the directory.
    fn grant(&self, name: &str) -> Grant {
        let granted = self.granted.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(grant) = granted.get(name) else { return self.settings.grant(name, false) };
        let mut grant = grant.clone();
        let narrowing: Option<&Narrowing> =
            self.settings.project.as_ref().and_then(|project| project.plugins.get(name));
        if let Some(narrowing) = narrowing {
            narrowing.apply(&mut grant, false);
        }
        grant
    }

    fn owners(&self) -> MutexGuard<'_, BTreeMap<String, (String, String)>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether no plugin may have a tool of that name.
pub(super) fn reserved(tool: &str) -> bool {
    RESERVED.contains(&tool)
}

/// The tools of one plugin.
fn owned(owners: &BTreeMap<String, (String, String)>, name: &str) -> Vec<String> {
    owners.iter().filter(|(_, (owner, _))| owner == name).map(|(tool, _)| tool.clone()).collect()
}

fn refused(name: &str, source: &str, plugin: Option<&Plugin>, why: String) -> Outcome {
    (status(name, source, plugin, None, PluginState::Refused(vec![why])), Vec::new())
}

fn status(
    name: &str,
    source: &str,
    plugin: Option<&Plugin>,
    effective: Option<Effective>,
    state: PluginState,
) -> PluginStatus {
    let declared = plugin.and_then(|plugin| plugin.manifest.as_ref()?.version.clone());
    let version =
        if name == STANDARD_NAME { Some(env!("CARGO_PKG_VERSION").to_owned()) } else { declared };
    PluginStatus {
        name: name.to_owned(),
        version,
        source: source.to_owned(),
        sha256: plugin.map(|plugin| plugin.sha256.clone()),
        tools: Vec::new(),
        effective,
        state,
    }
}

/// The file of the plugin `name` in the plugin directory.
pub(super) fn file_of(settings: &Settings, name: &str) -> PathBuf {
    settings.paths.plugins_dir.join(format!("{name}.wasm"))
}
