use super::super::testing::Buffer;
use super::*;
use crate::model::{Denial, Failure, FailureCode, Outcome};

/// What `events` put on standard error, and on standard output.
fn told(verbose: bool, terminal: bool, events: &[Event<'_>]) -> (String, String) {
    let (out, err) = (Buffer::default(), Buffer::default());
    let output = Output::to(Box::new(out.clone()), Box::new(err.clone()), terminal);
    let reporter = RunReporter::new(Arc::new(output), verbose);
    for event in events {
        reporter.event(event);
    }
    (err.text(), out.text())
}

fn call(arguments: &str) -> ToolCall {
    ToolCall { id: "c1".into(), name: "read_file".into(), arguments: arguments.into() }
}

#[test]
fn req_003_024_043_107_turns_and_calls_are_numbered_lines() {
    let call = call(r#"{"path":"a.txt"}"#);
    let second = ToolCall { id: "c2".into(), ..call.clone() };
    let mut asked = Message::assistant("");
    asked.tool_calls = vec![call.clone(), second.clone()];
    let usage = Usage::default();
    let done = ToolReply::text("hello");
    let failed =
        ToolReply::failed(Outcome::Failed, Failure::new(FailureCode::NotFound, "no `a.txt`\nhere"));
    let (err, out) = told(
        false,
        false,
        &[
            Event::TurnStarted { turn: 1, messages: 2, tools: 6 },
            Event::Assistant { turn: 1, message: &asked, usage, ms: 1 },
            Event::CallStarted { turn: 1, call: &call },
            Event::CallFinished { turn: 1, call: &second, reply: &failed, ms: 1 },
            Event::CallFinished { turn: 1, call: &call, reply: &done, ms: 3 },
            Event::TurnStarted { turn: 2, messages: 5, tools: 6 },
        ],
    );
    assert_eq!(
        err,
        "turn 1\n\
         [1.2] read_file a.txt failed, 1.0 ms: no `a.txt`\\nhere\n\
         [1.1] read_file a.txt ok, 5 B, 3.0 ms\n\
         turn 2\n"
    );
    assert_eq!(out, "", "standard output is for the answer");
}

#[test]
fn req_022_the_start_names_the_workdir() {
    let event = Event::RunStarted {
        session: Some("20260131-120000-abcdef"),
        workdir: std::path::Path::new("/w"),
        provider: "script",
        model: "demo",
    };
    let (err, _) = told(false, false, &[event]);
    assert_eq!(err, "workdir /w, model script/demo, session 20260131-120000-abcdef\n");
}

#[test]
fn req_017_text_beside_calls_is_shown_and_the_answer_is_not() {
    let mut message = Message::assistant("I look\x1b first");
    message.tool_calls.push(call("{}"));
    let answer = Message::assistant("the answer");
    let usage = Usage::default();
    let (err, out) = told(
        false,
        false,
        &[
            Event::Text { text: "I lo" },
            Event::Assistant { turn: 1, message: &message, usage, ms: 1 },
            Event::Assistant { turn: 2, message: &answer, usage, ms: 1 },
        ],
    );
    assert_eq!(err, "I look\\x1b first\n");
    assert_eq!(out, "");
}

#[test]
fn denials_and_retries_are_told_and_escaped() {
    let mut reply =
        ToolReply::failed(Outcome::Denied, Failure::new(FailureCode::Denied, "it leads outside"));
    reply.receipt.denials.push(Denial {
        what: "read".into(),
        subject: "../a\u{202e}".into(),
        reason: "outside the workdir".into(),
    });
    let call = call(r#"{"path":"../a"}"#);
    let (err, _) = told(
        false,
        false,
        &[
            Event::Retry { attempt: 2, after_ms: 1500, why: "HTTP 529\n" },
            Event::CallFinished { turn: 1, call: &call, reply: &reply, ms: 0 },
        ],
    );
    assert_eq!(
        err,
        "retry: HTTP 529\\n; attempt 2 in 1.5 s\n\
         [1.1] read_file ../a denied, 0 µs: it leads outside\n    \
         denied: read `../a\\u{202e}`: outside the workdir\n"
    );
}

#[test]
fn a_diff_follows_its_call_on_a_terminal_and_with_more_words() {
    let diff =
        Content { mime_type: "text/x-diff".into(), payload: Payload::Text("-a\n+b\n".into()) };
    let reply = ToolReply::done(vec![diff]);
    let call = call("{}");
    let events = [Event::CallFinished { turn: 1, call: &call, reply: &reply, ms: 1 }];
    assert!(!told(false, false, &events).0.contains("+b"));
    assert!(told(true, false, &events).0.ends_with("    -a\n    +b\n"));
    assert!(told(false, true, &events).0.contains("    \x1b[32m+b\x1b[0m\n"));
}
