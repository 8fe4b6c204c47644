//! The order of a reply's parts, for services that want their own parts back where they stood:
//! a signed thought before the call that it led to.

use serde_json::{Map, Value, json};

use super::dialect::own_extras;
use crate::model::{Message, ToolCall};

/// Under this key the extras of a message say how it was put together: a list of `{"text": BYTES}`
/// (so much of the content), `{"call": true}` (the next call) and `{"own": VALUE}` (a part that
/// only the service understands, as it came).
const SEQUENCE: &str = "sequence";

/// One part of an assistant message.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::provider) enum Part<'m> {
    Text(&'m str),
    Call(&'m ToolCall),
    Own(&'m Value),
}

/// Notes the order while a reply is put together.
#[derive(Debug, Default)]
pub(in crate::provider) struct Sequence {
    parts: Vec<Value>,
    any_own: bool,
}

impl Sequence {
    pub(in crate::provider) fn text(&mut self, bytes: usize) {
        self.parts.push(json!({ "text": bytes }));
    }

    pub(in crate::provider) fn call(&mut self) {
        self.parts.push(json!({ "call": true }));
    }

    pub(in crate::provider) fn own(&mut self, value: Value) {
        self.any_own = true;
        self.parts.push(Value::Object(Map::from_iter([("own".to_owned(), value)])));
    }

    /// The extras that keep it; none where text and calls are all there is.
    pub(in crate::provider) fn into_extras(self) -> Map<String, Value> {
        if !self.any_own {
            return Map::new();
        }
        Map::from_iter([(SEQUENCE.to_owned(), Value::Array(self.parts))])
    }
}

/// The parts of `message` for the service `provider`. Without a note of that service, or when the
/// message has been shortened since, its own parts come first, then the text, then the calls.
pub(in crate::provider) fn parts<'m>(message: &'m Message, provider: &str) -> Vec<Part<'m>> {
    let noted = own_extras(message, provider).and_then(|extras| extras.get(SEQUENCE));
    let noted = noted.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    in_order(message, noted).unwrap_or_else(|| {
        let own = noted.iter().filter_map(|part| part.get("own")).map(Part::Own);
        let text = Some(message.content.as_str()).filter(|text| !text.is_empty()).map(Part::Text);
        own.chain(text).chain(message.tool_calls.iter().map(Part::Call)).collect()
    })
}

/// The parts as noted, if the note still fits the message exactly.
fn in_order<'m>(message: &'m Message, noted: &'m [Value]) -> Option<Vec<Part<'m>>> {
    let mut text = message.content.as_str();
    let mut calls = message.tool_calls.iter();
    let mut parts = Vec::with_capacity(noted.len());
    for part in noted {
        if let Some(own) = part.get("own") {
            parts.push(Part::Own(own));
        } else if let Some(bytes) = part.get("text").and_then(Value::as_u64) {
            let (head, tail) = text.split_at_checked(usize::try_from(bytes).ok()?)?;
            parts.push(Part::Text(head));
            text = tail;
        } else {
            parts.push(Part::Call(calls.next()?));
        }
    }
    (text.is_empty() && calls.next().is_none()).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::VendorExtras;

    fn message() -> Message {
        let mut sequence = Sequence::default();
        sequence.own(json!("a"));
        sequence.text("目录".len());
        sequence.call();
        sequence.own(json!("b"));
        sequence.call();
        let mut message = Message::assistant("目录");
        for id in ["c1", "c2"] {
            let call = ToolCall { id: id.into(), name: "t".into(), arguments: "{}".into() };
            message.tool_calls.push(call);
        }
        message.vendor =
            Some(VendorExtras { provider: "p".into(), fields: sequence.into_extras() });
        message
    }

    fn shape(message: &Message, provider: &str) -> String {
        let words = parts(message, provider).into_iter().map(|part| match part {
            Part::Text(text) => text.to_owned(),
            Part::Call(call) => call.id.clone(),
            Part::Own(own) => own.to_string(),
        });
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_order_is_kept_for_its_service_while_the_message_is_whole() {
        let mut message = message();
        assert_eq!(shape(&message, "p"), "\"a\" 目录 c1 \"b\" c2");
        assert_eq!(shape(&message, "other"), "目录 c1 c2");
        message.content = "目".into();
        assert_eq!(shape(&message, "p"), "\"a\" \"b\" 目 c1 c2");
        message.content = "目录".into();
        message.tool_calls.pop();
        assert_eq!(shape(&message, "p"), "\"a\" \"b\" 目录 c1");
    }

    #[test]
    fn nothing_is_noted_where_nothing_is_the_service_s_own() {
        let mut sequence = Sequence::default();
        sequence.text(3);
        sequence.call();
        assert!(sequence.into_extras().is_empty());
    }
}
