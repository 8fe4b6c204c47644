//! A conversation as the body of a chat request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::model::{Message, Payload, Role};
use crate::provider::Request;
use crate::provider::wire::{ServiceSettings, own_extras, wire_arguments, wire_schema};

/// The fields of the body that are written here and by nobody else.
pub(super) const OWN_FIELDS: &[&str] = &["model", "messages", "tools", "stream"];

/// The context where the settings name none. The server's own default is too small for tools, and
/// what does not fit it drops without a word.
const CONTEXT: u64 = 16_384;

pub(super) fn body(settings: &ServiceSettings, request: &Request<'_>) -> Vec<u8> {
    let mut body = Map::new();
    body.insert("model".into(), settings.model.as_str().into());
    body.insert("messages".into(), messages(request.messages, settings).into());
    let tools: Vec<Value> = request
        .tools
        .iter()
        .map(|spec| {
            json!({"type": "function", "function": {"name": spec.name, "description": spec.description,
                "parameters": wire_schema(&spec.input_schema)}})
        })
        .collect();
    if !tools.is_empty() {
        body.insert("tools".into(), tools.into());
    }
    body.insert("stream".into(), true.into());
    body.extend(settings.body.clone());
    let options = body.entry("options").or_insert_with(|| Map::new().into());
    if let Some(options) = options.as_object_mut() {
        options.entry("num_ctx").or_insert_with(|| settings.context.unwrap_or(CONTEXT).into());
        if let Some(most) = settings.max_output {
            options.entry("num_predict").or_insert_with(|| most.into());
        }
    }
    Value::Object(body).to_string().into_bytes()
}

fn messages(messages: &[Message], settings: &ServiceSettings) -> Vec<Value> {
    messages
        .iter()
        .enumerate()
        .map(|(at, message)| {
            let role = match message.role {
                Role::System => "system",
                Role::User => "user",
                Role::Assistant => "assistant",
                Role::Tool => "tool",
            };
            let mut wire = json!({"role": role, "content": message.content});
            if !message.tool_calls.is_empty() {
                let calls = message.tool_calls.iter();
                let calls = calls.map(|call| json!({"function": {"name": call.name, "arguments": wire_arguments(call)}}));
                wire["tool_calls"] = calls.collect();
            }
            if let Some(reasoning) = &message.reasoning
                && own_extras(message, &settings.name).is_some()
            {
                wire["thinking"] = reasoning.as_str().into();
            }
            // Results are paired by name and order here, not by id.
            if let Some(name) = tool_name(message, &messages[..at]) {
                wire["tool_name"] = name.into();
            }
            let pictures = pictures(message);
            if settings.images && !pictures.is_empty() {
                wire["images"] = pictures.into();
            }
            wire
        })
        .collect()
}

fn tool_name<'m>(message: &Message, earlier: &'m [Message]) -> Option<&'m str> {
    let id = message.tool_call_id.as_ref()?;
    let mut calls = earlier.iter().rev().flat_map(|message| &message.tool_calls);
    calls.find(|call| call.id == *id).map(|call| call.name.as_str())
}

/// Pictures in base64; links are not taken.
fn pictures(message: &Message) -> Vec<String> {
    let pictures =
        message.attachments.iter().filter(|content| content.mime_type.starts_with("image/"));
    pictures
        .filter_map(|content| match &content.payload {
            Payload::Bytes(bytes) => Some(STANDARD.encode(bytes)),
            Payload::Text(_) | Payload::Link(_) => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Content, ToolCall, VendorExtras};

    #[test]
    fn req_020_req_101_a_conversation_in_the_native_form() {
        let mut call = Message::assistant("");
        call.reasoning = Some("hm".into());
        call.vendor = Some(VendorExtras { provider: "o".into(), fields: Map::new() });
        call.tool_calls.push(ToolCall {
            id: "c1".into(),
            name: "t".into(),
            arguments: "{\"a\":1}".into(),
        });
        let mut result = Message::tool("c1", "r", false);
        result.attachments.push(Content {
            mime_type: "image/png".into(),
            payload: Payload::Bytes(vec![1, 2, 3]),
        });
        let mut settings = ServiceSettings::new("o", "m", "http://a.example");
        settings.max_output = Some(9);
        settings.body =
            json!({"keep_alive": "5m", "options": {"seed": 1}}).as_object().unwrap().clone();
        let request = Request {
            messages: &[Message::system("s"), Message::user("u"), call, result],
            tools: &[],
        };
        let got: Value = serde_json::from_slice(&body(&settings, &request)).unwrap();
        let want = json!({
            "model": "m", "stream": true, "keep_alive": "5m",
            "options": {"seed": 1, "num_ctx": 16384, "num_predict": 9},
            "messages": [
                {"role": "system", "content": "s"},
                {"role": "user", "content": "u"},
                {"role": "assistant", "content": "", "thinking": "hm",
                    "tool_calls": [{"function": {"name": "t", "arguments": {"a": 1}}}]},
                {"role": "tool", "content": "r", "tool_name": "t", "images": ["AQID"]},
            ],
        });
        assert_eq!(got, want);
        settings.name = "other".into();
        settings.context = Some(4096);
        let got: Value = serde_json::from_slice(&body(&settings, &request)).unwrap();
        assert_eq!(got["messages"][2].get("thinking"), None);
        assert_eq!(got["options"]["num_ctx"], 4096);
    }
}
