//! Calls of one reply, run by their plan with tools that take their time.

mod loop_support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use clawhold::model::{Effects, Failure, FailureCode, Outcome, ToolCall, ToolReply};
use clawhold::tool::{Limits, Progress, Registry, Tool, Watch, run_calls};
use loop_support::{call, fake, registry, sleep};
use tokio_util::sync::CancellationToken;

/// Keeps the order of starts and ends; refuses to start the call named here.
#[derive(Default)]
struct Diary {
    lines: Vec<String>,
    refuse: Option<&'static str>,
}

impl Watch for Diary {
    fn starting(&mut self, call: &ToolCall, _: Effects) -> Result<(), String> {
        if self.refuse == Some(call.id.as_str()) {
            return Err("the log is full".into());
        }
        self.lines.push(format!("+{}", call.id));
        Ok(())
    }

    fn progress(&mut self, _: &ToolCall) -> Arc<dyn Fn(Progress) + Send + Sync> {
        Arc::new(|_| {})
    }

    fn finished(&mut self, call: &ToolCall, _: &ToolReply, _: u64) -> Result<(), String> {
        self.lines.push(format!("-{}", call.id));
        Ok(())
    }
}

async fn run(
    registry: &Registry,
    calls: &[ToolCall],
    limits: Limits,
    diary: &mut Diary,
) -> Vec<ToolReply> {
    run_calls(registry, calls, 1, limits, &CancellationToken::new(), diary).await
}

fn words(replies: &[ToolReply]) -> Vec<&'static str> {
    replies.iter().map(|reply| reply.outcome.word()).collect()
}

/// Waits for as many milliseconds as its `limit` says, then repeats its path; a path that begins
/// with `bad` fails.
fn slow(name: &str, kind: &str) -> Arc<dyn Tool> {
    fake(name, kind, |arguments, _| async move {
        sleep(arguments["limit"].as_u64().unwrap_or(1)).await;
        let path = arguments["path"].as_str().unwrap_or_default().to_owned();
        if path.starts_with("bad") {
            return ToolReply::failed(Outcome::Failed, Failure::new(FailureCode::Failed, "no"));
        }
        ToolReply::text(path)
    })
}

fn on(id: &str, tool: &str, path: &str, ms: u32) -> ToolCall {
    call(id, tool, &format!("{{\"path\":\"{path}\",\"limit\":{ms}}}"))
}

#[tokio::test]
async fn req_026_results_stand_in_call_order_whatever_ends_first() {
    let registry = registry([slow("r", "r")]);
    let calls = [on("1", "r", "a", 60), on("2", "r", "b", 30), on("3", "r", "c", 1)];
    let mut diary = Diary::default();
    let replies = run(&registry, &calls, Limits::default(), &mut diary).await;
    let texts: Vec<String> = replies.iter().map(ToolReply::observation).collect();
    assert_eq!(texts, ["a", "b", "c"]);
    assert_eq!(diary.lines, ["+1", "+2", "+3", "-3", "-2", "-1"]);
}

#[tokio::test]
async fn req_032_writers_of_a_path_wait_for_each_other_and_for_nobody_else() {
    let registry = registry([slow("r", "r"), slow("w", "w")]);
    let calls =
        [on("1", "r", "a", 30), on("2", "w", "a", 5), on("3", "r", "a/b", 1), on("4", "w", "c", 1)];
    let mut diary = Diary::default();
    run(&registry, &calls, Limits::default(), &mut diary).await;
    assert_eq!(diary.lines, ["+1", "+4", "-4", "-1", "+2", "-2", "+3", "-3"]);
}

#[tokio::test]
async fn req_033_no_more_run_at_once_than_allowed() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (n, m) = (Arc::clone(&now), Arc::clone(&most));
    let tool = fake("r", "r", move |_, _| {
        let (now, most) = (Arc::clone(&n), Arc::clone(&m));
        async move {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            sleep(5).await;
            now.fetch_sub(1, Ordering::SeqCst);
            ToolReply::text("")
        }
    });
    let registry = registry([tool]);
    let calls: Vec<ToolCall> = (0..20).map(|i| call(&i.to_string(), "r", "{}")).collect();
    run(&registry, &calls, Limits { parallel: 3, ..Limits::default() }, &mut Diary::default())
        .await;
    assert_eq!(most.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn req_030_one_failure_never_stops_its_siblings() {
    let registry =
        registry([slow("r", "r"), slow("w", "w"), fake("p", "r", |_, _| async { panic!("x") })]);
    let calls = [
        on("1", "r", "bad", 1),
        on("2", "r", "b", 1),
        call("3", "p", "{}"),
        call("4", "nope", "{}"),
        call("5", "r", "{bad json"),
        on("6", "w", "c", 1),
    ];
    let replies = run(&registry, &calls, Limits::default(), &mut Diary::default()).await;
    assert_eq!(words(&replies), ["failed", "done", "failed", "failed", "failed", "done"]);
}

#[tokio::test]
async fn req_031_only_what_builds_on_a_failed_write_is_left_out() {
    let registry = registry([slow("r", "r"), slow("w", "w")]);
    let calls = [
        on("1", "w", "bad", 1), // fails
        on("2", "w", "BAD", 1), // the same file where case does not count
        on("3", "r", "bad", 1),
        on("4", "r", ".", 1), // a search through everything still makes sense
        on("5", "w", "good", 1),
        on("6", "r", "good", 1),
    ];
    let replies = run(&registry, &calls, Limits::default(), &mut Diary::default()).await;
    assert_eq!(words(&replies), ["failed", "not-started", "not-started", "done", "done", "done"]);
    assert!(replies[1].observation().contains("the earlier call `w` (1) on the same path"));
}

#[tokio::test]
async fn a_write_that_was_refused_counts_as_failed_too() {
    let registry = registry([slow("r", "r"), slow("w", "w")]);
    let calls = [
        call("1", "w", "{\"path\":\"a\",\"limit\":0}"),
        on("2", "w", "a", 1),
        on("3", "w", "b", 1),
    ];
    let replies = run(&registry, &calls, Limits::default(), &mut Diary::default()).await;
    assert_eq!(words(&replies), ["failed", "not-started", "done"]);
}

#[tokio::test]
async fn n21_calls_beyond_the_cap_are_answered_and_not_run() {
    let registry = registry([slow("r", "r")]);
    let calls: Vec<ToolCall> =
        (0..200).map(|i| on(&i.to_string(), "r", &i.to_string(), 1)).collect();
    let replies = run(&registry, &calls, Limits::default(), &mut Diary::default()).await;
    assert_eq!(replies.len(), 200);
    for (index, reply) in replies.iter().enumerate() {
        let expect = if index < 64 { Outcome::Done } else { Outcome::NotStarted };
        assert_eq!(reply.outcome, expect, "{index}");
    }
    assert_eq!(replies[63].observation(), "63");
    assert!(replies[64].observation().contains("at most 64 calls and this is number 65"));
}

#[tokio::test]
async fn n40_cancelling_leaves_one_truthful_result_each() {
    let heard = Arc::new(Mutex::new(false));
    let h = Arc::clone(&heard);
    let polite = fake("polite", "r", move |_, context| {
        let heard = Arc::clone(&h);
        async move {
            context.cancel.cancelled().await;
            *heard.lock().expect("no panic") = true;
            ToolReply::failed(
                Outcome::Interrupted { after_ms: 7 },
                Failure::new(FailureCode::Failed, "half done"),
            )
        }
    });
    let deaf = fake("deaf", "w", |_, _| std::future::pending());
    let registry = registry([polite, deaf, slow("r", "r"), slow("w", "w")]);
    let calls = [
        on("1", "r", "a", 1),
        call("2", "polite", "{\"path\":\"b\"}"),
        call("3", "deaf", "{\"path\":\"c\"}"),
        on("4", "w", "c", 1),
    ];
    let cancel = CancellationToken::new();
    let trigger = cancel.clone();
    tokio::spawn(async move {
        sleep(50).await;
        trigger.cancel();
    });
    let begun = Instant::now();
    let mut diary = Diary::default();
    let replies = run_calls(&registry, &calls, 1, Limits::default(), &cancel, &mut diary).await;
    assert!(begun.elapsed() < Duration::from_secs(1));
    assert_eq!(words(&replies), ["done", "interrupted", "interrupted", "not-started"]);
    assert!(*heard.lock().expect("no panic"));
    assert_eq!(replies[1].outcome, Outcome::Interrupted { after_ms: 7 });
    assert!(
        matches!(replies[2].outcome, Outcome::Interrupted { after_ms: 50.. }),
        "{:?}",
        replies[2].outcome
    );
    let ends = diary.lines.iter().filter(|line| line.starts_with('-')).count();
    assert_eq!(ends, 4, "{:?}", diary.lines);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n40_a_tool_that_blocks_its_thread_holds_nobody_up() {
    let registry = registry([fake("block", "r", |_, _| async {
        std::thread::sleep(Duration::from_millis(1500));
        ToolReply::text("")
    })]);
    let cancel = CancellationToken::new();
    let trigger = cancel.clone();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(30));
        trigger.cancel();
    });
    let begun = Instant::now();
    let calls = [call("1", "block", "{}")];
    let replies =
        run_calls(&registry, &calls, 1, Limits::default(), &cancel, &mut Diary::default()).await;
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!(words(&replies), ["interrupted"]);
}

#[tokio::test]
async fn req_033_a_call_over_its_time_ends_as_timed_out() {
    let registry = registry([fake("deaf", "r", |_, _| std::future::pending()), slow("r", "r")]);
    let limits = Limits { timeout: Some(Duration::from_millis(20)), ..Limits::default() };
    let calls = [call("1", "deaf", "{}"), on("2", "r", "a", 1)];
    let replies = run(&registry, &calls, limits, &mut Diary::default()).await;
    assert_eq!(words(&replies), ["timed-out", "done"]);
}

#[tokio::test]
async fn c11_what_cannot_be_logged_is_not_done() {
    let registry = registry([slow("r", "r"), slow("w", "w")]);
    let calls = [on("1", "r", "a", 5), on("2", "w", "b", 1), on("3", "r", "c", 1)];
    let mut diary = Diary { refuse: Some("2"), ..Diary::default() };
    let replies = run(&registry, &calls, Limits::default(), &mut diary).await;
    assert_eq!(words(&replies), ["done", "not-started", "not-started"]);
    assert!(replies[2].observation().contains("the log is full"));
    assert_eq!(diary.lines.first().map(String::as_str), Some("+1"));
    assert!(!diary.lines.contains(&"+3".to_owned()));
}
