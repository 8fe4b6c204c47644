//! Replies that are not quite what they should be, each played by a server on this machine: what
//! counts as whole, and what is made of calls, reasons and counts. A name that begins with `nNN`
//! is a row of the project's list of faults.

#![allow(clippy::unwrap_used)]

mod provider_support;

use clawhold::model::{Message, ToolCall};
use clawhold::provider::{ProviderError, ReplyStop};
use provider_support::model_server::{ModelServer, Play, sse};
use provider_support::{CALL, ask, ask_with, chunk, end, fails, fine, openai, recovers};
use serde_json::json;

#[tokio::test]
async fn n14_a_call_that_looks_complete_is_worth_nothing_in_a_cut_stream() {
    let begun = sse(&[&chunk(CALL)]);
    for cut in [
        Play::open_stream(&begun).reset(),
        Play::open_stream(&begun).close(),
        // Even a proper end of the body: nothing said that the reply ends there.
        Play::stream(&begun),
    ] {
        let error = fails(cut.clone(), 3).await;
        assert!(matches!(error, ProviderError::Cut { .. }), "{error:?}");
        let asked = recovers(vec![cut, fine()], 1).await;
        assert!(asked.reply().message.tool_calls.is_empty());
    }
}

#[tokio::test]
async fn n15_a_stream_that_ends_within_arguments_gives_no_call() {
    let half = r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"write_file","arguments":"{\"path\":"}}]}"#;
    for body in [sse(&[&chunk(half)]), sse(&[&chunk(half), "[DONE]"])] {
        let error = fails(Play::stream(&body), 3).await;
        assert!(matches!(error, ProviderError::Cut { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn n16_a_reply_at_its_token_limit_says_so() {
    let half = r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"write_file","arguments":"{\"path\":"}}]}"#;
    let server = ModelServer::start(vec![Play::events(&[&chunk(half), &end("length"), "[DONE]"])]);
    let asked = ask(&openai(&server)).await;
    assert_eq!(asked.reply().stop, ReplyStop::Length);
    assert_eq!(asked.reply().message.tool_calls[0].arguments, r#"{"path":"#);
}

#[tokio::test]
async fn n17_arguments_that_are_not_json_stay_as_they_came() {
    let deep = "[".repeat(100_000);
    for arguments in [
        "{\"a\":1,}",
        "{'a':1}",
        "{\"a\":NaN}",
        "{\"a\":1,\"a\":2}",
        "{\"a\":1e999}",
        "{\"a\":\"\\ud800\"}",
        &deep,
    ] {
        let delta = json!({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "t", "arguments": arguments}}]});
        let events = [chunk(&delta.to_string()), end("tool_calls")];
        let server =
            ModelServer::start(vec![Play::events(&[&events[0], &events[1], "[DONE]"]), fine()]);
        let provider = openai(&server);
        let first = ask(&provider).await.reply().message.clone();
        let want = ToolCall { id: "c1".into(), name: "t".into(), arguments: arguments.into() };
        assert_eq!(first.tool_calls, [want]);
        // The next request is valid throughout, and the model finds in it what it wrote.
        ask_with(&provider, &[Message::user("u"), first, Message::tool("c1", "bad", true)], &[])
            .await
            .reply();
        let sent = server.requests()[1].json();
        let sent = sent["messages"][1]["tool_calls"][0]["function"]["arguments"]
            .as_str()
            .unwrap()
            .to_owned();
        let sent: serde_json::Value = serde_json::from_str(&sent).unwrap();
        assert!(sent.get("a").is_some() || sent["invalid_json"] == arguments, "{sent}");
    }
}

#[tokio::test]
async fn n19_names_come_as_they_are() {
    for name in ["no_such_tool", "Read_File", "read_file; rm -rf /", "读"] {
        let delta = json!({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": name, "arguments": "{}"}}]});
        let server = ModelServer::start(vec![Play::events(&[
            &chunk(&delta.to_string()),
            &end("tool_calls"),
            "[DONE]",
        ])]);
        assert_eq!(ask(&openai(&server)).await.reply().message.tool_calls[0].name, name);
    }
}

#[tokio::test]
async fn n20_ids_are_made_unique() {
    let calls = json!({"tool_calls": [
        {"index": 0, "id": "old", "function": {"name": "a", "arguments": "{}"}},
        {"index": 1, "id": "new", "function": {"name": "b", "arguments": "{}"}},
        {"index": 2, "id": "new", "function": {"name": "c", "arguments": "{}"}},
        {"index": 3, "id": "", "function": {"name": "d", "arguments": "{}"}},
        {"index": 4, "function": {"name": "e", "arguments": "{}"}},
    ]});
    let server = ModelServer::start(vec![Play::events(&[
        &chunk(&calls.to_string()),
        &end("tool_calls"),
        "[DONE]",
    ])]);
    let mut earlier = Message::assistant("");
    earlier.tool_calls.push(ToolCall {
        id: "old".into(),
        name: "t".into(),
        arguments: "{}".into(),
    });
    let history = [Message::user("u"), earlier, Message::tool("old", "r", false)];
    let asked = ask_with(&openai(&server), &history, &[]).await;
    let got: Vec<_> = asked
        .reply()
        .message
        .tool_calls
        .iter()
        .map(|call| (call.name.as_str(), call.id.as_str()))
        .collect();
    assert_eq!(
        got,
        [
            ("a", "call00002"),
            ("b", "new"),
            ("c", "call00003"),
            ("d", "call00004"),
            ("e", "call00005")
        ]
    );
}

#[tokio::test]
async fn n21_two_hundred_calls_come_in_order() {
    let calls: Vec<_> = (0..200)
        .map(|n| json!({"index": n, "id": format!("c{n}"), "function": {"name": "t", "arguments": "{}"}}))
        .collect();
    let delta = json!({ "tool_calls": calls }).to_string();
    let server =
        ModelServer::start(vec![Play::events(&[&chunk(&delta), &end("tool_calls"), "[DONE]"])]);
    let asked = ask(&openai(&server)).await;
    let ids: Vec<String> =
        asked.reply().message.tool_calls.iter().map(|call| call.id.clone()).collect();
    assert_eq!(ids, (0..200).map(|n| format!("c{n}")).collect::<Vec<_>>());
}

#[tokio::test]
async fn n24_bytes_that_are_not_utf8_spoil_calls_but_not_text() {
    let spoil = |delta: &str| {
        let text = chunk(delta).replace("BAD", "\u{1}");
        let bytes = sse(&[&text, &end("stop"), "[DONE]"]);
        bytes.into_iter().map(|byte| if byte == 1 { 0xff } else { byte }).collect::<Vec<u8>>()
    };
    let server = ModelServer::start(vec![Play::stream(&spoil(r#"{"content":"a BAD b"}"#))]);
    assert_eq!(ask(&openai(&server)).await.reply().message.content, "a \u{fffd} b");
    let call = CALL.replace("path", "BAD");
    let error = fails(Play::stream(&spoil(&call)), 2).await;
    assert!(
        matches!(&error, ProviderError::Malformed { cause } if cause.contains("UTF-8")),
        "{error:?}"
    );
}

#[tokio::test]
async fn n35_every_reason_to_stop_has_a_meaning() {
    let cases = [
        ("stop", ReplyStop::Complete),
        ("content_filter", ReplyStop::Refusal),
        ("length", ReplyStop::Length),
        ("pause_turn", ReplyStop::Other("pause_turn".into())),
        ("brand_new", ReplyStop::Other("brand_new".into())),
    ];
    for (reason, want) in cases {
        let server = ModelServer::start(vec![Play::events(&[
            &chunk(r#"{"content":"ok"}"#),
            &end(reason),
            "[DONE]",
        ])]);
        assert_eq!(ask(&openai(&server)).await.reply().stop, want, "{reason}");
    }
    let server = ModelServer::start(vec![Play::events(&[
        &chunk(r#"{"refusal":"I will not."}"#),
        &end("stop"),
        "[DONE]",
    ])]);
    let asked = ask(&openai(&server)).await;
    assert_eq!(
        (asked.reply().message.content.as_str(), &asked.reply().stop),
        ("I will not.", &ReplyStop::Refusal)
    );
}

#[tokio::test]
async fn n36_calls_count_not_the_reason() {
    let server = ModelServer::start(vec![
        Play::events(&[&chunk(r#"{"content":"done"}"#), &end("tool_calls"), "[DONE]"]),
        Play::events(&[&chunk(CALL), &end("stop"), "[DONE]"]),
        // A reason, and no [DONE]: complete too. [DONE] and no reason likewise.
        Play::events(&[&chunk(CALL), &end("tool_calls")]),
        Play::events(&[&chunk(CALL), "[DONE]"]),
    ]);
    let provider = openai(&server);
    for calls in [0, 1, 1, 1] {
        let asked = ask(&provider).await;
        assert_eq!(
            (asked.reply().message.tool_calls.len(), &asked.reply().stop),
            (calls, &ReplyStop::Complete)
        );
    }
}

#[tokio::test]
async fn n37_counts_are_tamed() {
    for (usage, input, output) in [
        (r#"{"prompt_tokens":-5,"completion_tokens":1e300}"#, 0, u64::MAX),
        (r#"{"prompt_tokens":"x"}"#, 0, 0),
        ("null", 0, 0),
    ] {
        let last = format!(r#"{{"choices":[],"usage":{usage}}}"#);
        let server = ModelServer::start(vec![Play::events(&[
            &chunk(r#"{"content":"ok"}"#),
            &end("stop"),
            &last,
            "[DONE]",
        ])]);
        let reply = ask(&openai(&server)).await.reply().clone();
        assert_eq!((reply.usage.input, reply.usage.output), (input, output), "{usage}");
    }
}
