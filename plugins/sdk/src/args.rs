//! Arguments, read leniently: models send `2.0` for 2, `"true"` for true and `null` for nothing.
//!
//! The host has coerced and checked them against the schema already; these getters keep a plugin
//! right when it is called by something less careful, and turn what is left into an error that
//! names the property.

use serde_json::{Map, Value};

use crate::bindings::clawhold::tool::types::Failure;
use crate::failure::invalid;

/// The arguments of a call. Getters take the value out, so that large texts are not copied.
#[derive(Debug, Clone, Default)]
pub struct Args {
    map: Map<String, Value>,
}

impl Args {
    /// Reads a JSON object. Nothing at all and `null` stand for an empty one.
    pub fn parse(json: &str) -> Result<Self, Failure> {
        if json.trim().is_empty() {
            return Ok(Self::default());
        }
        match serde_json::from_str(json) {
            Ok(Value::Object(map)) => Ok(Self { map }),
            Ok(Value::Null) => Ok(Self::default()),
            Ok(other) => {
                Err(invalid(format!("the arguments are {}, not a JSON object", kind(&other))))
            }
            Err(error) => Err(invalid(format!("the arguments are not valid JSON: {error}"))),
        }
    }

    /// A text that must be there.
    pub fn text(&mut self, name: &str) -> Result<String, Failure> {
        self.opt_text(name)?.ok_or_else(|| invalid(format!("`{name}` is missing")))
    }

    /// A text. Numbers and booleans are taken as they would be written.
    pub fn opt_text(&mut self, name: &str) -> Result<Option<String>, Failure> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => Ok(Some(value.to_string())),
            Some(other) => Err(wrong(name, "a text", &other)),
        }
    }

    /// A whole number from 0 up. A fraction that is none (`2.0`) and digits in a text count.
    /// What is larger than `u64::MAX` is taken as that.
    pub fn opt_whole(&mut self, name: &str) -> Result<Option<u64>, Failure> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        whole(&value).map(Some).ok_or_else(|| wrong(name, "a whole number from 0 up", &value))
    }

    /// A yes or no. `"true"`, `"yes"`, `1` and their opposites count.
    pub fn opt_flag(&mut self, name: &str) -> Result<Option<bool>, Failure> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        flag(&value).map(Some).ok_or_else(|| wrong(name, "true or false", &value))
    }

    /// Objects in a list; one object alone is a list of one, and a text may hold either as JSON.
    pub fn opt_objects(&mut self, name: &str) -> Result<Option<Vec<Args>>, Failure> {
        let Some(mut value) = self.take(name) else {
            return Ok(None);
        };
        if let Value::String(text) = &value {
            value = serde_json::from_str(text)
                .map_err(|_| wrong(name, "a list of objects", &Value::String(text.clone())))?;
        }
        let items = match value {
            Value::Array(items) => items,
            one @ Value::Object(_) => vec![one],
            other => return Err(wrong(name, "a list of objects", &other)),
        };
        items
            .into_iter()
            .enumerate()
            .map(|(index, item)| match item {
                Value::Object(map) => Ok(Args { map }),
                other => Err(wrong(&format!("{name}[{index}]"), "an object", &other)),
            })
            .collect::<Result<_, _>>()
            .map(Some)
    }

    /// A value as it came.
    pub fn value(&mut self, name: &str) -> Option<Value> {
        self.take(name)
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        self.map.get_mut(name).map(Value::take).filter(|value| !value.is_null())
    }
}

fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64().or_else(|| from_float(number.as_f64()?)),
        Value::String(text) => {
            let text = text.trim();
            text.parse().ok().or_else(|| from_float(text.parse().ok()?))
        }
        _ => None,
    }
}

fn from_float(number: f64) -> Option<u64> {
    // The cast saturates, which is what a request for more than everything should do.
    (number >= 0.0 && number.fract() == 0.0).then_some(number as u64)
}

fn flag(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::Number(number) => match number.as_f64()? {
            1.0 => Some(true),
            0.0 => Some(false),
            _ => None,
        },
        Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Some(true),
            "false" | "no" | "off" | "0" | "" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

fn wrong(name: &str, wanted: &str, value: &Value) -> Failure {
    let text = value.to_string();
    let shown = if text.len() > 40 { kind(value) } else { &text };
    invalid(format!("`{name}` must be {wanted}, not {shown}"))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn args(json: &str) -> Args {
        Args::parse(json).unwrap()
    }

    #[test]
    fn req_097_numbers_come_in_many_forms() {
        for (json, expect) in [
            ("2", Some(2)),
            ("2.0", Some(2)),
            ("\"2\"", Some(2)),
            ("\" 2.0 \"", Some(2)),
            ("null", None),
            ("18446744073709551615", Some(u64::MAX)),
            ("1e300", Some(u64::MAX)),
        ] {
            let got = args(&format!("{{\"n\":{json}}}")).opt_whole("n").unwrap();
            assert_eq!(got, expect, "{json}");
        }
        for json in ["-1", "2.5", "\"two\"", "[]", "true", "{}"] {
            let error = args(&format!("{{\"n\":{json}}}")).opt_whole("n").unwrap_err();
            assert!(error.message.contains("`n`"), "{json}: {}", error.message);
        }
    }

    #[test]
    fn req_097_booleans_come_in_many_forms() {
        for (json, expect) in [
            ("true", Some(true)),
            ("\"True\"", Some(true)),
            ("1", Some(true)),
            ("\"no\"", Some(false)),
            ("0.0", Some(false)),
            ("null", None),
        ] {
            let got = args(&format!("{{\"b\":{json}}}")).opt_flag("b").unwrap();
            assert_eq!(got, expect, "{json}");
        }
        assert!(args(r#"{"b":"maybe"}"#).opt_flag("b").is_err());
        assert!(args(r#"{"b":2}"#).opt_flag("b").is_err());
    }

    #[test]
    fn texts_are_taken_and_named_when_missing() {
        let mut given = args(r#"{"a":"x","b":7,"c":["y"]}"#);
        assert_eq!(given.text("a").unwrap(), "x");
        assert_eq!(given.text("b").unwrap(), "7");
        assert_eq!(given.text("c").unwrap_err().message, "`c` must be a text, not [\"y\"]");
        assert_eq!(given.text("d").unwrap_err().message, "`d` is missing");
    }

    #[test]
    fn lists_of_objects_may_be_one_object_or_text() {
        for json in [r#"[{"k":1}]"#, r#"{"k":1}"#, r#""[{\"k\":1}]""#] {
            let mut list = args(&format!("{{\"l\":{json}}}")).opt_objects("l").unwrap().unwrap();
            assert_eq!(list.len(), 1, "{json}");
            assert_eq!(list[0].opt_whole("k").unwrap(), Some(1), "{json}");
        }
        let error = args(r#"{"l":[{},3]}"#).opt_objects("l").unwrap_err();
        assert_eq!(error.message, "`l[1]` must be an object, not 3");
    }

    #[test]
    fn what_is_no_object_is_refused_in_words() {
        assert!(Args::parse("").is_ok());
        assert!(Args::parse("null").is_ok());
        assert!(Args::parse("[1]").unwrap_err().message.contains("a list"));
        assert!(Args::parse("{").unwrap_err().message.contains("not valid JSON"));
    }
}
