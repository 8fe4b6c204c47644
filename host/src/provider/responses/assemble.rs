//! A reply, put together from the events of a responses stream.

use serde_json::Value;

use crate::model::Usage;
use crate::provider::wire::{
    Assembler, AssemblyError, Draft, DraftCall, Event, Flow, Sequence, count,
};
use crate::provider::{Delta, Events, ReplyStop};

/// The state between two events. Deltas are only shown: each item comes once more when it is
/// whole, and that is what counts.
#[derive(Debug, Default)]
pub(super) struct ResponseAssembler {
    items: Vec<Value>,
    /// The response as its last event has it.
    response: Option<Value>,
}

impl Assembler for ResponseAssembler {
    fn event(&mut self, event: &Event, show: Events<'_>) -> Result<Flow, AssemblyError> {
        if event.data.trim() == "[DONE]" {
            return Ok(Flow::Done);
        }
        let mut value: Value = event.json()?;
        match value["type"].as_str().unwrap_or_default() {
            "response.output_text.delta" | "response.refusal.delta" => {
                show(Delta::Text(value["delta"].as_str().unwrap_or_default()));
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                show(Delta::Reasoning(value["delta"].as_str().unwrap_or_default()));
            }
            "response.output_item.done" => self.items.push(value["item"].take()),
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.end(value["response"].take())?;
                return Ok(Flow::Done);
            }
            "error" => return Err(AssemblyError::complaint(&value)),
            _ => {}
        }
        Ok(Flow::More)
    }

    fn whole(&mut self, reply: &Value, show: Events<'_>) -> Result<(), AssemblyError> {
        self.end(reply.clone())?;
        for item in self.response.iter().flat_map(output) {
            for text in spoken(item) {
                let reasoning = item["type"] == "reasoning";
                show(if reasoning { Delta::Reasoning(text) } else { Delta::Text(text) });
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Draft, AssemblyError> {
        let Some(response) = self.response.take() else {
            return Err(AssemblyError::Cut("the stream ended before the response did".into()));
        };
        let mut items = std::mem::take(&mut self.items);
        if items.is_empty() {
            items = output(&response).cloned().collect();
        }
        if items.is_empty() && response["status"] == "completed" && response.get("output").is_none()
        {
            return Err(AssemblyError::Malformed("it has no output".into()));
        }
        let mut draft = Draft {
            content: String::new(),
            reasoning: None,
            calls: Vec::new(),
            extras: serde_json::Map::new(),
            usage: usage(&response["usage"]),
            stop: stop(&response),
        };
        let mut sequence = Sequence::default();
        for item in items {
            add(&mut draft, &mut sequence, item);
        }
        draft.extras = sequence.into_extras();
        Ok(draft)
    }
}

impl ResponseAssembler {
    fn end(&mut self, response: Value) -> Result<(), AssemblyError> {
        if response["status"] == "failed" || !response["error"].is_null() {
            return Err(AssemblyError::complaint(&response));
        }
        if response["status"].is_null() {
            return Err(AssemblyError::Malformed("it has no status".into()));
        }
        self.response = Some(response);
        Ok(())
    }
}

fn output(response: &Value) -> impl Iterator<Item = &Value> {
    response["output"].as_array().into_iter().flatten()
}

/// What an item says to people: its texts, refusals among them, or the summary of its reasoning.
fn spoken(item: &Value) -> Vec<&str> {
    let texts = |list: &'static str, field: &'static str| {
        let parts = item[list].as_array().into_iter().flatten();
        parts.filter_map(move |part| part[field].as_str())
    };
    match item["type"].as_str().unwrap_or_default() {
        "message" => texts("content", "text").chain(texts("content", "refusal")).collect(),
        "reasoning" => texts("summary", "text").chain(texts("content", "text")).collect(),
        _ => Vec::new(),
    }
}

fn add(draft: &mut Draft, sequence: &mut Sequence, item: Value) {
    match item["type"].as_str().unwrap_or_default() {
        "message" => {
            let text = spoken(&item).concat();
            sequence.text(text.len());
            draft.content.push_str(&text);
            let refused = |part: &Value| part["type"] == "refusal";
            if draft.stop == ReplyStop::Complete
                && item["content"].as_array().is_some_and(|parts| parts.iter().any(refused))
            {
                draft.stop = ReplyStop::Refusal;
            }
        }
        "function_call" => {
            sequence.call();
            let text = |field: &str| item[field].as_str().unwrap_or_default().to_owned();
            let (id, name, arguments) = (text("call_id"), text("name"), text("arguments"));
            draft.calls.push(DraftCall { id, name, arguments, ..DraftCall::default() });
        }
        kind => {
            if kind == "reasoning" {
                draft.reasoning.get_or_insert_default().push_str(&spoken(&item).join("\n"));
            }
            sequence.own(item);
        }
    }
}

fn stop(response: &Value) -> ReplyStop {
    match (
        response["status"].as_str().unwrap_or_default(),
        response["incomplete_details"]["reason"].as_str(),
    ) {
        ("completed", _) => ReplyStop::Complete,
        ("incomplete", Some("max_output_tokens")) => ReplyStop::Length,
        ("incomplete", Some("content_filter")) => ReplyStop::Refusal,
        (status, reason) => ReplyStop::Other(reason.unwrap_or(status).to_owned()),
    }
}

fn usage(usage: &Value) -> Usage {
    Usage {
        input: count(usage.get("input_tokens")),
        output: count(usage.get("output_tokens")),
        cached: count(usage["input_tokens_details"].get("cached_tokens")),
    }
}
