//! The JSON documents that commands print. Programs rely on their keys.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::agent::RunReport;
use crate::model::{Outcome, ToolReply, ToolSpec};

/// A document as one line. It may be shown on a terminal, so hidden characters beyond ASCII are
/// written as escapes too; those of ASCII always are (RFC 8259, section 7).
pub fn to_line(value: &Value) -> String {
    let plain = value.to_string();
    if plain.is_ascii() {
        return plain + "\n";
    }
    let mut line = String::with_capacity(plain.len() + 16);
    let mut buffer = [0; 4];
    for c in plain.chars() {
        let one = c.encode_utf8(&mut buffer);
        if c.is_ascii() || crate::text::escape_line(one) == *one {
            line.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(line, "\\u{unit:04x}");
        }
    }
    line + "\n"
}

/// Of `claw run`. A model service that failed adds `error` with its text and what to do.
pub fn run(report: &RunReport) -> Value {
    let mut document = json!(report);
    if let (Some(error), Value::Object(keys)) = (&report.error, &mut document) {
        keys.insert("error".into(), json!({ "message": error.to_string(), "hint": error.hint() }));
    }
    document
}

/// Of `claw call`.
pub fn call(tool: &str, reply: &ToolReply) -> Value {
    let mut document = Map::new();
    document.insert("tool".into(), json!(tool));
    document.insert("outcome".into(), json!(reply.outcome.word()));
    if let Outcome::Interrupted { after_ms } = reply.outcome {
        document.insert("after_ms".into(), json!(after_ms));
    }
    document.insert("content".into(), json!(reply.content));
    document.insert("structured".into(), json!(reply.structured));
    document.insert("failure".into(), json!(reply.failure));
    document.insert("receipt".into(), receipt(reply));
    Value::Object(document)
}

/// With all keys, also where no component ran and the receipt leaves its name out.
fn receipt(reply: &ToolReply) -> Value {
    let mut keys = Map::new();
    keys.insert("plugin".into(), Value::Null);
    keys.insert("sha256".into(), Value::Null);
    if let Value::Object(said) = json!(reply.receipt) {
        keys.extend(said);
    }
    Value::Object(keys)
}

/// Of `claw tools`: all keys, null where a tool does not say.
pub fn tools(specs: &[ToolSpec]) -> Value {
    let tools = specs.iter().map(|spec| {
        json!({
            "name": spec.name,
            "title": spec.title,
            "description": spec.description,
            "input_schema": spec.input_schema,
            "output_schema": spec.output_schema,
            "effects": spec.effects,
            "plugin": spec.plugin,
        })
    });
    Value::Array(tools.collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::model::{Content, Effects, Failure, FailureCode, Payload};

    #[test]
    fn nothing_hides_in_a_line_and_nothing_is_lost() {
        let value = json!({ "a": "\u{1b}[31m\u{9b}\u{202e}目录\u{e0041}\n" });
        let line = to_line(&value);
        assert_eq!(line, "{\"a\":\"\\u001b[31m\\u009b\\u202e目录\\udb40\\udc41\\n\"}\n");
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), value);
    }

    #[test]
    fn a_call_has_every_key() {
        let mut reply = ToolReply::text("hello");
        reply
            .content
            .push(Content { mime_type: "image/png".into(), payload: Payload::Bytes(vec![1, 2]) });
        let document = call("read_file", &reply);
        let keys: Vec<_> = document.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["tool", "outcome", "content", "structured", "failure", "receipt"]);
        assert_eq!(document["content"][0], json!({ "mime_type": "text/plain", "text": "hello" }));
        assert_eq!(document["content"][1]["base64"], "AQI=");
        for key in [
            "plugin",
            "sha256",
            "queue_us",
            "instantiate_us",
            "execute_us",
            "peak_memory",
            "reads",
            "writes",
            "hosts",
            "denials",
        ] {
            assert!(document["receipt"].get(key).is_some(), "{key}");
        }

        let failure =
            Failure::new(FailureCode::NotFound, "no such file").hint("list the directory");
        let document = call("read_file", &ToolReply::failed(Outcome::Failed, failure));
        assert_eq!(
            document["failure"],
            json!({ "code": "not-found", "message": "no such file", "hint": "list the directory", "retryable": false })
        );
        let failure = Failure::new(FailureCode::Failed, "stopped");
        let document = call("x", &ToolReply::failed(Outcome::Interrupted { after_ms: 7 }, failure));
        assert_eq!(
            (&document["outcome"], &document["after_ms"]),
            (&json!("interrupted"), &json!(7))
        );
    }

    #[test]
    fn a_tool_says_what_the_model_sees() {
        let spec = ToolSpec {
            name: "glob".into(),
            title: None,
            description: "Finds files".into(),
            input_schema: json!({ "type": "object" }),
            output_schema: None,
            effects: Effects::READ_ONLY,
            plugin: Some("workspace".into()),
        };
        assert_eq!(
            tools(&[spec])[0],
            json!({
                "name": "glob", "title": null, "description": "Finds files",
                "input_schema": { "type": "object" }, "output_schema": null,
                "effects": ["read-only", "idempotent"], "plugin": "workspace",
            })
        );
    }
}
