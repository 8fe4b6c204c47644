//! The tool `kill_process`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{process, reply};
use crate::model::{Effects, FailureCode, ToolReply, ToolSpec};
use crate::shell::run::GRACE;
use crate::shell::session::Shell;
use crate::tool::{CallContext, Tool};

pub(super) struct KillProcess {
    shell: Arc<Shell>,
    spec: ToolSpec,
}

impl KillProcess {
    pub(super) fn new(shell: Arc<Shell>) -> Self {
        let spec = ToolSpec {
            name: "kill_process".into(),
            title: None,
            description:
                "Ends a process that `bash` started with mode `spawn`, and all that it started."
                    .into(),
            input_schema: json!({
                "type": "object",
                "properties": { "pid": { "type": "integer" } },
                "required": ["pid"],
            }),
            output_schema: None,
            effects: Effects { idempotent: true, ..Effects::default() },
            plugin: None,
        };
        Self { shell, spec }
    }
}

#[async_trait::async_trait]
impl Tool for KillProcess {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: &Value, _: &CallContext) -> ToolReply {
        let process = match process(&self.shell, arguments) {
            Ok(process) => process,
            Err(reply) => return *reply,
        };
        let running = &process.running;
        let pid = running.pid();
        if running.ended_by_now().is_some() {
            return ToolReply::text(format!("process {pid} had ended already"));
        }
        // First the runner, which lets programs end by themselves, then by force.
        running.ask_to_end();
        if !running.gone(2 * GRACE).await {
            running.kill();
            running.kill_process();
            if !running.gone(GRACE).await {
                return super::failed(FailureCode::Failed, format!("process {pid} does not end"));
            }
        }
        let planted = self.shell.look_after(&process);
        let text = format!("process {pid} and all that it had started were ended");
        reply::with_planted(ToolReply::text(text), &planted)
    }
}
