//! A reply, put together from the events of a messages stream.

use serde_json::{Value, json};

use crate::model::Usage;
use crate::provider::wire::{
    Assembler, AssemblyError, Draft, DraftCall, Event, Flow, Sequence, count,
};
use crate::provider::{Delta, Events, ReplyStop};

/// The state between two events.
#[derive(Debug, Default)]
pub(super) struct MessageAssembler {
    blocks: Vec<Block>,
    usage: Usage,
    stop_reason: Option<String>,
    started: bool,
}

#[derive(Debug)]
struct Block {
    /// The service's number of it.
    index: u64,
    /// As it came, with its text and signature grown by the deltas.
    value: Value,
    /// Of a call: the JSON of its input so far.
    input: String,
}

impl Assembler for MessageAssembler {
    fn event(&mut self, event: &Event, show: Events<'_>) -> Result<Flow, AssemblyError> {
        let value: Value = event.json()?;
        match value["type"].as_str().unwrap_or_default() {
            "message_start" => {
                self.started = true;
                self.count(&value["message"]["usage"]);
            }
            "content_block_start" => self.begin(&value, show),
            "content_block_delta" => self.grow(&value, show)?,
            "message_delta" => {
                self.count(&value["usage"]);
                if let Some(reason) = value["delta"]["stop_reason"].as_str() {
                    self.stop_reason = Some(reason.to_owned());
                }
            }
            "message_stop" => return Ok(Flow::Done),
            "error" => {
                return Err(AssemblyError::complaint(&value));
            }
            // `ping`, `content_block_stop`, and whatever is added to the protocol later.
            _ => {}
        }
        Ok(Flow::More)
    }

    fn whole(&mut self, reply: &Value, show: Events<'_>) -> Result<(), AssemblyError> {
        let Some(blocks) = reply["content"].as_array() else {
            return Err(AssemblyError::Malformed("it has no content".into()));
        };
        self.started = true;
        self.count(&reply["usage"]);
        self.stop_reason = reply["stop_reason"].as_str().map(str::to_owned);
        for (index, block) in blocks.iter().enumerate() {
            self.begin(&json!({"index": index, "content_block": block}), show);
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Draft, AssemblyError> {
        if !self.started {
            return Err(AssemblyError::Malformed("it has no message".into()));
        }
        let Some(reason) = self.stop_reason.take() else {
            return Err(AssemblyError::Cut("the stream ended without a stop reason".into()));
        };
        let stop = match reason.as_str() {
            "end_turn" | "tool_use" | "stop_sequence" => ReplyStop::Complete,
            "max_tokens" | "model_context_window_exceeded" => ReplyStop::Length,
            "refusal" => ReplyStop::Refusal,
            _ => ReplyStop::Other(reason),
        };
        let (mut content, mut reasoning, mut calls) = (String::new(), None::<String>, Vec::new());
        let mut sequence = Sequence::default();
        for block in std::mem::take(&mut self.blocks) {
            let text = |field: &str| block.value[field].as_str().unwrap_or_default().to_owned();
            match block.value["type"].as_str().unwrap_or_default() {
                "text" => {
                    let text = text("text");
                    sequence.text(text.len());
                    content.push_str(&text);
                }
                "tool_use" => {
                    sequence.call();
                    // Without a delta the input is what the block began with; but a call that was
                    // cut at the limit before its first delta has none.
                    let arguments = if block.input.is_empty() && stop != ReplyStop::Length {
                        block.value.get("input").map_or_else(|| "{}".into(), Value::to_string)
                    } else {
                        block.input
                    };
                    let (id, name) = (text("id"), text("name"));
                    calls.push(DraftCall { id, name, arguments, ..DraftCall::default() });
                }
                kind => {
                    if kind == "thinking" {
                        reasoning.get_or_insert_default().push_str(&text("thinking"));
                    }
                    sequence.own(block.value);
                }
            }
        }
        Ok(Draft {
            content,
            reasoning,
            calls,
            extras: sequence.into_extras(),
            usage: self.usage,
            stop,
        })
    }
}

impl MessageAssembler {
    fn begin(&mut self, event: &Value, show: Events<'_>) {
        let mut value = event["content_block"].clone();
        if !value.is_object() {
            value = json!({});
        }
        shown(&value["text"], Delta::Text, show);
        shown(&value["thinking"], Delta::Reasoning, show);
        self.blocks.push(Block { index: count(event.get("index")), value, input: String::new() });
    }

    fn grow(&mut self, event: &Value, show: Events<'_>) -> Result<(), AssemblyError> {
        let index = count(event.get("index"));
        let Some(block) = self.blocks.iter_mut().rfind(|block| block.index == index) else {
            return Err(AssemblyError::Malformed(format!(
                "a delta of block {index}, which has not begun"
            )));
        };
        let delta = &event["delta"];
        match delta["type"].as_str().unwrap_or_default() {
            "text_delta" => {
                append(&mut block.value["text"], &delta["text"]);
                shown(&delta["text"], Delta::Text, show);
            }
            "thinking_delta" => {
                append(&mut block.value["thinking"], &delta["thinking"]);
                shown(&delta["thinking"], Delta::Reasoning, show);
            }
            "signature_delta" => append(&mut block.value["signature"], &delta["signature"]),
            "input_json_delta" => {
                block.input.push_str(delta["partial_json"].as_str().unwrap_or_default());
            }
            // Citations and the like belong to text that can be read without them.
            _ => {}
        }
        Ok(())
    }

    /// What was read from the cache or written to it is not part of the plain count. The counts of
    /// later events replace the earlier ones, field by field.
    fn count(&mut self, usage: &Value) {
        if usage.get("input_tokens").is_some_and(|tokens| !tokens.is_null()) {
            self.usage.cached = count(usage.get("cache_read_input_tokens"));
            self.usage.input = count(usage.get("input_tokens"))
                .saturating_add(count(usage.get("cache_creation_input_tokens")))
                .saturating_add(self.usage.cached);
        }
        if usage.get("output_tokens").is_some() {
            self.usage.output = count(usage.get("output_tokens"));
        }
    }
}

fn append(field: &mut Value, more: &Value) {
    let Some(more) = more.as_str() else { return };
    match field {
        Value::String(text) => text.push_str(more),
        other => *other = more.into(),
    }
}

fn shown<'t>(text: &'t Value, delta: fn(&'t str) -> Delta<'t>, show: Events<'_>) {
    if let Some(text) = text.as_str().filter(|text| !text.is_empty()) {
        show(delta(text));
    }
}
