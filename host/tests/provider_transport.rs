//! Connections: time, size, redirects, encryption, reuse. A name that begins with `nNN` is a row
//! of the project's list of faults.

#![allow(clippy::unwrap_used)]

mod provider_support;

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clawhold::model::Message;
use clawhold::provider::{Limits, OpenAi, Provider as _, ProviderError, Request, Timeouts};
use provider_support::model_server::{ModelServer, Play, sse};
use provider_support::{Asked, ask, chunk, end, openai, says, settings};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_util::sync::CancellationToken;

const SHORT: Duration = Duration::from_millis(150);
const LONG: Duration = Duration::from_secs(20);

fn timeouts(first_byte: Duration, idle: Duration, total: Duration) -> Timeouts {
    Timeouts { connect: LONG, first_byte, idle, total }
}

async fn ask_within(play: Play, timeouts: Timeouts) -> (Asked, usize) {
    let server = ModelServer::start(vec![play]);
    let mut settings = settings(&server.base_url());
    settings.timeouts = timeouts;
    let asked = ask(&OpenAi::new(settings).unwrap()).await;
    (asked, server.requests().len())
}

#[tokio::test]
async fn n11_nobody_listens() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let asked = ask(&OpenAi::new(settings(&format!("http://127.0.0.1:{port}/v1"))).unwrap()).await;
    assert_eq!(asked.retries(), 2, "{asked:?}");
    let ProviderError::Unreachable { url, cause } = asked.error() else { panic!("{asked:?}") };
    assert_eq!(*url, format!("http://127.0.0.1:{port}/v1"));
    assert!(cause.contains("refused"), "{cause}");
}

#[tokio::test]
async fn n11_a_name_that_does_not_exist() {
    let asked = ask(&OpenAi::new(settings("http://no-such-host.invalid/v1")).unwrap()).await;
    assert!(
        matches!(
            asked.error(),
            ProviderError::Unreachable { .. } | ProviderError::Unavailable { .. }
        ),
        "{asked:?}"
    );
}

#[tokio::test]
async fn n25_a_line_without_end_is_cut_off() {
    let play = Play::open_stream(b"data: ")
        .flood(&[b"8000\r\n".as_slice(), &b"x".repeat(0x8000), b"\r\n"].concat());
    let server = ModelServer::start(vec![play]);
    let asked = ask(&openai(&server)).await;
    let ProviderError::Malformed { cause } = asked.error() else { panic!("{asked:?}") };
    assert_eq!(cause, "a line of it is longer than 8388608 bytes");
    assert_eq!(asked.retries(), 0);
}

#[tokio::test]
async fn n25_a_stream_without_end_is_cut_off() {
    let event = sse(&[&chunk(r#"{"content":"x"}"#)]).repeat(100);
    let mut framed = format!("{:x}\r\n", event.len()).into_bytes();
    framed.extend(event);
    framed.extend(b"\r\n");
    let server = ModelServer::start(vec![Play::open_stream(b": hi\n").flood(&framed)]);
    let mut settings = settings(&server.base_url());
    settings.limits = Limits { total: 1 << 20, ..Limits::default() };
    settings.timeouts.total = LONG;
    let asked = ask(&OpenAi::new(settings).unwrap()).await;
    let ProviderError::Malformed { cause } = asked.error() else { panic!("{asked:?}") };
    assert_eq!(cause, "it is larger than 1048576 bytes");
    assert_eq!(asked.retries(), 0);
}

#[tokio::test]
async fn n26_a_head_that_does_not_come() {
    let slow = (0..200).fold(Play::new().send(b"HTTP/1.1 200 OK\r\nx-slow: "), |play, _| {
        play.send(b"x").pause(Duration::from_millis(10))
    });
    let (asked, requests) = ask_within(slow, timeouts(SHORT, LONG, LONG)).await;
    assert!(matches!(asked.error(), ProviderError::TimedOut { .. }), "{asked:?}");
    assert_eq!(requests, 2, "silence is given one more chance");
}

#[tokio::test]
async fn n26_a_body_that_falls_silent() {
    let play = Play::open_stream(&sse(&[&chunk(r#"{"content":"x"}"#)])).pause(LONG);
    let (asked, requests) = ask_within(play, timeouts(LONG, SHORT, LONG)).await;
    assert!(matches!(asked.error(), ProviderError::TimedOut { .. }), "{asked:?}");
    assert_eq!(requests, 2);
    // Before the first byte the longer patience holds.
    let play = Play::new()
        .send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        .pause(SHORT * 2)
        .chunk(&says("ok"))
        .send(b"0\r\n\r\n");
    let (asked, _) = ask_within(play, timeouts(LONG, SHORT, LONG)).await;
    assert_eq!(asked.reply().message.content, "ok");
}

#[tokio::test]
async fn n26_pings_for_ever_end_with_the_time_for_all() {
    let pings = (0..500).fold(Play::open_stream(b":ping\n\n"), |play, _| {
        play.pause(Duration::from_millis(10)).chunk(b":ping\n\n")
    });
    let began = Instant::now();
    let (asked, requests) = ask_within(pings, timeouts(LONG, LONG, SHORT)).await;
    assert!(matches!(asked.error(), ProviderError::TimedOut { .. }), "{asked:?}");
    assert_eq!(requests, 1, "a request that took all its time is not made again");
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn n26_a_flood_ends_with_the_time_for_all_too() {
    let server = ModelServer::start(vec![Play::open_stream(b":hi\n").flood(b"3\r\n:p\n\r\n")]);
    let mut settings = settings(&server.base_url());
    settings.timeouts = timeouts(LONG, LONG, SHORT);
    settings.limits = Limits { total: usize::MAX, ..Limits::default() };
    let asked = ask(&OpenAi::new(settings).unwrap()).await;
    assert!(matches!(asked.error(), ProviderError::TimedOut { .. }), "{asked:?}");
}

#[tokio::test]
async fn n29_nothing_is_unpacked() {
    for coding in ["gzip", "br", "deflate", "zstd"] {
        let headers = [("content-type", "text/event-stream"), ("content-encoding", coding)];
        let server = ModelServer::start(vec![Play::answer(200, &headers, b"\x1f\x8b\x08")]);
        let asked = ask(&openai(&server)).await;
        let ProviderError::Malformed { cause } = asked.error() else { panic!("{asked:?}") };
        assert!(cause.contains(coding), "{cause}");
        assert_eq!(server.requests()[0].header("accept-encoding"), Some("identity"));
    }
    let headers = [("content-type", "text/event-stream"), ("content-encoding", "identity")];
    let server = ModelServer::start(vec![Play::answer(200, &headers, &says("ok"))]);
    ask(&openai(&server)).await.reply();
}

#[tokio::test]
async fn n30_lengths_that_are_wrong() {
    let body = says("ok");
    let with_length = |length: usize| {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {length}\r\n\r\n"
        );
        Play::new().send(head.as_bytes()).send(&body).close()
    };
    let head =
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let bad_chunk = Play::new().send(head).send(b"zz\r\n").send(&body).close();
    let short_chunk = Play::new().send(head).send(b"5\r\n").send(&body).close();
    for play in [with_length(body.len() + 10), with_length(body.len() / 2), bad_chunk, short_chunk]
    {
        let server = ModelServer::start(vec![play]);
        let asked = ask(&openai(&server)).await;
        assert!(matches!(asked.error(), ProviderError::Cut { .. }), "{asked:?}");
    }
    let whole = br#"{"choices":[{"message":{"content":"ok"}}]}"#;
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        whole.len() - 4
    );
    let server = ModelServer::start(vec![Play::new().send(head.as_bytes()).send(whole).close()]);
    let asked = ask(&openai(&server)).await;
    assert!(matches!(asked.error(), ProviderError::Cut { .. }), "{asked:?}");
}

#[tokio::test]
async fn n31_a_redirect_to_another_origin_is_not_followed() {
    let thief = ModelServer::start(vec![Play::stream(&says("mine"))]);
    for status in [301, 302, 303, 307, 308] {
        for target in
            [thief.base_url(), "http://other.example/x".into(), format!("//{}/v1", thief.address())]
        {
            let server =
                ModelServer::start(vec![Play::answer(status, &[("location", &target)], b"")]);
            let asked = ask(&openai(&server)).await;
            let ProviderError::Malformed { cause } = asked.error() else { panic!("{asked:?}") };
            assert!(cause.contains("another origin"), "{cause}");
            assert_eq!(server.requests().len(), 1);
        }
    }
    assert!(thief.requests().is_empty(), "nothing was ever sent there");
}

#[tokio::test]
async fn n31_redirects_within_the_origin_are_followed_three_times() {
    let to = |target: &'static str| Play::answer(307, &[("location", target)], b"");
    let server =
        ModelServer::start(vec![to("/v1/a"), to("b"), to("/c"), Play::stream(&says("ok"))]);
    assert_eq!(ask(&openai(&server)).await.reply().message.content, "ok");
    let requests = server.requests();
    let targets: Vec<&str> = requests.iter().map(|request| request.target.as_str()).collect();
    assert_eq!(targets, ["/v1/chat/completions", "/v1/a", "/v1/b", "/c"]);
    assert!(
        requests
            .iter()
            .all(|request| request.method == "POST" && request.header("authorization").is_some())
    );

    let server = ModelServer::start(vec![to("/loop")]);
    let asked = ask(&openai(&server)).await;
    assert!(
        matches!(asked.error(), ProviderError::Malformed { cause } if cause.contains("redirects")),
        "{asked:?}"
    );
    assert_eq!(server.requests().len(), 4);
    for play in [Play::answer(303, &[("location", "/page")], b""), Play::answer(302, &[], b"")] {
        let server = ModelServer::start(vec![play]);
        assert!(matches!(ask(&openai(&server)).await.error(), ProviderError::Malformed { .. }));
    }
}

/// A TLS server that answers every request with `ok`, under a certificate of the test authority.
fn tls_server(certificate: &[u8]) -> String {
    let chain = vec![CertificateDer::from_pem_slice(certificate).unwrap()];
    let key =
        PrivateKeyDer::from_pem_slice(include_bytes!("provider_support/tls/server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut tls = rustls::StreamOwned::new(connection, stream.unwrap());
            // Handshakes that the client gives up end here with an error.
            let mut seen = [0; 4096];
            if tls.read(&mut seen).is_ok() {
                let body = says("ok");
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                    body.len()
                );
                let _ = tls.write_all(head.as_bytes()).and_then(|()| tls.write_all(&body));
                tls.conn.send_close_notify();
                let _ = tls.flush();
            }
        }
    });
    format!("https://127.0.0.1:{port}/v1")
}

#[tokio::test]
async fn n32_only_a_certificate_that_holds_is_accepted() {
    let authority = include_bytes!("provider_support/tls/ca.pem");
    let good = include_bytes!("provider_support/tls/good.pem");
    let ask_tls = async |certificate: &[u8], trusted: bool| {
        let mut settings = settings(&tls_server(certificate));
        settings.extra_roots = trusted.then(|| authority.to_vec());
        ask(&OpenAi::new(settings).unwrap()).await
    };
    assert_eq!(ask_tls(good, true).await.reply().message.content, "ok");
    let refused = [
        (ask_tls(good, false).await, "issuer"),
        (ask_tls(include_bytes!("provider_support/tls/expired.pem"), true).await, "expired"),
        (
            ask_tls(include_bytes!("provider_support/tls/wrong_host.pem"), true).await,
            "not valid for name",
        ),
    ];
    for (asked, word) in refused {
        let ProviderError::Unreachable { cause, .. } = asked.error() else { panic!("{asked:?}") };
        assert!(cause.to_ascii_lowercase().contains(word), "{cause}");
        assert_eq!(asked.retries(), 0, "trust is not a matter of trying again");
    }
}

#[tokio::test]
async fn n34_the_key_goes_to_the_host_of_the_base_url_alone() {
    let server = ModelServer::start(vec![Play::stream(&says("ok"))]);
    // A URL that merely mentions a known service is a stranger: it gets what was configured for
    // it, which here is nothing.
    let mut stranger = settings(&format!("http://{}/api.openai.com/v1", server.address()));
    stranger.key = None;
    stranger.max_output = Some(5);
    ask(&OpenAi::new(stranger).unwrap()).await.reply();
    let request = server.requests().remove(0);
    assert_eq!(request.header("authorization"), None);
    assert_eq!(request.json()["max_tokens"], 5, "treated as any compatible server");
}

#[tokio::test]
async fn n40_cancelling_ends_a_request_at_once() {
    let begun = sse(&[&chunk(r#"{"content":"x"}"#)]);
    let unwell = Play::json(503, "{}");
    for (play, first_wait) in [
        (Play::open_stream(&begun).pause(LONG), SHORT),
        (Play::new().pause(LONG), SHORT),
        (unwell, LONG),
    ] {
        let server = ModelServer::start(vec![play]);
        let mut settings = settings(&server.base_url());
        settings.retry.first_wait = first_wait;
        settings.retry.most_wait = LONG;
        let provider = OpenAi::new(settings).unwrap();
        let cancel = CancellationToken::new();
        let messages = [Message::user("hi")];
        let began = Instant::now();
        let later = async {
            tokio::time::sleep(SHORT).await;
            cancel.cancel();
        };
        let request = Request { messages: &messages, tools: &[] };
        let (reply, ()) = tokio::join!(provider.generate(request, &|_| {}, &cancel), later);
        assert_eq!(reply.unwrap_err(), ProviderError::Cancelled);
        assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    }
}

#[tokio::test]
async fn n45_a_kept_connection_that_was_closed_is_no_fault() {
    let server = ModelServer::start(vec![Play::stream(&says("ok")).close()]);
    let provider = openai(&server);
    for _ in 0..3 {
        let asked = ask(&provider).await;
        assert_eq!((asked.reply().message.content.as_str(), asked.retries()), ("ok", 0));
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn a_server_that_holds_the_body_open_after_the_last_event_is_not_waited_for() {
    let server = ModelServer::start(vec![Play::open_stream(&says("ok")).pause(LONG)]);
    let began = Instant::now();
    ask(&openai(&server)).await.reply();
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_proper_end_is_not_missed_for_a_reason_that_came_first() {
    let body = sse(&[&chunk(r#"{"content":"ok"}"#), &end("stop")]);
    let server = ModelServer::start(vec![
        Play::new()
            .send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
            .send(&body)
            .close(),
    ]);
    assert_eq!(ask(&openai(&server)).await.reply().message.content, "ok");
}

#[test]
fn the_proxy_of_the_environment_is_used_but_not_for_this_machine() {
    let proxy = ModelServer::start(vec![Play::stream(&says("ok"))]);
    // Another process, because the environment of this one is not changed.
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "asks_through_the_proxy_of_the_environment"])
        .env("http_proxy", format!("http://{}", proxy.address()))
        .env_remove("no_proxy")
        .env_remove("NO_PROXY")
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    let requests = proxy.requests();
    let targets: Vec<&str> = requests.iter().map(|request| request.target.as_str()).collect();
    assert_eq!(targets, ["http://api.invalid/v1/chat/completions"]);
}

#[tokio::test]
#[ignore = "run by the test before, in a process with a proxy"]
async fn asks_through_the_proxy_of_the_environment() {
    if std::env::var_os("http_proxy").is_none() {
        return;
    }
    ask(&OpenAi::new(settings("http://api.invalid/v1")).unwrap()).await.reply();
    let server = ModelServer::start(vec![Play::stream(&says("ok"))]);
    ask(&openai(&server)).await.reply();
    assert_eq!(server.requests()[0].target, "/v1/chat/completions");
}
