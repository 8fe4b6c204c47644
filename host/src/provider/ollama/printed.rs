//! Calls that small models print as text in place of making them.

use serde_json::{Map, Value};

use crate::provider::wire::DraftCall;

/// The calls that `text` consists of, if it consists of nothing else: a JSON object with a `name`
/// among `known` and `arguments` (or `parameters`), a list of them, or several, bare, in a code
/// fence or between `<tool_call>` tags. A text that only mentions a call is an answer.
pub(super) fn calls(text: &str, known: &[String]) -> Option<Vec<DraftCall>> {
    let mut rest = text.trim();
    if let Some(inside) = rest.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) {
        rest = inside.strip_prefix("json").unwrap_or(inside).trim();
    }
    let bare = rest.replace("<tool_call>", " ").replace("</tool_call>", " ");
    let mut calls = Vec::new();
    for value in serde_json::Deserializer::from_str(&bare).into_iter::<Value>() {
        match value.ok()? {
            Value::Array(list) => {
                for value in list {
                    calls.push(call(value, known)?);
                }
            }
            value => calls.push(call(value, known)?),
        }
    }
    (!calls.is_empty()).then_some(calls)
}

fn call(value: Value, known: &[String]) -> Option<DraftCall> {
    let Value::Object(mut fields) = value else { return None };
    if let Some(Value::Object(function)) = fields.remove("function") {
        fields = function;
    }
    let name =
        fields.get("name")?.as_str().filter(|name| known.iter().any(|own| own == name))?.to_owned();
    let arguments = match fields.remove("arguments").or_else(|| fields.remove("parameters"))? {
        Value::Object(arguments) => arguments,
        // JSON within JSON.
        Value::String(text) => serde_json::from_str::<Map<String, Value>>(&text).ok()?,
        _ => return None,
    };
    Some(DraftCall {
        name,
        arguments: Value::Object(arguments).to_string(),
        ..DraftCall::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_calls_are_known_by_a_known_name_and_nothing_beside_them() {
        let known = ["read_file".to_owned()];
        let check = |text: &str, want: &[&str]| {
            let got = calls(text, &known).unwrap_or_default();
            let got: Vec<String> = got.into_iter().map(|call| call.arguments).collect();
            assert_eq!(got, want, "{text}");
        };
        let one = r#"{"name":"read_file","arguments":{"path":"a"}}"#;
        let args = r#"{"path":"a"}"#;
        check(one, &[args]);
        check(&format!("\n {one}\n"), &[args]);
        check(&format!("```json\n{one}\n```"), &[args]);
        check(
            &format!("<tool_call>\n{one}\n</tool_call>\n<tool_call>{one}</tool_call>"),
            &[args, args],
        );
        check(&format!("[{one},{one}]"), &[args, args]);
        check(r#"{"name":"read_file","parameters":{"path":"a"}}"#, &[args]);
        check(
            r#"{"type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}"#,
            &[args],
        );
        for answer in [
            &format!("I would call {one}"),
            &format!("{one} and then?"),
            r#"{"name":"Read_File","arguments":{}}"#,
            r#"{"name":"rm","arguments":{}}"#,
            r#"{"name":"read_file"}"#,
            r#"{"name":"read_file","arguments":{"path":"#,
            "[]",
            "",
            "42",
        ] {
            check(answer, &[]);
        }
    }
}
