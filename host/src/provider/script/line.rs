//! One line of a script, checked field by field so that a slip is named.

use serde_json::{Map, Value};

use crate::model::{Message, ToolCall, Usage};
use crate::provider::ReplyStop;
use crate::text::escape_line;

/// One reply to play.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// Where it stands in the file, from 1.
    pub(super) number: usize,
    pub(super) message: Message,
    /// Each must occur in one of the newest messages of the request.
    pub(super) expects: Vec<String>,
    pub(super) usage: Usage,
    pub(super) stop: ReplyStop,
}

impl Line {
    /// The error says what is wrong within the line; the caller says which line.
    pub(super) fn parse(text: &str, number: usize) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text)
            .map_err(|cause| format!("not JSON: {}", column_only(&cause)))?;
        let fields = object(&value, "the line")?;
        known(fields, "", &["text", "reasoning", "tool_calls", "expect", "usage", "stop"])?;
        let mut message = Message::assistant(string(fields, "text")?.unwrap_or_default());
        message.reasoning = string(fields, "reasoning")?;
        for call in list(fields, "tool_calls")? {
            message.tool_calls.push(tool_call(call)?);
        }
        let mut expects = Vec::new();
        if let Some(expect) = present(fields, "expect") {
            let expect = object(expect, "`expect`")?;
            known(expect, "expect.", &["contains"])?;
            for text in list(expect, "contains")? {
                let text = text.as_str().ok_or("`expect.contains` is a list of texts")?;
                expects.push(text.to_owned());
            }
        }
        let stop = match string(fields, "stop")?.as_deref() {
            None | Some("complete") => ReplyStop::Complete,
            Some("length") => ReplyStop::Length,
            Some("refusal") => ReplyStop::Refusal,
            Some(_) => return Err("`stop` is `complete`, `length` or `refusal`".into()),
        };
        Ok(Self { number, message, expects, usage: usage(fields)?, stop })
    }
}

fn tool_call(value: &Value) -> Result<ToolCall, String> {
    let fields = object(value, "each of `tool_calls`")?;
    known(fields, "tool_calls.", &["id", "name", "arguments"])?;
    let name = string(fields, "name")?.ok_or("a call in `tool_calls` needs a `name`")?;
    let arguments = match present(fields, "arguments") {
        None => "{}".to_owned(),
        // As it stands, so that a script can send what is not JSON.
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    Ok(ToolCall { id: string(fields, "id")?.unwrap_or_default(), name, arguments })
}

fn usage(fields: &Map<String, Value>) -> Result<Usage, String> {
    let Some(usage) = present(fields, "usage") else { return Ok(Usage::default()) };
    let usage = object(usage, "`usage`")?;
    known(usage, "usage.", &["input", "output", "cached"])?;
    let count = |key: &str| match present(usage, key) {
        None => Ok(0),
        Some(value) => value.as_u64().ok_or_else(|| format!("`usage.{key}` is a number of tokens")),
    };
    Ok(Usage { input: count("input")?, output: count("output")?, cached: count("cached")? })
}

/// A field that is there; null is as good as absent.
fn present<'f>(fields: &'f Map<String, Value>, key: &str) -> Option<&'f Value> {
    fields.get(key).filter(|value| !value.is_null())
}

fn object<'v>(value: &'v Value, what: &str) -> Result<&'v Map<String, Value>, String> {
    value.as_object().ok_or_else(|| format!("{what} is an object: `{{…}}`"))
}

fn string(fields: &Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match present(fields, key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("`{key}` is a text")),
    }
}

fn list<'f>(fields: &'f Map<String, Value>, key: &str) -> Result<&'f [Value], String> {
    match present(fields, key) {
        None => Ok(&[]),
        Some(value) => {
            value.as_array().map(Vec::as_slice).ok_or_else(|| format!("`{key}` is a list"))
        }
    }
}

/// Refuses a key that means nothing here, and says which one may be meant.
fn known(fields: &Map<String, Value>, within: &str, keys: &[&str]) -> Result<(), String> {
    let Some(unknown) = fields.keys().find(|key| !keys.contains(&key.as_str())) else {
        return Ok(());
    };
    let shown = escape_line(unknown);
    let nearest = keys.iter().map(|key| (distance(unknown, key), key)).min();
    Err(match nearest {
        Some((0..=2, key)) => {
            format!("unknown key `{within}{shown}`; did you mean `{within}{key}`?")
        }
        _ => format!("unknown key `{within}{shown}`; known are `{}`", keys.join("`, `")),
    })
}

/// How many letters have to be added, dropped or changed to make one text of the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let changed = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// The parser's message without its line, which is always 1 here and would mislead.
fn column_only(cause: &serde_json::Error) -> String {
    cause.to_string().replace(" at line 1 column ", " at column ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slip_is_named() {
        let check =
            |line: &str, want: &str| assert_eq!(Line::parse(line, 1).unwrap_err(), want, "{line}");
        check("{", "not JSON: EOF while parsing an object at column 1");
        check("[]", "the line is an object: `{…}`");
        check(r#"{"txt":"a"}"#, "unknown key `txt`; did you mean `text`?");
        check(r#"{"tool_call":[]}"#, "unknown key `tool_call`; did you mean `tool_calls`?");
        check(
            r#"{"expect":{"contain":[]}}"#,
            "unknown key `expect.contain`; did you mean `expect.contains`?",
        );
        check(
            r#"{"usage":{"money":1}}"#,
            "unknown key `usage.money`; known are `input`, `output`, `cached`",
        );
        check(r#"{"text":1}"#, "`text` is a text");
        check(r#"{"tool_calls":{}}"#, "`tool_calls` is a list");
        check(r#"{"tool_calls":[{}]}"#, "a call in `tool_calls` needs a `name`");
        check(
            r#"{"tool_calls":[{"name":"t","args":{}}]}"#,
            "unknown key `tool_calls.args`; known are `id`, `name`, `arguments`",
        );
        check(r#"{"expect":{"contains":[1]}}"#, "`expect.contains` is a list of texts");
        check(r#"{"stop":"never"}"#, "`stop` is `complete`, `length` or `refusal`");
        check(r#"{"usage":{"input":-1}}"#, "`usage.input` is a number of tokens");
    }

    #[test]
    fn everything_is_optional_and_null_is_absent() {
        for text in [
            "{}",
            r#"{"text":null,"reasoning":null,"tool_calls":null,"expect":null,"usage":null,"stop":null}"#,
        ] {
            let line = Line::parse(text, 1).unwrap();
            assert_eq!(line.message, Message::assistant(""));
            assert_eq!((line.usage, line.stop), (Usage::default(), ReplyStop::Complete));
        }
    }

    #[test]
    fn arguments_are_an_object_or_text() {
        let line = Line::parse(
            r#"{"tool_calls":[{"name":"t","arguments":{"b":1,"a":2}},{"name":"t","arguments":"{bad"},{"name":"t"}]}"#,
            1,
        );
        let arguments: Vec<String> =
            line.unwrap().message.tool_calls.into_iter().map(|call| call.arguments).collect();
        assert_eq!(arguments, [r#"{"b":1,"a":2}"#, "{bad", "{}"]);
    }
}
