//! `claw run`: the answer, the exit codes, what goes wrong before a run and during one.

#[path = "support/cli.rs"]
mod cli;

use std::io::Read as _;
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::time::{Duration, Instant};

use cli::Claw;

const READ: &str = r#"{"text":"I look first","tool_calls":[{"id":"c1","name":"read_file","arguments":{"path":"a.txt"}}]}"#;
const DENIED: &str =
    r#"{"tool_calls":[{"id":"c1","name":"read_file","arguments":{"path":"../secret"}}]}"#;
const ANSWER: &str = r#"{"text":"it says 目录","expect":{"contains":["hello"]}}"#;

#[test]
fn req_025_a_scripted_run_in_json() {
    let claw = Claw::new().file("a.txt", "hello\n");
    let model = claw.script(&[READ, ANSWER]);
    let work = claw.work().display().to_string();
    let args = ["run", "--model", &model, "-C", &work, "what is in a.txt?", "--output", "json"];
    let ended = claw.run(&args).code(0);
    let report = ended.json();
    assert_eq!(report["stop"], "answered");
    assert_eq!(report["answer"], "it says 目录");
    assert_eq!(report["turns"], 2);
    assert_eq!(report["tools"]["read_file"]["calls"], 1);
    assert_eq!(report["tools"]["read_file"]["failures"], 0);
    let keys: Vec<&str> =
        report.as_object().expect("an object").keys().map(String::as_str).collect();
    let expect =
        ["session", "stop", "answer", "turns", "usage", "cost", "tools", "denials", "files"];
    assert_eq!(keys, expect);
    for list in ["changed", "created", "removed"] {
        assert!(report["files"][list].is_array(), "{list}");
    }
}

#[test]
fn the_answer_alone_is_on_standard_output() {
    let claw = Claw::new().file("a.txt", "hello\n");
    let model = claw.script(&[READ, ANSWER]);
    let ended = claw.run(&["run", "--model", &model, "look"]).code(0);
    assert_eq!(ended.out, "it says 目录\n");
    for part in ["turn 1", "I look first", "[1.1] read_file a.txt ok", "turn 2", "workdir "] {
        assert!(ended.err.contains(part), "`{part}` is missing: {}", ended.err);
    }
    assert!(!ended.err.contains('\x1b'), "no colour without a terminal");
}

#[test]
fn exit_codes_tell_how_a_run_ended() {
    let claw = Claw::new().file("a.txt", "hello\n");
    let check = |lines: &[&str], more: &[&str], code: i32, stop: &str| {
        let model = claw.script(lines);
        let args = [&["run", "--model", &model, "look", "--json"], more].concat();
        let report = claw.run(&args).code(code).json();
        assert_eq!(report["stop"], stop, "{report}");
        assert!(report["session"].is_string(), "the session is kept");
    };
    check(&[READ, ANSWER], &[], 0, "answered");
    check(&[READ, ANSWER], &["--max-turns", "1"], 3, "turns-exhausted");
    check(&[DENIED, r#"{"text":"so be it"}"#], &[], 4, "refused");
    check(&[READ], &[], 5, "provider-failed");
    check(&[r#"{"text":"x","expect":{"contains":["never said"]}}"#], &[], 5, "provider-failed");
}

#[test]
fn what_cannot_begin_says_what_to_do() {
    let claw = Claw::new().file("a.txt", "hello\n");
    let good = claw.script(&[ANSWER]);
    let check = |args: &[&str], code: i32, parts: &[&str]| {
        claw.run(&[&["run", "look"], args].concat()).code(code).says(parts);
    };
    check(&[], 2, &["OPENAI_API_KEY", "--model", "script:FILE"]);
    check(&["--model", "gpt-x"], 2, &["PROVIDER/MODEL"]);
    check(&["--model", "opnai/x"], 2, &["did you mean `openai`?"]);
    check(&["--model", "openai/x"], 2, &["OPENAI_API_KEY"]);
    check(&["--model", "script:gone"], 5, &["gone"]);
    check(&["--model", &good, "-C", "gone"], 2, &["does not exist", "-C DIR"]);
    check(&["--model", &good, "-C", "a.txt"], 2, &["is not a directory"]);
    check(&["--model", &good, "-C", "/"], 2, &["--allow-wide-workdir"]);
    check(&["--model", "ollama/x", "--max-cost", "1"], 2, &["price"]);
    let home = claw.home().display().to_string();
    check(&["--model", &good, "-C", &home, "--allow-wide-workdir"], 2, &["Clawhold's own"]);
    // The log cannot be made below a file.
    check(&["--model", &good, "--sessions", "a.txt/below"], 1, &["--no-session", "a.txt/below"]);
    claw.run(&["run"]).code(2).says(&["no task"]);
    claw.run(&[]).code(2).says(&["claw run"]);
}

#[test]
fn a_bad_line_of_a_script_is_named() {
    let claw = Claw::new();
    let model = claw.script(&[r#"{"text":"fine"}"#, "{bad"]);
    claw.run(&["run", "--model", &model, "look"]).code(5).says(&["line 2", "script"]);
}

#[test]
fn c27_without_a_home_the_error_says_what_to_set() {
    let claw = Claw::new().without_env("CLAWHOLD_HOME");
    claw.run(&["config"]).code(2).says(&["HOME", "CLAWHOLD_HOME"]);
}

#[test]
fn the_task_comes_from_words_pipe_or_both() {
    let claw = Claw::new();
    let check = |args: &[&str], input: &str, contains: &str| {
        let line = serde_json::json!({ "text": "ok", "expect": { "contains": [contains] } });
        let model = claw.script(&[&line.to_string()]);
        claw.run_with(&[&["run", "--model", &model], args].concat(), input).code(0);
    };
    check(&["-"], "from the pipe", "from the pipe");
    check(&[], "from the pipe", "from the pipe");
    check(&["sum up"], "line one\nline two\n", "line one\nline two");
    check(&["sum up"], "line one", "sum up");
    check(&["just this"], "", "just this");
}

#[test]
fn a_silent_pipe_is_not_waited_for() {
    let claw = Claw::new();
    let model = claw.script(&[r#"{"text":"ok"}"#]);
    let begun = Instant::now();
    let mut child = claw.spawn(&["run", "--model", &model, "go"], Stdio::piped());
    // The pipe stays open, and nobody writes.
    let silent = child.stdin.take();
    let status = child.wait().expect("claw ends");
    assert!(status.success());
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    drop(silent);
}

#[test]
fn req_099_sessions_go_where_they_are_told() {
    let claw = Claw::new();
    let model = claw.script(&[r#"{"text":"ok"}"#]);
    let logs = |dir: &str| std::fs::read_dir(claw.home().join(dir)).map_or(0, Iterator::count);
    let elsewhere = claw.home().join("elsewhere").display().to_string();
    claw.run(&["run", "--model", &model, "go", "--no-session"]).code(0);
    assert_eq!(logs("state/sessions"), 0);
    claw.run(&["run", "--model", &model, "go"]).code(0);
    assert_eq!(logs("state/sessions"), 1);
    claw.run(&["run", "--model", &model, "go", "--sessions", &elsewhere]).code(0);
    assert_eq!((logs("state/sessions"), logs("elsewhere")), (1, 1));
    // As programs before this one kept them: in the directory that one works in.
    claw.run(&["run", "--model", &model, "go", "--sessions", "conversation"]).code(0);
    assert!(claw.work().join("conversation").is_dir());
}

#[test]
fn c24_a_reader_that_leaves_is_no_failure() {
    let claw = Claw::new();
    let model = claw.script(&[r#"{"text":"ok"}"#]);
    let mut child = claw.spawn(&["run", "--model", &model, "go"], Stdio::null());
    drop(child.stdout.take());
    let mut err = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut err).expect("text");
    let status = child.wait().expect("claw ends");
    assert_eq!(status.code(), Some(0), "{err}");
    assert!(!err.contains("panicked"), "{err}");
}

/// The next connection; a program that never connects fails the test and does not hang it.
fn accept(listener: &TcpListener) -> TcpStream {
    listener.set_nonblocking(true).expect("a socket that does not block");
    let begun = Instant::now();
    loop {
        match listener.accept() {
            Ok((stream, _)) => return stream,
            Err(error) => {
                assert!(begun.elapsed() < Duration::from_secs(20), "nobody came: {error}");
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn n40_signals_end_a_run_at_once_and_the_log_stays_whole() {
    for (signal, code, stop) in
        [("INT", 130, "interrupted"), ("TERM", 143, "terminated"), ("HUP", 143, "terminated")]
    {
        // A model service that takes the connection and never answers.
        let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = silent.local_addr().expect("its address").to_string();
        let claw = Claw::new().env("OLLAMA_HOST", &address);
        let args = ["run", "--model", "ollama/none", "go", "--json"];
        let child = claw.spawn(&args, Stdio::null());
        let taken = accept(&silent);
        let begun = Instant::now();
        let id = child.id().to_string();
        let sent = std::process::Command::new("kill").args(["-s", signal, &id]).status();
        assert!(sent.expect("kill runs").success());
        let ended = cli::ended(&child.wait_with_output().expect("claw ends")).code(code);
        assert!(begun.elapsed() < Duration::from_secs(1), "{signal}: {:?}", begun.elapsed());
        drop(taken);
        assert_eq!(ended.json()["stop"], stop);
        let records = claw.run(&["session", "show", "--json"]).code(0).json();
        let last = records.as_array().and_then(|records| records.last()).expect("records");
        assert_eq!((&last["type"], &last["reason"]), (&"stop".into(), &stop.into()));
    }
}
