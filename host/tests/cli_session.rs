//! `claw session`: past runs, also damaged ones.

#[path = "support/cli.rs"]
mod cli;

use cli::Claw;

/// A machine with two sessions, the ids newest first.
fn two_sessions() -> (Claw, Vec<String>) {
    let claw = Claw::new().file("a.txt", "hello\n");
    let read = r#"{"tool_calls":[{"id":"c1","name":"read_file","arguments":{"path":"a.txt"}}]}"#;
    let model = claw.script(&[read, r#"{"text":"done"}"#]);
    for prompt in ["the first", "the second\u{1b}[31m"] {
        claw.run(&["run", "--model", &model, prompt]).code(0);
    }
    let list = claw.run(&["session", "list", "--json"]).code(0).json();
    let ids = list.as_array().expect("a list").iter();
    let ids = ids.map(|s| s["session"].as_str().expect("an id").to_owned()).collect();
    (claw, ids)
}

#[test]
fn req_098_every_step_is_there_to_be_read() {
    let (claw, ids) = two_sessions();
    assert_eq!(ids.len(), 2);
    let records = claw.run(&["session", "show", &ids[0], "--json"]).code(0).json();
    let records = records.as_array().expect("records");
    let types: Vec<&str> = records.iter().filter_map(|r| r["type"].as_str()).collect();
    for step in ["session", "user", "assistant", "call", "result", "stop"] {
        assert!(types.contains(&step), "{types:?}");
    }
    assert_eq!(records[0]["session"], ids[0].as_str());
}

#[test]
fn text_shows_the_conversation_and_nothing_raw() {
    let (claw, ids) = two_sessions();
    let shown = ids.iter().map(|id| claw.run(&["session", "show", id]).code(0).out);
    let shown = shown.collect::<String>() + &claw.run(&["session", "list"]).code(0).out;
    for part in [
        "user: the first",
        "asks: read_file a.txt",
        "read_file done",
        "hello",
        "assistant: done",
        "stop: answered",
    ] {
        assert!(shown.contains(part), "`{part}` is missing: {shown}");
    }
    assert!(!shown.contains('\x1b'), "{shown}");
}

#[test]
fn an_id_may_be_cut_short_but_must_be_one() {
    let (claw, ids) = two_sessions();
    claw.run(&["session", "show", &ids[1][..ids[1].len() - 1]]).code(0);
    claw.run(&["session", "show", &ids[0][..4]]).code(2).says(&["2 sessions", &ids[0]]);
    claw.run(&["session", "show", "19990101"]).code(1).says(&["19990101", "claw session list"]);
    claw.run(&["session", "show", "../../etc/passwd"]).code(1);
    Claw::new().run(&["session", "show"]).code(1).says(&["claw session list"]);
}

#[test]
fn a_damaged_line_is_shown_as_one() {
    let (claw, ids) = two_sessions();
    let path = claw.home().join("state/sessions").join(format!("{}.jsonl", ids[0]));
    let log = std::fs::read_to_string(&path).expect("the log");
    std::fs::write(&path, log.replacen("\"type\":\"user\"", "\"type\":user", 1)).expect("damaged");
    let records = claw.run(&["session", "show", &ids[0], "--json"]).code(0).json();
    let records = records.as_array().expect("records");
    assert_eq!(records[1]["type"], "damaged");
    assert_eq!(records[1]["line"], 2);
    assert_eq!(records.last().expect("records")["type"], "stop");
    assert!(claw.run(&["session", "show", &ids[0]]).code(0).out.contains("line 2"));
}
