//! Sizes, times and answers that break off.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use clawhold::model::{FailureCode, Outcome};
use clawhold::policy::HttpLimits;
use clawhold::sandbox::Limits;
use clawhold::tool::CallContext;
use serde_json::json;

use super::lab;
use super::web::{Asked, Step, Web, answer};
use super::{access, at, call, call_within, done, failed, granted, hello, just, rule, tool};

#[test]
fn a_server_that_trickles_does_not_hold_a_call() {
    let slow = |step: &'static [u8]| {
        move |_: &Asked| {
            let mut steps =
                vec![Step::Send(b"HTTP/1.1 200 OK\r\n".to_vec()), Step::Send(step.to_vec())];
            for _ in 0..300 {
                steps.push(Step::Pause(Duration::from_millis(50)));
                steps.push(Step::Send(b"x".to_vec()));
            }
            steps
        }
    };
    for web in [Web::start(slow(b"x-slow: ")), Web::start(slow(b"content-length: 1000\r\n\r\n"))] {
        let limits = Limits { timeout: Duration::from_millis(500), ..Limits::default() };
        let begun = Instant::now();
        let reply = call_within(Some(access(just(&web))), limits, &at(&web.place()));
        assert_eq!(reply.outcome, Outcome::TimedOut, "{reply:?}");
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    }
}

#[test]
fn a_call_that_is_cancelled_leaves_its_request() {
    let web = Web::start(|_| vec![Step::Pause(Duration::from_secs(20))]);
    let tool = tool(Some(access(just(&web))), Limits::default());
    let context = CallContext::detached("c1");
    let cancel = context.cancel.clone();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        cancel.cancel();
    });
    let begun = Instant::now();
    let reply = lab::executor().block_on(tool.call(&json!({ "asks": at(&web.place()) }), &context));
    assert!(matches!(reply.outcome, Outcome::Interrupted { .. }), "{reply:?}");
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

#[test]
fn bodies_end_at_their_caps() {
    let endless = Web::start(|_| {
        vec![
            Step::Send(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_vec()),
            Step::Flood(b'x', usize::MAX),
        ]
    });
    let announced = Web::start(|_| answer(200, &[], &[b'x'; 2000]));
    let capped = |web: &Web, most: u64| {
        let mut rules = granted(vec![rule(&web.place(), &["GET", "POST"])]);
        rules.limits =
            HttpLimits { response_body: most, request_body: most, ..HttpLimits::default() };
        access(rules)
    };
    for (web, most) in [(&endless, 1 << 20), (&announced, 1999)] {
        let reply = call(capped(web, most), &at(&web.place()));
        failed(&reply, &FailureCode::TooLarge, &format!("larger than {most} bytes"));
    }
    let (said, _) = done(capped(&announced, 2000), &at(&announced.place()));
    assert_eq!(said[0]["size"], 2000);

    let post =
        |size: u64| json!([{ "authority": announced.place(), "method": "POST", "body": size }]);
    let reply = call(capped(&announced, 10_000), &post(10_001));
    failed(&reply, &FailureCode::TooLarge, "more than 10000 bytes");
    let before = announced.asked().len();
    done(capped(&announced, 10_000), &post(10_000));
    assert_eq!(announced.asked().len(), before + 1);
    assert!(announced.asked()[before].body >= 10_000);
}

#[test]
fn requests_of_a_call_are_counted() {
    let web = hello();
    let limited = |requests, at_once| {
        let mut rules = just(&web);
        rules.limits = HttpLimits { requests, at_once, ..HttpLimits::default() };
        access(rules)
    };
    let three = json!([{ "authority": web.place() }, { "authority": web.place() }, { "authority": web.place() }]);
    failed(&call(limited(2, 8), &three), &FailureCode::TooLarge, "2 requests");
    let (_, reply) = done(limited(3, 1), &three);
    assert_eq!(reply.receipt.hosts.len(), 3);
    let together = json!([{ "authority": web.place(), "at_once": 3 }]);
    failed(&call(limited(9, 2), &together), &FailureCode::TooLarge, "at once");
    done(limited(9, 3), &together);
}

#[test]
fn n30_half_an_answer_is_none() {
    let cut = |head: &'static str, body: &'static str| {
        Web::start(move |_| {
            vec![
                Step::Send(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}").into_bytes()),
                Step::Close,
            ]
        })
    };
    for web in [
        cut("content-length: 100", "only this"),
        cut("transfer-encoding: chunked", "5\r\nhello\r\n"),
        cut("transfer-encoding: chunked", "zz\r\nhello\r\n"),
    ] {
        let reply = call(access(just(&web)), &at(&web.place()));
        failed(&reply, &FailureCode::Unavailable, "broke off");
    }
    let whole = cut("content-length: 9", "only this");
    let (said, _) = done(access(just(&whole)), &at(&whole.place()));
    assert_eq!(said[0]["body"], "only this");
    let gone =
        std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().to_string();
    let reply = call(access(granted(vec![rule(&gone, &["GET"])])), &at(&gone));
    failed(&reply, &FailureCode::Unavailable, "could not be reached");
    assert_eq!(reply.receipt.hosts, [format!("GET {gone} no answer")]);
}

#[test]
fn what_went_well_the_second_time_is_not_held_against_a_call() {
    let tries = AtomicUsize::new(0);
    let web = Web::start(move |_| match tries.fetch_add(1, Ordering::SeqCst) {
        0 => vec![
            Step::Send(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf".to_vec()),
            Step::Close,
        ],
        _ => answer(200, &[], b"whole"),
    });
    let forbidden = json!({ "authority": web.place(), "headers": { "host": "x" } });
    let soft = json!({ "authority": web.place(), "soft": true });
    // The call fails in the end, but of something else.
    let reply = call(access(just(&web)), &json!([soft, { "authority": web.place() }, forbidden]));
    failed(&reply, &FailureCode::Failed, "the header `host`");
}
