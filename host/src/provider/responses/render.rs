//! A conversation as the body of a responses request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::model::{Content, Message, Payload, Role};
use crate::provider::Request;
use crate::provider::wire::{Part, ServiceSettings, parts, wire_arguments_text, wire_schema};

/// The fields of the body that are written here and by nobody else.
pub(super) const OWN_FIELDS: &[&str] = &["model", "input", "tools", "stream", "store"];

pub(super) fn body(settings: &ServiceSettings, request: &Request<'_>) -> Vec<u8> {
    let mut body = Map::new();
    body.insert("model".into(), settings.model.as_str().into());
    let input: Vec<Value> =
        request.messages.iter().flat_map(|message| items(message, settings)).collect();
    body.insert("input".into(), input.into());
    let tools: Vec<Value> = request
        .tools
        .iter()
        .map(|spec| {
            json!({"type": "function", "name": spec.name, "description": spec.description,
                "parameters": wire_schema(&spec.input_schema), "strict": false})
        })
        .collect();
    if !tools.is_empty() {
        body.insert("tools".into(), tools.into());
    }
    body.insert("stream".into(), true.into());
    // Nothing is stored there, so reasoning has to come along, encrypted, and go back.
    body.insert("store".into(), false.into());
    body.insert("include".into(), json!(["reasoning.encrypted_content"]));
    if let Some(most) = settings.max_output {
        body.insert("max_output_tokens".into(), most.into());
    }
    body.extend(settings.body.clone());
    Value::Object(body).to_string().into_bytes()
}

fn items(message: &Message, settings: &ServiceSettings) -> Vec<Value> {
    let pictures = message.attachments.iter().filter(|_| settings.images).filter_map(picture);
    match message.role {
        Role::System => vec![json!({"role": "system", "content": message.content})],
        Role::User => vec![json!({"role": "user", "content": content(&message.content, pictures)})],
        Role::Tool => vec![json!({"type": "function_call_output", "call_id": message.tool_call_id,
            "output": content(&message.content, pictures)})],
        Role::Assistant => {
            let item = |part: Part<'_>| match part {
                Part::Text(text) => json!({"role": "assistant", "content": text}),
                Part::Call(call) => {
                    json!({"type": "function_call", "call_id": call.id, "name": call.name,
                    "arguments": wire_arguments_text(call)})
                }
                Part::Own(item) => item.clone(),
            };
            parts(message, &settings.name).into_iter().map(item).collect()
        }
    }
}

/// Plain text where there are no pictures.
fn content(text: &str, pictures: impl Iterator<Item = Value>) -> Value {
    let mut parts: Vec<Value> = pictures.collect();
    if parts.is_empty() {
        return text.into();
    }
    if !text.is_empty() {
        parts.insert(0, json!({"type": "input_text", "text": text}));
    }
    parts.into()
}

fn picture(content: &Content) -> Option<Value> {
    if !content.mime_type.starts_with("image/") {
        return None;
    }
    let url = match &content.payload {
        Payload::Bytes(bytes) => {
            format!("data:{};base64,{}", content.mime_type, STANDARD.encode(bytes))
        }
        Payload::Link(url) => url.clone(),
        Payload::Text(_) => return None,
    };
    Some(json!({"type": "input_image", "image_url": url}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Effects, ToolCall, ToolSpec};

    #[test]
    fn req_020_results_are_items_of_their_own() {
        let mut call = Message::assistant("look");
        call.tool_calls.push(ToolCall {
            id: "c1".into(),
            name: "t".into(),
            arguments: "{\"a\": 1}".into(),
        });
        let mut pictured = Message::tool("c2", "r", false);
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
        let mut settings = ServiceSettings::new("r", "m", "http://a.example");
        settings.max_output = Some(9);
        settings.body = json!({"reasoning": {"effort": "low"}}).as_object().unwrap().clone();
        let messages = [
            Message::system("s"),
            Message::user("u"),
            call,
            Message::tool("c1", "", true),
            pictured,
        ];
        let request = Request { messages: &messages, tools: &[tool] };
        let got: Value = serde_json::from_slice(&body(&settings, &request)).unwrap();
        let want = json!({
            "model": "m", "stream": true, "store": false, "include": ["reasoning.encrypted_content"],
            "max_output_tokens": 9, "reasoning": {"effort": "low"},
            "tools": [{"type": "function", "name": "t", "description": "d", "parameters": {"type": "object"}, "strict": false}],
            "input": [
                {"role": "system", "content": "s"},
                {"role": "user", "content": "u"},
                {"role": "assistant", "content": "look"},
                {"type": "function_call", "call_id": "c1", "name": "t", "arguments": "{\"a\": 1}"},
                {"type": "function_call_output", "call_id": "c1", "output": ""},
                {"type": "function_call_output", "call_id": "c2", "output": [
                    {"type": "input_text", "text": "r"},
                    {"type": "input_image", "image_url": "data:image/png;base64,AQID"}]},
            ],
        });
        assert_eq!(got, want);
    }
}
