//! The shell of a session, from the settings.

use std::sync::Arc;
use std::time::Duration;

use crate::config::{Approve, Settings, remember_rules};
use crate::shell::{
    Allowlist, Approval, RuleError, Shell, ShellError, ShellSettings, Tier, TierReport,
};
use crate::text::OutputEncoding;
use crate::tool::{Approver, Registry};
use crate::workspace::Workdir;

/// For a call that does not say how long it may take (req 47), and the most it may ask for.
const TIMEOUT: Duration = Duration::from_secs(30);
const MAX_TIMEOUT: Duration = Duration::from_mins(10);
/// Bytes of output that the model is shown at once (req 49).
const OUTPUT: u64 = 8 * 1024;
/// Variables that name places of toolchains, and the time zone. None of them is a secret.
const PLACES: [&str; 6] =
    ["CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "PYENV_ROOT", "GOPATH", "TZ"];

/// Whether commands can be run.
#[derive(Debug)]
pub enum BashState {
    Offered(Arc<Shell>),
    /// Why not.
    Off(String),
}

impl BashState {
    /// One line for the system prompt.
    pub(super) fn line(&self) -> Option<&'static str> {
        let Self::Offered(shell) = self else { return None };
        Some(match shell.tier() {
            Tier::Full { .. } => {
                "in a sandbox that shows the working directory, the system and toolchains, nothing else"
            }
            Tier::Landlock => "in a weak sandbox; what runs code of the project needs approval",
            Tier::None => "without a sandbox; take care",
        })
    }
}

/// The rules of the settings, compiled.
pub fn allowlist(settings: &Settings) -> Result<Allowlist, RuleError> {
    Allowlist::new(&settings.bash.rules)
}

/// Makes the shell and registers its tools. A machine on which no command can be confined has
/// none, and says so; a rule that cannot be used is an error.
pub(super) fn offer(
    settings: &Settings,
    workdir: &Workdir,
    registry: &Registry,
    approver: Arc<dyn Approver>,
) -> anyhow::Result<BashState> {
    if settings.bash.enabled == Some(false) {
        return Ok(BashState::Off("switched off by `enabled = false` under `[bash]`".into()));
    }
    let Some(runner) = super::own_binary() else {
        return Ok(BashState::Off(
            "commands are run by the `claw` binary, and this is another program".into(),
        ));
    };
    let bash = &settings.bash;
    let file = settings.paths.config_file.clone();
    let max_timeout = bash.max_timeout.unwrap_or(MAX_TIMEOUT);
    let mut hidden = settings.paths.ours();
    hidden.push(settings.sessions.value.clone());
    let place = |name: &str| Some((name.to_owned(), settings.variable(name)?.to_owned()));
    let shell = Shell::new(ShellSettings {
        rules: bash.rules.clone(),
        network: bash.network,
        read: bash.read.clone(),
        write: bash.write.clone(),
        timeout: bash.timeout.unwrap_or(TIMEOUT).min(max_timeout),
        max_timeout,
        output: usize::try_from(bash.output.unwrap_or(OUTPUT)).unwrap_or(usize::MAX),
        encoding: bash.encoding.as_deref().and_then(OutputEncoding::named).unwrap_or_default(),
        approval: match settings.approve.value {
            Approve::Ask => Approval::Ask,
            Approve::Deny => Approval::Deny,
            Approve::Safe => Approval::Safe,
        },
        approver,
        remember: Some(Arc::new(move |rules| remember_rules(&file, rules))),
        workdir: workdir.path().to_owned(),
        home: settings.paths.home.clone(),
        hidden: hidden.into_iter().map(|path| path.canonicalize().unwrap_or(path)).collect(),
        secret_files: settings.secret_files.clone(),
        scratch: settings.paths.state_dir.join("scratch"),
        runner,
        tier: TierReport::remembered(&settings.paths.cache_dir.join("bash-tier.json")),
        without_sandbox: settings.bash_without_sandbox,
        places: PLACES.into_iter().filter_map(place).collect(),
    });
    match shell {
        Ok(shell) => {
            for tool in shell.tools() {
                registry.register(tool)?;
            }
            Ok(BashState::Offered(shell))
        }
        Err(error @ ShellError::Rule(_)) => Err(error.into()),
        Err(error) => Ok(BashState::Off(error.to_string())),
    }
}
