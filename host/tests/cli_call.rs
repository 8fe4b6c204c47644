//! `claw call`: exit codes, JSON, and the session that a call leaves behind.

#[path = "support/cli.rs"]
mod cli;

use cli::Claw;

#[test]
fn a_file_is_read_with_a_receipt() {
    let claw = Claw::new().file("a.txt", "hello\n");
    let ended = claw.run(&["call", "read_file", r#"{"path":"a.txt"}"#, "--output", "json"]).code(0);
    let reply = ended.json();
    assert_eq!(reply["tool"], "read_file");
    assert_eq!(reply["outcome"], "done");
    assert!(reply["failure"].is_null());
    assert!(reply["content"][0]["text"].as_str().expect("text").contains("hello"), "{reply}");
    let receipt = &reply["receipt"];
    assert_eq!(receipt["reads"][0], "a.txt");
    assert!(receipt["writes"].as_array().expect("a list").is_empty());
    assert!(receipt["sha256"].is_string() && receipt["plugin"].is_string(), "{receipt}");
}

#[test]
fn exit_codes_tell_how_a_call_ended() {
    let claw = Claw::new().file("a.txt", "hello\n");
    let check = |args: &[&str], code: i32, outcome: &str| {
        let args = [&["call"], args, &["--json", "--no-session"]].concat();
        let reply = claw.run(&args).code(code).json();
        assert_eq!(reply["outcome"], outcome, "{reply}");
    };
    check(&["read_file", r#"{"path":"a.txt"}"#], 0, "done");
    check(&["read_file", r#"{"path":"gone"}"#], 1, "failed");
    check(&["read_file", "{bad"], 1, "failed");
    check(&["read_file", "{}"], 1, "failed");
    check(&["read_file"], 1, "failed");
    check(&["no_such_tool"], 2, "failed");
    check(&["read_file", r#"{"path":"../home/config.toml"}"#], 4, "denied");
    check(&["read_file", r#"{"path":"/etc/hostname"}"#], 4, "denied");
}

#[test]
fn text_goes_to_its_streams() {
    let claw = Claw::new().file("a.txt", "hello\n");
    let ended = claw.run(&["call", "read_file", r#"{"path":"a.txt"}"#]).code(0);
    assert!(ended.out.contains("hello"));
    assert_eq!(ended.err, "");
    let ended = claw.run(&["call", "read_file", r#"{"path":"gone"}"#]).code(1);
    assert_eq!(ended.out, "");
    assert!(ended.err.contains("gone"));
    let ended = claw.run(&["call", "raed_file"]).code(2);
    assert!(ended.err.contains("read_file"), "{}", ended.err);
}

#[test]
fn arguments_come_from_standard_input() {
    let claw = Claw::new().file("a.txt", "hello\n");
    let ended = claw.run_with(&["call", "read_file", "-", "--json"], r#"{"path":"a.txt"}"#).code(0);
    assert_eq!(ended.json()["outcome"], "done");
}

#[test]
fn req_090_an_absolute_path_inside_is_accepted() {
    let claw = Claw::new().file("a.txt", "hello\n");
    let path = claw.work().join("a.txt");
    let arguments = serde_json::json!({ "path": path }).to_string();
    let reply = claw.run(&["call", "read_file", &arguments, "--json"]).code(0).json();
    assert_eq!(reply["receipt"]["reads"][0], "a.txt");
}

#[test]
fn a_call_is_a_session_of_one_turn_unless_it_is_not_wanted() {
    let claw = Claw::new().file("a.txt", "hello\n");
    let sessions = || claw.run(&["session", "list", "--json"]).code(0).json();
    claw.run(&["call", "read_file", r#"{"path":"a.txt"}"#, "--no-session"]).code(0);
    claw.run(&["call", "no_such_tool"]).code(2);
    assert_eq!(sessions().as_array().map(Vec::len), Some(0));

    claw.run(&["call", "read_file", r#"{"path":"a.txt"}"#]).code(0);
    assert_eq!(sessions().as_array().map(Vec::len), Some(1));
    let records = claw.run(&["session", "show", "--json"]).code(0).json();
    let types: Vec<&str> =
        records.as_array().expect("records").iter().filter_map(|r| r["type"].as_str()).collect();
    assert_eq!(types, ["session", "user", "assistant", "call", "result", "stop"]);
}

#[test]
fn an_answer_that_cannot_be_written_is_no_success() {
    let claw = Claw::new().file("a.txt", "hello\n");
    let full = std::fs::File::options().write(true).open("/dev/full").expect("a full disk");
    let args = ["call", "read_file", r#"{"path":"a.txt"}"#];
    claw.run_into(&args, full.into()).code(1).says(&["cannot write the answer"]);
}

#[test]
fn n44_a_key_in_a_file_is_shown_and_logged_nowhere() {
    let claw = Claw::new()
        .env("OPENAI_API_KEY", "sk-CANARY0123456")
        .file("a.txt", "KEY=sk-CANARY0123456\n");
    for form in ["text", "json"] {
        let args = ["call", "read_file", r#"{"path":"a.txt"}"#, "--output", form];
        let ended = claw.run(&args).code(0);
        assert!(ended.out.contains("KEY="), "{}", ended.out);
        assert!(!(ended.out + &ended.err).contains("CANARY"));
    }
    let log = claw.run(&["session", "show", "--json"]).code(0);
    assert!(log.out.contains("KEY=") && !log.out.contains("CANARY"), "{}", log.out);
}
