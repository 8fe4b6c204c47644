//! All adapters, each over recorded streams: split at every byte, cut at
//! every byte, and with what belongs to the service sent back to it.

#![allow(clippy::unwrap_used)]

mod provider_support;
#[path = "provider_support/samples.rs"]
mod samples;

use std::time::Duration;

use clawhold::model::{Effects, Message, ToolSpec, Usage};
use clawhold::provider::{
    Anthropic, Ollama, OpenAiResponses, ProviderError, ReplyStop, RetryPolicy,
};
use provider_support::model_server::{ModelServer, Play};
use provider_support::{Asked, CANARY, QUICK, ask, ask_with, every_split, settings};
use samples::{ANTHROPIC, MAKERS, Make, RESPONSES, chunks};
use serde_json::{Value, json};

fn check_rich(asked: &Asked) {
    let reply = asked.reply();
    assert_eq!(reply.message.reasoning.as_deref(), Some("先看目录"));
    assert_eq!(reply.message.content, "Look 👀");
    let calls: Vec<_> = reply
        .message
        .tool_calls
        .iter()
        .map(|call| (call.name.as_str(), call.arguments.as_str()))
        .collect();
    assert_eq!(calls, [("read_file", r#"{"path":"a.txt"}"#), ("now", "{}")]);
    assert!(reply.message.tool_calls.iter().all(|call| !call.id.is_empty()));
    assert_eq!((reply.usage.input, reply.usage.output), (100, 42));
    assert_eq!(reply.stop, ReplyStop::Complete);
    assert_eq!(asked.shown, ["reasoning:先看", "reasoning:目录", "text:Look 👀"]);
}

#[tokio::test]
async fn req_036_req_069_req_101_a_stream_is_the_same_however_it_is_split() {
    for (media_type, make, sample, target) in MAKERS {
        let splits = every_split(sample.as_bytes(), 64);
        let plays = splits.iter().map(|pieces| chunks(media_type, pieces, false));
        let server = ModelServer::start(plays.collect());
        let provider = make(settings(&server.base_url())).unwrap();
        for _ in &splits {
            check_rich(&ask(provider.as_ref()).await);
        }
        let requests = server.requests();
        assert!(requests.iter().all(|request| request.connection == 0 && request.target == target));
    }
}

#[tokio::test]
async fn n10_n17_a_field_of_any_other_type_is_no_panic() {
    for (media_type, make, sample, _) in MAKERS {
        let plays: Vec<Play> = sample
            .lines()
            .filter_map(|line| Some((line, &line[line.find('{')?..])))
            .flat_map(|(line, event)| {
                disfigured(&serde_json::from_str(event).unwrap()).into_iter().map(move |other| {
                    sample.replacen(line, &line.replace(event, &other.to_string()), 1)
                })
            })
            .map(|stream| chunks(media_type, &[stream.as_bytes()], false))
            .collect();
        let count = plays.len();
        assert!(count > 100, "{count}");
        let server = ModelServer::start(plays);
        let mut settings = settings(&server.base_url());
        settings.retry = RetryPolicy { attempts: 1, ..QUICK };
        let provider = make(settings).unwrap();
        let mut replies = 0;
        for _ in 0..count {
            replies += usize::from(ask(provider.as_ref()).await.reply.is_ok());
        }
        // Most of the fields are not needed for a reply.
        assert!(replies * 2 > count, "{replies} of {count}");
    }
}

/// `value` with each of its fields in turn replaced by a list and by a text.
fn disfigured(value: &Value) -> Vec<Value> {
    fn paths(value: &Value, at: &str, found: &mut Vec<String>) {
        found.push(at.to_owned());
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    paths(value, &format!("{at}/{key}"), found);
                }
            }
            Value::Array(items) => {
                for (n, value) in items.iter().enumerate() {
                    paths(value, &format!("{at}/{n}"), found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    paths(value, "", &mut found);
    let others = [json!([1]), json!("x")];
    found
        .iter()
        .flat_map(|path| {
            others.iter().map(move |other| {
                let mut changed = value.clone();
                *changed.pointer_mut(path).unwrap() = other.clone();
                changed
            })
        })
        .collect()
}

#[tokio::test]
async fn n14_n15_a_stream_that_is_cut_anywhere_gives_no_reply() {
    for (media_type, make, sample, _) in MAKERS {
        // Up to the last line, which some may do without.
        let end = sample.trim_end().rfind('\n').unwrap();
        let cuts: Vec<usize> = (1..end).step_by(37).collect();
        let plays = cuts.iter().flat_map(|&at| {
            let head = &sample.as_bytes()[..at];
            // Once without the end of the body, once with.
            [chunks(media_type, &[head], true), chunks(media_type, &[head], false)]
        });
        let server = ModelServer::start(plays.collect());
        let mut settings = settings(&server.base_url());
        settings.retry = RetryPolicy { attempts: 1, ..QUICK };
        let provider = make(settings).unwrap();
        for at in cuts.iter().flat_map(|at| [at, at]) {
            let asked = ask(provider.as_ref()).await;
            if let Ok(reply) = &asked.reply {
                // All that may be missing is what formally follows the reason to stop.
                let reasons = ["\"stop_reason\":\"tool_use\"", "\"finish_reason\":\"tool_calls\""];
                let had_reason = reasons.iter().any(|reason| sample[..*at].contains(reason));
                assert!(had_reason, "{at}: {reply:?}");
            }
        }
    }
}

#[tokio::test]
async fn n05_n06_n27_errors_are_those_of_every_service() {
    for (media_type, make, ..) in MAKERS {
        let server = ModelServer::start(vec![Play::json(
            401,
            &json!({"error": {"message": CANARY}}).to_string(),
        )]);
        let asked = ask(make(settings(&server.base_url())).unwrap().as_ref()).await;
        assert_eq!(
            asked.error(),
            &ProviderError::Unauthorized { status: 401, body: "[key]".into() }
        );

        let error =
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}})
                .to_string();
        let framed = if media_type == "text/event-stream" {
            format!("event: error\ndata: {error}\n\n")
        } else {
            format!("{error}\n")
        };
        let server = ModelServer::start(vec![chunks(media_type, &[framed.as_bytes()], false)]);
        let asked = ask(make(settings(&server.base_url())).unwrap().as_ref()).await;
        assert!(
            matches!(asked.error(), ProviderError::Unavailable { status: 529, attempts: 5, .. }),
            "{asked:?}"
        );
    }
}

#[tokio::test]
async fn n10_an_answer_without_a_reply_is_tried_once_more() {
    for (_, make, ..) in MAKERS {
        for body in ["{}", "[]", r#"{"content":null}"#] {
            let server = ModelServer::start(vec![Play::json(200, body)]);
            let mut settings = settings(&server.base_url());
            settings.timeouts.idle = Duration::from_secs(5);
            let asked = ask(make(settings).unwrap().as_ref()).await;
            assert!(
                matches!(
                    asked.error(),
                    ProviderError::Malformed { .. } | ProviderError::Cut { .. }
                ),
                "{body}: {asked:?}"
            );
        }
    }
}

/// What the second request of a conversation says of the first reply.
async fn sent_back(make: Make, media_type: &str, sample: &str, other_name: bool) -> Value {
    let server = ModelServer::start(vec![chunks(media_type, &[sample.as_bytes()], false)]);
    let mut settings = settings(&server.base_url());
    let first = ask(make(settings.clone()).unwrap().as_ref()).await.reply().message.clone();
    // Through the session log and back.
    let first: Message = serde_json::from_str(&serde_json::to_string(&first).unwrap()).unwrap();
    let results =
        first.tool_calls.iter().map(|call| Message::tool(&call.id, "r", false)).collect::<Vec<_>>();
    if other_name {
        settings.name = "other".into();
    }
    let history = [vec![Message::user("u"), first], results].concat();
    ask_with(make(settings).unwrap().as_ref(), &history, &[]).await.reply();
    server.requests()[1].json()
}

#[tokio::test]
async fn req_071_signed_thoughts_go_back_byte_for_byte_to_their_service_alone() {
    let (media_type, make, sample, _) = MAKERS[0];
    let calls = [
        json!({"type": "text", "text": "Look 👀"}),
        json!({"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a.txt"}}),
        json!({"type": "tool_use", "id": "toolu_2", "name": "now", "input": {}}),
    ];
    let own = sent_back(make, media_type, sample, false).await;
    let mut want = vec![
        json!({"type": "thinking", "thinking": "先看目录", "signature": "c2ln+/=="}),
        json!({"type": "redacted_thinking", "data": "b3BhcXVl"}),
    ];
    want.extend(calls.clone());
    assert_eq!(own["messages"][1]["content"], json!(want));
    assert_eq!(own["messages"][2]["content"][1]["tool_use_id"], "toolu_2");
    let other = sent_back(make, media_type, sample, true).await;
    assert_eq!(other["messages"][1]["content"], json!(calls));
}

#[tokio::test]
async fn req_071_encrypted_reasoning_goes_back_to_its_service_alone() {
    let (media_type, make, sample, _) = MAKERS[2];
    let rest = [
        json!({"role": "assistant", "content": "Look 👀"}),
        json!({"type": "function_call", "call_id": "call_1", "name": "read_file", "arguments": "{\"path\":\"a.txt\"}"}),
        json!({"type": "function_call", "call_id": "call_2", "name": "now", "arguments": "{}"}),
        json!({"type": "function_call_output", "call_id": "call_1", "output": "r"}),
        json!({"type": "function_call_output", "call_id": "call_2", "output": "r"}),
    ];
    let own = sent_back(make, media_type, sample, false).await;
    let mut want = vec![
        json!({"role": "user", "content": "u"}),
        json!({"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "先看目录"}], "encrypted_content": "b3BhcXVl"}),
    ];
    want.extend(rest.clone());
    assert_eq!(own["input"], json!(want));
    let other = sent_back(make, media_type, sample, true).await;
    assert_eq!(other["input"].as_array().unwrap()[1..], rest);
}

#[tokio::test]
async fn the_headers_are_those_of_each_protocol() {
    for (media_type, make, sample, _) in MAKERS {
        let server = ModelServer::start(vec![chunks(media_type, &[sample.as_bytes()], false)]);
        ask(make(settings(&server.base_url())).unwrap().as_ref()).await.reply();
        let request = server.requests().remove(0);
        let bearer = format!("Bearer {CANARY}");
        if sample == ANTHROPIC {
            assert_eq!(request.header("x-api-key"), Some(CANARY));
            assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
            assert_eq!(request.header("authorization"), None);
        } else {
            assert_eq!(request.header("authorization"), Some(bearer.as_str()));
        }
    }
}

#[tokio::test]
async fn n16_n35_anthropic_s_reasons_to_stop() {
    let cases = [
        ("end_turn", ReplyStop::Complete),
        ("stop_sequence", ReplyStop::Complete),
        ("max_tokens", ReplyStop::Length),
        ("model_context_window_exceeded", ReplyStop::Length),
        ("refusal", ReplyStop::Refusal),
        ("pause_turn", ReplyStop::Other("pause_turn".into())),
        ("brand_new", ReplyStop::Other("brand_new".into())),
    ];
    for (reason, want) in cases {
        let body = json!({"type": "message", "content": [{"type": "text", "text": "ok"}], "stop_reason": reason, "usage": {"input_tokens": -1}});
        let server = ModelServer::start(vec![Play::json(200, &body.to_string())]);
        let asked = ask(&Anthropic::new(settings(&server.base_url())).unwrap()).await;
        assert_eq!((asked.reply().message.content.as_str(), &asked.reply().stop), ("ok", &want));
        assert_eq!(asked.reply().usage, Usage::default());
        assert_eq!(asked.shown, ["text:ok"]);
    }
    // A call that was cut before its first word has no arguments, not empty ones.
    let cut = ANTHROPIC.replace("\"stop_reason\":\"tool_use\"", "\"stop_reason\":\"max_tokens\"");
    let server = ModelServer::start(vec![Play::stream(cut.as_bytes())]);
    let asked = ask(&Anthropic::new(settings(&server.base_url())).unwrap()).await;
    assert_eq!(
        (asked.reply().message.tool_calls[1].arguments.as_str(), &asked.reply().stop),
        ("", &ReplyStop::Length)
    );
}

#[tokio::test]
async fn d19_the_limit_of_tokens_is_set_and_follows_the_model_s_own() {
    let refusal = r#"{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for m"}}"#;
    let server =
        ModelServer::start(vec![Play::json(400, refusal), Play::stream(ANTHROPIC.as_bytes())]);
    let provider = Anthropic::new(settings(&server.base_url())).unwrap();
    for _ in 0..2 {
        ask(&provider).await.reply();
    }
    let limits: Vec<Value> =
        server.requests().iter().map(|request| request.json()["max_tokens"].clone()).collect();
    assert_eq!(limits, [json!(32_000), json!(8192), json!(8192)]);
    let server = ModelServer::start(vec![Play::json(400, refusal)]);
    ask(&Anthropic::new(settings(&server.base_url())).unwrap()).await.error();
    assert_eq!(server.requests().len(), 2, "one concession, not one for ever");
}

#[tokio::test]
async fn n16_n35_the_responses_protocol_s_reasons_to_stop() {
    let message = json!({"type": "message", "content": [{"type": "output_text", "text": "ok"}]});
    let refusal = json!({"type": "message", "content": [{"type": "refusal", "refusal": "no"}]});
    let cases = [
        (json!({"status": "completed", "output": [message]}), "ok", ReplyStop::Complete),
        (json!({"status": "completed", "output": [refusal]}), "no", ReplyStop::Refusal),
        (
            json!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": [message]}),
            "ok",
            ReplyStop::Length,
        ),
        (
            json!({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}, "output": []}),
            "",
            ReplyStop::Refusal,
        ),
        (
            json!({"status": "incomplete", "incomplete_details": {"reason": "new"}, "output": [message]}),
            "ok",
            ReplyStop::Other("new".into()),
        ),
    ];
    for (body, text, want) in cases {
        let server = ModelServer::start(vec![Play::json(200, &body.to_string())]);
        let asked = ask(&OpenAiResponses::new(settings(&server.base_url())).unwrap()).await;
        assert_eq!((asked.reply().message.content.as_str(), &asked.reply().stop), (text, &want));
    }
    let failed = json!({"type": "response.failed", "response": {"status": "failed", "error": {"code": "server_error", "message": "boom"}}});
    let server = ModelServer::start(vec![
        Play::events(&[&failed.to_string()]),
        Play::stream(RESPONSES.as_bytes()),
    ]);
    let asked = ask(&OpenAiResponses::new(settings(&server.base_url())).unwrap()).await;
    assert_eq!((asked.reply().message.content.as_str(), asked.retries()), ("Look 👀", 1));
}

#[tokio::test]
async fn calls_that_a_small_model_prints_are_made() {
    let tool = ToolSpec {
        name: "read_file".into(),
        title: None,
        description: String::new(),
        input_schema: json!({"type": "object"}),
        output_schema: None,
        effects: Effects::READ_ONLY,
        plugin: None,
    };
    let printed = |reason: &str| {
        let text = r#"{"name":"read_file","arguments":{"path":"a"}}"#;
        format!("{}\n", json!({"message": {"content": text}, "done": true, "done_reason": reason}))
    };
    for (reason, tools, calls) in
        [("stop", &[tool.clone()][..], 1), ("stop", &[], 0), ("length", &[tool], 0)]
    {
        let server = ModelServer::start(vec![chunks(
            "application/x-ndjson",
            &[printed(reason).as_bytes()],
            false,
        )]);
        let provider = Ollama::new(settings(&server.base_url())).unwrap();
        let asked = ask_with(&provider, &[Message::user("u")], tools).await;
        let message = &asked.reply().message;
        assert_eq!(
            (message.tool_calls.len(), message.content.is_empty()),
            (calls, calls == 1),
            "{reason}"
        );
    }
}

#[tokio::test]
async fn ollama_s_errors_are_texts() {
    let server = ModelServer::start(vec![Play::json(
        404,
        r#"{"error":"model \"m\" not found, try pulling it first"}"#,
    )]);
    let asked = ask(&Ollama::new(settings(&server.base_url())).unwrap()).await;
    assert!(
        matches!(asked.error(), ProviderError::UnknownModel { body, .. } if body.contains("pulling")),
        "{asked:?}"
    );
    // A last line without a line feed counts; a broken one does not.
    let last = r#"{"message":{"content":"ok"},"done":true}"#;
    let server = ModelServer::start(vec![
        chunks("application/x-ndjson", &[&last.as_bytes()[..30]], false),
        chunks("application/x-ndjson", &[last.as_bytes()], false),
    ]);
    let asked = ask(&Ollama::new(settings(&server.base_url())).unwrap()).await;
    assert_eq!((asked.reply().message.content.as_str(), asked.retries()), ("ok", 1));
}
