//! What a service says when it refuses, and what that means.

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;
use serde_json::Value;

use super::fault::Fault;
use super::wait;
use crate::provider::Scrubber;
use crate::text::{clip_end, escape_line};

/// The longest text of a service that is shown, in bytes.
const SHOWN: usize = 2048;

/// Of a page that is not an API's answer: how many characters are shown.
const SAMPLE: usize = 200;

/// A refusal, read from an error body or an error event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::provider) struct Complaint {
    pub(in crate::provider) message: String,
    /// Code and type of the error, lower case, separated by spaces.
    code: String,
    /// The status that the body itself names.
    status: Option<u16>,
}

impl Complaint {
    /// Reads an error body. Whatever is not the JSON of an API stays as text.
    pub(super) fn of_body(body: &[u8], scrubber: &Scrubber) -> Self {
        // Scrubbed before anything is cut off: half a key would not be found any more.
        let text = scrubber.scrub(&String::from_utf8_lossy(body));
        if let Some(complaint) = serde_json::from_str(&text).ok().as_ref().and_then(Self::of_json) {
            return complaint;
        }
        let text = text.trim();
        let message = if text.is_empty() {
            "without a word".to_owned()
        } else if text.starts_with('<') {
            format!("a web page, not the API; it begins: {}", sample(text))
        } else {
            text.to_owned()
        };
        Self { message, code: String::new(), status: None }
    }

    /// Reads the shapes in which services write errors: `{"error": {…}}`, `{"error": "…"}`, the
    /// object bare, `{"detail": …}`, and any of these in an array.
    pub(in crate::provider) fn of_json(value: &Value) -> Option<Self> {
        let value = value.as_array().map_or(value, |list| list.first().unwrap_or(value));
        let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
        let message = match error {
            Value::String(text) => text.clone(),
            _ => match error.get("message").or_else(|| error.get("detail"))? {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            },
        };
        let words: Vec<String> = ["type", "code", "status"]
            .iter()
            .filter_map(|key| match error.get(key)? {
                Value::String(word) => Some(word.to_ascii_lowercase()),
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            })
            .collect();
        let status = ["code", "status", "http_status"]
            .iter()
            .filter_map(|key| error.get(key)?.as_u64())
            .find(|number| (400..600).contains(number));
        Some(Self { message, code: words.join(" "), status: status.map(|status| status as u16) })
    }

    /// The fault of an answer with this status.
    pub(super) fn answer(self, status: u16, headers: &HeaderMap, scrubber: &Scrubber) -> Fault {
        let asked = wait::asked(headers, &self.message, SystemTime::now());
        self.fault(status, asked, scrubber)
    }

    /// The fault of an error that came within a reply that had begun well.
    pub(in crate::provider) fn within_reply(self, scrubber: &Scrubber) -> Fault {
        let has = |words: &[&str]| words.iter().any(|word| self.code.contains(word));
        let status = if let Some(status) = self.status {
            status
        } else if has(&["overloaded"]) {
            529
        } else if has(&["rate_limit", "too_many"]) {
            429
        } else if has(&["authentication", "permission"]) {
            401
        } else if has(&["invalid_request", "not_found", "invalid_prompt"]) {
            400
        } else {
            // An accident on the service's side, until it says otherwise.
            500
        };
        let asked = wait::sentence(&self.message);
        self.fault(status, asked, scrubber)
    }

    fn fault(self, status: u16, asked: Option<Duration>, scrubber: &Scrubber) -> Fault {
        let too_long = self.is_too_long(status);
        // A quota that is used up does not come back within a run, whatever the status says.
        let spent = self.code.contains("insufficient_quota") || self.code.contains("billing");
        let again = matches!(status, 408 | 429 | 500 | 502 | 503 | 504 | 529) && !spent;
        let body = show(&self.message, &self.code, scrubber);
        if too_long {
            return Fault::ContextTooLong { body };
        }
        Fault::Refused { status, body, asked, again }
    }

    /// Whether the request was larger than the model's context. Few services have a code for it.
    fn is_too_long(&self, status: u16) -> bool {
        if self.code.contains("context_length_exceeded")
            || self.code.contains("exceed_context_size")
        {
            return true;
        }
        let message = self.message.to_ascii_lowercase();
        matches!(status, 400 | 413 | 422 | 500)
            && [
                "maximum context length",
                "context length exceeded",
                "context window",
                "context size",
                "prompt is too long",
                "input is too long",
                "exceeds the maximum number of tokens",
                "input token count",
                "reduce the length of the messages",
            ]
            .iter()
            .any(|sign| message.contains(sign))
    }
}

/// The beginning of something that is not an API's answer.
pub(super) fn sample(text: &str) -> String {
    let head: String = text.trim().chars().take(SAMPLE).collect();
    if head.len() < text.trim().len() { format!("{head}…") } else { head }
}

fn show(message: &str, code: &str, scrubber: &Scrubber) -> String {
    let text = if code.is_empty() { message.to_owned() } else { format!("{message} ({code})") };
    harmless(&text, scrubber)
}

/// Foreign text as it may be shown: without keys, without control characters, at most 2 KiB.
pub(in crate::provider) fn harmless(text: &str, scrubber: &Scrubber) -> String {
    // The note about what was left out stays within the limit too.
    let escaped = escape_line(&scrubber.scrub(text));
    if escaped.len() <= SHOWN { escaped } else { clip_end(&escaped, SHOWN - 64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(status: u16, body: &str) -> Fault {
        let scrubber = Scrubber::new(["sk-CANARY-0123456789"]);
        Complaint::of_body(body.as_bytes(), &scrubber).answer(status, &HeaderMap::new(), &scrubber)
    }

    #[test]
    fn n05_every_shape_of_error_gives_its_message() {
        let check = |body: &str, want: &str| match fault(400, body) {
            Fault::Refused { body, .. } => assert_eq!(body, want),
            other => panic!("{other:?}"),
        };
        check(
            r#"{"error":{"message":"bad","type":"invalid_request_error","code":null}}"#,
            "bad (invalid_request_error)",
        );
        check(r#"{"error":"model is gone"}"#, "model is gone");
        check(r#"{"object":"error","message":"bad","code":400}"#, "bad (400)");
        check(r#"{"detail":[{"loc":["body"]}]}"#, r#"[{"loc":["body"]}]"#);
        check(
            r#"[{"error":{"code":400,"message":"bad","status":"INVALID"}}]"#,
            "bad (400 invalid)",
        );
        check("plain \x1b[31mred\n", "plain \\x1b[31mred");
        check("", "without a word");
        check("<html>hi</html>", "a web page, not the API; it begins: <html>hi</html>");
        check(r#"{"error":null,"x":1}"#, r#"{"error":null,"x":1}"#);
    }

    #[test]
    fn n05_what_is_shown_is_scrubbed_and_short() {
        let Fault::Refused { body, .. } = fault(400, "wrong: sk-CANARY-0123456789") else {
            panic!()
        };
        assert_eq!(body, "wrong: [key]");
        let page = format!("<html>{}sk-CANARY-0123456789", "x".repeat(SAMPLE - 10));
        let Fault::Refused { body, .. } = fault(400, &page) else { panic!() };
        assert!(!body.contains("sk-"), "{body}");
        let Fault::Refused { body, .. } = fault(400, &"目\u{1}".repeat(9000)) else { panic!() };
        assert!(body.len() <= SHOWN, "{}", body.len());
    }

    #[test]
    fn a_full_context_is_known_by_code_or_words() {
        for (status, body) in [
            (400, r#"{"error":{"message":"x","code":"context_length_exceeded"}}"#),
            (400, r#"{"error":{"message":"This model's maximum context length is 8192 tokens."}}"#),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8"}}"#,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
            ),
            (413, "input is too long for requested model"),
        ] {
            assert!(matches!(fault(status, body), Fault::ContextTooLong { .. }), "{body}");
        }
        assert!(matches!(fault(429, "context window"), Fault::Refused { .. }));
    }

    #[test]
    fn a_spent_quota_is_final() {
        let spent = fault(429, r#"{"error":{"message":"pay","code":"insufficient_quota"}}"#);
        assert!(matches!(spent, Fault::Refused { again: false, .. }));
        assert!(matches!(fault(429, "slow down"), Fault::Refused { again: true, .. }));
    }

    #[test]
    fn n27_errors_within_a_reply_get_the_status_they_stand_for() {
        let check = |json: &str, want: u16, want_again: bool| {
            let value = serde_json::from_str(json).unwrap();
            let fault = Complaint::of_json(&value).unwrap().within_reply(&Scrubber::default());
            match fault {
                Fault::Refused { status, again, .. } => {
                    assert_eq!((status, again), (want, want_again), "{json}");
                }
                other => panic!("{other:?}"),
            }
        };
        check(r#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#, 529, true);
        check(r#"{"error":{"code":502,"message":"x"}}"#, 502, true);
        check(r#"{"error":{"code":"rate_limit_exceeded","message":"x"}}"#, 429, true);
        check(r#"{"error":{"type":"server_error","message":"x"}}"#, 500, true);
        check(r#"{"error":"boom"}"#, 500, true);
        check(r#"{"error":{"type":"invalid_request_error","message":"x"}}"#, 400, false);
        check(r#"{"error":{"code":"insufficient_quota","message":"x"}}"#, 500, false);
    }
}
