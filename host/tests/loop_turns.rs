//! The loop from prompt to answer, with a model that follows a list.

mod loop_support;

use std::sync::{Arc, OnceLock};

use clawhold::agent::{Agent, AgentError, Budget, Price};
use clawhold::model::{
    Content, Denial, Failure, FailureCode, Outcome, Receipt, Role, StopReason, ToolReply,
};
use clawhold::provider::{Provider, ProviderError, ReplyStop};
use clawhold::tool::{Registry, Tool};
use loop_support::{
    FakeModel, Listener, asks, assert_paired, call, echo, fake, log_of, registry, reply, says,
    sleep,
};
use serde_json::{Value, json};

fn agent(model: &Arc<FakeModel>, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Agent {
    let model: Arc<dyn Provider> = Arc::clone(model) as _;
    Agent::builder(model, registry(tools), ".").build().expect("a good agent")
}

/// A tool that the host refuses to run.
fn forbidden() -> Arc<dyn Tool> {
    fake("forbidden", "w", |_, _| async {
        let denial = Denial {
            what: "write".into(),
            subject: ".git/config".into(),
            reason: "protected".into(),
        };
        let failure = Failure::new(FailureCode::Denied, "denied by the host");
        ToolReply {
            receipt: Receipt { denials: vec![denial], ..Receipt::default() },
            ..ToolReply::failed(Outcome::Denied, failure)
        }
    })
}

#[tokio::test]
async fn req_025_two_turns_with_known_output() {
    let model = FakeModel::new([
        asks("Let me look.", vec![call("c1", "read_file", "{\"path\":\"a\"}")]),
        says("It says a."),
    ]);
    let listener = Arc::new(Listener::default());
    let folder = tempfile::tempdir().expect("a folder");
    let provider: Arc<dyn Provider> = Arc::clone(&model) as _;
    let mut agent = Agent::builder(provider, registry([echo("read_file")]), folder.path())
        .system_prompt("You read.")
        .reporter(Arc::clone(&listener) as _)
        .build()
        .expect("a good agent");
    let report = agent.run("What does a say?").await.expect("a report");
    assert_eq!(
        (report.stop, report.turns, report.answer.as_str()),
        (StopReason::Answered, 2, "It says a.")
    );
    assert_eq!(
        listener.lines(),
        [
            format!("run {} list", folder.path().display()).as_str(),
            "turn 1 2m 1t",
            "text Let me look.",
            "assistant Let me look.",
            "start c1",
            "end c1 done",
            "turn 2 4m 1t",
            "text It says a.",
            "assistant It says a.",
            "stopped Answered",
        ]
    );
    let roles: Vec<Role> = agent.messages().iter().map(|m| m.role).collect();
    assert_eq!(roles, [Role::System, Role::User, Role::Assistant, Role::Tool, Role::Assistant]);
    assert_paired(agent.messages());
}

#[tokio::test]
async fn req_079_a_library_user_needs_little() {
    let provider: Arc<dyn Provider> = FakeModel::new([says("hello")]);
    let report = Agent::builder(provider, Arc::new(Registry::new()), ".")
        .build()
        .expect("a good agent")
        .run("hi")
        .await
        .expect("a report");
    assert_eq!(report.answer, "hello");
}

#[tokio::test]
async fn req_002_no_calls_is_the_end_even_of_an_empty_reply() {
    for (text, stop) in [
        ("done", ReplyStop::Complete),
        ("", ReplyStop::Complete),
        ("ok", ReplyStop::Other("tool_use".into())),
    ] {
        let model = FakeModel::new([reply(text, Vec::new(), stop)]);
        let report = agent(&model, []).run("go").await.expect("a report");
        assert_eq!(
            (report.stop, report.answer.as_str(), report.turns),
            (StopReason::Answered, text, 1)
        );
    }
}

#[tokio::test]
async fn n36_calls_of_a_complete_reply_run_whatever_the_stop_is_called() {
    let model = FakeModel::new([
        reply("", vec![call("c1", "t", "{}")], ReplyStop::Other("end_turn".into())),
        says("ok"),
    ]);
    let report = agent(&model, [echo("t")]).run("go").await.expect("a report");
    assert_eq!(report.tools["t"].calls, 1);
    assert_eq!(report.stop, StopReason::Answered);
}

#[tokio::test]
async fn req_015_tools_are_asked_for_anew_each_turn() {
    let own: Arc<OnceLock<Arc<Registry>>> = Arc::new(OnceLock::new());
    let seen = Arc::clone(&own);
    let adder = fake("adder", "r", move |_, _| {
        let own = Arc::clone(&seen);
        async move {
            own.get().expect("set below").register(echo("added")).expect("a new name");
            ToolReply::text("added")
        }
    });
    let registry = registry([adder]);
    assert!(own.set(Arc::clone(&registry)).is_ok());
    let model = FakeModel::new([asks("", vec![call("1", "adder", "{}")]), says("ok")]);
    let provider: Arc<dyn Provider> = Arc::clone(&model) as _;
    Agent::builder(provider, registry, ".")
        .build()
        .expect("good")
        .run("go")
        .await
        .expect("a report");
    let requests = model.requests.lock().expect("no panic");
    assert_eq!(requests[0].1, ["adder"]);
    assert_eq!(requests[1].1, ["added", "adder"]);
}

#[tokio::test]
async fn req_016_the_reply_is_whole_in_the_log_before_any_tool_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = Arc::new(
        clawhold::journal::Journal::create(folder.path(), folder.path(), "m").expect("a log"),
    );
    let path = journal.path().to_owned();
    let looks = fake("looks", "w", move |_, _| {
        let kinds: Vec<Value> = log_of(&path).iter().map(|record| record["type"].clone()).collect();
        async move { ToolReply::text(json!(kinds).to_string()) }
    });
    let model = FakeModel::new([asks("I look.", vec![call("c1", "looks", "{}")]), says("ok")]);
    let provider: Arc<dyn Provider> = Arc::clone(&model) as _;
    let mut agent = Agent::builder(provider, registry([looks]), folder.path())
        .journal(Arc::clone(&journal))
        .build()
        .expect("good");
    let report = agent.run("go").await.expect("a report");
    assert_eq!(report.session.as_deref(), Some(journal.id().as_str()));
    assert_eq!(
        agent.messages()[2].content,
        "[\"session\",\"user\",\"usage\",\"assistant\",\"call\"]"
    );
    // Requirement 98: everything is there afterwards, each thing once.
    let log = log_of(journal.path());
    let kinds: Vec<&str> = log.iter().filter_map(|record| record["type"].as_str()).collect();
    assert_eq!(
        kinds,
        ["session", "user", "usage", "assistant", "call", "result", "usage", "assistant", "stop"]
    );
    // Requirement 24: name and arguments, then what came of it.
    assert_eq!((&log[4]["name"], &log[4]["arguments"]), (&json!("looks"), &json!("{}")));
    assert_eq!(log[5]["outcome"], "done");
    assert_eq!(log[8]["reason"], "answered");
}

#[tokio::test]
async fn req_019_what_a_tool_says_goes_back_verbatim_with_its_id() {
    let text = "  line\r\n\u{1b}[31m é 目录 \n";
    let odd = fake("odd", "r", move |_, _| async move { ToolReply::text(text) });
    let picture = fake("picture", "r", |_, _| async {
        let bytes = clawhold::model::Payload::Bytes(vec![1, 2, 3]);
        ToolReply::done(vec![Content { mime_type: "image/png".into(), payload: bytes }])
    });
    let model = FakeModel::new([
        asks("", vec![call("a", "odd", "{}"), call("b", "picture", "{}"), call("c", "none", "{}")]),
        says("ok"),
    ]);
    agent(&model, [odd, picture]).run("go").await.expect("a report");
    let sent = model.request(1);
    assert_eq!(sent[2].content, text);
    assert_eq!(
        (sent[2].role, sent[2].tool_call_id.as_deref(), sent[2].is_error),
        (Role::Tool, Some("a"), false)
    );
    assert_eq!((sent[3].attachments.len(), sent[3].is_error), (1, false));
    assert_eq!((sent[4].tool_call_id.as_deref(), sent[4].is_error), (Some("c"), true));
}

#[tokio::test]
async fn req_021_a_failing_service_ends_the_run_with_its_name_and_keeps_the_session() {
    let failure =
        || loop_support::Step::Fail(ProviderError::Unauthorized { status: 401, body: "no".into() });
    let model =
        FakeModel::new([asks("", vec![call("1", "t", "{}")]), failure(), says("back again")]);
    let mut agent = agent(&model, [echo("t")]);
    let report = agent.run("go").await.expect("a report");
    assert_eq!((report.stop, report.turns), (StopReason::ProviderFailed, 2));
    assert!(matches!(report.error, Some(ProviderError::Unauthorized { status: 401, .. })));
    assert_paired(agent.messages());
    let report = agent.run("again").await.expect("a report");
    assert_eq!((report.stop, report.answer.as_str()), (StopReason::Answered, "back again"));
    assert!(report.error.is_none());
}

#[test]
fn req_022_a_working_directory_must_be_one() {
    let provider: Arc<dyn Provider> = FakeModel::new([]);
    let missing =
        Agent::builder(Arc::clone(&provider), Arc::new(Registry::new()), "no/such/folder").build();
    assert!(matches!(missing, Err(AgentError::Workdir { .. })), "{missing:?}");
}

#[tokio::test]
async fn req_042_an_agent_can_be_read_in_debug_form() {
    let model = FakeModel::new([]);
    let shown = format!("{:?}", agent(&model, [echo("t")]));
    assert!(shown.contains("model: \"list\"") && shown.contains("Registry[1: t]"), "{shown}");
}

#[tokio::test]
async fn req_082_the_conversation_goes_on_from_run_to_run() {
    let model = FakeModel::new([says("one"), says("two")]);
    let mut agent = agent(&model, []);
    agent.run("first").await.expect("a report");
    let report = agent.run("second").await.expect("a report");
    assert_eq!(report.turns, 1, "a report is of its own run");
    let texts: Vec<String> = model.request(1).iter().map(|m| m.content.clone()).collect();
    assert_eq!(texts, ["first", "one", "second"]);
}

#[tokio::test]
async fn n16_calls_of_a_reply_cut_at_its_length_never_run() {
    let bomb = fake("bomb", "w", |_, _| async { panic!("must not run") });
    let calls = vec![call("1", "bomb", "{\"path\":\"a"), call("2", "bomb", "{}")];
    let model = FakeModel::new([reply("", calls, ReplyStop::Length), says("shorter now")]);
    let mut agent = agent(&model, [bomb]);
    let report = agent.run("go").await.expect("a report");
    assert_eq!(report.stop, StopReason::Answered);
    assert_eq!((report.tools["bomb"].calls, report.tools["bomb"].failures), (2, 2));
    let told = &model.request(1)[2..];
    assert!(
        told.iter().all(|m| m.content.contains("the reply was cut off") && m.is_error),
        "{told:?}"
    );
    assert_paired(agent.messages());
}

#[tokio::test]
async fn n35_a_service_that_declines_stops_the_loop_cleanly() {
    let model =
        FakeModel::new([reply("I cannot.", vec![call("1", "t", "{}")], ReplyStop::Refusal)]);
    let mut agent = agent(&model, [echo("t")]);
    let report = agent.run("go").await.expect("a report");
    assert_eq!(
        (report.stop, report.answer.as_str(), report.stop.exit_code()),
        (StopReason::Declined, "I cannot.", 5)
    );
    assert_paired(agent.messages());
}

#[tokio::test]
async fn n20_repeated_and_missing_ids_become_unique_and_pair() {
    let model = FakeModel::new([
        asks(
            "",
            vec![
                call("x", "t", "{\"path\":\"1\"}"),
                call("x", "t", "{\"path\":\"2\"}"),
                call("", "t", "{\"path\":\"3\"}"),
            ],
        ),
        asks("", vec![call("x", "t", "{\"path\":\"4\"}")]),
        says("ok"),
    ]);
    let mut agent = agent(&model, [echo("t")]);
    let report = agent.run("go").await.expect("a report");
    assert_eq!(report.tools["t"].calls, 4);
    assert_paired(agent.messages());
    let results: Vec<&str> = agent
        .messages()
        .iter()
        .filter(|m| m.role == Role::Tool)
        .map(|m| m.content.as_str())
        .collect();
    assert_eq!(
        results,
        ["{\"path\":\"1\"}", "{\"path\":\"2\"}", "{\"path\":\"3\"}", "{\"path\":\"4\"}"]
    );
    let mut ids: Vec<&str> =
        agent.messages().iter().flat_map(|m| &m.tool_calls).map(|c| c.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 4);
}

#[tokio::test]
async fn n21_two_hundred_calls_in_one_reply_pair_too() {
    let calls = (0..200).map(|i| call(&format!("c{i}"), "t", "{}")).collect();
    let model = FakeModel::new([asks("", calls), says("ok")]);
    let mut agent = agent(&model, [echo("t")]);
    let report = agent.run("go").await.expect("a report");
    assert_eq!((report.tools["t"].calls, report.tools["t"].failures), (200, 136));
    assert_paired(agent.messages());
}

#[tokio::test]
async fn a_refusal_counts_until_a_call_succeeds() {
    let no = || call("", "forbidden", "{}");
    let yes = || call("", "t", "{}");
    for (replies, expect) in [
        (vec![vec![no()]], StopReason::Refused),
        (vec![vec![yes()], vec![no()]], StopReason::Refused),
        (vec![vec![no()], vec![yes()]], StopReason::Answered),
        (vec![vec![yes(), no()]], StopReason::Refused),
        // A call that merely fails is no success, so the refusal still stands.
        (vec![vec![no()], vec![call("", "unknown", "{}")]], StopReason::Refused),
        (vec![vec![call("", "unknown", "{}")]], StopReason::Answered),
    ] {
        let shown = format!("{replies:?}");
        let steps = replies.into_iter().map(|calls| asks("", calls)).chain([says("I stop.")]);
        let report = agent(&FakeModel::new(steps), [forbidden(), echo("t")])
            .run("go")
            .await
            .expect("a report");
        assert_eq!(report.stop, expect, "{shown}");
    }
}

#[tokio::test]
async fn the_report_is_the_json_of_claw_run() {
    let writes = fake("write_file", "w", |arguments, _| async move {
        let path = arguments["path"].as_str().unwrap_or_default().to_owned();
        let created = if path == "new" { vec![path.clone()] } else { Vec::new() };
        ToolReply {
            receipt: Receipt { writes: vec![path], created, ..Receipt::default() },
            ..ToolReply::text("ok")
        }
    });
    let model = FakeModel::new([
        asks(
            "",
            vec![
                call("1", "write_file", "{\"path\":\"new\"}"),
                call("2", "write_file", "{\"path\":\"old\"}"),
            ],
        ),
        asks("", vec![call("3", "forbidden", "{}")]),
        says("Done."),
    ]);
    let provider: Arc<dyn Provider> = model;
    let mut agent = Agent::builder(provider, registry([writes, forbidden()]), ".")
        .price(Some(Price { input: 1.0, cached: 0.0, output: 10.0 }))
        .build()
        .expect("good");
    let report = agent.run("go").await.expect("a report");
    let mut shown = serde_json::to_value(&report).expect("JSON");
    for name in ["write_file", "forbidden"] {
        shown["tools"][name]["ms"] = json!(0);
    }
    let cost = shown["cost"].as_f64().expect("a number");
    assert!((cost - 0.00045).abs() < 1e-12, "{cost}");
    shown["cost"] = json!("checked");
    assert_eq!(
        shown,
        json!({
            "session": null, "stop": "refused", "answer": "Done.", "turns": 3,
            "usage": {"input": 300, "output": 30, "cached": 150}, "cost": "checked",
            "tools": {"forbidden": {"calls": 1, "failures": 1, "ms": 0}, "write_file": {"calls": 2, "failures": 0, "ms": 0}},
            "denials": [{"what": "write", "subject": ".git/config", "reason": "protected"}],
            "files": {"changed": ["old"], "created": ["new"], "removed": []},
        })
    );
}

#[tokio::test]
async fn a_run_whose_future_was_dropped_leaves_a_conversation_to_go_on_from() {
    let hangs = fake("hangs", "w", |_, _| std::future::pending());
    let model = FakeModel::new([asks("", vec![call("1", "hangs", "{}")]), says("ok")]);
    let mut agent = agent(&model, [hangs]);
    tokio::select! {
        _ = agent.run("go") => panic!("it hangs"),
        () = sleep(30) => {}
    }
    let report = agent.run("again").await.expect("a report");
    assert_eq!(report.answer, "ok");
    assert_paired(agent.messages());
    assert!(model.request(1)[2].content.contains("outcome unknown"));
}

#[tokio::test]
async fn req_005_the_loop_itself_has_no_ceiling() {
    let steps =
        (0..250).map(|i| asks("", vec![call(&i.to_string(), "t", "{}")])).chain([says("ok")]);
    let provider: Arc<dyn Provider> = FakeModel::new(steps);
    let budget = Budget { turns: 0, ..Budget::default() };
    let mut agent =
        Agent::builder(provider, registry([echo("t")]), ".").budget(budget).build().expect("good");
    assert_eq!(agent.run("go").await.expect("a report").turns, 251);
}
