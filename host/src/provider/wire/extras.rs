//! Fields that this host does not know, put together from the pieces of a stream.

use serde_json::{Map, Value};

/// Adds one piece of the field `key`: texts and lists grow, objects are merged field by field, and
/// anything else takes the place of what was there. Null and empty pieces say nothing.
pub(in crate::provider) fn merge(into: &mut Map<String, Value>, key: &str, piece: Value) {
    match (into.get_mut(key), piece) {
        (_, Value::Null) => {}
        (Some(Value::String(text)), Value::String(more)) => text.push_str(&more),
        (Some(Value::Array(items)), Value::Array(more)) => items.extend(more),
        (Some(Value::Object(fields)), Value::Object(more)) => {
            for (key, piece) in more {
                merge(fields, &key, piece);
            }
        }
        (None, Value::Array(items)) if items.is_empty() => {}
        (_, piece) => {
            into.insert(key.to_owned(), piece);
        }
    }
}

/// A count that a service reports: whatever is no count is none, whatever is too large the most.
pub(in crate::provider) fn count(value: Option<&Value>) -> u64 {
    let Some(value) = value else { return 0 };
    // The cast saturates, and makes zero of negative numbers.
    value.as_u64().or_else(|| value.as_f64().map(|number| number as u64)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pieces_grow_together() {
        let mut fields = Map::new();
        for piece in [
            json!({"s": "a", "l": [1], "o": {"t": "x"}, "n": 1, "e": [], "z": null}),
            json!({"s": "b", "l": [2], "o": {"t": "y", "u": 1}, "n": 2, "z": null}),
        ] {
            for (key, value) in piece.as_object().unwrap() {
                merge(&mut fields, key, value.clone());
            }
        }
        assert_eq!(
            Value::Object(fields),
            json!({"s": "ab", "l": [1, 2], "o": {"t": "xy", "u": 1}, "n": 2})
        );
    }

    #[test]
    fn n37_counts_are_tamed() {
        let check = |value: Value, want| assert_eq!(count(Some(&value)), want, "{value}");
        check(json!(7), 7);
        check(json!(7.0), 7);
        check(json!(-7), 0);
        check(json!(1e300), u64::MAX);
        check(json!("7"), 0);
        assert_eq!(count(None), 0);
    }
}
