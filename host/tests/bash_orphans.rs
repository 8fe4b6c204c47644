//! Nothing outlives the host, however it ends.
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so and why")]

#[path = "support/cli.rs"]
mod cli;

use std::process::Stdio;
use std::time::{Duration, Instant};

use cli::Claw;

fn alive(word: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        // The host's own arguments hold the word too; it is looked for as a command of its own.
        line.starts_with(&format!("sleep {word}"))
    })
}

fn within(limit: Duration, fits: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    while Instant::now() < deadline {
        if fits() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    fits()
}

#[test]
fn no_process_outlives_a_host_that_is_killed_or_interrupted() {
    let claw = Claw::new().config("[bash]\noutside = \"confine\"\n");
    if !claw.run(&["doctor"]).out.contains("sandbox `full`") {
        eprintln!("skipped: there is no full sandbox here");
        return;
    }
    for (index, signal) in ["KILL", "INT", "TERM"].into_iter().enumerate() {
        let number = format!("{}", 2_000_000 + 10 * std::process::id() + index as u32);
        let command = format!("trap '' TERM; setsid sleep {number} & sleep {number}");
        let arguments = serde_json::json!({ "command": command }).to_string();
        let mut child = claw.spawn(&["call", "bash", &arguments], Stdio::null());
        assert!(within(Duration::from_secs(20), || alive(&number)), "{signal}: it runs");
        let pid = child.id().to_string();
        let sent = std::process::Command::new("bash")
            .args(["-c", &format!("kill -{signal} {pid}")])
            .status();
        assert!(sent.unwrap().success());
        child.wait().unwrap();
        assert!(within(Duration::from_secs(6), || !alive(&number)), "{signal}: it has ended");
    }
}

#[test]
fn what_was_spawned_ends_with_the_run() {
    let claw = Claw::new().config("[bash]\noutside = \"confine\"\n");
    if !claw.run(&["doctor"]).out.contains("sandbox `full`") {
        eprintln!("skipped: there is no full sandbox here");
        return;
    }
    let number = format!("{}", 3_000_000 + 10 * std::process::id());
    let model = claw.script(&[
        &format!(r#"{{"tool_calls":[{{"id":"c1","name":"bash","arguments":{{"command":"setsid sleep {number} & sleep {number}","mode":"spawn"}}}}]}}"#),
        r#"{"text":"done","expect":{"contains":["started, pid"]}}"#,
    ]);
    claw.run(&["run", "--model", &model, "start it"]).code(0);
    assert!(within(Duration::from_secs(6), || !alive(&number)));
}
