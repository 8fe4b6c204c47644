//! A provider that plays replies from JSON Lines: for demonstrations, tests and benchmarks, with
//! no network.

mod line;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio_util::sync::CancellationToken;

use self::line::Line;
use super::wire::unique_ids;
use super::{Delta, Events, Provider, ProviderError, Reply, Request};
use crate::model::{Message, Role};

/// Plays one line for each request, in order, and checks what the line expects of the request.
#[derive(Debug)]
pub struct ScriptProvider {
    /// What errors call the script; the model's name too.
    file: String,
    lines: Vec<Line>,
    next: AtomicUsize,
}

impl ScriptProvider {
    /// Reads a script. Errors name the file, and the line where one is wrong.
    pub fn open(path: &Path) -> Result<Self, ProviderError> {
        let file = crate::text::escape_line(&path.to_string_lossy());
        match std::fs::read_to_string(path) {
            Ok(text) => Self::from_lines(&file, &text),
            Err(cause) => Err(ProviderError::ScriptUnreadable { file, cause: cause.to_string() }),
        }
    }

    /// A script that is in memory: JSON Lines, one reply each. All keys are optional: `text`,
    /// `reasoning`, `tool_calls` (each `id`, `name`, `arguments` as an object or as text),
    /// `expect.contains` (a list of texts), `usage` (`input`, `output`, `cached`) and `stop`
    /// (`complete`, `length`, `refusal`). Empty lines are skipped. `file` is what errors call it.
    pub fn from_lines(file: &str, text: &str) -> Result<Self, ProviderError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = Vec::new();
        for (at, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let number = at + 1;
            lines.push(Line::parse(line, number).map_err(|cause| ProviderError::Script {
                file: file.to_owned(),
                line: number,
                cause,
            })?);
        }
        Ok(Self { file: file.to_owned(), lines, next: AtomicUsize::new(0) })
    }

    /// How many replies are left.
    pub fn remaining(&self) -> usize {
        self.lines.len().saturating_sub(self.next.load(Ordering::Relaxed))
    }

    fn play(&self, request: Request<'_>, events: Events<'_>) -> Result<Reply, ProviderError> {
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        let Some(line) = self.lines.get(at) else {
            return Err(ProviderError::ScriptExhausted { lines: self.lines.len() });
        };
        let newest = newest(request.messages);
        if let Some(missing) = line
            .expects
            .iter()
            .find(|text| !newest.iter().any(|m| m.content.contains(text.as_str())))
        {
            let cause = format!(
                "expected `{}` in the newest messages, and none has it",
                crate::text::escape_line(missing)
            );
            return Err(ProviderError::Script {
                file: self.file.clone(),
                line: line.number,
                cause,
            });
        }
        let mut message = line.message.clone();
        unique_ids(message.tool_calls.iter_mut().map(|call| &mut call.id), request.messages);
        if let Some(reasoning) = message.reasoning.as_deref().filter(|text| !text.is_empty()) {
            events(Delta::Reasoning(reasoning));
        }
        if !message.content.is_empty() {
            events(Delta::Text(&message.content));
        }
        Ok(Reply { message, usage: line.usage, stop: line.stop.clone() })
    }
}

/// What came since the model spoke last; before its first word, everything.
fn newest(messages: &[Message]) -> &[Message] {
    let after =
        messages.iter().rposition(|message| message.role == Role::Assistant).map_or(0, |at| at + 1);
    &messages[after..]
}

#[async_trait::async_trait]
impl Provider for ScriptProvider {
    fn name(&self) -> &'static str {
        "script"
    }

    fn model(&self) -> &str {
        &self.file
    }

    async fn generate(
        &self,
        request: Request<'_>,
        events: Events<'_>,
        cancel: &CancellationToken,
    ) -> Result<Reply, ProviderError> {
        if cancel.is_cancelled() {
            return Err(ProviderError::Cancelled);
        }
        self.play(request, events)
    }
}
