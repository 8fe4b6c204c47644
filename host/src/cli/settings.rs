//! From the words of the command line to the settings that the program uses.

use std::io::IsTerminal as _;

use super::args::{ApproveArg, Args, Command, Form};
use crate::config::{Approve, ConfigError, Env, Flags, Settings};
use crate::ui::Output;

/// Reads every source once, and tells the user what was there and is not used.
pub(super) fn load(args: &Args, env: Env, output: &Output) -> Result<Settings, ConfigError> {
    let settings = Settings::load(&flags(args), env)?;
    for notice in &settings.notices {
        output.note(&format!("{} {notice}", output.err_paint().yellow("note:")));
    }
    Ok(settings)
}

/// Whether the answer is one JSON document.
pub(super) fn wants_json(args: &Args) -> bool {
    args.global.json || args.global.output == Form::Json
}

fn flags(args: &Args) -> Flags {
    let global = &args.global;
    let mut flags = Flags {
        workdir: global.workdir.clone(),
        model: global.model.clone(),
        config: global.config.clone(),
        sessions: global.sessions.clone(),
        approve: global.approve.map(|mode| match mode {
            ApproveArg::Ask => Approve::Ask,
            ApproveArg::Deny => Approve::Deny,
            ApproveArg::Safe => Approve::Safe,
        }),
        allow_wide_workdir: global.allow_wide_workdir,
        bash_without_sandbox: global.bash_without_sandbox,
        on_terminal: std::io::stdin().is_terminal() && std::io::stderr().is_terminal(),
        ..Flags::default()
    };
    match &args.command {
        Some(Command::Run(run)) => {
            flags.no_session = run.no_session;
            flags.max_turns = run.max_turns;
            flags.max_tokens = run.max_tokens;
            flags.max_seconds = run.max_seconds;
            flags.max_cost = run.max_cost;
        }
        Some(Command::Call(call)) => flags.no_session = call.no_session,
        _ => {}
    }
    flags
}
