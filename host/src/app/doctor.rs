//! Whether everything is in order, line by line, each with its mend.

use crate::config::{ModelChoice, Settings};
use crate::sandbox::Runtime;

use super::{BashState, Host, PluginState, runtime};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckState {
    Ok,
    /// It works, less well or less safely than it could.
    Weaker,
    Broken,
}

/// One finding.
#[derive(Debug, Clone)]
pub struct Check {
    pub name: String,
    pub state: CheckState,
    pub detail: String,
    /// What mends it.
    pub fix: Option<String>,
}

/// Looks at everything that a run needs. Nothing is sent anywhere.
pub fn doctor(settings: &Settings) -> Vec<Check> {
    let mut checks = vec![platform(), config(settings)];
    match runtime(settings) {
        Ok(runtime) => checks.push(cache(&runtime, settings)),
        Err(error) => checks.push(broken(
            "sandbox",
            error.to_string(),
            "use a machine with a supported processor",
        )),
    }
    checks.push(sessions(settings));
    match Host::open(settings) {
        Ok(host) => {
            checks.push(ok("workdir", host.workdir().path().display().to_string()));
            checks.push(bash(&host));
            checks.extend(host.plugins().iter().map(|plugin| {
                let name = format!("plugin {}", plugin.name);
                match &plugin.state {
                    PluginState::Loaded => {
                        ok(&name, format!("{} tools, {}", plugin.tools.len(), plugin.source))
                    }
                    PluginState::Off(off) => weaker(&name, off.why.join("; "), &off.command),
                    PluginState::Disabled => ok(&name, "switched off".into()),
                    PluginState::Refused(chain) => broken(
                        &name,
                        chain.join(": "),
                        "mend or remove the file; the other plugins work without it",
                    ),
                }
            }));
        }
        Err(error) => checks.push(broken(
            "workdir",
            format!("{error:#}"),
            "name another directory with `-C DIR`",
        )),
    }
    checks.push(model(settings));
    checks
}

fn ok(name: &str, detail: String) -> Check {
    Check { name: name.to_owned(), state: CheckState::Ok, detail, fix: None }
}

fn broken(name: &str, detail: String, fix: &str) -> Check {
    Check { name: name.to_owned(), state: CheckState::Broken, detail, fix: Some(fix.to_owned()) }
}

fn weaker(name: &str, detail: String, fix: &str) -> Check {
    Check { name: name.to_owned(), state: CheckState::Weaker, detail, fix: Some(fix.to_owned()) }
}

fn platform() -> Check {
    let system = format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH);
    if cfg!(target_os = "linux") {
        if std::path::Path::new("/proc/self/fd").exists() {
            return ok("platform", system);
        }
        return weaker(
            "platform",
            format!("{system}, without /proc: tools follow no symlinked folders"),
            "mount /proc",
        );
    }
    weaker(
        "platform",
        format!("{system}: only Linux is tested; see SECURITY.md"),
        "use Linux for what matters",
    )
}

fn config(settings: &Settings) -> Check {
    let file = match &settings.read_from {
        Some(path) => path.display().to_string(),
        None => {
            format!("{} does not exist, so the defaults hold", settings.paths.config_file.display())
        }
    };
    ok("config", file)
}

fn cache(runtime: &Runtime, settings: &Settings) -> Check {
    match runtime.cache_trouble() {
        None => ok("cache", settings.paths.cache_dir.display().to_string()),
        Some(trouble) => weaker(
            "cache",
            format!("{trouble}; plugins are compiled at each start"),
            "mend the directory, or remove it",
        ),
    }
}

/// Tries what a session does: a file of its own in the directory.
fn sessions(settings: &Settings) -> Check {
    let dir = &settings.sessions.value;
    let probe = dir.join(format!(".doctor-{}", std::process::id()));
    let tried = std::fs::create_dir_all(dir)
        .and_then(|()| std::fs::write(&probe, b""))
        .and_then(|()| std::fs::remove_file(&probe));
    match tried {
        Ok(()) => ok("sessions", dir.display().to_string()),
        Err(error) => broken(
            "sessions",
            format!("{} cannot be written: {error}", dir.display()),
            "make it writable, or name another with `--sessions DIR`, or use `--no-session`",
        ),
    }
}

/// The sandbox of commands, and what it does not stop.
fn bash(host: &Host) -> Check {
    let shell = match host.bash() {
        BashState::Offered(shell) => shell,
        BashState::Off(why) => {
            return weaker("bash", format!("off: {why}"), "install the package `bubblewrap`");
        }
    };
    let tier = shell.tier();
    let why = shell.why_not_better().map(|why| format!(" ({why})")).unwrap_or_default();
    let detail = format!("sandbox `{}`{why}; not stopped: {}", tier.word(), tier.gaps());
    if tier.is_full() {
        return ok("bash", detail);
    }
    weaker("bash", detail, "install the package `bubblewrap`, and allow user namespaces")
}

fn model(settings: &Settings) -> Check {
    match settings.choose_model() {
        Ok(ModelChoice::Script(path)) => ok("model", format!("script {}", path.display())),
        Ok(ModelChoice::Service(service)) => {
            ok("model", format!("{}/{} at {}", service.provider, service.model, service.base_url))
        }
        Err(error) => weaker(
            "model",
            error.to_string(),
            "set a key in the environment, or name a model with `--model`",
        ),
    }
}
