//! Schemas and arguments in the form in which services take them.

use serde_json::{Map, Value};

use crate::model::ToolCall;

/// A schema without what is for this host only: keywords that begin with `x-`, and the dialect
/// (`$schema`), which some services refuse. A property may have any name and stays.
pub(in crate::provider) fn wire_schema(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .filter(|(key, _)| !key.starts_with("x-") && *key != "$schema")
                .map(|(key, value)| (key.clone(), wire_keyword(key, value)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(wire_schema).collect()),
        other => other.clone(),
    }
}

fn wire_keyword(key: &str, value: &Value) -> Value {
    match (key, value) {
        // Names to schemas: the names are the tool's own.
        (
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
            Value::Object(named),
        ) => named.iter().map(|(name, schema)| (name.clone(), wire_schema(schema))).collect(),
        // Data, not schemas.
        ("enum" | "const" | "default" | "examples" | "required", _) => value.clone(),
        _ => wire_schema(value),
    }
}

/// A call's arguments as an object. What the model wrote and is none stands in it as text, so that
/// it sees its mistake, and a service that parses the history does not reject all of it.
pub(in crate::provider) fn wire_arguments(call: &ToolCall) -> Map<String, Value> {
    if call.arguments.trim().is_empty() {
        return Map::new();
    }
    serde_json::from_str(&call.arguments).unwrap_or_else(|_| {
        Map::from_iter([("invalid_json".to_owned(), Value::String(call.arguments.clone()))])
    })
}

/// The same as text: exactly what the model wrote, if that is an object.
pub(in crate::provider) fn wire_arguments_text(call: &ToolCall) -> std::borrow::Cow<'_, str> {
    match serde_json::from_str::<Map<String, Value>>(&call.arguments) {
        Ok(_) => call.arguments.as_str().into(),
        Err(_) => Value::Object(wire_arguments(call)).to_string().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_for_the_host_stays_here() {
        let schema = json!({
            "$schema": "s", "type": "object", "x-order": 1, "required": ["x-path"],
            "properties": {
                "x-path": {"type": "string", "x-path": "read", "default": {"x-a": 1}},
                "list": {"type": "array", "items": {"x-path": "write", "anyOf": [{"x-b": 1, "type": "string"}]}}
            }
        });
        let want = json!({
            "type": "object", "required": ["x-path"],
            "properties": {
                "x-path": {"type": "string", "default": {"x-a": 1}},
                "list": {"type": "array", "items": {"anyOf": [{"type": "string"}]}}
            }
        });
        assert_eq!(wire_schema(&schema), want);
    }

    #[test]
    fn n17_arguments_that_are_no_object_still_make_a_valid_history() {
        let check = |arguments: &str, want: &str| {
            let call = ToolCall { id: "c".into(), name: "t".into(), arguments: arguments.into() };
            assert_eq!(wire_arguments_text(&call), want);
            assert_eq!(
                Value::Object(wire_arguments(&call)),
                serde_json::from_str::<Value>(want).unwrap()
            );
        };
        check(r#"{"a": 1}"#, r#"{"a": 1}"#);
        check("", "{}");
        check(r#"{"a":"#, r#"{"invalid_json":"{\"a\":"}"#);
        check("[1]", r#"{"invalid_json":"[1]"}"#);
        check("{'a': 1}", r#"{"invalid_json":"{'a': 1}"}"#);
        check(r#"{"a":1,}"#, r#"{"invalid_json":"{\"a\":1,}"}"#);
        check(r#"{"a":"\ud800"}"#, r#"{"invalid_json":"{\"a\":\"\\ud800\"}"}"#);
        check(r#"{"a":1e999}"#, r#"{"invalid_json":"{\"a\":1e999}"}"#);
        let deep = format!("{{\"a\":{}", "[".repeat(100_000));
        let call = ToolCall { id: "c".into(), name: "t".into(), arguments: deep };
        assert!(wire_arguments(&call).contains_key("invalid_json"));
    }
}
