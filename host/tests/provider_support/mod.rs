//! Asking a provider in tests: quick settings, and everything that was shown on the way.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of it")]

use std::sync::Mutex;
use std::time::Duration;

use clawhold::model::{Message, ToolSpec};
use clawhold::provider::{
    Delta, OpenAi, Provider, ProviderError, Reply, Request, RetryPolicy, Secret, ServiceSettings,
};
use tokio_util::sync::CancellationToken;

#[path = "../support/model_server.rs"]
pub mod model_server;

use model_server::{ModelServer, Play};

/// A key that must never be seen anywhere.
pub const CANARY: &str = "sk-CANARY-0123456789abcdef";

/// Waits so short that a test need not wait.
pub const QUICK: RetryPolicy = RetryPolicy {
    attempts: 5,
    connect_attempts: 3,
    first_wait: Duration::from_millis(4),
    most_wait: Duration::from_millis(16),
    longest_asked: Duration::from_mins(1),
    budget: Duration::from_secs(20),
};

pub fn settings(base_url: &str) -> ServiceSettings {
    let mut settings = ServiceSettings::new("svc", "the-model", base_url);
    settings.key = Some(Secret::new(CANARY).expect("a good key"));
    settings.retry = QUICK;
    settings
}

pub fn openai(server: &ModelServer) -> OpenAi {
    OpenAi::new(settings(&server.base_url())).expect("good settings")
}

/// What came of a request.
#[derive(Debug)]
pub struct Asked {
    pub reply: Result<Reply, ProviderError>,
    /// `text:…`, `reasoning:…`, `retry N: WHY`
    pub shown: Vec<String>,
    /// The waits that were announced.
    pub waits: Vec<Duration>,
}

impl Asked {
    pub fn reply(&self) -> &Reply {
        self.reply.as_ref().unwrap_or_else(|error| panic!("{error} after {:?}", self.shown))
    }

    pub fn error(&self) -> &ProviderError {
        match &self.reply {
            Ok(reply) => panic!("{reply:?}"),
            Err(error) => error,
        }
    }

    pub fn retries(&self) -> usize {
        self.waits.len()
    }
}

pub async fn ask(provider: &dyn Provider) -> Asked {
    ask_with(provider, &[Message::user("hi")], &[]).await
}

pub async fn ask_with(provider: &dyn Provider, messages: &[Message], tools: &[ToolSpec]) -> Asked {
    let shown = Mutex::new(Vec::new());
    let waits = Mutex::new(Vec::new());
    let hear = |delta: Delta<'_>| {
        let line = match delta {
            Delta::Text(text) => format!("text:{text}"),
            Delta::Reasoning(text) => format!("reasoning:{text}"),
            Delta::Retry { attempt, after_ms, why } => {
                waits.lock().expect("no panic").push(Duration::from_millis(after_ms));
                format!("retry {attempt}: {why}")
            }
        };
        shown.lock().expect("no panic").push(line);
    };
    let request = Request { messages, tools };
    let reply = provider.generate(request, &hear, &CancellationToken::new()).await;
    let asked = Asked {
        reply,
        shown: shown.into_inner().expect("no panic"),
        waits: waits.into_inner().expect("no panic"),
    };
    // Whatever a test is about: no text of it ever holds the key.
    let everything = format!(
        "{asked:?} {}",
        asked.reply.as_ref().err().map(ToString::to_string).unwrap_or_default()
    );
    assert!(!everything.contains("CANARY"), "{everything}");
    asked
}

/// A chunk of a chat completions stream whose delta is `delta`.
pub fn chunk(delta: &str) -> String {
    format!(
        r#"{{"id":"x","object":"chat.completion.chunk","choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#
    )
}

/// The last chunk.
pub fn end(reason: &str) -> String {
    format!(r#"{{"id":"x","choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#)
}

/// The whole stream of a reply that says `text`.
pub fn says(text: &str) -> Vec<u8> {
    let delta = serde_json::json!({ "content": text }).to_string();
    model_server::sse(&[&chunk(&delta), &end("stop"), "[DONE]"])
}

/// Ways to cut `bytes` into pieces that together cut it at every byte: first pieces of one byte,
/// then `size` ways with pieces of `size` bytes, each shifted by one.
pub fn every_split(bytes: &[u8], size: usize) -> Vec<Vec<&[u8]>> {
    let shifted = (0..size).map(|shift| {
        let (head, tail) = bytes.split_at(shift.min(bytes.len()));
        [head].into_iter().chain(tail.chunks(size)).collect()
    });
    [bytes.chunks(1).collect()].into_iter().chain(shifted).collect()
}

/// A delta with one whole call.
pub const CALL: &str = r#"{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"write_file","arguments":"{\"path\":\"a\"}"}}]}"#;

/// A reply that says `ok`.
pub fn fine() -> Play {
    Play::stream(&says("ok"))
}

/// A refusal with this status.
pub fn busy(status: u16, headers: &[(&str, &str)]) -> Play {
    Play::answer(status, headers, br#"{"error":{"message":"busy"}}"#)
}

/// The reply comes after `retries` retries, and every request is answered once.
pub async fn recovers(plays: Vec<Play>, retries: usize) -> Asked {
    let server = ModelServer::start(plays);
    let asked = ask(&openai(&server)).await;
    assert_eq!(asked.reply().message.content, "ok", "{asked:?}");
    assert_eq!(asked.retries(), retries, "{asked:?}");
    assert_eq!(server.requests().len(), retries + 1);
    asked
}

/// The same play for ever gives this error, after so many requests.
pub async fn fails(play: Play, requests: usize) -> ProviderError {
    let server = ModelServer::start(vec![play]);
    let asked = ask(&openai(&server)).await;
    assert_eq!(server.requests().len(), requests, "{asked:?}");
    asked.error().clone()
}
