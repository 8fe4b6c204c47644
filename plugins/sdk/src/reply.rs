//! What a call that succeeded says.

use crate::bindings::clawhold::tool::types::{Content, Payload, ToolResult};

/// The answer of a call: pieces of content in order, and a form for programs.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    content: Vec<Content>,
    structured: Option<String>,
}

impl Reply {
    /// A reply of one piece of plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::default().and_text(text)
    }

    /// Adds a piece of plain text.
    #[must_use]
    pub fn and_text(self, text: impl Into<String>) -> Self {
        self.and("text/plain", Payload::Text(text.into()))
    }

    /// Adds a unified diff, which terminals colour. An empty one is left out.
    #[must_use]
    pub fn and_diff(self, diff: impl Into<String>) -> Self {
        let diff = diff.into();
        if diff.is_empty() {
            return self;
        }
        self.and("text/x-diff", Payload::Text(diff))
    }

    /// Adds raw bytes of a media type (RFC 6838), such as `image/png`.
    #[must_use]
    pub fn and_bytes(self, mime_type: &str, bytes: Vec<u8>) -> Self {
        self.and(mime_type, Payload::Bytes(bytes))
    }

    /// Adds a URI under which the content can be found.
    #[must_use]
    pub fn and_link(self, mime_type: &str, uri: impl Into<String>) -> Self {
        self.and(mime_type, Payload::Link(uri.into()))
    }

    /// Sets the form for programs. It follows the tool's output schema where there is one.
    #[must_use]
    pub fn structured(mut self, value: &serde_json::Value) -> Self {
        self.structured = Some(value.to_string());
        self
    }

    /// The pieces so far.
    pub fn content(&self) -> &[Content] {
        &self.content
    }

    /// The text pieces, joined by line breaks: what a model sees of them.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        for piece in &self.content {
            if let Payload::Text(text) = &piece.payload {
                if !out.is_empty() && !out.ends_with('\n') {
                    out.push('\n');
                }
                out.push_str(text);
            }
        }
        out
    }

    /// The form for programs, as JSON text.
    pub fn structured_text(&self) -> Option<&str> {
        self.structured.as_deref()
    }

    /// The record of the contract, to hand over.
    pub fn into_result(self) -> ToolResult {
        ToolResult { content: self.content, structured: self.structured, meta: None }
    }

    fn and(mut self, mime_type: &str, payload: Payload) -> Self {
        self.content.push(Content { mime_type: mime_type.to_owned(), payload, meta: None });
        self
    }
}
