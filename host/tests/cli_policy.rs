//! `claw policy check`, and `bash` through `claw call` and `claw run`.
#![allow(clippy::print_stderr, reason = "a test that is skipped says so and why")]

#[path = "support/cli.rs"]
mod cli;

use cli::Claw;

#[test]
fn the_verdict_is_the_exit_code() {
    let claw = Claw::new().file("a.txt", "x\n");
    let check = |args: &[&str], code: i32, parts: &[&str]| {
        let ended = claw.run(&[&["policy", "check"], args].concat()).code(code);
        for part in parts {
            assert!(ended.out.contains(part), "{args:?}: {}", ended.out);
        }
    };
    check(&["--", "ls -la"], 0, &["allow", "shipped `ls`"]);
    check(&["--", "echo $(x)"], 11, &["deny", "`$` at byte 5"]);
    check(&["--approve", "ask", "--", "echo $(x)"], 10, &["ask", "`$` at byte 5"]);
    check(&["--", "ls /etc"], 11, &["/etc"]);
    check(&["--", "cat a.txt | rm x"], 11, &["`rm`"]);
}

#[test]
fn exactly_one_argument_is_a_command() {
    let claw = Claw::new();
    claw.run(&["policy", "check", "--", "ls", "-la"]).code(2);
    claw.run(&["policy", "check"]).code(2);
    claw.run(&["policy", "check", "--", ""]).code(11);
}

#[test]
fn json_names_rule_reason_and_commands() {
    let claw = Claw::new().config("[bash]\nshipped_rules = false\n[[bash.allow]]\nprogram = \"no-such-program\"\noperands = \"any\"\n");
    let json =
        claw.run(&["policy", "check", "--json", "--", "no-such-program 'a b' c"]).code(0).json();
    assert_eq!(json["verdict"], "allow");
    assert_eq!(json["rule"], "bash.allow 1 `no-such-program`");
    assert_eq!(json["commands"][0]["argv"], serde_json::json!(["no-such-program", "a b", "c"]));
    assert!(json["commands"][0]["program"].is_null());
    let json = claw.run(&["policy", "check", "--json", "--", "ls"]).code(11).json();
    assert_eq!(json["rule"], "bash.outside");
}

#[test]
fn a_rule_whose_self_test_fails_is_named_by_every_command() {
    let claw = Claw::new().config("[[bash.allow]]\nprogram = \"make\"\nnot_match = [\"make\"]\n");
    for args in [&["policy", "check", "--", "ls"][..], &["tools"], &["config"]] {
        claw.run(args).code(2).says(&["bash.allow 1 `make`", "not_match"]);
    }
    let claw = Claw::new().config("[bash]\nnetwrok = true\n");
    claw.run(&["config"]).code(2).says(&["netwrok"]);
}

/// Whether commands can be confined here at all; says why not.
fn confined(claw: &Claw) -> bool {
    let tools = claw.run(&["tools", "--json"]).code(0);
    if tools.out.contains("\"bash\"") {
        return true;
    }
    eprintln!("skipped: bash is not offered here");
    false
}

#[test]
fn req_047_bash_is_called_without_a_model() {
    let claw = Claw::new().file("a.txt", "hello\n");
    if !confined(&claw) {
        return;
    }
    let ended = claw.run(&["call", "bash", r#"{"command":"ls && cat a.txt"}"#]).code(0);
    assert_eq!(ended.out, "a.txt\nhello\nexit code: 0\n");
    // A command that fails is a result; what is refused, missing or late is not.
    claw.run(&["call", "bash", r#"{"command":"ls nope"}"#]).code(0);
    claw.run(&["call", "bash", r#"{"command":"rm a.txt"}"#]).code(4);
    claw.run(&["call", "bash", r#"{"command":"cat /etc/passwd"}"#]).code(4);
    claw.run(&["call", "bash", r#"{"command":"ls","cwd":"/etc"}"#]).code(4);
    claw.run(&["call", "bash", r#"{"command":" "}"#]).code(1);
    claw.run(&["call", "bash", r#"{"command":"ls","timeout":0}"#]).code(1);
    assert!(claw.work().join("a.txt").exists());
}

#[test]
fn what_is_left_out_is_kept_in_the_sessions_folder() {
    let claw = Claw::new().file("long.txt", &"0123456789abcdef\n".repeat(2000));
    if !confined(&claw) {
        return;
    }
    let ended = claw.run(&["call", "bash", r#"{"command":"cat long.txt"}"#]).code(0);
    assert!(ended.out.len() < 9000 && ended.out.contains("left out"), "{}", ended.out);
    let sessions = claw.home().join("state/sessions");
    let folders = std::fs::read_dir(sessions).expect("sessions").flatten();
    let folder = folders.map(|e| e.path()).find(|path| path.is_dir()).expect("a session's folder");
    let kept = std::fs::read_to_string(folder.join("output-1")).expect("the whole output");
    assert_eq!(kept.len(), 34_000);
}

#[test]
fn req_060_062_a_task_reads_writes_and_verifies_by_running() {
    let claw = Claw::new().config("[bash]\noutside = \"confine\"\n");
    let doctor = claw.run(&["doctor"]);
    if !doctor.out.contains("sandbox `full`") {
        eprintln!("skipped: there is no full sandbox here: {}", doctor.out);
        return;
    }
    let model = claw.script(&[
        r#"{"tool_calls":[{"id":"c1","name":"bash","arguments":{"command":"gcc --version"}}]}"#,
        r##"{"tool_calls":[{"id":"c2","name":"write_file","arguments":{"path":"hello.c","content":"#include <stdio.h>\nint main(void) { puts(\"hello\"); }\n"}}],"expect":{"contains":["exit code: "]}}"##,
        r#"{"tool_calls":[{"id":"c3","name":"bash","arguments":{"command":"cc hello.c -o hello && ./hello || echo no compiler"}}]}"#,
        r#"{"text":"done","expect":{"contains":["exit code: 0"]}}"#,
    ]);
    let ended = claw.run(&["run", "--model", &model, "say hello"]).code(0);
    assert_eq!(ended.out.trim(), "done");
}
