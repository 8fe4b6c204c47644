//! The command line: from the words that were typed to an exit code.
//!
//! Words are parsed without judgement ([`args`]), checked once against environment and file
//! ([`settings`]), and handed to one command.

mod args;
mod call;
mod check;
mod config;
mod consent;
mod doctor;
mod grants;
mod plugin;
mod policy;
mod run;
mod session;
mod settings;
mod signals;
mod stdin;
mod tools;
mod trust;
mod undo;
mod usage;

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser as _;

use self::args::{Args, Command, Plugin, Policy, Session};
use self::usage::{USAGE, UsageError};
use crate::app::{Host, PluginState};
use crate::config::{ConfigError, Env, Settings};
use crate::journal::JournalError;
use crate::model::StopReason;
use crate::provider::ProviderError;
use crate::text::escape_line;
use crate::tool::{Approver, DenyAll};
use crate::ui::{Output, TerminalApprover};
use crate::workspace::OpenError;

/// What every command is given.
struct Invocation {
    output: Arc<Output>,
    settings: Settings,
    /// Whether the answer is one JSON document.
    json: bool,
    verbose: bool,
}

/// The program. Everything printed has been written out when this returns.
pub fn main() -> ExitCode {
    let env = Env::of_process();
    // NO_COLOR counts when it is set to anything but nothing (no-color.org).
    let colour = env.os("NO_COLOR").is_none() && env.text("TERM") != Some("dumb");
    let output = Arc::new(Output::of_process(colour));
    let code = match Args::try_parse() {
        Err(error) => usage::report(&output, &error),
        Ok(args) => dispatch(&args, env, &output).unwrap_or_else(|error| fail(&output, &error)),
    };
    match output.finish() {
        Ok(()) => ExitCode::from(code),
        Err(error) => {
            output.note(&format!(
                "{} cannot write the answer: {error}",
                output.err_paint().red("error:")
            ));
            ExitCode::from(1)
        }
    }
}

fn dispatch(args: &Args, env: Env, output: &Arc<Output>) -> anyhow::Result<u8> {
    let Some(command) = &args.command else {
        return Err(UsageError(
            "no command: `claw run \"TASK\"` does one task, `claw --help` lists the rest".into(),
        )
        .into());
    };
    // The task is read first, so that a pipe is heard before anything takes time.
    let prompt = match command {
        Command::Run(run) => Some(run::prompt(run.prompt.as_deref())?),
        _ => None,
    };
    let invocation = Invocation {
        output: Arc::clone(output),
        settings: settings::load(args, env, output)?,
        json: settings::wants_json(args),
        verbose: args.global.verbose,
    };
    output.scrub(&invocation.settings.secrets());
    match command {
        Command::Config => Ok(config::run(&invocation)),
        Command::Session { command: Session::List } => session::list(&invocation),
        Command::Session { command: Session::Show { id } } => {
            session::show(&invocation, id.as_deref())
        }
        Command::Session { command: Session::Undo(asked) } => undo::undo(&invocation, asked),
        Command::Session { command: Session::Diff { id } } => {
            undo::diff(&invocation, id.as_deref())
        }
        Command::Policy { command: Policy::Check { command } } => {
            policy::check(&invocation, command)
        }
        Command::Tools => on_runtime(async { tools::run(&invocation) }),
        Command::Plugin { command } => on_runtime(async { plugins(&invocation, command) }),
        Command::Trust { dir, revoke } => trust::run(&invocation, dir.as_deref(), *revoke),
        Command::Doctor => on_runtime(async { Ok(doctor::run(&invocation)) }),
        Command::Call(call) => {
            let arguments = call::arguments(call.arguments.as_deref())?;
            on_runtime(call::run(&invocation, &call.tool, arguments))
        }
        Command::Run(_) => on_runtime(run::run(&invocation, prompt.unwrap_or_default())),
    }
}

fn plugins(invocation: &Invocation, command: &Plugin) -> anyhow::Result<u8> {
    match command {
        Plugin::List => plugin::list(invocation),
        Plugin::Inspect { what } => check::inspect(invocation, what),
        Plugin::Check { file, run } => check::check(invocation, file, *run),
        Plugin::Try { file, tool, arguments } => {
            check::try_out(invocation, file, tool.as_deref(), arguments)
        }
        Plugin::Grant { name, grants } => grants::grant(invocation, name, grants),
        Plugin::Revoke { name, grants } => grants::revoke(invocation, name, grants),
    }
}

/// Runs `work` to its end, and waits for nothing else: a thread that is stuck in a tool or a read
/// ends with the process.
fn on_runtime(work: impl Future<Output = anyhow::Result<u8>>) -> anyhow::Result<u8> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(work);
    runtime.shutdown_background();
    result
}

/// Prints an error with all its causes as one paragraph. What the user typed or set wrong is
/// exit code 2, a model service that cannot be used 5, all else 1.
fn fail(output: &Output, error: &anyhow::Error) -> u8 {
    let of_service = error.downcast_ref::<ProviderError>();
    let hint = of_service.and_then(ProviderError::hint).map(|hint| format!("; {hint}"));
    let text = escape_line(&causes(error)) + &hint.unwrap_or_default();
    output.note(&format!("{} {text}", output.err_paint().red("error:")));
    if of_service.is_some() {
        return StopReason::ProviderFailed.exit_code();
    }
    let users_fault = error.is::<UsageError>()
        || error.downcast_ref::<ConfigError>().is_some()
        || error.downcast_ref::<OpenError>().is_some();
    if users_fault { USAGE } else { 1 }
}

/// A log that cannot be written, with the way to do without.
fn no_session_log(error: JournalError) -> anyhow::Error {
    anyhow::Error::from(error)
        .context("no session log can be written (`--no-session` goes without one, `--sessions DIR` puts it elsewhere)")
}

/// The chain of causes, without those that the one before repeats already.
fn causes(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

impl Invocation {
    /// Who is asked: the user where there is a terminal, nobody elsewhere.
    fn approver(&self) -> Arc<dyn Approver> {
        use std::io::IsTerminal as _;
        if std::io::stdin().is_terminal() && self.output.err_is_terminal() {
            return Arc::new(TerminalApprover::new(Arc::clone(&self.output)));
        }
        Arc::new(DenyAll)
    }

    /// Opens the workdir with its plugins. On a terminal the user is asked about those that want
    /// more than they have.
    fn open_host(&self) -> anyhow::Result<Host> {
        let terminal = consent::Terminal::of(&self.output, &self.settings);
        let consent = terminal.as_ref().map(|terminal| terminal as &dyn crate::app::Consent);
        Host::open_with(&self.settings, self.approver(), consent)
    }

    /// Says which plugins are not there, and why: a tool that is missing without a word would
    /// look like a model that does not use it.
    fn tell_refused(&self, host: &Host) {
        host.notices().iter().for_each(|notice| self.note(notice));
        for plugin in host.plugins() {
            let name = escape_line(&plugin.name);
            match &plugin.state {
                PluginState::Refused(chain) => self.note(&format!(
                    "plugin `{name}` is not loaded: {}",
                    escape_line(&chain.join(": "))
                )),
                PluginState::Off(off) => self.note(&format!("plugin `{name}` {}", off.line())),
                PluginState::Loaded | PluginState::Disabled => {}
            }
        }
    }

    /// A line for the user beside the answer.
    fn note(&self, line: &str) {
        self.output.note(&format!("{} {line}", self.output.err_paint().yellow("note:")));
    }
}
