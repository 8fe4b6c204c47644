//! The settings of one invocation, put together from all sources.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::file::{self, FileConfig, ProviderEntry};
use super::project::{self, Project, ProjectState};
use super::{BashEntry, ConfigError, Env, PROJECT_FILE, Paths};
use crate::policy::Grant;
use crate::workspace::WideRule;

/// What the command line said, as far as settings go. None means unsaid.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    pub workdir: Option<PathBuf>,
    pub model: Option<String>,
    pub config: Option<PathBuf>,
    pub sessions: Option<PathBuf>,
    pub approve: Option<Approve>,
    pub allow_wide_workdir: bool,
    pub no_session: bool,
    pub bash_without_sandbox: bool,
    pub max_turns: Option<u32>,
    pub max_tokens: Option<u64>,
    pub max_seconds: Option<u64>,
    pub max_cost: Option<f64>,
    /// Whether somebody can be asked.
    pub on_terminal: bool,
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Flag(&'static str),
    Env(&'static str),
    File(PathBuf),
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) => write!(f, "flag {name}"),
            Self::Env(name) => write!(f, "environment {name}"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}

/// A value and its origin.
#[derive(Debug, Clone, PartialEq)]
pub struct Valued<T> {
    pub value: T,
    pub origin: Origin,
}

/// What happens where a policy says "ask".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Approve {
    Ask,
    Deny,
    Safe,
}

/// Budgets of one run. None is no limit.
#[derive(Debug, Clone, PartialEq)]
pub struct RunLimits {
    pub turns: Valued<Option<u32>>,
    pub tokens: Valued<Option<u64>>,
    pub seconds: Valued<Option<u64>>,
    pub cost: Valued<Option<f64>>,
}

impl From<&RunLimits> for crate::agent::Budget {
    fn from(limits: &RunLimits) -> Self {
        // There, zero is the word for no bound.
        Self {
            turns: limits.turns.value.unwrap_or(0),
            tokens: limits.tokens.value.unwrap_or(0),
            seconds: limits.seconds.value.unwrap_or(0),
            cost: limits.cost.value.unwrap_or(0.0),
        }
    }
}

/// Turns after which a run that does not end by itself is stopped.
const DEFAULT_TURNS: u32 = 100;
/// Two hours.
const DEFAULT_SECONDS: u64 = 7200;

/// Everything that a command needs to know of its surroundings.
#[derive(Debug, Clone)]
pub struct Settings {
    pub paths: Paths,
    /// As the user spelt it; opened by whoever needs it.
    pub workdir: Valued<PathBuf>,
    pub allow_wide_workdir: bool,
    /// `PROVIDER/MODEL` or `script:FILE`, unchecked; [`Settings::choose_model`] reads it.
    pub model: Option<Valued<String>>,
    pub sessions: Valued<PathBuf>,
    /// Whether the session is written to disk.
    pub keep_session: bool,
    pub approve: Valued<Approve>,
    pub limits: RunLimits,
    pub providers: BTreeMap<String, ProviderEntry>,
    /// As the user wrote them; [`Settings::grant`] is what holds.
    pub plugins: BTreeMap<String, Grant>,
    pub bash: BashEntry,
    /// Commands may run where nothing confines them.
    pub bash_without_sandbox: bool,
    /// What the workdir's own settings take away, where they are trusted.
    pub project: Option<Project>,
    /// Files that look like secrets and may be read by tools all the same, relative to the
    /// workdir; `*` is all of them.
    pub secret_files: Vec<String>,
    /// Bytes of old content that a session keeps for undo. What does not fit is not changed.
    pub undo_limit: u64,
    /// Lines for the user: something was there and was not used.
    pub notices: Vec<String>,
    /// The config file, where there was one to read.
    pub read_from: Option<PathBuf>,
    pub(super) env: Env,
}

impl Settings {
    /// Reads the file and puts all sources in order: flag, environment, file, default.
    pub fn load(flags: &Flags, env: Env) -> Result<Self, ConfigError> {
        let paths = Paths::of(&env, flags.config.as_deref())?;
        let file = file::read(&paths.config_file, flags.config.is_some())?;
        let read_from = file.is_some().then(|| paths.config_file.clone());
        let file = file.unwrap_or_default();
        file.bash.check(&paths.config_file)?;
        let from_file = Origin::File(paths.config_file.clone());
        let workdir = match &flags.workdir {
            Some(path) => Valued { value: path.clone(), origin: Origin::Flag("--workdir") },
            None => Valued { value: PathBuf::from("."), origin: Origin::Default },
        };
        let project_file = workdir.value.join(PROJECT_FILE);
        let (project, notice) = match project::project(&workdir.value, &paths.trust_file)? {
            ProjectState::Absent => (None, None),
            ProjectState::Untrusted { changed } => (None, Some(untrusted(changed))),
            ProjectState::Trusted(project) => (Some(project), None),
        };
        let default_approve = if flags.on_terminal { Approve::Ask } else { Approve::Deny };
        let mut approve =
            first([(flags.approve, Origin::Flag("--approve")), (file.approve, from_file.clone())])
                .unwrap_or(Valued { value: default_approve, origin: Origin::Default });
        let mut limits = limits(flags, &file, &from_file)?;
        if let Some(project) = &project {
            project::narrow_run(project, &mut limits, &mut approve, &project_file);
        }
        Ok(Self {
            notices: notice.into_iter().collect(),
            project,
            workdir,
            allow_wide_workdir: flags.allow_wide_workdir,
            model: first([
                (flags.model.clone(), Origin::Flag("--model")),
                (text_of(&env, "CLAWHOLD_MODEL")?, Origin::Env("CLAWHOLD_MODEL")),
                (file.model.clone(), from_file.clone()),
            ]),
            sessions: sessions(flags, &env, &file, &paths),
            keep_session: !flags.no_session,
            approve,
            limits,
            providers: file.providers,
            plugins: file.plugins,
            bash: file.bash,
            bash_without_sandbox: flags.bash_without_sandbox,
            secret_files: file.secret_files,
            undo_limit: file.undo_limit.unwrap_or(crate::journal::DEFAULT_LIMIT),
            read_from,
            paths,
            env,
        })
    }

    /// What the plugin `name` is granted: what the user wrote or else the default, less what the
    /// workdir's own settings take away. `standard` marks the plugin that is part of the binary.
    pub fn grant(&self, name: &str, standard: bool) -> Grant {
        let mut grant = self.plugins.get(name).cloned().unwrap_or_default();
        if let Some(narrowing) = self.project.as_ref().and_then(|p| p.plugins.get(name)) {
            narrowing.apply(&mut grant, standard);
        }
        grant
    }

    /// Reads the plugins' tables of the config file again.
    pub fn reload_plugins(&mut self) -> Result<(), ConfigError> {
        let file = file::read(&self.paths.config_file, false)?;
        self.plugins = file.unwrap_or_default().plugins;
        Ok(())
    }

    /// The value of an environment variable, where it is set to text.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.env.text(name)
    }

    /// What to hold the workdir against when it is opened.
    pub fn wide_rule(&self) -> WideRule {
        WideRule {
            allow: self.allow_wide_workdir,
            home: self.paths.home.clone(),
            ours: self.paths.ours(),
            sessions: Some(self.sessions.value.clone()),
        }
    }
}

/// The first source that has a value.
fn first<T, const N: usize>(sources: [(Option<T>, Origin); N]) -> Option<Valued<T>> {
    sources.into_iter().find_map(|(value, origin)| value.map(|value| Valued { value, origin }))
}

fn text_of(env: &Env, name: &'static str) -> Result<Option<String>, ConfigError> {
    match env.os(name) {
        None => Ok(None),
        Some(value) => {
            value.to_str().map(|text| Some(text.to_owned())).ok_or_else(|| ConfigError::BadValue {
                origin: format!("environment {name}"),
                message: "it is not UTF-8".into(),
            })
        }
    }
}

fn sessions(flags: &Flags, env: &Env, file: &FileConfig, paths: &Paths) -> Valued<PathBuf> {
    let base = paths.config_file.parent().unwrap_or(Path::new(""));
    let found = first([
        (flags.sessions.clone(), Origin::Flag("--sessions")),
        (env.os("CLAWHOLD_SESSIONS").map(PathBuf::from), Origin::Env("CLAWHOLD_SESSIONS")),
        (
            file.sessions.as_ref().map(|path| base.join(path)),
            Origin::File(paths.config_file.clone()),
        ),
    ]);
    let mut found = found.unwrap_or_else(|| Valued {
        value: paths.state_dir.join("sessions"),
        origin: Origin::Default,
    });
    // The current directory may change its meaning later; what cannot be made absolute fails
    // with its own words when it is opened.
    if let Ok(absolute) = std::path::absolute(&found.value) {
        found.value = absolute;
    }
    found
}

/// Zero is the word for "no limit".
fn limits(flags: &Flags, file: &FileConfig, from_file: &Origin) -> Result<RunLimits, ConfigError> {
    fn pick<T: Copy + PartialEq + Default>(
        flag: Option<T>,
        name: &'static str,
        file: Option<T>,
        from_file: &Origin,
        default: Option<T>,
    ) -> Valued<Option<T>> {
        match first([(flag, Origin::Flag(name)), (file, from_file.clone())]) {
            None => Valued { value: default, origin: Origin::Default },
            Some(Valued { value, origin }) => {
                Valued { value: (value != T::default()).then_some(value), origin }
            }
        }
    }
    let written = &file.limits;
    let limits = RunLimits {
        turns: pick(flags.max_turns, "--max-turns", written.turns, from_file, Some(DEFAULT_TURNS)),
        tokens: pick(flags.max_tokens, "--max-tokens", written.tokens, from_file, None),
        seconds: pick(
            flags.max_seconds,
            "--max-seconds",
            written.seconds,
            from_file,
            Some(DEFAULT_SECONDS),
        ),
        cost: pick(flags.max_cost, "--max-cost", written.cost, from_file, None),
    };
    match limits.cost.value {
        Some(cost) if !cost.is_finite() || cost < 0.0 => Err(ConfigError::BadValue {
            origin: limits.cost.origin.to_string(),
            message: format!(
                "`{cost}` is no amount of money: write it like `0.50`, 0 for no limit"
            ),
        }),
        _ => Ok(limits),
    }
}

/// A project's own settings are somebody else's words until the user says otherwise.
fn untrusted(changed: bool) -> String {
    let since = if changed { "it has changed since it was trusted" } else { "it is not trusted" };
    format!(
        "the workdir's .claw/config.toml is ignored, since {since}; look at it, then `claw trust`"
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Settings of a home that holds `config`.
    fn load(config: &str, flags: &Flags, vars: &[(&str, &str)]) -> Result<Settings, ConfigError> {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("config.toml"), config).unwrap();
        let mut vars = vars.to_vec();
        vars.push(("CLAWHOLD_HOME", home.path().to_str().unwrap()));
        Settings::load(flags, Env::of(&vars))
    }

    #[test]
    fn req_104_flag_then_environment_then_file_then_default() {
        let file = "model = \"a/file\"\nsessions = \"kept\"\n[limits]\nturns = 7";
        let vars = [("CLAWHOLD_MODEL", "a/env"), ("CLAWHOLD_SESSIONS", "/env")];
        let flags = Flags {
            model: Some("a/flag".into()),
            sessions: Some("/flag".into()),
            max_turns: Some(9),
            ..Flags::default()
        };
        let check = |config: &str,
                     flags: &Flags,
                     vars: &[(&str, &str)],
                     model: Option<&str>,
                     sessions: &str,
                     turns| {
            let settings = load(config, flags, vars).unwrap();
            assert_eq!(settings.model.map(|m| m.value).as_deref(), model);
            assert!(settings.sessions.value.ends_with(sessions), "{:?}", settings.sessions);
            assert_eq!(settings.limits.turns.value, turns);
        };
        check(file, &flags, &vars, Some("a/flag"), "/flag", Some(9));
        check(file, &Flags::default(), &vars, Some("a/env"), "/env", Some(7));
        check(file, &Flags::default(), &[], Some("a/file"), "kept", Some(7));
        check("", &Flags::default(), &[], None, "state/sessions", Some(100));
    }

    #[test]
    fn req_103_zero_is_no_limit() {
        let flags = Flags { max_turns: Some(0), max_seconds: Some(0), ..Flags::default() };
        let limits = load("", &flags, &[]).unwrap().limits;
        assert_eq!((limits.turns.value, limits.seconds.value), (None, None));
        let limits = load("", &Flags::default(), &[]).unwrap().limits;
        assert_eq!((limits.turns.value, limits.seconds.value), (Some(100), Some(7200)));
        assert_eq!((limits.tokens.value, limits.cost.value), (None, None));
    }

    #[test]
    fn money_that_is_none_is_refused() {
        for cost in [-1.0, f64::NAN, f64::INFINITY] {
            let flags = Flags { max_cost: Some(cost), ..Flags::default() };
            let error = load("", &flags, &[]).unwrap_err().to_string();
            assert!(error.starts_with("flag --max-cost"), "{error}");
        }
    }

    #[test]
    fn headless_refuses_what_a_terminal_is_asked() {
        let approve = |on_terminal| {
            load("", &Flags { on_terminal, ..Flags::default() }, &[]).unwrap().approve.value
        };
        assert_eq!((approve(true), approve(false)), (Approve::Ask, Approve::Deny));
    }

    #[test]
    fn a_projects_own_settings_are_ignored_with_a_word() {
        let workdir = tempfile::tempdir().unwrap();
        std::fs::create_dir(workdir.path().join(".claw")).unwrap();
        std::fs::write(workdir.path().join(".claw/config.toml"), "model = \"evil/x\"").unwrap();
        let flags = Flags { workdir: Some(workdir.path().into()), ..Flags::default() };
        let settings = load("", &flags, &[]).unwrap();
        assert!(settings.model.is_none());
        assert_eq!(settings.notices.len(), 1);
        assert!(load("", &Flags::default(), &[]).unwrap().notices.is_empty());
    }

    #[test]
    fn c21_a_broken_file_is_an_error_and_never_the_defaults() {
        assert!(matches!(
            load("[plugins.a]\nread = [", &Flags::default(), &[]),
            Err(ConfigError::Invalid { .. })
        ));
    }

    #[test]
    fn n42_debug_of_settings_shows_no_key() {
        let settings = load("", &Flags::default(), &[("OPENAI_API_KEY", "sk-CANARY")]).unwrap();
        assert!(!format!("{settings:?}").contains("CANARY"));
    }
}
