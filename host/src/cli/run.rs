//! `claw run`: one task.

use std::sync::Arc;

use super::signals::Signals;
use super::usage::UsageError;
use super::{Invocation, no_session_log, stdin};
use crate::agent::{Agent, Budget};
use crate::app::{self, Host};
use crate::config::{ModelChoice, Price, Settings};
use crate::journal::Journal;
use crate::provider::Provider;
use crate::ui::{self, RunReporter};

/// The task: what was given, and what was piped in as its context. `-` is all of standard input,
/// and so is a pipe where nothing was given.
pub(super) fn prompt(given: Option<&str>) -> anyhow::Result<String> {
    let prompt = match given {
        Some("-") => stdin::whole()?,
        None => stdin::piped()?.unwrap_or_default(),
        Some(prompt) => match stdin::piped()? {
            Some(context) if !prompt.trim().is_empty() => stdin::with_context(prompt, &context),
            _ => prompt.to_owned(),
        },
    };
    if prompt.trim().is_empty() {
        return Err(UsageError(
            "no task: give it as `claw run \"TASK\"`, or pipe it into `claw run -`".into(),
        )
        .into());
    }
    Ok(prompt)
}

/// Runs the task to its end. The answer goes to standard output, the exit code says how it ended.
pub(super) async fn run(invocation: &Invocation, prompt: String) -> anyhow::Result<u8> {
    let settings = &invocation.settings;
    let signals = Signals::watch()?;
    let price = price(settings)?;
    let mut host = invocation.open_host()?;
    invocation.tell_refused(&host);
    let provider = app::provider(settings)?;
    signals.begin();
    // Last of all, so that what cannot begin leaves no session behind.
    let journal = if settings.keep_session {
        let journal = begin(invocation, &host, provider.as_ref())?;
        Some(Arc::new(journal))
    } else {
        None
    };
    let mut agent = Agent::builder(provider, Arc::clone(host.registry()), host.workdir().path())
        .system_prompt(host.system_prompt())
        .budget(Budget::from(&settings.limits))
        .price(price.map(Into::into))
        .reporter(Arc::new(RunReporter::new(Arc::clone(&invocation.output), invocation.verbose)))
        .journal(journal)
        .cancel(signals.interrupt.clone())
        .terminate(signals.terminate.clone())
        .build()?;
    // What is dropped into the plugin directory meanwhile is there for the next turn.
    let output = Arc::clone(&invocation.output);
    let _watch = host.watch(move |line| {
        output.note(&format!("{} {line}", output.err_paint().yellow("note:")));
    });
    let report = agent.run(prompt).await?;
    if invocation.json {
        invocation.output.print(&ui::json::to_line(&ui::json::run(&report)));
    } else if !report.answer.is_empty() {
        invocation.output.print_foreign(&report.answer);
    }
    Ok(report.stop.exit_code())
}

/// What the model costs. A bound on money that nothing could hold is refused, not ignored.
fn price(settings: &Settings) -> anyhow::Result<Option<Price>> {
    match settings.choose_model()? {
        ModelChoice::Script(_) => Ok(None),
        ModelChoice::Service(service)
            if settings.limits.cost.value.is_some() && service.price.is_none() =>
        {
            let name = service.provider;
            Err(UsageError(format!(
                "{} bounds the cost, and no price is known: write `price = {{ input = …, output = … }}` \
                 (per million tokens) under `[providers.{name}]` in `{}`",
                settings.limits.cost.origin,
                settings.paths.config_file.display()
            ))
            .into())
        }
        ModelChoice::Service(service) => Ok(service.price),
    }
}

fn begin(invocation: &Invocation, host: &Host, provider: &dyn Provider) -> anyhow::Result<Journal> {
    let settings = &invocation.settings;
    let model = format!("{}/{}", provider.name(), provider.model());
    let journal = Journal::create(&settings.sessions.value, host.workdir().path(), &model)
        .map_err(no_session_log)?;
    host.keep_in(&journal);
    Ok(journal.with_redactions(settings.secrets()))
}
