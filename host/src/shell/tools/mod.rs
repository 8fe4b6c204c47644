//! What the model sees of the shell: three tools.

mod bash;
mod decide;
mod denial;
mod kill;
mod output;
mod reply;

use std::sync::Arc;

use serde_json::Value;

use super::session::Shell;
use crate::model::{Failure, FailureCode, Outcome, ToolReply};
use crate::tool::Tool;

pub(super) fn all(shell: &Arc<Shell>) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(bash::Bash::new(Arc::clone(shell))),
        Arc::new(kill::KillProcess::new(Arc::clone(shell))),
        Arc::new(output::ProcessOutput::new(Arc::clone(shell))),
    ]
}

fn failed(code: FailureCode, message: impl Into<String>) -> ToolReply {
    ToolReply::failed(Outcome::Failed, Failure::new(code, message))
}

/// A whole number among the arguments, however it was written.
fn number(arguments: &Value, name: &str) -> Option<u64> {
    let value = arguments.get(name)?;
    let from_float = || value.as_f64().filter(|n| *n >= 0.0).map(|n| n as u64);
    value.as_u64().or_else(from_float)
}

/// The process that the arguments name, if this session has started it.
fn process(shell: &Shell, arguments: &Value) -> Result<Arc<super::run::Process>, Box<ToolReply>> {
    let pid = number(arguments, "pid").and_then(|pid| u32::try_from(pid).ok());
    if let Some(process) = pid.and_then(|pid| shell.processes.get(pid)) {
        return Ok(process);
    }
    let shown = pid.map_or_else(|| "that".to_owned(), |pid| pid.to_string());
    let running = shell.processes.running();
    let mut reply =
        failed(FailureCode::NotFound, format!("process {shown} was not started by this session"));
    if let Some(failure) = &mut reply.failure {
        failure.hint = Some(if running.is_empty() {
            "no process of this session is running".into()
        } else {
            format!("running are: {running:?}")
        });
    }
    Err(Box::new(reply))
}
