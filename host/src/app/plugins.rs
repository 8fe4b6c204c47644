//! From files and grants to registered tools.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::network;
use crate::config::Settings;
use crate::journal::UndoStore;
use crate::policy::Grant;
use crate::sandbox::{
    self, Access, Limits, Plugin, Root, Rules, Runtime, STANDARD_NAME, Seen, standard_plugin,
};
use crate::tool::Registry;
use crate::workspace::Workdir;

/// Bytes that one call may write, unless granted otherwise.
const QUOTA: u64 = 1 << 30;
/// Files and directories that one call may hold open.
const MAX_OPEN: usize = 128;

/// What became of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginState {
    Loaded,
    /// Switched off by the user.
    Disabled,
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
    pub state: PluginState,
}

/// Loads the standard plugin and those of the plugin directory and registers their tools. The
/// standard plugin has the first right to its names, then the files in the order of their names.
pub(super) fn load(
    settings: &Settings,
    workdir: &Workdir,
    runtime: &Arc<Runtime>,
    registry: &Registry,
    undo: &Arc<UndoStore>,
) -> anyhow::Result<Vec<PluginStatus>> {
    let place = Place {
        settings,
        workdir,
        off_limits: off_limits(settings, workdir),
        umask: umask(),
        secret_files: &settings.secret_files,
        seen: Arc::default(),
        undo: Arc::clone(undo),
    };
    let mut owners = BTreeMap::new();
    let mut statuses = Vec::new();

    let grant = grant_for(settings, STANDARD_NAME);
    let standard = if grant.enabled {
        let loaded = standard_plugin(runtime).map(Arc::new).map_err(|error| error.to_string());
        place.register(registry, loaded, STANDARD_NAME, "embedded", &grant, &mut owners)
    } else {
        disabled(STANDARD_NAME, "embedded")
    };
    statuses.push(standard);

    let (enabled, off): (Vec<_>, Vec<_>) = sandbox::files(&settings.paths.plugins_dir)?
        .into_iter()
        .partition(|(name, _)| grant_for(settings, name).enabled);
    statuses.extend(off.iter().map(|(name, path)| disabled(name, &path.display().to_string())));
    for found in sandbox::load_all(runtime, enabled) {
        let grant = grant_for(settings, &found.name);
        let source = found.path.display().to_string();
        let loaded = found.plugin.map_err(|error| error.to_string());
        statuses.push(place.register(registry, loaded, &found.name, &source, &grant, &mut owners));
    }
    Ok(statuses)
}

/// Absolute directories outside the workdir that some plugin was granted.
pub(super) fn absolute_grants(settings: &Settings) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = settings
        .plugins
        .values()
        .flat_map(|grant| grant.read_dirs().into_iter().chain(grant.write_dirs(false)))
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .collect();
    paths.sort();
    paths.dedup();
    paths
}

fn grant_for(settings: &Settings, name: &str) -> Grant {
    settings.plugins.get(name).cloned().unwrap_or_default()
}

fn disabled(name: &str, source: &str) -> PluginStatus {
    status(name, source, None, Vec::new(), PluginState::Disabled)
}

fn status(
    name: &str,
    source: &str,
    plugin: Option<&Plugin>,
    tools: Vec<String>,
    state: PluginState,
) -> PluginStatus {
    let version = (name == STANDARD_NAME).then(|| env!("CARGO_PKG_VERSION").to_owned());
    PluginStatus {
        name: name.to_owned(),
        version,
        source: source.to_owned(),
        sha256: plugin.map(|plugin| plugin.sha256.clone()),
        tools,
        state,
    }
}

/// Where the tools are put to work.
struct Place<'a> {
    settings: &'a Settings,
    workdir: &'a Workdir,
    off_limits: Vec<PathBuf>,
    umask: u32,
    secret_files: &'a [String],
    /// One memory of what was read serves all plugins of the session.
    seen: Arc<Seen>,
    undo: Arc<UndoStore>,
}

impl Place<'_> {
    fn register(
        &self,
        registry: &Registry,
        loaded: Result<Arc<Plugin>, String>,
        name: &str,
        source: &str,
        grant: &Grant,
        owners: &mut BTreeMap<String, String>,
    ) -> PluginStatus {
        let refused = |why: String| status(name, source, None, Vec::new(), PluginState::Refused(vec![why]));
        if source != "embedded" && name == STANDARD_NAME {
            return refused(format!("`{name}` is the name of the standard plugin; rename the file"));
        }
        let plugin = match loaded {
            Ok(plugin) => plugin,
            Err(why) => return refused(why),
        };
        let rules = match self.rules(grant, name == STANDARD_NAME) {
            Ok(rules) => rules,
            Err(why) => return refused(why),
        };
        let http = match network::access(self.settings, name, grant) {
            Ok(http) => http,
            Err(why) => return refused(why),
        };
        let access = Access {
            rules: Arc::new(rules),
            http,
            limits: limits(grant),
            environment: Vec::new(),
            settings: grant.settings.clone(),
        };
        let tools = sandbox::tools(&plugin, &access, |tool| grant.offers(tool));
        // A clash leaves the whole plugin out: half a plugin would be a riddle.
        let clash = tools.iter().find_map(|tool| {
            let tool = &tool.spec().name;
            owners.get(tool).map(|owner| format!("its tool `{tool}` is offered by {owner} already; rename it, or leave one out with `tools = [...]` under `[plugins.{name}]`"))
        });
        if let Some(why) = clash {
            return refused(why);
        }
        let mut names = Vec::with_capacity(tools.len());
        for tool in tools {
            let tool_name = tool.spec().name.clone();
            if let Err(error) = registry.register(tool) {
                return refused(error.to_string());
            }
            owners.insert(tool_name.clone(), format!("`{name}` ({source})"));
            names.push(tool_name);
        }
        status(name, source, Some(&plugin), names, PluginState::Loaded)
    }

    /// The directories of `grant`, opened.
    fn rules(&self, grant: &Grant, standard: bool) -> Result<Rules, String> {
        let write = grant.write_dirs(standard);
        let mut names = grant.read_dirs();
        names.extend(write.iter().copied().filter(|dir| !grant.read_dirs().contains(dir)));
        let mut roots = Vec::with_capacity(names.len());
        for name in names {
            roots.push(self.root(name, write.contains(&name))?);
        }
        Ok(Rules {
            roots,
            off_limits: self.off_limits.clone(),
            quota: QUOTA,
            max_open: MAX_OPEN,
            umask: self.umask,
            secret_files: self.secret_files.to_vec(),
            seen: Arc::clone(&self.seen),
            undo: Arc::clone(&self.undo),
        })
    }

    fn root(&self, name: &str, writable: bool) -> Result<Root, String> {
        let failed = |error: std::io::Error| format!("the granted directory `{name}` cannot be opened: {error}");
        let path = Path::new(name);
        let (dir, real) = if name == "." {
            (Arc::clone(self.workdir.dir()), self.workdir.path().to_owned())
        } else if path.is_absolute() {
            let real = path.canonicalize().map_err(failed)?;
            (Arc::new(Dir::open_ambient_dir(&real, ambient_authority()).map_err(failed)?), real)
        } else {
            let inside = self.workdir.dir().canonicalize(path).map_err(failed)?;
            let dir = self.workdir.dir().open_dir(&inside).map_err(failed)?;
            (Arc::new(dir), self.workdir.path().join(inside))
        };
        Ok(Root { dir, real, guest_name: name.to_owned(), writable })
    }
}

/// The host's limits, lowered where the user says so and raised where the user says so: both are
/// the user's word, and zero has been refused when it was read.
fn limits(grant: &Grant) -> Limits {
    let standard = Limits::default();
    let size = |bytes: Option<u64>, default: usize| {
        bytes.map_or(default, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX))
    };
    Limits {
        memory: size(grant.limits.memory, standard.memory),
        timeout: grant.limits.timeout.unwrap_or(standard.timeout),
        output: size(grant.limits.output, standard.output),
    }
}

/// Our own directories, of which a wide workdir or a generous grant may hold some.
fn off_limits(settings: &Settings, workdir: &Workdir) -> Vec<PathBuf> {
    let mut ours = settings.paths.ours();
    ours.push(settings.sessions.value.clone());
    let roots = absolute_grants(settings);
    ours.into_iter()
        .map(|path| path.canonicalize().unwrap_or(path))
        .filter(|path| path.starts_with(workdir.path()) || roots.iter().any(|root| path.starts_with(root)))
        .collect()
}

/// The mask of this process. Asked of the kernel's own record, because the system call for it can
/// only be asked by changing it, for all threads.
fn umask() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let octal = status.lines().find_map(|line| line.strip_prefix("Umask:")).map(str::trim);
    octal.and_then(|octal| u32::from_str_radix(octal, 8).ok()).unwrap_or(0o022)
}
