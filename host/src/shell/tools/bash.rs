//! The tool `bash`.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::decide::decide;
use super::{failed, number, reply};
use crate::model::{Effects, FailureCode, Outcome, ToolReply, ToolSpec};
use crate::shell::run::{Ended, GRACE, Process, Stop};
use crate::shell::session::{Manner, Shell};
use crate::tool::{CallContext, Tool};

/// How long the rest of the output may take once the line itself has ended: a process that it
/// left behind may hold the pipe.
const DRAIN: Duration = Duration::from_millis(250);
/// What is left of the moment that a cancelled call has.
const CANCEL: Duration = Duration::from_millis(200);

pub(super) struct Bash {
    shell: Arc<Shell>,
    spec: ToolSpec,
}

impl Bash {
    pub(super) fn new(shell: Arc<Shell>) -> Self {
        let settings = &shell.settings;
        let network = if settings.network { "with" } else { "without" };
        let description = format!(
            "Runs a command line in the working directory, in a sandbox {network} network. Plain commands joined by | && || ; run at once; shell syntax may need approval. Standard input is empty. Mode `run` waits up to `timeout` s (default {}, at most {}) and gives output and exit code; `spawn` starts a server or watcher and gives its pid at once.",
            settings.timeout.as_secs(),
            settings.max_timeout.as_secs()
        );
        let spec = ToolSpec {
            name: "bash".into(),
            title: None,
            description,
            input_schema: json!({
                "type": "object",
                "properties": {
                    "command": { "type": "string" },
                    "mode": { "type": "string", "enum": ["run", "spawn"] },
                    "timeout": { "type": "number", "description": "seconds" },
                    "cwd": { "type": "string", "description": "folder to run in" },
                },
                "required": ["command"],
            }),
            output_schema: None,
            effects: Effects {
                destructive: true,
                open_world: settings.network,
                ..Effects::default()
            },
            plugin: None,
        };
        Self { shell, spec }
    }

    /// Waits for the line to end, for the user to give up, or for the runner to be overdue.
    async fn wait(
        &self,
        process: &Process,
        limit: Duration,
        context: &CallContext,
    ) -> Option<Ended> {
        let running = &process.running;
        tokio::select! {
            ended = running.ended() => return Some(ended),
            () = context.cancel.cancelled() => {}
            // The runner keeps the time itself; this is for one that hangs.
            () = tokio::time::sleep(limit + 4 * GRACE) => {
                running.kill();
                running.kill_process();
                let stop = Some(Stop::TimedOut);
                return Some(Ended { stop, left_behind: true, ..Ended::default() });
            }
        }
        running.kill();
        let _ = tokio::time::timeout(CANCEL, running.ended()).await;
        None
    }
}

#[async_trait::async_trait]
impl Tool for Bash {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: &Value, context: &CallContext) -> ToolReply {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let shell = &self.shell;
        let command = text("command").unwrap_or_default();
        if command.trim().is_empty() {
            return failed(FailureCode::InvalidArguments, "`command` is empty");
        }
        let spawn = match text("mode") {
            None | Some("run") => false,
            Some("spawn") => true,
            Some(other) => {
                let message = format!("there is no mode `{other}`, only `run` and `spawn`");
                return failed(FailureCode::InvalidArguments, message);
            }
        };
        let limit = match timeout(shell, arguments) {
            Ok(limit) => limit,
            Err(reply) => return *reply,
        };
        let cwd = folder(shell, text("cwd").unwrap_or("."));
        if spawn && !shell.processes.has_room() {
            let message =
                "too many processes of this session are running; end one with `kill_process` first";
            return failed(FailureCode::Unavailable, message);
        }
        let work = tokio::select! {
            work = decide(shell, command, &cwd) => match work {
                Ok(work) => work,
                Err(reply) => return *reply,
            },
            () = context.cancel.cancelled() => {
                return failed(FailureCode::Unavailable, "cancelled before it was started");
            }
        };
        let begun = Instant::now();
        let manner = Manner { timeout: (!spawn).then_some(limit), log: spawn };
        let shared = Arc::clone(shell);
        // Looking at the workdir and starting a process block.
        let started = tokio::task::spawn_blocking(move || shared.start(work, manner)).await;
        let process = match started {
            Ok(Ok(process)) => process,
            Ok(Err(error)) => {
                return failed(
                    FailureCode::Failed,
                    format!("the sandbox cannot be started: {error}"),
                );
            }
            Err(error) => return failed(FailureCode::Internal, error.to_string()),
        };
        shell.processes.add(Arc::clone(&process));
        if spawn {
            return reply::spawned(shell, &process).await;
        }
        // If this call is dropped at any point from here on, what it started ends with it.
        let guard = EndOnDrop(Arc::clone(&process));
        let ended = self.wait(&process, limit, context).await;
        if ended.is_some() {
            process.running.drained(DRAIN).await;
        }
        drop(guard);
        if ended.is_some() {
            // What held the pipe is gone with the sandbox, and only then it is looked at.
            process.running.gone(GRACE).await;
        }
        let shared = Arc::clone(shell);
        let looked = Arc::clone(&process);
        let planted = tokio::task::spawn_blocking(move || shared.look_after(&looked)).await;
        let mut reply =
            reply::ran(shell, &process, ended.as_ref(), &planted.unwrap_or_default(), limit);
        if ended.is_none() {
            reply.outcome = Outcome::Interrupted { after_ms: begun.elapsed().as_millis() as u64 };
        }
        reply
    }
}

/// Ends a process with the call that waits for it.
struct EndOnDrop(Arc<Process>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.running.kill();
    }
}

fn timeout(shell: &Shell, arguments: &Value) -> Result<Duration, Box<ToolReply>> {
    let (default, most) = (shell.settings.timeout, shell.settings.max_timeout);
    if arguments.get("timeout").is_none_or(Value::is_null) {
        return Ok(default);
    }
    match number(arguments, "timeout").map(Duration::from_secs) {
        Some(limit) if !limit.is_zero() && limit <= most => Ok(limit),
        _ => {
            let message = format!("`timeout` has to be from 1 to {} seconds", most.as_secs());
            Err(Box::new(failed(FailureCode::InvalidArguments, message)))
        }
    }
}

/// The folder to run in, relative to the workdir where it is inside. The rules judge it.
fn folder(shell: &Shell, given: &str) -> String {
    let path = Path::new(given);
    path.strip_prefix(&shell.settings.workdir).unwrap_or(path).to_string_lossy().into_owned()
}
