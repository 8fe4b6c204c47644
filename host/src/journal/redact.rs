//! Known secrets do not reach the log.

use serde_json::Value;

const INSTEAD: &str = "[redacted]";

/// A shorter secret would hit ordinary words, and is none.
const SHORTEST: usize = 6;

/// The secrets to look for, each also in the spelling that it has inside JSON text.
#[derive(Default, Clone)]
pub(super) struct Redactions {
    needles: Vec<String>,
}

impl Redactions {
    pub(super) fn new(secrets: Vec<String>) -> Self {
        let mut needles = Vec::new();
        for secret in secrets.into_iter().filter(|secret| secret.len() >= SHORTEST) {
            // Arguments are JSON inside a string of JSON, so a secret may be escaped twice.
            let once = escaped(&secret);
            let twice = escaped(&once);
            needles.extend([twice, once, secret]);
        }
        // Longest first: a secret that is part of another must not leave the rest of it behind.
        needles.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        needles.dedup();
        Self { needles }
    }

    /// `line`, which is one record, without the secrets.
    pub(super) fn apply(&self, line: String) -> String {
        if !self.needles.iter().any(|needle| line.contains(needle)) {
            return line;
        }
        // By values, not by letters: a secret that looks like a key must not break the record.
        let Ok(mut record) = serde_json::from_str::<Value>(&line) else { return line };
        if let Value::Object(fields) = &mut record {
            for (key, value) in fields.iter_mut() {
                if key != "type" && key != "time" {
                    self.walk(value);
                }
            }
        }
        record.to_string()
    }

    fn walk(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                for needle in &self.needles {
                    if text.contains(needle) {
                        *text = text.replace(needle, INSTEAD);
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.walk(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.walk(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn n44_a_secret_is_taken_out_wherever_it_stands() {
        let secret = "sk-\"odd\\key\"";
        let redactions = Redactions::new(vec![secret.into(), "short".into(), "content".into()]);
        let arguments = json!({ "token": secret }).to_string();
        let line = json!({"type": "call", "content": secret, "arguments": arguments}).to_string();
        let out = redactions.apply(line);
        assert!(!out.contains("odd"), "{out}");
        let record: Value = serde_json::from_str(&out).expect("still one record");
        assert_eq!(record["content"], "[redacted]");
        assert_eq!(record["arguments"], "{\"token\":\"[redacted]\"}");
    }

    #[test]
    fn what_holds_no_secret_is_the_same_bytes() {
        let line = r#"{ "type" : "note", "text":"é" }"#.to_owned();
        assert_eq!(Redactions::new(vec!["sk-secret".into()]).apply(line.clone()), line);
    }
}
