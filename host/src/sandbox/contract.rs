//! Contract 0.1 in both directions: what a guest says becomes the host's model, checked.

use std::collections::HashSet;

use serde_json::Value;
use thiserror::Error;

use crate::model::{Content, Effects, Failure, FailureCode, Payload, ToolSpec};
use crate::text::{clip_end, escape_line};

use super::bindings::clawhold::tool::types as wit;

/// Tools that one plugin may offer.
const MAX_TOOLS: usize = 128;
/// Bytes of a description that the model is shown.
const MAX_DESCRIPTION: usize = 2048;
/// Bytes of a schema, and levels of nesting in it.
const MAX_SCHEMA: usize = 64 << 10;
const MAX_SCHEMA_DEPTH: usize = 32;

/// Why a list of tools is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadTools {
    #[error("it offers no tools")]
    None,
    #[error("it offers {count} tools; at most {MAX_TOOLS} are accepted")]
    TooMany { count: usize },
    #[error("tool name `{name}` is not made of 1 to 64 of the characters `A-Z a-z 0-9 _ -`")]
    Name { name: String },
    #[error("it offers `{name}` twice")]
    Twice { name: String },
    #[error("the {which} of `{name}` is not accepted: {why}")]
    Schema { name: String, which: &'static str, why: String },
}

/// The tools of the plugin `plugin` as the host keeps them.
pub(super) fn tools(plugin: &str, specs: Vec<wit::ToolSpec>) -> Result<Vec<ToolSpec>, BadTools> {
    if specs.is_empty() {
        return Err(BadTools::None);
    }
    if specs.len() > MAX_TOOLS {
        return Err(BadTools::TooMany { count: specs.len() });
    }
    let mut names = HashSet::new();
    specs
        .into_iter()
        .map(|spec| {
            let tool = tool(plugin, spec)?;
            if !names.insert(tool.name.clone()) {
                return Err(BadTools::Twice { name: tool.name });
            }
            Ok(tool)
        })
        .collect()
}

fn tool(plugin: &str, spec: wit::ToolSpec) -> Result<ToolSpec, BadTools> {
    if !valid_name(&spec.name) {
        return Err(BadTools::Name { name: escape_line(&clip_end(&spec.name, 80)) });
    }
    let name = spec.name;
    let input_schema = schema(&name, "input schema", &spec.input_schema)?;
    let output_schema =
        spec.output_schema.map(|text| schema(&name, "output schema", &text)).transpose()?;
    Ok(ToolSpec {
        name,
        title: spec.title.map(|title| visible(&clip_end(&title, 120))),
        description: visible(&clip_end(&spec.description, MAX_DESCRIPTION)),
        input_schema,
        output_schema,
        effects: Effects {
            read_only: spec.effects.contains(wit::Effects::READ_ONLY),
            destructive: spec.effects.contains(wit::Effects::DESTRUCTIVE),
            idempotent: spec.effects.contains(wit::Effects::IDEMPOTENT),
            open_world: spec.effects.contains(wit::Effects::OPEN_WORLD),
        },
        plugin: Some(plugin.to_owned()),
    })
}

/// The strictest rule among the model services.
fn valid_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

fn schema(name: &str, which: &'static str, text: &str) -> Result<Value, BadTools> {
    let refuse = |why: String| BadTools::Schema { name: name.to_owned(), which, why };
    if text.len() > MAX_SCHEMA {
        return Err(refuse(format!("it is {} bytes long; at most {MAX_SCHEMA}", text.len())));
    }
    let value: Value =
        serde_json::from_str(text).map_err(|error| refuse(format!("it is not JSON: {error}")))?;
    if value.get("type").and_then(Value::as_str) != Some("object") {
        return Err(refuse("its `type` is not `object`".into()));
    }
    inspect(&value, 0).map_err(refuse)?;
    Ok(value)
}

/// Walks the schema once, for depth and for references that would have to be fetched.
fn inspect(value: &Value, depth: usize) -> Result<(), String> {
    if depth > MAX_SCHEMA_DEPTH {
        return Err(format!("it is nested deeper than {MAX_SCHEMA_DEPTH} levels"));
    }
    match value {
        Value::Object(map) => map.iter().try_for_each(|(key, value)| match value {
            Value::String(target) if key == "$ref" && !target.starts_with('#') => Err(format!(
                "`$ref` to `{}` leads outside the schema",
                escape_line(&clip_end(target, 80))
            )),
            value => inspect(value, depth + 1),
        }),
        Value::Array(items) => items.iter().try_for_each(|item| inspect(item, depth + 1)),
        _ => Ok(()),
    }
}

/// Text for the model without what a reader would not see: it could say one thing to the person
/// who approves the plugin and another to the model.
fn visible(text: &str) -> String {
    crate::text::escape_text(text)
}

pub(super) fn failure(failure: wit::Failure) -> Failure {
    Failure {
        code: code(failure.code),
        message: failure.message,
        hint: failure.hint,
        retryable: failure.retryable,
    }
}

fn code(code: wit::FailureCode) -> FailureCode {
    match code {
        wit::FailureCode::InvalidArguments => FailureCode::InvalidArguments,
        wit::FailureCode::NotFound => FailureCode::NotFound,
        wit::FailureCode::AlreadyExists => FailureCode::AlreadyExists,
        wit::FailureCode::Denied => FailureCode::Denied,
        wit::FailureCode::Conflict => FailureCode::Conflict,
        wit::FailureCode::TooLarge => FailureCode::TooLarge,
        wit::FailureCode::Unsupported => FailureCode::Unsupported,
        wit::FailureCode::Unavailable => FailureCode::Unavailable,
        wit::FailureCode::RateLimited => FailureCode::RateLimited,
        wit::FailureCode::TimedOut => FailureCode::TimedOut,
        wit::FailureCode::Failed => FailureCode::Failed,
        wit::FailureCode::Internal => FailureCode::Internal,
        wit::FailureCode::Other(other) => FailureCode::Other(other),
    }
}

/// The pieces of a result, at most `limit` bytes together. Text beyond it is cut with a note;
/// bytes that do not fit are named and left out, since half a picture is none.
pub(super) fn contents(pieces: Vec<wit::Content>, limit: usize) -> Vec<Content> {
    let mut left = limit;
    pieces
        .into_iter()
        .map(|piece| {
            let payload = match piece.payload {
                wit::Payload::Text(text) if text.len() <= left => Payload::Text(text),
                wit::Payload::Text(text) => Payload::Text(clip_end(&text, left)),
                wit::Payload::Bytes(bytes) if bytes.len() <= left => Payload::Bytes(bytes),
                wit::Payload::Bytes(bytes) => Payload::Text(format!(
                    "[{} bytes of {} left out: over the limit of {limit}]",
                    bytes.len(),
                    piece.mime_type
                )),
                wit::Payload::Link(uri) => Payload::Link(clip_end(&uri, left)),
            };
            left = left.saturating_sub(match &payload {
                Payload::Text(text) | Payload::Link(text) => text.len(),
                Payload::Bytes(bytes) => bytes.len(),
            });
            Content { mime_type: clip_end(&piece.mime_type, 100), payload }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &str, schema: &str) -> wit::ToolSpec {
        wit::ToolSpec {
            name: name.into(),
            title: None,
            description: "does it".into(),
            input_schema: schema.into(),
            output_schema: None,
            effects: wit::Effects::empty(),
            meta: None,
        }
    }

    const OBJECT: &str = r#"{"type":"object"}"#;

    #[test]
    fn p39_names_outside_the_rule_are_refused() {
        for name in ["", &"x".repeat(65), "a b", "a.b", "a/b", "re\u{430}d", "a\nb"] {
            assert!(
                matches!(tools("p", vec![spec(name, OBJECT)]), Err(BadTools::Name { .. })),
                "{name:?}"
            );
        }
        assert!(tools("p", vec![spec("read_file-2", OBJECT)]).is_ok());
        let twice = tools("p", vec![spec("a", OBJECT), spec("a", OBJECT)]);
        assert_eq!(twice, Err(BadTools::Twice { name: "a".into() }));
    }

    #[test]
    fn p40_schemas_are_checked_before_anything_uses_them() {
        let deep = format!(r#"{{"type":"object","a":{}1{}}}"#, "[".repeat(60), "]".repeat(60));
        let large = format!(r#"{{"type":"object","description":"{}"}}"#, "x".repeat(5 << 20));
        for schema in [
            "not json",
            "[]",
            r#"{"type":"string"}"#,
            "{}",
            deep.as_str(),
            large.as_str(),
            r#"{"type":"object","properties":{"a":{"$ref":"http://example.com/x"}}}"#,
        ] {
            let result = tools("p", vec![spec("a", schema)]);
            assert!(matches!(result, Err(BadTools::Schema { .. })), "{}", clip_end(schema, 60));
        }
    }

    #[test]
    fn p41_nothing_in_a_description_is_hidden() {
        let mut hidden = spec("a", OBJECT);
        hidden.description = format!("reads\u{e0041}\u{200b} files{}", "x".repeat(100_000));
        let tools = tools("p", vec![hidden]).expect("accepted");
        assert!(tools[0].description.starts_with("reads\\u{e0041}\\u{200b} files"));
        assert!(tools[0].description.len() < MAX_DESCRIPTION + 100);
    }

    #[test]
    fn results_are_cut_at_the_limit_with_a_note() {
        let piece = |payload| wit::Content { mime_type: "text/plain".into(), payload, meta: None };
        let pieces = vec![
            piece(wit::Payload::Text("abc".into())),
            piece(wit::Payload::Text("defgh".into())),
            piece(wit::Payload::Bytes(vec![0; 9])),
        ];
        let cut = contents(pieces, 5);
        assert_eq!(cut[0].as_text(), Some("abc"));
        assert_eq!(cut[1].as_text(), Some("de… [3 bytes more]"));
        assert!(cut[2].as_text().is_some_and(|text| text.contains("9 bytes")));
    }
}
