//! Reading a call's arguments: strict JSON (RFC 8259), with the place of the first error.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Parses `text` whole. Unlike `serde_json`'s own reading of a [`Value`], a key that stands twice
/// in one object is an error: the model meant one of them, and nobody can say which. Nesting is
/// bounded at 128 levels, numbers must be finite, and strings must be well-formed Unicode.
pub(super) fn parse(text: &str) -> Result<Value, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Strict.deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// Builds a value and refuses repeated keys on the way.
#[derive(Clone, Copy)]
struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<Value, D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Number::from_f64(number).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut input: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = input.next_element_seed(Self)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut input: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = input.next_key::<String>()? {
            if object.contains_key(&key) {
                let shown = crate::text::clip_end(&crate::text::escape_line(&key), 60);
                return Err(A::Error::custom(format!("the key `{shown}` is given twice")));
            }
            let value = input.next_value_seed(Self)?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn n17_what_is_not_json_is_an_error_with_its_place() {
        let deep = "[".repeat(100_000);
        for (text, expect) in [
            ("{\"a\":1,}", "trailing comma at line 1 column 8"),
            ("{'a':1}", "column 2"),
            ("{\"a\":NaN}", "column 6"),
            ("{\"a\":1,\"a\":2}", "the key `a` is given twice at line 1 column 10"),
            ("{\"b\":{\"a\":1,\"a\":2}}", "given twice"),
            ("{\"a\":1e999}", "number out of range"),
            ("{\"a\":\"\\ud800\"}", "column"),
            ("{\"a\":\"cut", "EOF while parsing a string"),
            ("{\"a\":1} x", "trailing characters"),
            (deep.as_str(), "recursion limit"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(expect), "{}: {error}", &text[..text.len().min(30)]);
        }
    }

    #[test]
    fn a_value_is_read_as_serde_json_reads_it() {
        for text in [
            r#"{"b":[1,-2,3.5,true,null,"é\n"],"a":{"x":{}}}"#,
            "18446744073709551615",
            "\"\\ud83d\\ude00\"",
        ] {
            assert_eq!(parse(text).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        }
    }
}
