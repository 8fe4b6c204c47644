//! A reply, put together from the lines of a chat stream.

use serde_json::{Map, Value};

use super::printed;
use crate::model::{ToolSpec, Usage};
use crate::provider::wire::{Assembler, AssemblyError, Draft, DraftCall, Event, Flow, count};
use crate::provider::{Delta, Events, ReplyStop};

/// The state between two lines.
#[derive(Debug)]
pub(super) struct OllamaAssembler {
    /// The names of the tools that were offered.
    known: Vec<String>,
    content: String,
    reasoning: Option<String>,
    calls: Vec<DraftCall>,
    usage: Usage,
    /// Why it ended, once it has.
    done: Option<String>,
}

impl OllamaAssembler {
    pub(super) fn new(tools: &[ToolSpec]) -> Self {
        Self {
            known: tools.iter().map(|spec| spec.name.clone()).collect(),
            content: String::new(),
            reasoning: None,
            calls: Vec::new(),
            usage: Usage::default(),
            done: None,
        }
    }

    fn line(&mut self, line: &Value, show: Events<'_>) -> Result<Flow, AssemblyError> {
        if line.get("error").is_some_and(|error| !error.is_null()) {
            return Err(AssemblyError::complaint(line));
        }
        let message = &line["message"];
        if let Some(text) = message["thinking"].as_str().filter(|text| !text.is_empty()) {
            self.reasoning.get_or_insert_default().push_str(text);
            show(Delta::Reasoning(text));
        }
        if let Some(text) = message["content"].as_str().filter(|text| !text.is_empty()) {
            self.content.push_str(text);
            show(Delta::Text(text));
        }
        // Every call comes whole, with its arguments as an object and mostly without an id.
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let function = &call["function"];
            let arguments = match &function["arguments"] {
                Value::Null => "{}".to_owned(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let (id, name) = (text(&call["id"]), text(&function["name"]));
            self.calls.push(DraftCall { id, name, arguments, ..DraftCall::default() });
        }
        if line["done"] != Value::Bool(true) {
            return Ok(Flow::More);
        }
        self.usage.input = count(line.get("prompt_eval_count"));
        self.usage.output = count(line.get("eval_count"));
        self.done = Some(line["done_reason"].as_str().unwrap_or("stop").to_owned());
        Ok(Flow::Done)
    }
}

impl Assembler for OllamaAssembler {
    fn event(&mut self, event: &Event, show: Events<'_>) -> Result<Flow, AssemblyError> {
        self.line(&event.json()?, show)
    }

    fn whole(&mut self, reply: &Value, show: Events<'_>) -> Result<(), AssemblyError> {
        self.line(reply, show).map(|_| ())
    }

    fn finish(&mut self) -> Result<Draft, AssemblyError> {
        let Some(reason) = self.done.take() else {
            return Err(AssemblyError::Cut("the stream ended without its last line".into()));
        };
        let stop = match reason.as_str() {
            "stop" => ReplyStop::Complete,
            "length" => ReplyStop::Length,
            // The model was only loaded: the server answers so to a request without a message.
            "load" | "unload" => {
                return Err(AssemblyError::Malformed(format!("a reply of kind `{reason}`")));
            }
            _ => ReplyStop::Other(reason),
        };
        let mut content = std::mem::take(&mut self.content);
        let mut calls = std::mem::take(&mut self.calls);
        if calls.is_empty()
            && stop == ReplyStop::Complete
            && let Some(printed) = printed::calls(&content, &self.known)
        {
            calls = printed;
            content.clear();
        }
        let reasoning = self.reasoning.take();
        Ok(Draft { content, reasoning, calls, extras: Map::new(), usage: self.usage, stop })
    }
}
