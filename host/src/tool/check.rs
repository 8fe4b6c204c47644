//! Validation of arguments against a tool's JSON Schema, and the words for what does not fit.

use std::sync::OnceLock;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{ValidationError, Validator};
use serde_json::Value;

use super::nearest::nearest;
use crate::model::{Failure, FailureCode};
use crate::text::{clip_end, escape_line};

/// How many of the misfits one message lists.
const LISTED: usize = 5;

/// A schema's validator. It is compiled at the first call, since a session calls few of the
/// tools that it offers.
#[derive(Default)]
pub(super) struct Checker {
    validator: OnceLock<Result<Validator, String>>,
}

impl Checker {
    /// Ok when `arguments` fit `schema`, which must be the same at each call.
    pub(super) fn check(&self, arguments: &Value, schema: &Value) -> Result<(), Box<Failure>> {
        let validator = self.validator.get_or_init(|| {
            // Offline: a schema from a plugin must not make the host fetch addresses.
            jsonschema::options().offline().build(schema).map_err(|error| error.to_string())
        });
        let validator = validator.as_ref().map_err(|cause| {
            let cause = clip_end(&escape_line(cause), 300);
            let message = format!("the tool's own input schema is not valid: {cause}");
            Box::new(Failure::new(FailureCode::Internal, message))
        })?;
        if validator.is_valid(arguments) {
            return Ok(());
        }
        let mut lines: Vec<String> =
            validator.iter_errors(arguments).take(LISTED + 1).map(|e| words(&e, schema)).collect();
        if lines.len() > LISTED {
            lines[LISTED] = "and more".into();
        }
        let failure = Failure::new(FailureCode::InvalidArguments, lines.join("; "));
        Err(Box::new(failure.hint(usage(schema))))
    }
}

/// One misfit: where, what was given, what is expected.
fn words(error: &ValidationError<'_>, schema: &Value) -> String {
    let place = place(error.instance_path().as_str());
    let given = given(error.instance());
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            let full = if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
            format!("`{full}` is required and was not given")
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let known = known_names(error.schema_path().as_str(), schema);
            let each = unexpected.iter().take(LISTED).map(|name| {
                let full = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
                let shown = clip_end(&escape_line(&full), 80);
                match nearest(name, known.iter().copied()).first() {
                    Some(close) => format!("`{shown}` is not known; did you mean `{close}`?"),
                    None => format!("`{shown}` is not known"),
                }
            });
            each.collect::<Vec<_>>().join("; ")
        }
        kind => {
            let subject =
                if place.is_empty() { "the arguments".to_owned() } else { format!("`{place}`") };
            format!("{subject}: got {given}, expected {}", expected(kind, error))
        }
    }
}

fn expected(kind: &ValidationErrorKind, error: &ValidationError<'_>) -> String {
    match kind {
        ValidationErrorKind::Type { kind: TypeKind::Single(kind) } => {
            format!("a value of type {kind}")
        }
        ValidationErrorKind::Type { kind: TypeKind::Multiple(kinds) } => {
            let names: Vec<String> = kinds.iter().map(|kind| kind.to_string()).collect();
            format!("a value of type {}", names.join(" or "))
        }
        ValidationErrorKind::Enum { options } => {
            format!("one of {}", clip_end(&options.to_string(), 300))
        }
        ValidationErrorKind::Constant { expected_value } => {
            clip_end(&expected_value.to_string(), 300)
        }
        ValidationErrorKind::Minimum { limit } => format!("at least {limit}"),
        ValidationErrorKind::Maximum { limit } => format!("at most {limit}"),
        ValidationErrorKind::ExclusiveMinimum { limit } => format!("more than {limit}"),
        ValidationErrorKind::ExclusiveMaximum { limit } => format!("less than {limit}"),
        ValidationErrorKind::MinLength { limit } => format!("at least {limit} characters"),
        ValidationErrorKind::MaxLength { limit } => format!("at most {limit} characters"),
        ValidationErrorKind::MinItems { limit } => format!("at least {limit} items"),
        ValidationErrorKind::MaxItems { limit } => format!("at most {limit} items"),
        ValidationErrorKind::Pattern { pattern } => {
            format!("text that matches `{}`", clip_end(pattern, 200))
        }
        ValidationErrorKind::Format { format } => format!("text in the format `{format}`"),
        // The rarer keywords speak for themselves; their text must not repeat the value at length.
        _ => clip_end(&escape_line(&error.masked().to_string()), 200),
    }
}

/// The names that the object of an `additionalProperties` error knows.
fn known_names<'a>(schema_path: &str, schema: &'a Value) -> Vec<&'a str> {
    let object = schema_path.rsplit_once('/').and_then(|(parent, _)| schema.pointer(parent));
    let properties = object.and_then(|object| object.get("properties")?.as_object());
    properties.into_iter().flat_map(|p| p.keys().map(String::as_str)).collect()
}

/// A JSON pointer (RFC 6901) in the spelling of a program: `/edits/0/old` is `edits[0].old`.
fn place(pointer: &str) -> String {
    let mut out = String::new();
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        if !token.is_empty() && token.bytes().all(|b| b.is_ascii_digit()) {
            out.push('[');
            out.push_str(&token);
            out.push(']');
        } else {
            if !out.is_empty() {
                out.push('.');
            }
            out.push_str(&escape_line(&token));
        }
    }
    clip_end(&out, 200)
}

fn given(value: &Value) -> String {
    clip_end(&escape_line(&value.to_string()), 80)
}

/// The tool's parameters in one line, so that the next attempt needs no guessing.
pub(super) fn usage(schema: &Value) -> String {
    let required = schema.get("required").and_then(Value::as_array);
    let names = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let each: Vec<String> = names
        .take(20)
        .map(|(name, property)| {
            let kind = match property.get("type") {
                Some(Value::String(kind)) => kind.clone(),
                Some(Value::Array(kinds)) => {
                    kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or ")
                }
                _ => "any".into(),
            };
            let needed = required.is_some_and(|r| r.iter().any(|n| n.as_str() == Some(name)));
            format!("{name} ({kind}{})", if needed { ", required" } else { "" })
        })
        .collect();
    if each.is_empty() {
        "this tool takes no arguments: {}".into()
    } else {
        format!("this tool takes: {}", each.join(", "))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn schema() -> Value {
        json!({"type": "object", "required": ["path"], "additionalProperties": false, "properties": {
            "path": {"type": "string"},
            "limit": {"type": "integer", "minimum": 1},
            "case": {"enum": ["smart", "exact"]},
            "edits": {"type": "array", "items": {"type": "object", "required": ["old"],
                "properties": {"old": {"type": "string"}}, "additionalProperties": false}}}})
    }

    #[test]
    fn req_056_a_misfit_names_the_property_the_value_and_the_wish() {
        for (arguments, expect) in [
            (json!({}), "`path` is required and was not given"),
            (json!({"path": 5}), "`path`: got 5, expected a value of type string"),
            (json!({"path": "a", "limit": 0}), "`limit`: got 0, expected at least 1"),
            (
                json!({"path": "a", "limit": "ten"}),
                "`limit`: got \"ten\", expected a value of type integer",
            ),
            (json!({"path": "a", "limt": 1}), "`limt` is not known; did you mean `limit`?"),
            (json!({"path": "a", "xyzzy": 1}), "`xyzzy` is not known"),
            (
                json!({"path": "a", "case": "x"}),
                "`case`: got \"x\", expected one of [\"smart\",\"exact\"]",
            ),
            (
                json!({"path": "a", "edits": [{"old": 1}]}),
                "`edits[0].old`: got 1, expected a value of type string",
            ),
            (json!({"path": "a", "edits": [{}]}), "`edits[0].old` is required"),
            (
                json!({"path": "a", "edits": [{"old": "", "odl": ""}]}),
                "`edits[0].odl` is not known; did you mean `old`?",
            ),
            (json!([]), "the arguments: got [], expected a value of type object"),
        ] {
            let failure = Checker::default().check(&arguments, &schema()).unwrap_err();
            assert!(failure.message.contains(expect), "{arguments}: {}", failure.message);
            assert_eq!(failure.code, FailureCode::InvalidArguments);
            assert!(failure.hint.unwrap().contains("path (string, required)"));
        }
    }

    #[test]
    fn what_was_given_is_clipped() {
        let long = json!({"path": "a", "limit": "x".repeat(100_000)});
        let failure = Checker::default().check(&long, &schema()).unwrap_err();
        assert!(failure.message.len() < 400, "{}", failure.message.len());
    }

    #[test]
    fn no_address_is_fetched_and_a_bad_schema_is_the_tools_fault() {
        for schema in [json!({"$ref": "https://example.com/s.json"}), json!({"type": 5})] {
            let failure = Checker::default().check(&json!({}), &schema).unwrap_err();
            assert_eq!(failure.code, FailureCode::Internal, "{}", failure.message);
        }
    }
}
