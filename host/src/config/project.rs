//! A workdir's own `.claw/config.toml`: somebody else's words until the user trusts exactly them,
//! and even then they only ever narrow.
//!
//! To narrow is: to switch plugins off, to offer fewer of their tools, to lend fewer directories
//! or lend them read-only, to lower limits, and to refuse where the user would be asked. Keys that
//! could do anything else do not exist here.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use super::{Approve, ConfigError, file, store};
use crate::policy::{Grant, Limits, plain_directory, sha256_hex};

/// Where it lies in a workdir.
pub const PROJECT_FILE: &str = ".claw/config.toml";

/// The whole file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Project {
    /// Only `deny` narrows.
    pub approve: Option<Denying>,
    pub limits: ProjectLimits,
    pub plugins: BTreeMap<String, Narrowing>,
}

/// The one answer that a project may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Denying {
    Deny,
}

/// Budgets of a run; the smaller of these and the user's holds, and 0 changes nothing.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProjectLimits {
    pub turns: Option<u32>,
    pub tokens: Option<u64>,
    pub seconds: Option<u64>,
    pub cost: Option<f64>,
}

/// One `[plugins.NAME]`. A list names what is left of what the user grants.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Narrowing {
    pub enabled: Option<bool>,
    pub read: Option<Vec<String>>,
    pub write: Option<Vec<String>>,
    pub tools: Option<Vec<String>>,
    pub limits: Limits,
}

impl Narrowing {
    /// Takes from `grant` what this leaves out. `standard` marks the plugin that is part of the
    /// binary.
    pub fn apply(&self, grant: &mut Grant, standard: bool) {
        grant.enabled &= self.enabled.unwrap_or(true);
        // What may be written may be read, so leaving a directory out of `read` takes both.
        let mut write: Vec<String> = owned(grant.write_dirs(standard));
        if let Some(left) = &self.read {
            let mut read: Vec<String> = owned(grant.read_dirs());
            read.extend(
                write.iter().filter(|dir| !read.contains(dir)).cloned().collect::<Vec<_>>(),
            );
            grant.read = Some(meet(&read, left));
            write = meet(&write, left);
            grant.write = Some(write.clone());
        }
        if let Some(left) = &self.write {
            // What is no longer to be written may still be read where it could be before.
            let mut read = owned(grant.read_dirs());
            read.extend(
                write.iter().filter(|dir| !read.contains(dir)).cloned().collect::<Vec<_>>(),
            );
            grant.read = Some(read);
            grant.write = Some(meet(&write, left));
        }
        if let Some(left) = &self.tools {
            grant.tools = Some(match grant.tools.take() {
                None => left.clone(),
                Some(tools) => tools.into_iter().filter(|tool| left.contains(tool)).collect(),
            });
        }
        let limits = &mut grant.limits;
        limits.memory = least(limits.memory, self.limits.memory);
        limits.timeout = least::<Duration>(limits.timeout, self.limits.timeout);
        limits.output = least(limits.output, self.limits.output);
    }
}

fn owned(dirs: Vec<&str>) -> Vec<String> {
    dirs.into_iter().map(|dir| plain_directory(dir).unwrap_or_else(|_| dir.to_owned())).collect()
}

/// The directories of `granted` that lie in one of `left`, and those of `left` that lie in one of
/// `granted`. What is no directory's name meets nothing.
fn meet(granted: &[String], left: &[String]) -> Vec<String> {
    let mut both = Vec::new();
    for left in left.iter().filter_map(|dir| plain_directory(dir).ok()) {
        for dir in granted {
            let narrower = if within(&left, dir) {
                &left
            } else if within(dir, &left) {
                dir
            } else {
                continue;
            };
            if !both.contains(narrower) {
                both.push(narrower.clone());
            }
        }
    }
    both
}

fn within(path: &str, dir: &str) -> bool {
    path.starts_with('/') == dir.starts_with('/')
        && (matches!(dir, "." | "/")
            || path.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// The smaller of two limits, none being no limit of its own.
fn least<T: Ord + Copy>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// What the workdir's file is worth.
#[derive(Debug, Clone, PartialEq)]
pub enum ProjectState {
    /// There is none.
    Absent,
    /// The user has not said anything of these words; true where they trusted others before.
    Untrusted {
        changed: bool,
    },
    Trusted(Project),
}

/// Looks at the file of `workdir`, with what was trusted as `trust` (a file) says. The words that
/// are judged are those that are used: the file is read once.
pub(super) fn project(workdir: &Path, trust: &Path) -> Result<ProjectState, ConfigError> {
    let (path, bytes) = match read(workdir) {
        Ok(Some(found)) => found,
        Ok(None) => return Ok(ProjectState::Absent),
        // Whatever it is, it must not keep anybody from working here.
        Err(_) => return Ok(ProjectState::Untrusted { changed: false }),
    };
    let known = trusted(trust)?;
    match canonical(workdir).and_then(|dir| known.get(&dir)) {
        Some(sha256) if *sha256 == sha256_hex(&bytes) => {
            file::parse_as(&path, &bytes).map(ProjectState::Trusted)
        }
        other => Ok(ProjectState::Untrusted { changed: other.is_some() }),
    }
}

/// Trusts the file of `workdir` as it is now, and gives what it says. One that cannot be
/// understood is not trusted.
pub fn trust_project(workdir: &Path, trust: &Path) -> Result<Project, ConfigError> {
    let path = workdir.join(PROJECT_FILE);
    let Some((path, bytes)) = read(workdir)? else {
        let cause = io::Error::new(io::ErrorKind::NotFound, "there is no such file to trust");
        return Err(ConfigError::Unreadable { path, cause });
    };
    let project = file::parse_as(&path, &bytes)?;
    let sha256 = sha256_hex(&bytes);
    let dir = canonical(workdir).unwrap_or_default();
    change(trust, |known| {
        known.insert(dir, sha256);
    })?;
    Ok(project)
}

/// Forgets that `workdir` was trusted; whether it was.
pub fn distrust_project(workdir: &Path, trust: &Path) -> Result<bool, ConfigError> {
    let mut found = false;
    let dir = canonical(workdir).unwrap_or_default();
    change(trust, |known| found = known.remove(&dir).is_some())?;
    Ok(found)
}

/// Workdir to hash.
type Known = BTreeMap<String, String>;

fn canonical(workdir: &Path) -> Option<String> {
    workdir.canonicalize().ok()?.to_str().map(str::to_owned)
}

/// The file and its bytes. Something else than a file in its place is as untrusted as can be and
/// stays unread.
fn read(workdir: &Path) -> Result<Option<(PathBuf, Vec<u8>)>, ConfigError> {
    let path = workdir.join(PROJECT_FILE);
    let failed = |cause| ConfigError::Unreadable { path: path.clone(), cause };
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Err(failed(io::Error::other("it is not a regular file"))),
        Err(_) => return Ok(None),
    }
    Ok(store::read(&path).map_err(failed)?.map(|bytes| (path.clone(), bytes)))
}

fn trusted(trust: &Path) -> Result<Known, ConfigError> {
    let failed = |cause| ConfigError::Unreadable { path: trust.to_owned(), cause };
    match store::read(trust).map_err(failed)? {
        None => Ok(Known::new()),
        Some(bytes) => serde_json::from_slice(&bytes).map_err(|error| failed(damaged(&error))),
    }
}

fn change(trust: &Path, alter: impl FnOnce(&mut Known)) -> Result<(), ConfigError> {
    store::update(trust, |old| {
        let mut known: Known = match old {
            None => Known::new(),
            Some(bytes) => serde_json::from_slice(bytes).map_err(|error| damaged(&error))?,
        };
        alter(&mut known);
        let mut text = serde_json::to_vec_pretty(&known).map_err(io::Error::other)?;
        text.push(b'\n');
        Ok::<_, io::Error>(Some(text))
    })
    .map_err(|cause| ConfigError::Unwritable { path: trust.to_owned(), cause })
}

fn damaged(error: &impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("it is damaged ({error}); remove it and trust again what you trust"))
}

/// Applies what concerns the run itself.
pub(super) fn narrow_run(
    project: &Project,
    limits: &mut super::RunLimits,
    approve: &mut super::Valued<Approve>,
    path: &Path,
) {
    fn lower<T: PartialOrd + Copy + Default>(
        have: &mut super::Valued<Option<T>>,
        most: Option<T>,
        path: &Path,
    ) {
        let Some(most) = most.filter(|most| *most > T::default()) else { return };
        if have.value.is_none_or(|have| most < have) {
            *have =
                super::Valued { value: Some(most), origin: super::Origin::File(path.to_owned()) };
        }
    }
    lower(&mut limits.turns, project.limits.turns, path);
    lower(&mut limits.tokens, project.limits.tokens, path);
    lower(&mut limits.seconds, project.limits.seconds, path);
    lower(&mut limits.cost, project.limits.cost, path);
    if project.approve.is_some() && approve.value != Approve::Deny {
        *approve =
            super::Valued { value: Approve::Deny, origin: super::Origin::File(path.to_owned()) };
    }
}

impl Project {
    /// In words, for who is asked to trust it. Escaped, one thing each.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let show = |text: &str| format!("`{}`", crate::text::escape_line(text));
        if self.approve.is_some() {
            lines.push("refuses whatever the user would be asked".to_owned());
        }
        let limits = &self.limits;
        for (name, value) in [
            ("turns", limits.turns.map(|n| n.to_string())),
            ("tokens", limits.tokens.map(|n| n.to_string())),
            ("seconds", limits.seconds.map(|n| n.to_string())),
            ("cost", limits.cost.map(|n| n.to_string())),
        ] {
            lines.extend(value.map(|value| format!("at most {value} {name} a run")));
        }
        for (name, plugin) in &self.plugins {
            let name = show(name);
            if plugin.enabled == Some(false) {
                lines.push(format!("switches the plugin {name} off"));
            }
            for (key, list) in
                [("read", &plugin.read), ("write", &plugin.write), ("tools", &plugin.tools)]
            {
                if let Some(list) = list {
                    let list: Vec<String> = list.iter().map(|item| show(item)).collect();
                    lines
                        .push(format!("leaves the plugin {name} only {key} [{}]", list.join(", ")));
                }
            }
            if plugin.limits != Limits::default() {
                lines.push(format!("lowers limits of the plugin {name}"));
            }
        }
        lines
    }
}
