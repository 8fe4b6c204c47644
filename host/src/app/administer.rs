//! What the user's own commands do with plugins. Nothing that a model or a plugin can call leads
//! here.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::config::{self, GrantEdit, Settings};
use crate::policy::{Ask, Effective, Grant, effective};
use crate::sandbox::{self, Inspection, Plugin, STANDARD_NAME, Source, Tried};
use crate::text::{escape_line, nearest};

use super::access::{host_ceiling, limits};
use super::lockfile::Lockfile;
use super::{consent, plugins, runtime};

/// A plugin after its grant was changed.
#[derive(Debug)]
pub struct Regranted {
    pub effective: Effective,
    /// What it may do now, in words.
    pub may: String,
}

/// A file that was looked at, and what it would get here.
#[derive(Debug)]
pub struct Checked {
    pub name: String,
    pub inspection: Inspection,
    pub effective: Effective,
    pub may: String,
    pub grant: Grant,
}

/// Grants `edit` to the plugin `name` and approves it as it is now. An empty edit grants whatever
/// it declares. The standard plugin needs no approval.
pub fn grant_plugin(
    settings: &Settings,
    name: &str,
    mut edit: GrantEdit,
) -> anyhow::Result<Regranted> {
    let file = &settings.paths.config_file;
    let standard = name == STANDARD_NAME;
    let plugin = if standard { None } else { Some(installed(settings, name)?) };
    let manifest = match &plugin {
        Some(plugin) => plugin.manifest.clone(),
        None => Some(crate::policy::Manifest::standard()),
    };
    let decide = |grant: &Grant| effective(manifest.as_ref(), grant, host_ceiling(), standard);
    if edit.is_empty() {
        let grant = settings.plugins.get(name).cloned().unwrap_or_default();
        let asks: Vec<Ask> =
            decide(&grant).missing.into_iter().filter(Ask::needs_consent).collect();
        edit = GrantEdit::of(&asks);
    }
    config::add_grant(file, name, &edit, standard)?;
    if let Some(plugin) = &plugin {
        let lock = Lockfile::read(&settings.paths.lock_file);
        lock.pin(name, consent::pin(plugin)).map_err(anyhow::Error::msg)?;
    }
    regranted(settings, name, standard, decide)
}

/// Takes `edit` back; an empty one takes everything that was granted, and the approval too.
pub fn revoke_plugin(
    settings: &Settings,
    name: &str,
    edit: &GrantEdit,
) -> anyhow::Result<Regranted> {
    let standard = name == STANDARD_NAME;
    config::take_grant(&settings.paths.config_file, name, edit, standard)?;
    if edit.is_empty() && !standard {
        let lock = Lockfile::read(&settings.paths.lock_file);
        lock.unpin(name).map_err(anyhow::Error::msg)?;
    }
    // It may be gone already; what was granted to it is taken all the same.
    let manifest = if standard {
        Some(crate::policy::Manifest::standard())
    } else {
        installed(settings, name).ok().and_then(|plugin| plugin.manifest)
    };
    regranted(settings, name, standard, |grant| {
        effective(manifest.as_ref(), grant, host_ceiling(), standard)
    })
}

/// Looks at a file, or at the installed plugin of that name.
pub fn check_plugin(settings: &Settings, what: &Path, run: bool) -> anyhow::Result<Checked> {
    let runtime = runtime(settings)?;
    let path = found(settings, what);
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut inspection = sandbox::inspect(&runtime, &path, &name, run);
    let standard = inspection.sha256.as_deref().is_some_and(sandbox::is_standard);
    if standard {
        inspection.manifest = Some(crate::policy::Manifest::standard());
        inspection.notes = vec!["this is the standard plugin, which is part of the binary".into()];
    }
    for tool in inspection.tools.iter().flatten() {
        if !standard && plugins::reserved(&tool.name) {
            inspection.faults.push(sandbox::Fault {
                what: format!(
                    "its tool `{}` has a name that is reserved for the host's own",
                    tool.name
                ),
                mend: format!(
                    "rename it, or leave it out with `tools = [...]` under `[plugins.{name}]`"
                ),
            });
        }
    }
    let grant = settings.grant(&name, standard);
    let effective = effective(inspection.manifest.as_ref(), &grant, host_ceiling(), standard);
    let may = consent::may(&effective);
    Ok(Checked { name, inspection, effective, may, grant })
}

/// A plugin that is tried out.
#[derive(Debug)]
pub struct Trial {
    pub plugin: String,
    pub tool: String,
    pub tried: Tried,
}

/// Runs one tool of an unknown plugin with everything denied. Without a tool named, its first
/// one. Nothing is pinned, and its manifest changes nothing here.
pub fn try_plugin(
    settings: &Settings,
    what: &Path,
    tool: Option<&str>,
    arguments: &Value,
) -> anyhow::Result<Trial> {
    let runtime = runtime(settings)?;
    let path = found(settings, what);
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let plugin = Plugin::load(&runtime, &name, Source::File(path))
        .map(Arc::new)
        .with_context(|| format!("`{}` does not load", escape_line(&what.to_string_lossy())))?;
    let tool = match tool {
        None => plugin.tools[0].name.clone(),
        Some(tool) if plugin.tools.iter().any(|known| known.name == tool) => tool.to_owned(),
        Some(tool) => {
            let names: Vec<String> =
                plugin.tools.iter().map(|tool| format!("`{}`", tool.name)).collect();
            bail!("it has no tool `{}`, only {}", escape_line(tool), names.join(", "));
        }
    };
    let limits = limits(effective(None, &Grant::default(), host_ceiling(), false).limits);
    let tried = sandbox::try_out(&plugin, &tool, arguments, limits)
        .context("there is no empty directory to try it in")?;
    Ok(Trial { plugin: name, tool, tried })
}

fn regranted(
    settings: &Settings,
    name: &str,
    standard: bool,
    decide: impl Fn(&Grant) -> Effective,
) -> anyhow::Result<Regranted> {
    // Read again: what holds is what the file says, not what was meant to be written.
    let mut after = settings.clone();
    after.reload_plugins()?;
    let effective = decide(&after.grant(name, standard));
    Ok(Regranted { may: consent::may(&effective), effective })
}

/// The plugin `name` of the plugin directory.
fn installed(settings: &Settings, name: &str) -> anyhow::Result<Plugin> {
    let path = plugins::file_of(settings, name);
    if !path.is_file() {
        let files = sandbox::files(&settings.paths.plugins_dir)?;
        let meant = nearest(name, files.iter().map(|(name, _)| name.as_str()));
        let meant = meant.map(|name| format!("; did you mean `{}`?", escape_line(name)));
        bail!(
            "there is no plugin `{}` in `{}`{}",
            escape_line(name),
            settings.paths.plugins_dir.display(),
            meant.unwrap_or_default()
        );
    }
    let runtime = runtime(settings)?;
    Plugin::load(&runtime, name, Source::File(path))
        .with_context(|| format!("the plugin `{}` does not load", escape_line(name)))
}

/// A path as it was given, or the file of the installed plugin of that name.
fn found(settings: &Settings, what: &Path) -> std::path::PathBuf {
    let named = what.to_str().filter(|name| !name.contains('/') && !what.exists());
    match named.map(|name| plugins::file_of(settings, name)) {
        Some(installed) if installed.is_file() => installed,
        _ => what.to_owned(),
    }
}
