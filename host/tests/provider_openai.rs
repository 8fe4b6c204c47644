//! Chat completions over a real connection: what is sent, and what is made of what comes.

#![allow(clippy::unwrap_used)]

mod provider_support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use clawhold::model::{Effects, Message, ToolCall, ToolSpec, Usage, VendorExtras};
use clawhold::provider::{Exchanged, OpenAi, Provider, ProviderError, ReplyStop};
use provider_support::model_server::{ModelServer, Play, sse};
use provider_support::{CANARY, ask, ask_with, chunk, end, every_split, openai, says, settings};
use serde_json::json;

fn read_file() -> ToolSpec {
    ToolSpec {
        name: "read_file".into(),
        title: None,
        description: "reads".into(),
        input_schema: json!({"type": "object", "properties": {"path": {"type": "string", "x-path": "read"}}}),
        output_schema: None,
        effects: Effects::READ_ONLY,
        plugin: None,
    }
}

/// A reply with everything: reasoning, text beyond ASCII, two calls in interleaved fragments, a
/// field that nobody knows, counts, comments and a mixture of line ends.
fn rich_stream() -> Vec<u8> {
    let mut bytes = b": connected\r\n\r\n".to_vec();
    for delta in [
        r#"{"role":"assistant","content":null,"reasoning_content":""}"#,
        r#"{"reasoning_content":"先看目录"}"#,
        r#"{"content":"Let me look 👩‍💻"}"#,
        r#"{"content":" — 好","mark":{"v":1}}"#,
        r#"{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"read_","arguments":""}}]}"#,
        r#"{"tool_calls":[{"index":1,"id":"c2","type":"function","function":{"name":"read_file","arguments":"{\"pa"}}]}"#,
        r#"{"tool_calls":[{"index":0,"function":{"name":"file","arguments":"{\"path\":\"目"}}]}"#,
        r#"{"tool_calls":[{"index":1,"function":{"arguments":"th\":\"b\"}"}},{"index":0,"function":{"arguments":"录\"}"}}]}"#,
    ] {
        bytes.extend(format!("data: {}\r\n\r\n:ping\n\n", chunk(delta)).into_bytes());
    }
    bytes.extend(format!("event: message\ndata:{}\n\n", end("tool_calls")).into_bytes());
    bytes.extend(
        b"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":20,\"prompt_tokens_details\":{\"cached_tokens\":64}}}\n\n",
    );
    bytes.extend(b"data: [DONE]\n\n");
    bytes
}

fn check_rich(asked: &provider_support::Asked) {
    let reply = asked.reply();
    assert_eq!(reply.message.content, "Let me look 👩‍💻 — 好");
    assert_eq!(reply.message.reasoning.as_deref(), Some("先看目录"));
    let call = |id: &str, arguments: &str| ToolCall {
        id: id.into(),
        name: "read_file".into(),
        arguments: arguments.into(),
    };
    assert_eq!(
        reply.message.tool_calls,
        [call("c1", r#"{"path":"目录"}"#), call("c2", r#"{"path":"b"}"#)]
    );
    assert_eq!(reply.usage, Usage { input: 100, output: 20, cached: 64 });
    assert_eq!(reply.stop, ReplyStop::Complete);
    assert_eq!(
        reply.message.vendor,
        Some(VendorExtras {
            provider: "svc".into(),
            fields: json!({"mark": {"v": 1}}).as_object().unwrap().clone()
        })
    );
    assert_eq!(asked.shown, ["reasoning:先看目录", "text:Let me look 👩‍💻", "text: — 好"]);
}

#[tokio::test]
async fn req_036_a_stream_is_the_same_however_it_is_split() {
    let stream = rich_stream();
    for size in [0, 1, 2, 3, 7, 64] {
        let server = ModelServer::start(vec![Play::stream(&stream).in_pieces(size)]);
        check_rich(&ask(&openai(&server)).await);
    }
    // Chunks that are cut at every byte. One connection serves them all.
    let splits = every_split(&stream, 64);
    let plays = splits.iter().map(|pieces| {
        let pieces = pieces.iter().filter(|piece| !piece.is_empty());
        let play = pieces.fold(Play::open_stream(b":\n"), |play, piece| play.chunk(piece));
        play.send(b"0\r\n\r\n")
    });
    let server = ModelServer::start(plays.collect());
    let provider = openai(&server);
    for _ in &splits {
        check_rich(&ask(&provider).await);
    }
    let requests = server.requests();
    assert!(requests.iter().all(|request| request.connection == 0), "the connection is kept");
}

#[tokio::test]
async fn req_068_the_request_is_what_the_protocol_says() {
    let server = ModelServer::start(vec![Play::stream(&says("ok"))]);
    let mut settings = settings(&format!("{}/", server.base_url()));
    settings.headers = vec![("X-Title".into(), "t".into())];
    let provider = OpenAi::new(settings).unwrap();
    ask_with(&provider, &[Message::system("s"), Message::user("u")], &[read_file()]).await.reply();
    let request = server.requests().remove(0);
    assert_eq!(
        (request.method.as_str(), request.target.as_str()),
        ("POST", "/v1/chat/completions")
    );
    assert_eq!(request.header("authorization"), Some(format!("Bearer {CANARY}").as_str()));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.header("accept-encoding"), Some("identity"));
    assert_eq!(request.header("x-title"), Some("t"));
    assert_eq!(
        request.json(),
        json!({
            "model": "the-model",
            "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
            "tools": [{"type": "function", "function": {"name": "read_file", "description": "reads",
                "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}}],
            "stream": true,
            "stream_options": {"include_usage": true},
        })
    );
}

#[tokio::test]
async fn req_070_req_071_what_is_the_service_s_own_goes_back_to_it_alone() {
    let stream = sse(&[
        &chunk(r#"{"reasoning_content":"","signature":"abc"}"#),
        &chunk(
            r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"t","arguments":"{}"},"extra_content":{"google":{"thought_signature":"zz"}}}]}"#,
        ),
        &end("tool_calls"),
        "[DONE]",
    ]);
    let server = ModelServer::start(vec![Play::stream(&stream), Play::stream(&says("ok"))]);
    let provider = openai(&server);
    let first = ask(&provider).await.reply().message.clone();
    assert_eq!(first.reasoning.as_deref(), Some(""));
    // The session log keeps messages as JSON; nothing may be lost there.
    let first: Message = serde_json::from_str(&serde_json::to_string(&first).unwrap()).unwrap();

    let history = [Message::user("hi"), first, Message::tool("c1", "r", false)];
    ask_with(&provider, &history, &[]).await.reply();
    let mut other = settings(&server.base_url());
    other.name = "other".into();
    ask_with(&OpenAi::new(other).unwrap(), &history, &[]).await.reply();

    let requests = server.requests();
    let call =
        json!({"id": "c1", "type": "function", "function": {"name": "t", "arguments": "{}"}});
    let mut own_call = call.clone();
    own_call["extra_content"] = json!({"google": {"thought_signature": "zz"}});
    assert_eq!(
        requests[1].json()["messages"][1],
        json!({"role": "assistant", "content": "", "reasoning_content": "", "signature": "abc", "tool_calls": [own_call]})
    );
    assert_eq!(
        requests[2].json()["messages"][1],
        json!({"role": "assistant", "content": "", "tool_calls": [call]})
    );
}

#[tokio::test]
async fn an_answer_in_one_piece_is_taken_too() {
    let body = json!({
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": null, "reasoning": "hm",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "t", "arguments": {"a": 1}}}]}}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2, "prompt_cache_hit_tokens": 3}
    });
    // With the right media type, and with none at all.
    let server = ModelServer::start(vec![
        Play::json(200, &body.to_string()),
        Play::answer(200, &[], format!("\n {body}").as_bytes()),
    ]);
    let provider = openai(&server);
    for _ in 0..2 {
        let asked = ask(&provider).await;
        let reply = asked.reply();
        assert_eq!(reply.message.reasoning.as_deref(), Some("hm"));
        assert_eq!(reply.message.tool_calls[0].arguments, r#"{"a":1}"#);
        assert_eq!(reply.usage, Usage { input: 5, output: 2, cached: 3 });
        assert_eq!(asked.shown, ["reasoning:hm"]);
    }
}

#[tokio::test]
async fn a_stream_under_a_wrong_media_type_is_known_by_its_beginning() {
    let pause = Duration::from_millis(10);
    for media_type in ["text/plain", "application/json", "TEXT/EVENT-STREAM; charset=utf-8", ""] {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {media_type}\r\ntransfer-encoding: chunked\r\n\r\n"
        );
        // The first field comes in pieces, behind white space that keeps the connection alive.
        let stream = says("ok");
        let play = Play::new()
            .send(head.as_bytes())
            .chunk(&[b' '; 2000])
            .pause(pause)
            .chunk(b"\n")
            .chunk(&stream[..2])
            .pause(pause)
            .chunk(&stream[2..])
            .send(b"0\r\n\r\n");
        let server = ModelServer::start(vec![play]);
        let asked = ask(&openai(&server)).await;
        assert_eq!(asked.reply().message.content, "ok", "{media_type}");
    }
}

#[tokio::test]
async fn req_066_req_067_every_exchange_can_be_recorded_whole_and_without_the_key() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let echo = json!({"error": {"message": format!("busy, {CANARY}")}}).to_string();
    let (first, second) = echo.split_at(echo.find("CANARY").unwrap() + 3);
    let unwell = Play::new()
        .send(b"HTTP/1.1 503 X\r\ntransfer-encoding: chunked\r\n\r\n")
        .chunk(first.as_bytes())
        .pause(Duration::from_millis(10))
        .chunk(second.as_bytes())
        .send(b"0\r\n\r\n");
    let server = ModelServer::start(vec![unwell, Play::stream(&says("ok"))]);
    let mut settings = settings(&server.base_url());
    let tell = Arc::clone(&told);
    settings.recorder = Some(Arc::new(move |exchanged: &Exchanged<'_>| {
        let line =
            (exchanged.attempt, exchanged.fault.map(str::to_owned), exchanged.response.to_owned());
        assert!(
            exchanged
                .request
                .contains(r#""messages":[{"role":"user","content":"the key is [key]"}]"#)
        );
        tell.lock().unwrap().push(line);
    }));
    let provider = OpenAi::new(settings).unwrap();
    let asked = ask_with(&provider, &[Message::user(format!("the key is {CANARY}"))], &[]).await;
    asked.reply();
    let want = [
        (
            1,
            Some("the service is unwell (503)".to_owned()),
            r#"{"error":{"message":"busy, [key]"}}"#.to_owned(),
        ),
        (2, None, String::from_utf8(says("ok")).unwrap()),
    ];
    assert_eq!(*told.lock().unwrap(), want);
}

#[tokio::test]
async fn a_server_that_does_not_know_stream_options_is_asked_without_them_from_then_on() {
    let refusal =
        r#"{"error":{"message":"Unrecognized request argument supplied: stream_options"}}"#;
    let server = ModelServer::start(vec![Play::json(400, refusal), Play::stream(&says("ok"))]);
    let provider = openai(&server);
    let asked = ask(&provider).await;
    assert_eq!((asked.reply().message.content.as_str(), asked.retries()), ("ok", 0));
    ask(&provider).await.reply();
    let has: Vec<bool> = server
        .requests()
        .iter()
        .map(|request| request.json().get("stream_options").is_some())
        .collect();
    assert_eq!(has, [true, false, false]);

    // One that refuses for ever is not asked for ever.
    let server = ModelServer::start(vec![Play::json(400, refusal)]);
    assert!(matches!(
        ask(&openai(&server)).await.error(),
        ProviderError::Rejected { status: 400, .. }
    ));
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn d16_n47_equal_requests_are_equal_bytes() {
    let server = ModelServer::start(vec![
        Play::json(503, "{}"),
        Play::json(503, "{}"),
        Play::stream(&says("ok")),
    ]);
    let provider = openai(&server);
    for _ in 0..2 {
        ask_with(&provider, &[Message::system("s"), Message::user("u")], &[read_file()])
            .await
            .reply();
    }
    let bodies: Vec<Vec<u8>> = server.requests().into_iter().map(|request| request.body).collect();
    assert_eq!(bodies.len(), 4);
    assert!(bodies.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn n42_neither_debug_nor_errors_show_the_key() {
    let mut with_secrets = settings("https://a.example/v1?key=CANARY");
    with_secrets.headers = vec![("api-key".into(), "CANARY-in-a-header".into())];
    let provider = OpenAi::new(with_secrets.clone()).unwrap();
    assert!(!format!("{with_secrets:?} {provider:?}").contains("CANARY"));
    assert_eq!((provider.name(), provider.model()), ("svc", "the-model"));

    let check = |change: fn(&mut clawhold::provider::ServiceSettings), setting: &str| {
        let mut bad = settings("https://a.example/v1");
        change(&mut bad);
        let error = OpenAi::new(bad).unwrap_err();
        assert!(
            error.to_string().starts_with(&format!("`{setting}` of the provider `svc`")),
            "{error}"
        );
        assert!(!format!("{error} {error:?}").contains("CANARY"), "{error}");
    };
    check(|bad| bad.base_url = "https://user:CANARY@a.example".into(), "base_url");
    check(|bad| bad.base_url = "CANARY".into(), "base_url");
    check(|bad| bad.headers = vec![("x".into(), "CANARY\n".repeat(2))], "headers");
    check(|bad| bad.headers = vec![("host".into(), "CANARY".into())], "headers");
    check(|bad| bad.body = json!({"messages": "CANARY"}).as_object().unwrap().clone(), "body");
}
