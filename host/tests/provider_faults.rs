//! The faults of model services, each played by a server on this machine. A name that begins with
//! `nNN` is a row of the project's list of such faults.

#![allow(clippy::unwrap_used)]

mod provider_support;

use std::time::Duration;

use clawhold::provider::{OpenAi, ProviderError, RetryPolicy};
use provider_support::model_server::{ModelServer, Play, sse};
use provider_support::{
    CALL, CANARY, QUICK, ask, busy, chunk, fails, fine, openai, recovers, settings,
};
use serde_json::json;

#[tokio::test]
async fn n01_retry_after_is_waited_for() {
    let server = ModelServer::start(vec![busy(429, &[("Retry-After", "2")]), fine()]);
    let asked = ask(&openai(&server)).await;
    assert_eq!(asked.shown, ["retry 2: rate limited (429)", "text:ok"]);
    assert!(asked.waits[0] >= Duration::from_secs(2), "{:?}", asked.waits);
    let requests = server.requests();
    assert!(requests[1].at - requests[0].at >= Duration::from_secs(2));
}

#[tokio::test]
async fn n01_attempts_are_bounded() {
    let error = fails(busy(429, &[("retry-after-ms", "5")]), 5).await;
    assert_eq!(error, ProviderError::Unavailable { status: 429, attempts: 5, body: "busy".into() });
}

#[tokio::test]
async fn n02_other_forms_of_retry_after() {
    let asked = recovers(vec![busy(429, &[("retry-after-ms", "40")]), fine()], 1).await;
    assert!(
        asked.waits[0] >= Duration::from_millis(40) && asked.waits[0] < Duration::from_millis(60)
    );
    // Nonsense, negative, past: the ordinary wait.
    for value in ["soon", "-3", "Wed, 01 Dec 1999 00:00:00 GMT", "0"] {
        let asked = recovers(vec![busy(503, &[("Retry-After", value)]), fine()], 1).await;
        assert!(asked.waits[0] <= QUICK.most_wait, "{value}: {:?}", asked.waits);
    }
    let dates = [
        ("Date", "Wed, 01 Dec 2032 00:00:00 GMT"),
        ("Retry-After", "Wed, 01 Dec 2032 00:00:01 GMT"),
    ];
    let asked = recovers(vec![busy(429, &dates), fine()], 1).await;
    assert!(asked.waits[0] >= Duration::from_secs(1) && asked.waits[0] < Duration::from_secs(2));
    // In words.
    let words =
        Play::json(429, r#"{"error":{"message":"Rate limit reached. Please try again in 30ms."}}"#);
    let asked = recovers(vec![words, fine()], 1).await;
    assert!(asked.waits[0] >= Duration::from_millis(30), "{:?}", asked.waits);
}

#[tokio::test]
async fn n02_a_wait_beyond_a_minute_stops_the_run() {
    for headers in [[("Retry-After", "86400")], [("retry-after-ms", "86400000")]] {
        let error = fails(busy(429, &headers), 1).await;
        assert_eq!(error, ProviderError::RateLimited { seconds: 86_400 });
    }
}

#[tokio::test]
async fn n04_unwell_twice_then_fine() {
    for status in [500, 502, 503, 504, 529] {
        let asked = recovers(vec![busy(status, &[]), busy(status, &[]), fine()], 2).await;
        assert_eq!(asked.shown[1], format!("retry 3: the service is unwell ({status})"));
    }
}

#[tokio::test]
async fn n04_unwell_for_ever() {
    let error = fails(busy(503, &[]), 5).await;
    assert_eq!(error, ProviderError::Unavailable { status: 503, attempts: 5, body: "busy".into() });
    // All waits together have a budget.
    let server = ModelServer::start(vec![busy(503, &[])]);
    let mut tight = settings(&server.base_url());
    tight.retry = RetryPolicy { budget: Duration::from_millis(1), ..QUICK };
    let asked = ask(&OpenAi::new(tight).unwrap()).await;
    assert!(matches!(asked.error(), ProviderError::Unavailable { attempts: 1, .. }), "{asked:?}");
}

#[tokio::test]
async fn n05_an_invalid_request_is_not_repeated_and_explained() {
    let body = json!({"error": {"message": format!("bad \u{1b}[31m {CANARY} {}", "x".repeat(9000)), "type": "invalid_request_error"}});
    let error = fails(Play::json(400, &body.to_string()), 1).await;
    let ProviderError::Rejected { status: 400, body } = error else { panic!("{error:?}") };
    assert!(body.starts_with("bad \\x1b[31m [key] xxx"), "{body}");
    assert!(body.len() <= 2048, "{}", body.len());
}

#[tokio::test]
async fn n06_a_refused_key_is_not_repeated_and_not_printed() {
    for status in [401, 403] {
        let echo = json!({"error": {"message": format!("Incorrect API key provided: {CANARY}")}});
        let error = fails(Play::json(status, &echo.to_string()), 1).await;
        assert_eq!(
            error,
            ProviderError::Unauthorized {
                status,
                body: "Incorrect API key provided: [key]".into()
            }
        );
        assert!(error.hint().unwrap().contains("key"));
    }
}

#[tokio::test]
async fn n07_an_unknown_model_is_not_repeated() {
    let error = fails(Play::json(404, r#"{"error":{"message":"no such model"}}"#), 1).await;
    assert_eq!(
        error,
        ProviderError::UnknownModel { model: "the-model".into(), body: "no such model".into() }
    );
}

#[tokio::test]
async fn n09_something_else_than_an_answer_is_shown() {
    let page = format!("<!DOCTYPE html><html>{}</html>", "sign in ".repeat(100));
    for media_type in ["text/html", "text/event-stream", "text/plain", "application/json"] {
        let play = Play::answer(200, &[("content-type", media_type)], page.as_bytes());
        let server = ModelServer::start(vec![play]);
        let asked = ask(&openai(&server)).await;
        let ProviderError::Malformed { cause } = asked.error() else { panic!("{asked:?}") };
        assert!(
            cause.contains("a web page") && cause.contains("<!DOCTYPE html><html>sign in"),
            "{cause}"
        );
        assert!(cause.chars().count() < 300, "{cause}");
        assert!(asked.error().hint().unwrap().contains("base_url"));
    }
    let error = fails(Play::answer(200, &[("content-type", "image/png")], b"\x89PNG\r\n"), 1).await;
    assert!(error.to_string().contains("something else"), "{error}");
    let json = [("content-type", "application/json")];
    let error = fails(Play::answer(200, &json, b"{oops"), 2).await;
    assert!(error.to_string().contains("it is not JSON"), "{error}");
    let error = fails(Play::answer(502, &[], page.as_bytes()), 5).await;
    assert!(
        error.to_string().contains("a web page, not the API; it begins: <!DOCTYPE html>"),
        "{error}"
    );
}

#[tokio::test]
async fn n09_an_empty_body_is_tried_once_more() {
    for headers in [&[("content-type", "text/event-stream")][..], &[]] {
        let error = fails(Play::answer(200, headers, b""), 2).await;
        assert_eq!(error, ProviderError::Malformed { cause: "an empty body".into() });
    }
}

#[tokio::test]
async fn n10_no_choices_is_tried_once_more() {
    for body in [
        r#"{"choices":[]}"#,
        r#"{"choices":[{"index":0,"message":null,"finish_reason":"stop"}]}"#,
        r#"{"object":"chat.completion"}"#,
        "[]",
    ] {
        let error = fails(Play::json(200, body), 2).await;
        assert_eq!(error, ProviderError::Malformed { cause: "it has no choices".into() }, "{body}");
    }
    recovers(vec![Play::json(200, r#"{"choices":[]}"#), fine()], 1).await;
    recovers(vec![Play::events(&[r#"{"choices":[]}"#, "[DONE]"]), fine()], 1).await;
    // Missing counts are no fault.
    let asked =
        recovers(vec![Play::json(200, r#"{"choices":[{"message":{"content":"ok"}}]}"#)], 0).await;
    assert_eq!(asked.reply().usage, clawhold::model::Usage::default());
}

#[tokio::test]
async fn n12_a_reset_before_the_head() {
    recovers(vec![Play::new().reset(), fine()], 1).await;
    let error = fails(Play::new().reset(), 3).await;
    assert!(matches!(error, ProviderError::Cut { .. }), "{error:?}");
}

#[tokio::test]
async fn n12_a_reset_after_the_head_or_within_an_event() {
    let head =
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    recovers(vec![Play::new().send(head).reset(), fine()], 1).await;
    let begun = sse(&[&chunk(r#"{"content":"half a"}"#), &chunk(r#"{"content":" reply"}"#)]);
    let asked =
        recovers(vec![Play::open_stream(&begun[..begun.len() - 9]).reset(), fine()], 1).await;
    // What was shown of the first attempt is void, and said to be.
    assert_eq!(asked.shown, ["text:half a", "retry 2: the reply broke off", "text:ok"]);
    let error = fails(Play::open_stream(&begun).reset(), 3).await;
    assert!(matches!(error, ProviderError::Cut { .. }), "{error:?}");
}

#[tokio::test]
async fn n27_an_error_within_the_stream_is_one_of_the_service() {
    let overloaded =
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let begun = [chunk(r#"{"content":"half"}"#), chunk(CALL)];
    let mut bytes = sse(&[&begun[0], &begun[1]]);
    bytes.extend(format!("event: error\ndata: {overloaded}\n\n").bytes());
    let asked = recovers(vec![Play::stream(&bytes), fine()], 1).await;
    assert_eq!(asked.shown, ["text:half", "retry 2: the service is unwell (529)", "text:ok"]);
    let error = fails(Play::stream(&bytes), 5).await;
    assert!(
        matches!(error, ProviderError::Unavailable { status: 529, attempts: 5, .. }),
        "{error:?}"
    );
    // The same in the place of a reply, under status 200.
    let error = fails(Play::json(200, overloaded), 5).await;
    assert!(matches!(error, ProviderError::Unavailable { status: 529, .. }), "{error:?}");
    let error =
        fails(Play::events(&[r#"{"error":{"message":"no","type":"invalid_request_error"}}"#]), 1)
            .await;
    assert!(matches!(error, ProviderError::Rejected { status: 400, .. }), "{error:?}");
}

#[tokio::test]
async fn a_full_context_is_an_error_of_its_own() {
    let body = r#"{"error":{"message":"too much","type":"invalid_request_error","code":"context_length_exceeded"}}"#;
    assert!(matches!(fails(Play::json(400, body), 1).await, ProviderError::ContextTooLong { .. }));
    assert!(matches!(fails(Play::events(&[body]), 1).await, ProviderError::ContextTooLong { .. }));
}

#[tokio::test]
async fn n42_a_key_in_another_form_is_not_printed_either() {
    use base64::Engine as _;
    let encoded = base64::engine::general_purpose::STANDARD.encode(format!("Bearer {CANARY}"));
    let error =
        fails(Play::json(400, &json!({ "error": format!("seen: {encoded}") }).to_string()), 1)
            .await;
    assert!(error.to_string().contains("[key]"), "{error}");
    let core = base64::engine::general_purpose::STANDARD.encode(CANARY);
    assert!(!error.to_string().contains(&core[4..20]), "{error}");
}
