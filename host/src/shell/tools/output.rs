//! The tool `process_output`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{failed, number, process, reply};
use crate::model::{Effects, FailureCode, ToolReply, ToolSpec};
use crate::shell::session::Shell;
use crate::tool::{CallContext, Tool};

/// Lines that are shown if the call does not say how many.
const LINES: usize = 100;

pub(super) struct ProcessOutput {
    shell: Arc<Shell>,
    spec: ToolSpec,
}

impl ProcessOutput {
    pub(super) fn new(shell: Arc<Shell>) -> Self {
        let spec = ToolSpec {
            name: "process_output".into(),
            title: None,
            description: "Shows what a process of `bash` has printed: the last `tail` lines, or from byte `offset` on.".into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "pid": { "type": "integer" },
                    "tail": { "type": "integer" },
                    "offset": { "type": "integer" },
                },
                "required": ["pid"],
            }),
            output_schema: None,
            effects: Effects::READ_ONLY,
            plugin: None,
        };
        Self { shell, spec }
    }
}

#[async_trait::async_trait]
impl Tool for ProcessOutput {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: &Value, _: &CallContext) -> ToolReply {
        let process = match process(&self.shell, arguments) {
            Ok(process) => process,
            Err(reply) => return *reply,
        };
        let cap = self.shell.settings.output;
        let read = if let Some(offset) = number(arguments, "offset") {
            process.output.read(offset, cap).map(|(text, next)| {
                let total = process.output.total();
                let more = format!("\n[bytes {offset} to {next} of {total}]");
                text + &more
            })
        } else {
            let lines = number(arguments, "tail").map_or(LINES, |n| n as usize);
            process.output.last_lines(lines, cap)
        };
        let text = match read {
            Ok(text) => text,
            Err(why) => return failed(FailureCode::Failed, why),
        };
        let state = match process.running.ended_by_now() {
            None => "still running".to_owned(),
            Some(ended) => match ended.code {
                Some(code) if ended.stop.is_none() => format!("exit code: {code}"),
                _ => "ended".to_owned(),
            },
        };
        let text = format!("{}\n[{state}]", text.trim_end_matches('\n'));
        let shell = Arc::clone(&self.shell);
        let planted = tokio::task::spawn_blocking(move || shell.look_after_ended()).await;
        reply::with_planted(ToolReply::text(text), &planted.unwrap_or_default())
    }
}
