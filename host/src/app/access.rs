//! From what policy allows to what a call is handed: open directories, values, limits.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::config::Settings;
use crate::journal::UndoStore;
use crate::policy::{Ceiling, Effective};
use crate::sandbox::{Access, Limits, Root, Rules, Seen};
use crate::workspace::Workdir;

use super::network;

/// Bytes that one call may write, unless granted otherwise.
const QUOTA: u64 = 1 << 30;
/// Files and directories that one call may hold open.
const MAX_OPEN: usize = 128;

/// Where the tools are put to work.
#[derive(Debug)]
pub(super) struct Place {
    workdir: Workdir,
    off_limits: Vec<PathBuf>,
    umask: u32,
    secret_files: Vec<String>,
    /// One memory of what was read serves all plugins of the session.
    seen: Arc<Seen>,
    undo: Arc<UndoStore>,
}

impl Place {
    pub(super) fn new(settings: &Settings, workdir: &Workdir, undo: &Arc<UndoStore>) -> Self {
        Self {
            workdir: workdir.clone(),
            off_limits: off_limits(settings, workdir),
            umask: umask(),
            secret_files: settings.secret_files.clone(),
            seen: Arc::default(),
            undo: Arc::clone(undo),
        }
    }

    /// Opens what `effective` lends. An error names the directory that cannot be opened.
    pub(super) fn access(
        &self,
        plugin: &str,
        effective: &Effective,
        settings: &Settings,
    ) -> Result<Access, String> {
        let roots = effective.directories.iter().map(|dir| self.root(&dir.path, dir.write));
        let environment = effective.env.iter().filter_map(|name| {
            settings.variable(name).map(|value| (name.clone(), value.to_owned()))
        });
        Ok(Access {
            rules: Arc::new(Rules {
                roots: roots.collect::<Result<_, _>>()?,
                off_limits: self.off_limits.clone(),
                quota: QUOTA,
                max_open: MAX_OPEN,
                umask: self.umask,
                secret_files: self.secret_files.clone(),
                seen: Arc::clone(&self.seen),
                undo: Arc::clone(&self.undo),
            }),
            http: network::access(settings, plugin, effective)?,
            limits: limits(effective.limits),
            environment: environment.collect(),
            settings: effective.settings.clone(),
        })
    }

    fn root(&self, name: &str, writable: bool) -> Result<Root, String> {
        let failed = |error: std::io::Error| {
            format!("the granted directory `{name}` cannot be opened: {error}")
        };
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

/// What the host allows a call at the most where the user says nothing.
pub(super) fn host_ceiling() -> Ceiling {
    let Limits { memory, timeout, output } = Limits::default();
    Ceiling { memory: memory as u64, timeout, output: output as u64 }
}

pub(super) fn limits(ceiling: Ceiling) -> Limits {
    let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    Limits { memory: size(ceiling.memory), timeout: ceiling.timeout, output: size(ceiling.output) }
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

/// Our own files, wherever the user put them. Usually none lies in the workdir; a wide workdir or
/// a generous grant may hold some, and no tool may touch them there.
fn off_limits(settings: &Settings, workdir: &Workdir) -> Vec<PathBuf> {
    let mut ours = settings.paths.ours();
    ours.push(settings.sessions.value.clone());
    // Named on the command line, it may lie anywhere.
    ours.extend(std::path::absolute(&settings.paths.config_file));
    let roots = absolute_grants(settings);
    let roots: Vec<PathBuf> =
        roots.into_iter().map(|root| root.canonicalize().unwrap_or(root)).collect();
    ours.into_iter()
        .map(|path| path.canonicalize().unwrap_or(path))
        .filter(|path| {
            path.starts_with(workdir.path()) || roots.iter().any(|root| path.starts_with(root))
        })
        .collect()
}

/// The mask of this process. Asked of the kernel's own record, because the system call for it can
/// only be asked by changing it, for all threads.
fn umask() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let octal = status.lines().find_map(|line| line.strip_prefix("Umask:")).map(str::trim);
    octal.and_then(|octal| u32::from_str_radix(octal, 8).ok()).unwrap_or(0o022)
}
