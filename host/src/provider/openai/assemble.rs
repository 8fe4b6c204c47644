//! A reply, put together from the chunks of a chat completions stream.

use serde_json::{Map, Value};

use super::render::REASONING_FIELD;
use crate::model::Usage;
use crate::provider::wire::{
    Assembler, AssemblyError, Calls, Draft, Event, Flow, Fragment, count, merge,
};
use crate::provider::{Delta, Events, ReplyStop};

/// The state between two chunks. Only the first choice counts; no second one is asked for.
#[derive(Debug, Default)]
pub(super) struct ChatAssembler {
    content: String,
    reasoning: Option<String>,
    refusal: String,
    calls: Calls,
    extras: Map<String, Value>,
    usage: Usage,
    finish_reason: Option<String>,
    /// Some choice came.
    any_choice: bool,
    /// The stream said that it is over.
    done: bool,
}

impl Assembler for ChatAssembler {
    fn event(&mut self, event: &Event, show: Events<'_>) -> Result<Flow, AssemblyError> {
        if event.data.trim() == "[DONE]" {
            self.done = true;
            return Ok(Flow::Done);
        }
        let chunk: Value = event.json()?;
        if event.name == "error" || chunk.get("error").is_some_and(|error| !error.is_null()) {
            return Err(AssemblyError::complaint(&chunk));
        }
        self.chunk(chunk, show)?;
        Ok(Flow::More)
    }

    fn whole(&mut self, reply: &Value, show: Events<'_>) -> Result<(), AssemblyError> {
        self.done = true;
        self.chunk(reply.clone(), show)
    }

    /// A reply is whole when its last chunk said why it ends, or the stream said that it is over.
    /// Calls need more than the latter: they must be JSON to their end.
    fn finish(&mut self) -> Result<Draft, AssemblyError> {
        if self.finish_reason.is_none() && !self.done {
            return Err(AssemblyError::Cut("the stream ended without a finish reason".into()));
        }
        if !self.any_choice {
            return Err(AssemblyError::Malformed("it has no choices".into()));
        }
        let calls = self.calls.take();
        if self.finish_reason.is_none()
            && let Some(call) = calls.iter().find(|call| !is_object(&call.arguments))
        {
            return Err(AssemblyError::Cut(format!("within the arguments of `{}`", call.name)));
        }
        let mut content = std::mem::take(&mut self.content);
        let mut stop = stop(self.finish_reason.as_deref());
        if !self.refusal.is_empty() {
            content.push_str(&self.refusal);
            stop = ReplyStop::Refusal;
        }
        Ok(Draft {
            content,
            reasoning: self.reasoning.take(),
            calls,
            extras: std::mem::take(&mut self.extras),
            usage: self.usage,
            stop,
        })
    }
}

fn is_object(arguments: &str) -> bool {
    serde_json::from_str::<Map<String, Value>>(arguments).is_ok()
}

/// A length is known under one name; what says that all is well, under several.
fn stop(reason: Option<&str>) -> ReplyStop {
    match reason {
        None
        | Some("" | "stop" | "tool_calls" | "function_call" | "tool_use" | "eos" | "end_turn") => {
            ReplyStop::Complete
        }
        Some("length" | "max_tokens") => ReplyStop::Length,
        Some("content_filter" | "refusal") => ReplyStop::Refusal,
        Some(other) => ReplyStop::Other(other.to_owned()),
    }
}

impl ChatAssembler {
    fn chunk(&mut self, mut chunk: Value, show: Events<'_>) -> Result<(), AssemblyError> {
        if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
            self.usage = read_usage(usage);
        }
        let first =
            |choice: &&mut Value| choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0;
        let choices = chunk.get_mut("choices").and_then(Value::as_array_mut);
        let Some(choice) = choices.and_then(|choices| choices.iter_mut().find(first)) else {
            // The chunk with the counts has no choices; neither have the pings of some servers.
            return Ok(());
        };
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            if reason == "error" {
                return Err(AssemblyError::complaint(choice));
            }
            self.finish_reason = Some(reason.to_owned());
        }
        // A stream has `delta`, an answer in one piece `message`.
        for key in ["delta", "message"] {
            if let Some(Value::Object(fields)) = choice.get_mut(key).map(Value::take) {
                self.any_choice = true;
                for (key, value) in fields {
                    self.field(&key, value, show);
                }
            }
        }
        Ok(())
    }

    fn field(&mut self, key: &str, value: Value, show: Events<'_>) {
        match (key, value) {
            ("content", Value::String(text)) => self.text(&text, show),
            // Parts in place of a text, as some services write it.
            ("content", Value::Array(parts)) => {
                for part in &parts {
                    if let Some(text) = part.get("text").and_then(Value::as_str) {
                        self.text(text, show);
                    }
                }
            }
            ("refusal", Value::String(text)) => self.refusal.push_str(&text),
            // Services that know both names send the same text under each; the first one counts.
            ("reasoning_content", Value::String(text)) => {
                if !self.extras.contains_key(REASONING_FIELD) {
                    self.think(&text, show);
                }
            }
            ("reasoning", Value::String(text)) => {
                if self.reasoning.is_none() || self.extras.contains_key(REASONING_FIELD) {
                    self.extras.insert(REASONING_FIELD.into(), key.into());
                    self.think(&text, show);
                }
            }
            ("tool_calls", Value::Array(calls)) => {
                for call in calls {
                    self.call(call);
                }
            }
            (
                "role" | "content" | "refusal" | "reasoning_content" | "reasoning" | "tool_calls"
                | "function_call",
                _,
            ) => {}
            (key, value) => merge(&mut self.extras, key, value),
        }
    }

    fn text(&mut self, text: &str, show: Events<'_>) {
        if !text.is_empty() {
            self.content.push_str(text);
            show(Delta::Text(text));
        }
    }

    /// Empty reasoning is kept apart from none: some services want it back.
    fn think(&mut self, text: &str, show: Events<'_>) {
        self.reasoning.get_or_insert_default().push_str(text);
        if !text.is_empty() {
            show(Delta::Reasoning(text));
        }
    }

    fn call(&mut self, call: Value) {
        let Value::Object(mut fields) = call else { return };
        let function = match fields.remove("function") {
            Some(Value::Object(function)) => function,
            _ => Map::new(),
        };
        let index = fields.remove("index").and_then(|index| index.as_u64());
        let id = fields.remove("id");
        fields.remove("type");
        let arguments = match function.get("arguments") {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            // An object where the protocol has text.
            Some(other) => other.to_string(),
        };
        self.calls.add(Fragment {
            index,
            id: id.as_ref().and_then(Value::as_str).unwrap_or_default(),
            name: function.get("name").and_then(Value::as_str).unwrap_or_default(),
            arguments: &arguments,
            extras: fields,
        });
    }
}

/// The counts. What was read from a cache stands in one of two places.
fn read_usage(usage: &Value) -> Usage {
    let details =
        usage.get("prompt_tokens_details").and_then(|details| details.get("cached_tokens"));
    Usage {
        input: count(usage.get("prompt_tokens")),
        output: count(usage.get("completion_tokens")),
        cached: count(details.or_else(|| usage.get("prompt_cache_hit_tokens"))),
    }
}
