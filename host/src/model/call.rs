//! What the model asks for.

use serde::{Deserialize, Deserializer, Serialize};

/// One tool call of an assistant message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Pairs the call with its result; unique within a session.
    #[serde(default)]
    pub id: String,
    pub name: String,
    /// The arguments as the model wrote them. They stay text until the registry parses them,
    /// so that a call that is not JSON can still be shown, logged and answered.
    #[serde(default, deserialize_with = "text_or_json")]
    pub arguments: String,
}

/// Scripts and logs may hold arguments as an object for readability, or as text exactly as sent.
fn text_or_json<'de, D: Deserializer<'de>>(input: D) -> Result<String, D::Error> {
    Ok(match serde_json::Value::deserialize(input)? {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    })
}
