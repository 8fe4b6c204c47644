//! Lenient reading of arguments: what a model wrote almost right becomes what the schema asks
//! for, where there is only one reading. Whatever is left over is for validation to refuse.

use serde_json::{Map, Number, Value};

/// How far references and alternatives are followed; a schema that points at itself ends here.
const DEPTH: u32 = 32;

/// Changes `value` in place towards `schema`:
/// `2.0` and `"2"` become `2`, `"true"` becomes `true`, text that holds the wanted object or list
/// is read, a single value becomes a list of one where a list of such values is wanted, and a
/// `null` for an optional property that admits none is dropped.
pub(super) fn coerce(value: &mut Value, schema: &Value) {
    step(value, schema, schema, DEPTH);
}

fn step(value: &mut Value, schema: &Value, root: &Value, depth: u32) {
    if depth == 0 {
        return;
    }
    let Some(schema) = follow(schema, root, depth) else { return };
    let wanted = Wanted::of(schema);
    if wanted.admits(value) {
        if wanted.integer
            && let Some(whole) = value.as_f64().filter(|_| value.is_f64()).and_then(whole)
        {
            *value = Value::Number(whole);
        }
    } else if let Some(better) = convert(value, &wanted, schema, root, depth) {
        *value = better;
    }
    match value {
        Value::Object(object) => members(object, schema, root, depth),
        Value::Array(items) => {
            if let Some(item_schema) = schema.get("items") {
                for item in items {
                    step(item, item_schema, root, depth - 1);
                }
            }
        }
        _ => {}
    }
    alternatives(value, schema, root, depth);
}

fn members(object: &mut Map<String, Value>, schema: &Value, root: &Value, depth: u32) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|n| n.as_str() == Some(name)));
    // Dropping keeps the order of the rest: what a tool sees is what the model wrote.
    object.retain(|name, member| {
        !member.is_null()
            || is_required(name)
            || properties.get(name).is_none_or(|schema| admits_null(schema, root, depth))
    });
    for (name, member) in object {
        if let Some(schema) = properties.get(name) {
            step(member, schema, root, depth - 1);
        }
    }
}

/// With alternatives, a value that has the type of one of them is left as it is; otherwise the
/// first alternative that it can be turned into wins.
fn alternatives(value: &mut Value, schema: &Value, root: &Value, depth: u32) {
    let Some(options) =
        ["anyOf", "oneOf"].iter().find_map(|key| schema.get(*key).and_then(Value::as_array))
    else {
        return;
    };
    let fits = |value: &Value, option: &Value| {
        follow(option, root, depth).is_some_and(|option| Wanted::of(option).admits(value))
    };
    if let Some(option) = options.iter().find(|option| fits(value, option)) {
        step(value, option, root, depth - 1);
        return;
    }
    for option in options {
        let mut attempt = value.clone();
        step(&mut attempt, option, root, depth - 1);
        if fits(&attempt, option) {
            *value = attempt;
            return;
        }
    }
}

fn convert(
    value: &Value,
    wanted: &Wanted,
    schema: &Value,
    root: &Value,
    depth: u32,
) -> Option<Value> {
    if let Value::String(text) = value {
        let text = text.trim();
        let read = match text.as_bytes().first()? {
            b'{' | b'[' => super::arguments::parse(text).ok(),
            b't' | b'T' if text.eq_ignore_ascii_case("true") => Some(Value::Bool(true)),
            b'f' | b'F' if text.eq_ignore_ascii_case("false") => Some(Value::Bool(false)),
            b'-' | b'0'..=b'9' => number(text, wanted),
            _ => None,
        };
        if let Some(read) = read.filter(|read| wanted.admits(read)) {
            return Some(read);
        }
    }
    let scalar = !matches!(value, Value::Null | Value::Array(_) | Value::Object(_));
    if wanted.array && scalar {
        let item_schema = schema.get("items")?;
        let mut item = value.clone();
        step(&mut item, item_schema, root, depth - 1);
        let fits = follow(item_schema, root, depth).is_some_and(|s| Wanted::of(s).admits(&item));
        return fits.then(|| Value::Array(vec![item]));
    }
    None
}

fn number(text: &str, wanted: &Wanted) -> Option<Value> {
    let number: Number = text.parse().ok()?;
    if wanted.integer && number.is_f64() {
        return number.as_f64().and_then(whole).map(Value::Number);
    }
    Some(Value::Number(number))
}

/// `2.0` as `2`, within the range in which every whole number has its own `f64`.
fn whole(number: f64) -> Option<Number> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (number.fract() == 0.0 && number.abs() <= EXACT).then(|| Number::from(number as i64))
}

/// The types that a schema names; none named admits all.
#[derive(Default)]
struct Wanted {
    any: bool,
    null: bool,
    boolean: bool,
    integer: bool,
    number: bool,
    string: bool,
    array: bool,
    object: bool,
}

impl Wanted {
    fn of(schema: &Value) -> Self {
        let mut wanted = Self::default();
        match schema.get("type") {
            Some(Value::String(name)) => wanted.add(name),
            Some(Value::Array(names)) => {
                names.iter().filter_map(Value::as_str).for_each(|name| wanted.add(name));
            }
            _ => wanted.any = true,
        }
        wanted
    }

    fn add(&mut self, name: &str) {
        match name {
            "null" => self.null = true,
            "boolean" => self.boolean = true,
            "integer" => self.integer = true,
            "number" => self.number = true,
            "string" => self.string = true,
            "array" => self.array = true,
            "object" => self.object = true,
            _ => self.any = true,
        }
    }

    fn admits(&self, value: &Value) -> bool {
        self.any
            || match value {
                Value::Null => self.null,
                Value::Bool(_) => self.boolean,
                Value::Number(n) => {
                    self.number
                        || self.integer && (!n.is_f64() || n.as_f64().and_then(whole).is_some())
                }
                Value::String(_) => self.string,
                Value::Array(_) => self.array,
                Value::Object(_) => self.object,
            }
    }
}

/// The schema behind a local reference (`#/$defs/…`). Nothing is ever fetched.
fn follow<'a>(mut schema: &'a Value, root: &'a Value, depth: u32) -> Option<&'a Value> {
    for _ in 0..depth {
        match schema.get("$ref").and_then(Value::as_str) {
            None => return Some(schema),
            Some(reference) => schema = root.pointer(reference.strip_prefix('#')?)?,
        }
    }
    None
}

fn admits_null(schema: &Value, root: &Value, depth: u32) -> bool {
    let Some(schema) = (depth > 0).then(|| follow(schema, root, depth)).flatten() else {
        return true;
    };
    let by_type = schema.get("type").is_some() && Wanted::of(schema).null;
    let by_value = schema.get("enum").and_then(Value::as_array);
    let by_option = ["anyOf", "oneOf"].iter().filter_map(|key| schema.get(*key)?.as_array());
    let says_nothing =
        ["type", "enum", "anyOf", "oneOf", "const"].iter().all(|key| schema.get(*key).is_none());
    says_nothing
        || by_type
        || by_value.is_some_and(|values| values.iter().any(Value::is_null))
        || by_option.flatten().any(|option| admits_null(option, root, depth - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(schema: &Value, input: Value, expect: &Value) {
        let shown = input.to_string();
        let mut value = input;
        coerce(&mut value, schema);
        assert_eq!(&value, expect, "{shown} towards {schema}");
    }

    #[test]
    fn req_097_scalars_find_their_type() {
        for (kind, input, expect) in [
            ("integer", json!(2.0), json!(2)),
            ("integer", json!("2"), json!(2)),
            ("integer", json!(" -7.0 "), json!(-7)),
            ("integer", json!(2.5), json!(2.5)),
            ("integer", json!("two"), json!("two")),
            ("integer", json!(1e300), json!(1e300)),
            ("number", json!("1.5"), json!(1.5)),
            ("number", json!(2), json!(2)),
            ("boolean", json!("true"), json!(true)),
            ("boolean", json!("False"), json!(false)),
            ("boolean", json!("yes"), json!("yes")),
            ("boolean", json!(1), json!(1)),
            ("string", json!(5), json!(5)),
            ("string", json!("true"), json!("true")),
            ("string", json!("{\"a\":1}"), json!("{\"a\":1}")),
        ] {
            let schema = json!({"type": "object", "properties": {"x": {"type": kind}}});
            check(&schema, json!({"x": input}), &json!({"x": expect}));
        }
    }

    #[test]
    fn req_057_text_that_holds_the_wanted_thing_is_read() {
        let list = json!({"type": "array", "items": {"type": "integer"}});
        check(&list, json!("[1, \"2\"]"), &json!([1, 2]));
        check(&list, json!("7"), &json!([7]));
        check(&list, json!({"a": 1}), &json!({"a": 1}));
        check(&list, json!("[1"), &json!("[1"));
        let texts = json!({"type": "array", "items": {"type": "string"}});
        check(&texts, json!("a.txt"), &json!(["a.txt"]));
        check(&texts, json!("[\"a\",\"b\"]"), &json!(["a", "b"]));
        let object = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        check(&object, json!("{\"n\":\"3\"}"), &json!({"n": 3}));
        check(&object, json!("{\"n\":1,\"n\":2}"), &json!("{\"n\":1,\"n\":2}"));
    }

    #[test]
    fn a_null_is_dropped_only_where_absence_is_meant() {
        let schema = json!({"type": "object", "required": ["need"], "properties": {
            "need": {"type": "string"}, "opt": {"type": "integer"},
            "nullable": {"type": ["string", "null"]}, "free": {}}});
        check(
            &schema,
            json!({"need": null, "opt": null, "nullable": null, "free": null, "other": null}),
            &json!({"need": null, "nullable": null, "free": null, "other": null}),
        );
    }

    #[test]
    fn references_and_alternatives_are_followed() {
        let schema = json!({"type": "object", "$defs": {"n": {"type": "integer"}}, "properties": {
            "a": {"$ref": "#/$defs/n"},
            "b": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "c": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}});
        check(&schema, json!({"a": "1", "b": "2", "c": "3"}), &json!({"a": 1, "b": 2, "c": "3"}));
        let endless = json!({"$ref": "#"});
        check(&endless, json!({"a": "1"}), &json!({"a": "1"}));
    }
}
