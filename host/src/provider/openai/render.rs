//! A conversation as the body of a chat completions request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::model::{Content, Message, Payload, Role, ToolCall, ToolSpec};
use crate::provider::Request;
use crate::provider::wire::{
    CALL_EXTRAS, ServiceSettings, own_extras, wire_arguments_text, wire_schema,
};

/// The fields of the body that are written here and by nobody else.
pub(super) const OWN_FIELDS: &[&str] = &["model", "messages", "tools", "stream", "stream_options"];

/// Under this key the extras of a message say that its reasoning came, and goes back, as
/// `reasoning`. Without it the name is `reasoning_content`, as most services have it.
pub(super) const REASONING_FIELD: &str = "reasoning_field";

/// The body, ready to be sent. It borrows from the conversation: a long one is not copied.
pub(super) fn body(
    settings: &ServiceSettings,
    max_output_field: &'static str,
    ask_usage: bool,
    request: &Request<'_>,
) -> Vec<u8> {
    let max_output = settings
        .max_output
        .filter(|_| !settings.body.contains_key(max_output_field))
        .map(Value::from);
    let mut fields: Vec<(&str, &Value)> =
        max_output.iter().map(|most| (max_output_field, most)).collect();
    fields.extend(settings.body.iter().map(|(key, value)| (key.as_str(), value)));
    let body = Body {
        model: &settings.model,
        messages: messages(request.messages, &settings.name, settings.images),
        tools: request.tools.iter().map(tool).collect(),
        stream: true,
        stream_options: ask_usage.then_some(StreamOptions { include_usage: true }),
        fields: Fields(fields),
    };
    // Serialising to memory fails only for maps whose keys are no strings; there are none.
    serde_json::to_vec(&body).unwrap_or_default()
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<WireMessage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(flatten)]
    fields: Fields<'a>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Default, Serialize)]
struct WireMessage<'a> {
    role: &'static str,
    content: WireContent<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WireCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    #[serde(flatten)]
    fields: Fields<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum WireContent<'a> {
    Text(&'a str),
    Parts(Vec<Part<'a>>),
}

impl Default for WireContent<'_> {
    /// Empty text, never an absence: one vendor rejects that.
    fn default() -> Self {
        Self::Text("")
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: &'a str,
    r#type: &'static str,
    function: WireFunction<'a>,
    #[serde(flatten)]
    fields: Fields<'a>,
}

#[derive(Serialize)]
struct WireFunction<'a> {
    name: &'a str,
    arguments: std::borrow::Cow<'a, str>,
}

#[derive(Serialize)]
struct WireTool<'a> {
    r#type: &'static str,
    function: WireToolFunction<'a>,
}

#[derive(Serialize)]
struct WireToolFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: Value,
}

/// Fields under names that are known only at run time.
#[derive(Default)]
struct Fields<'a>(Vec<(&'a str, &'a Value)>);

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
        output.collect_map(self.0.iter().copied())
    }
}

fn tool(spec: &ToolSpec) -> WireTool<'_> {
    let parameters = wire_schema(&spec.input_schema);
    let function =
        WireToolFunction { name: &spec.name, description: &spec.description, parameters };
    WireTool { r#type: "function", function }
}

fn messages<'a>(messages: &'a [Message], provider: &str, images: bool) -> Vec<WireMessage<'a>> {
    let mut wire = Vec::with_capacity(messages.len());
    // Pictures of tool results: the role takes text only, and a message of another role may stand
    // only behind the last result of a turn. So they wait for that.
    let mut pictures: Vec<Part<'a>> = Vec::new();
    for message in messages {
        if message.role != Role::Tool {
            flush(&mut wire, &mut pictures);
        }
        match message.role {
            Role::System => wire.push(plain("system", &message.content)),
            Role::User => wire.push(user(message, images)),
            Role::Assistant => wire.push(assistant(message, provider)),
            Role::Tool => {
                let mut result = plain("tool", &message.content);
                result.tool_call_id = message.tool_call_id.as_deref();
                wire.push(result);
                if images {
                    pictures.extend(message.attachments.iter().filter_map(picture));
                }
            }
        }
    }
    flush(&mut wire, &mut pictures);
    wire
}

fn flush<'a>(wire: &mut Vec<WireMessage<'a>>, pictures: &mut Vec<Part<'a>>) {
    if !pictures.is_empty() {
        let mut parts = vec![Part::Text { text: "The pictures of the tool results above:" }];
        parts.append(pictures);
        wire.push(WireMessage {
            role: "user",
            content: WireContent::Parts(parts),
            ..WireMessage::default()
        });
    }
}

fn plain<'a>(role: &'static str, text: &'a str) -> WireMessage<'a> {
    WireMessage { role, content: WireContent::Text(text), ..WireMessage::default() }
}

fn user(message: &Message, images: bool) -> WireMessage<'_> {
    let pictures: Vec<Part<'_>> =
        message.attachments.iter().filter(|_| images).filter_map(picture).collect();
    if pictures.is_empty() {
        return plain("user", &message.content);
    }
    let mut parts = vec![Part::Text { text: &message.content }];
    parts.extend(pictures);
    WireMessage { role: "user", content: WireContent::Parts(parts), ..WireMessage::default() }
}

fn picture(content: &Content) -> Option<Part<'_>> {
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
    Some(Part::ImageUrl { image_url: ImageUrl { url } })
}

fn assistant<'a>(message: &'a Message, provider: &str) -> WireMessage<'a> {
    let extras = own_extras(message, provider);
    let call_extras = extras.and_then(|extras| extras.get(CALL_EXTRAS)).and_then(Value::as_object);
    let mut wire = plain("assistant", &message.content);
    wire.tool_calls = message.tool_calls.iter().map(|call| wire_call(call, call_extras)).collect();
    if let Some(extras) = extras {
        let own = extras.iter().map(|(key, value)| (key.as_str(), value));
        wire.fields =
            Fields(own.filter(|(key, _)| !matches!(*key, CALL_EXTRAS | REASONING_FIELD)).collect());
        // An empty reasoning says something only where calls follow from it: there some services
        // insist on the field.
        let reasoning = message
            .reasoning
            .as_deref()
            .filter(|text| !text.is_empty() || !message.tool_calls.is_empty());
        match extras.get(REASONING_FIELD) {
            Some(_) => wire.reasoning = reasoning,
            None => wire.reasoning_content = reasoning,
        }
    }
    wire
}

fn wire_call<'a>(call: &'a ToolCall, extras: Option<&'a Map<String, Value>>) -> WireCall<'a> {
    let fields = extras.and_then(|extras| extras.get(&call.id)).and_then(Value::as_object);
    WireCall {
        id: &call.id,
        r#type: "function",
        function: WireFunction { name: &call.name, arguments: wire_arguments_text(call) },
        fields: Fields(
            fields.into_iter().flatten().map(|(key, value)| (key.as_str(), value)).collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Effects, VendorExtras};
    use serde_json::json;

    fn check(messages: &[Message], want: &Value) {
        let settings = ServiceSettings::new("deepseek", "m", "http://a.example");
        let bytes = body(&settings, "max_tokens", false, &Request { messages, tools: &[] });
        let got: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(got["messages"], *want);
    }

    fn with_call(text: &str, arguments: &str) -> Message {
        let mut message = Message::assistant(text);
        message.tool_calls.push(ToolCall {
            id: "c1".into(),
            name: "t".into(),
            arguments: arguments.into(),
        });
        message
    }

    fn from(provider: &str, fields: &Value) -> VendorExtras {
        VendorExtras { provider: provider.into(), fields: fields.as_object().unwrap().clone() }
    }

    #[test]
    fn req_020_and_req_086_results_use_the_tool_role() {
        check(
            &[
                Message::system("s"),
                Message::user("u"),
                with_call("hm", "{\"a\": 1}"),
                Message::tool("c1", "r", true),
            ],
            &json!([
                {"role": "system", "content": "s"},
                {"role": "user", "content": "u"},
                {"role": "assistant", "content": "hm", "tool_calls":
                    [{"id": "c1", "type": "function", "function": {"name": "t", "arguments": "{\"a\": 1}"}}]},
                {"role": "tool", "content": "r", "tool_call_id": "c1"},
            ]),
        );
    }

    #[test]
    fn req_126_empty_content_is_sent_as_empty_text() {
        check(&[Message::assistant("")], &json!([{"role": "assistant", "content": ""}]));
    }

    #[test]
    fn req_070_reasoning_goes_back_to_its_own_service() {
        let row = |provider: &str, reasoning: Option<&str>, call: bool, want: Option<&str>| {
            let mut message = if call { with_call("a", "{}") } else { Message::assistant("a") };
            message.reasoning = reasoning.map(Into::into);
            message.vendor = Some(from(provider, &json!({})));
            let settings = ServiceSettings::new("deepseek", "m", "http://a.example");
            let request = Request { messages: &[message], tools: &[] };
            let got: Value =
                serde_json::from_slice(&body(&settings, "max_tokens", false, &request)).unwrap();
            let got = got["messages"][0]
                .get("reasoning_content")
                .and_then(Value::as_str)
                .map(str::to_owned);
            assert_eq!(got.as_deref(), want, "{provider} {reasoning:?} {call}");
        };
        row("deepseek", Some("hm"), false, Some("hm"));
        row("deepseek", Some("hm"), true, Some("hm"));
        row("deepseek", Some(""), true, Some(""));
        row("deepseek", Some(""), false, None);
        row("deepseek", None, true, None);
        row("other", Some("hm"), true, None);
    }

    #[test]
    fn req_071_vendor_fields_go_back_to_their_service_only() {
        let fields = json!({"details": [{"x": 1}], "reasoning_field": "reasoning",
            "tool_calls": {"c1": {"extra_content": {"thought_signature": "s"}}}});
        let mut message = with_call("", "{}");
        message.reasoning = Some("hm".into());
        message.vendor = Some(from("deepseek", &fields));
        check(
            std::slice::from_ref(&message),
            &json!([{"role": "assistant", "content": "", "reasoning": "hm", "details": [{"x": 1}], "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "t", "arguments": "{}"},
                 "extra_content": {"thought_signature": "s"}}]}]),
        );
        message.vendor = Some(from("other", &fields));
        check(
            &[message],
            &json!([{"role": "assistant", "content": "", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "t", "arguments": "{}"}}]}]),
        );
    }

    #[test]
    fn pictures_of_results_follow_the_last_result_of_the_turn() {
        let mut first = Message::tool("c1", "r1", false);
        first.attachments.push(Content {
            mime_type: "image/png".into(),
            payload: Payload::Bytes(vec![1, 2, 3]),
        });
        check(
            &[first, Message::tool("c2", "r2", false), Message::user("u")],
            &json!([
                {"role": "tool", "content": "r1", "tool_call_id": "c1"},
                {"role": "tool", "content": "r2", "tool_call_id": "c2"},
                {"role": "user", "content": [
                    {"type": "text", "text": "The pictures of the tool results above:"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AQID"}}]},
                {"role": "user", "content": "u"},
            ]),
        );
    }

    #[test]
    fn the_rest_of_the_body_is_as_set() {
        let mut settings = ServiceSettings::new("p", "m", "http://a.example");
        settings.max_output = Some(9);
        settings.body = json!({"temperature": 0}).as_object().unwrap().clone();
        let tools = [ToolSpec {
            name: "t".into(),
            title: None,
            description: "d".into(),
            input_schema: json!({"type": "object", "x-y": 1}),
            output_schema: None,
            effects: Effects::READ_ONLY,
            plugin: None,
        }];
        let text = String::from_utf8(body(
            &settings,
            "max_tokens",
            true,
            &Request { messages: &[], tools: &tools },
        ));
        assert_eq!(
            text.unwrap(),
            r#"{"model":"m","messages":[],"tools":[{"type":"function","function":{"name":"t","description":"d","parameters":{"type":"object"}}}],"stream":true,"stream_options":{"include_usage":true},"max_tokens":9,"temperature":0}"#
        );
    }
}
