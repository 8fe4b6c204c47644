//! One entry of the conversation.

use serde::{Deserialize, Serialize};

use super::ToolCall;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    System,
    User,
    Assistant,
    /// A tool's answer; `tool_call_id` says to which call.
    Tool,
}

/// A message in the form that the whole host uses. Adapters render it for their vendor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    /// The text; empty where there is none.
    #[serde(default)]
    pub content: String,
    /// What the model thought, where the service says it. `Some("")` and `None` are different
    /// things to some services, so they are different here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// Of a tool message: the call did not succeed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// Content beside the text: pictures, mostly.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Content>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor: Option<VendorExtras>,
}

/// What a service sent beyond the common form. It goes back verbatim, to that service only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VendorExtras {
    /// The name of the provider that it came from.
    pub provider: String,
    /// Its fields, as they came.
    pub fields: serde_json::Map<String, serde_json::Value>,
}

impl Message {
    pub fn system(text: impl Into<String>) -> Self {
        Self::new(Role::System, text)
    }

    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, text)
    }

    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, text)
    }

    /// The answer to the call `id`.
    pub fn tool(id: impl Into<String>, text: impl Into<String>, is_error: bool) -> Self {
        let mut message = Self::new(Role::Tool, text);
        message.tool_call_id = Some(id.into());
        message.is_error = is_error;
        message
    }

    /// The answer to the call `id`: its text verbatim, and whatever is not text beside it.
    pub fn tool_reply(id: &str, reply: &super::ToolReply) -> Self {
        let mut message = Self::tool(id, reply.observation(), !reply.outcome.is_done());
        let beside = reply.content.iter().filter(|c| matches!(c.payload, Payload::Bytes(_)));
        message.attachments = beside.cloned().collect();
        message
    }

    fn new(role: Role, content: impl Into<String>) -> Self {
        Self {
            role,
            content: content.into(),
            reasoning: None,
            tool_calls: Vec::new(),
            tool_call_id: None,
            is_error: false,
            attachments: Vec::new(),
            vendor: None,
        }
    }
}

/// One piece of a tool's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// The media type (RFC 6838).
    pub mime_type: String,
    #[serde(flatten)]
    pub payload: Payload,
}

/// The body of one piece of content. In JSON the bytes stand as base64 (RFC 4648, section 4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Payload {
    Text(String),
    #[serde(rename = "base64", with = "base64_bytes")]
    Bytes(Vec<u8>),
    Link(String),
}

impl Content {
    pub fn text(text: impl Into<String>) -> Self {
        Self { mime_type: "text/plain".into(), payload: Payload::Text(text.into()) }
    }

    /// The text, where it is text.
    pub fn as_text(&self) -> Option<&str> {
        match &self.payload {
            Payload::Text(text) => Some(text),
            Payload::Bytes(_) | Payload::Link(_) => None,
        }
    }
}

mod base64_bytes {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], output: S) -> Result<S::Ok, S::Error> {
        output.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<u8>, D::Error> {
        STANDARD.decode(String::deserialize(input)?).map_err(D::Error::custom)
    }
}
