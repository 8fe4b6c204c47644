//! A conversation as the body of a messages request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::model::{Content, Message, Payload, Role};
use crate::provider::Request;
use crate::provider::wire::{Part, ServiceSettings, parts, wire_arguments, wire_schema};

/// The fields of the body that are written here and by nobody else.
pub(super) const OWN_FIELDS: &[&str] =
    &["model", "system", "messages", "tools", "stream", "max_tokens"];

pub(super) fn body(settings: &ServiceSettings, max_output: u64, request: &Request<'_>) -> Vec<u8> {
    // The system messages at the beginning; a later one stays in its place, as the user's.
    let split = request.messages.iter().position(|message| message.role != Role::System);
    let (system, rest) = request.messages.split_at(split.unwrap_or(request.messages.len()));

    let mut body = Map::new();
    body.insert("model".into(), settings.model.as_str().into());
    body.insert("max_tokens".into(), max_output.into());
    let mut tools: Vec<Value> = request
        .tools
        .iter()
        .map(|spec| json!({"name": spec.name, "description": spec.description, "input_schema": wire_schema(&spec.input_schema)}))
        .collect();
    let mut system: Vec<Value> =
        system.iter().filter_map(|message| text(&message.content)).collect();
    let mut messages = messages(rest, settings);
    // Everything up to a mark is cached, in the order tools, system, messages: what never changes
    // within a session is marked, and the end, which the next request goes on from.
    mark(&mut tools);
    mark(&mut system);
    if let Some(Value::Array(blocks)) = messages.last_mut().map(|message| &mut message["content"]) {
        mark(blocks);
    }
    if !tools.is_empty() {
        body.insert("tools".into(), tools.into());
    }
    if !system.is_empty() {
        body.insert("system".into(), system.into());
    }
    body.insert("messages".into(), messages.into());
    body.insert("stream".into(), true.into());
    body.extend(settings.body.clone());
    Value::Object(body).to_string().into_bytes()
}

/// Marks the last of `blocks`. Thoughts cannot be marked, and need not: something always follows.
fn mark(blocks: &mut [Value]) {
    if let Some(Value::Object(block)) = blocks.last_mut()
        && !matches!(
            block.get("type").and_then(Value::as_str),
            Some("thinking" | "redacted_thinking")
        )
    {
        block.insert("cache_control".into(), json!({"type": "ephemeral"}));
    }
}

/// Blocks of text must not be empty.
fn text(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

/// The roles take turns here: what follows in the same role joins the message before. So all
/// results of a turn stand in one message, as the protocol demands.
fn messages(messages: &[Message], settings: &ServiceSettings) -> Vec<Value> {
    let mut wire: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages {
        let (role, blocks) = match message.role {
            Role::Assistant => ("assistant", assistant(message, &settings.name)),
            Role::Tool => ("user", vec![result(message, settings.images)]),
            Role::User | Role::System => {
                let pictures =
                    message.attachments.iter().filter(|_| settings.images).filter_map(picture);
                ("user", text(&message.content).into_iter().chain(pictures).collect())
            }
        };
        if blocks.is_empty() {
            continue;
        }
        match wire.last_mut() {
            Some((last, joined)) if *last == role => joined.extend(blocks),
            _ => wire.push((role, blocks)),
        }
    }
    wire.into_iter().map(|(role, blocks)| json!({"role": role, "content": blocks})).collect()
}

fn assistant(message: &Message, provider: &str) -> Vec<Value> {
    let block = |part: Part<'_>| match part {
        Part::Text(content) => text(content),
        Part::Call(call) => Some(
            json!({"type": "tool_use", "id": call.id, "name": call.name, "input": wire_arguments(call)}),
        ),
        Part::Own(block) => Some(block.clone()),
    };
    parts(message, provider).into_iter().filter_map(block).collect()
}

fn result(message: &Message, images: bool) -> Value {
    let mut block = json!({"type": "tool_result", "tool_use_id": message.tool_call_id});
    let pictures = message.attachments.iter().filter(|_| images).filter_map(picture);
    let content: Vec<Value> = text(&message.content).into_iter().chain(pictures).collect();
    if !content.is_empty() {
        block["content"] = content.into();
    }
    if message.is_error {
        block["is_error"] = true.into();
    }
    block
}

fn picture(content: &Content) -> Option<Value> {
    if !content.mime_type.starts_with("image/") {
        return None;
    }
    let source = match &content.payload {
        Payload::Bytes(bytes) => {
            json!({"type": "base64", "media_type": content.mime_type, "data": STANDARD.encode(bytes)})
        }
        Payload::Link(url) => json!({"type": "url", "url": url}),
        Payload::Text(_) => return None,
    };
    Some(json!({"type": "image", "source": source}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Effects, ToolCall, ToolSpec};

    fn rendered(messages: &[Message], tools: &[ToolSpec]) -> Value {
        let settings = ServiceSettings::new("a", "m", "http://a.example");
        serde_json::from_slice(&body(&settings, 9, &Request { messages, tools })).unwrap()
    }

    #[test]
    fn req_020_req_069_results_are_blocks_of_one_user_message() {
        let mut call = Message::assistant("look");
        for id in ["c1", "c2"] {
            call.tool_calls.push(ToolCall {
                id: id.into(),
                name: "t".into(),
                arguments: "{\"a\":1}".into(),
            });
        }
        let mut pictured = Message::tool("c2", "", false);
        pictured.attachments.push(Content {
            mime_type: "image/png".into(),
            payload: Payload::Bytes(vec![1, 2, 3]),
        });
        let tool = ToolSpec {
            name: "t".into(),
            title: None,
            description: "d".into(),
            input_schema: json!({"type": "object"}),
            output_schema: None,
            effects: Effects::default(),
            plugin: None,
        };
        let messages = [
            Message::system("s1"),
            Message::system("s2"),
            Message::user("u"),
            call,
            Message::tool("c1", "bad", true),
            pictured,
            Message::user("go on"),
        ];
        let cached = json!({"type": "ephemeral"});
        let want = json!({
            "model": "m", "max_tokens": 9, "stream": true,
            "tools": [{"name": "t", "description": "d", "input_schema": {"type": "object"}, "cache_control": cached}],
            "system": [{"type": "text", "text": "s1"}, {"type": "text", "text": "s2", "cache_control": cached}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "u"}]},
                {"role": "assistant", "content": [
                    {"type": "text", "text": "look"},
                    {"type": "tool_use", "id": "c1", "name": "t", "input": {"a": 1}},
                    {"type": "tool_use", "id": "c2", "name": "t", "input": {"a": 1}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "bad"}], "is_error": true},
                    {"type": "tool_result", "tool_use_id": "c2", "content": [
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AQID"}}]},
                    {"type": "text", "text": "go on", "cache_control": cached}]},
            ],
        });
        assert_eq!(rendered(&messages, &[tool]), want);
    }

    #[test]
    fn d19_a_failed_result_says_so_and_a_good_one_does_not() {
        for (failed, want) in [(true, json!(true)), (false, Value::Null)] {
            let body = rendered(&[Message::tool("c", "r", failed)], &[]);
            assert_eq!(body["messages"][0]["content"][0]["is_error"], want);
        }
    }

    #[test]
    fn empty_messages_are_left_out() {
        let body =
            rendered(&[Message::user("u"), Message::assistant(" "), Message::user("v")], &[]);
        assert_eq!(body["messages"].as_array().unwrap().len(), 1);
    }
}
