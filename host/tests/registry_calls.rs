//! The registry as a library user sees it: from a call to its result, whatever the call is like.

mod loop_support;

use std::sync::Arc;

use clawhold::model::{FailureCode, Outcome, ToolReply};
use clawhold::tool::{CallContext, PathScope, RegisterError, Registry};
use loop_support::{call, echo, fake, fake_with, registry};
use serde_json::{Value, json};

async fn run(registry: &Registry, name: &str, arguments: &str) -> ToolReply {
    registry.execute(&call("c1", name, arguments), &CallContext::detached("c1")).await
}

#[tokio::test]
async fn req_038_tools_come_and_go_while_it_runs() {
    let registry = registry([echo("b")]);
    let before = registry.definitions();
    registry.register(echo("a")).expect("a new name");
    let names: Vec<String> = registry.definitions().iter().map(|spec| spec.name.clone()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(before.len(), 1, "an answer given does not change");
    assert!(registry.remove("b"));
    assert!(!registry.remove("b"));
    assert_eq!(run(&registry, "b", "{}").await.outcome, Outcome::Failed);
    assert_eq!(run(&registry, "a", "{}").await.outcome, Outcome::Done);
}

#[test]
fn d16_the_order_of_tools_is_the_same_each_time() {
    let names = ["write_file", "glob", "edit_file", "list_dir", "grep", "read_file"];
    let forward = registry(names.map(echo));
    let mut reversed = names;
    reversed.reverse();
    let backward = registry(reversed.map(echo));
    assert_eq!(forward.definitions(), backward.definitions());
    assert!(forward.definitions().is_sorted_by_key(|spec| spec.name.clone()));
    assert!(Arc::ptr_eq(&forward.definitions(), &forward.definitions()), "made once");
}

#[test]
fn req_038_a_name_is_taken_once_and_must_suit_every_service() {
    let registry = registry([echo("a")]);
    assert_eq!(registry.register(echo("a")), Err(RegisterError::NameTaken { name: "a".into() }));
    assert_eq!(registry.replace(echo("a")), Ok(()));
    for name in ["", "a b", "a.b", "é", "a\nb", &"x".repeat(65)] {
        assert!(
            matches!(registry.register(echo(name)), Err(RegisterError::BadName { .. })),
            "{name}"
        );
    }
}

#[test]
fn req_042_its_debug_form_can_be_read() {
    assert_eq!(format!("{:?}", registry([echo("b"), echo("a")])), "Registry[2: a, b]");
}

#[tokio::test]
async fn n19_an_unknown_tool_is_an_error_and_nothing_runs_in_its_place() {
    let registry = registry([echo("read_file"), echo("grep")]);
    for name in ["READ_FILE", "readfile", "read_file ", "read_file\"; rm -rf /", "", "launch"] {
        let reply = run(&registry, name, "{}").await;
        assert_eq!(reply.outcome, Outcome::Failed, "{name}");
        assert_eq!(reply.failure.as_ref().map(|f| f.code.clone()), Some(FailureCode::NotFound));
    }
    let close = run(&registry, "readfile", "{}").await.observation();
    assert!(
        close.contains("there is no tool named `readfile`") && close.contains("`read_file`"),
        "{close}"
    );
    let hidden = run(&registry, "a\u{1b}[31m", "{}").await.observation();
    assert!(!hidden.contains('\u{1b}'), "{hidden}");
}

#[tokio::test]
async fn n17_arguments_that_are_not_json_are_an_error_and_never_run() {
    let registry = registry([fake("t", "w", |_, _| async { panic!("must not run") })]);
    let deep = format!("{{\"path\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    for arguments in [
        "{\"path\":\"a\",}",
        "{'path':'a'}",
        "{\"limit\":NaN}",
        "{\"path\":\"a\",\"path\":\"b\"}",
        "{\"limit\":1e999}",
        "{\"path\":\"\\ud800\"}",
        "{\"path\":\"a",
        "{\"path\":",
        "{",
        deep.as_str(),
    ] {
        let reply = run(&registry, "t", arguments).await;
        assert_eq!(reply.outcome, Outcome::Failed);
        let shown = reply.observation();
        assert!(shown.contains("invalid JSON"), "{shown}");
        assert!(shown.contains("line 1 column"), "{shown}");
    }
}

#[tokio::test]
async fn n15_nothing_is_no_arguments_only_where_none_are_needed() {
    let needs =
        json!({"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}});
    let registry = registry([
        echo("free"),
        fake_with("needs", "r", needs, |_, _| async { ToolReply::text("ran") }),
    ]);
    assert_eq!(run(&registry, "free", "").await.observation(), "{}");
    assert_eq!(run(&registry, "free", " \n").await.observation(), "{}");
    let reply = run(&registry, "needs", "").await;
    assert_eq!(reply.outcome, Outcome::Failed);
    assert!(reply.observation().contains("path (string, required)"), "{}", reply.observation());
}

#[tokio::test]
async fn req_097_almost_right_is_right() {
    let registry = registry([echo("t")]);
    for (given, got) in [
        ("{\"limit\":2.0}", "{\"limit\":2}"),
        ("{\"limit\":\"2\"}", "{\"limit\":2}"),
        ("{\"limit\":null,\"path\":\"a\"}", "{\"path\":\"a\"}"),
        ("\"{\\\"path\\\":\\\"a\\\"}\"", "{\"path\":\"a\"}"),
    ] {
        assert_eq!(run(&registry, "t", given).await.observation(), got, "{given}");
    }
}

#[tokio::test]
async fn req_056_a_bad_argument_names_the_property() {
    let registry = registry([echo("t")]);
    for (given, expect) in [
        ("{\"limit\":0}", "`limit`: got 0, expected at least 1"),
        ("{\"limit\":[]}", "`limit`: got [], expected a value of type integer"),
        ("{\"paht\":\"a\"}", "`paht` is not known; did you mean `path`?"),
        ("[]", "the arguments: got []"),
    ] {
        let reply = run(&registry, "t", given).await;
        assert_eq!(
            reply.failure.as_ref().map(|f| f.code.clone()),
            Some(FailureCode::InvalidArguments)
        );
        assert!(reply.observation().contains(expect), "{given}: {}", reply.observation());
    }
}

#[tokio::test]
async fn req_034_a_panic_is_that_calls_error() {
    let registry = registry([fake("t", "r", |_, _| async { panic!("oh \u{1b}no") })]);
    let reply = run(&registry, "t", "{}").await;
    assert_eq!(reply.outcome, Outcome::Failed);
    assert_eq!(
        reply.failure.map(|f| (f.code, f.message)),
        Some((FailureCode::Internal, "the tool `t` panicked: oh \\x1bno".into()))
    );
}

#[cfg(unix)]
#[tokio::test]
async fn req_090_an_absolute_path_inside_is_rewritten_and_one_outside_denied() {
    let registry = Registry::new().with_paths(PathScope::new("/w".into(), Vec::new(), Vec::new()));
    registry.register(echo("t")).expect("a new name");
    assert_eq!(run(&registry, "t", "{\"path\":\"/w/a\"}").await.observation(), "{\"path\":\"a\"}");
    let reply = run(&registry, "t", "{\"path\":\"/etc/passwd\"}").await;
    assert_eq!(reply.outcome, Outcome::Denied);
    assert_eq!(reply.receipt.denials.len(), 1);
    assert!(reply.observation().contains("relative to the working directory"));
}

#[tokio::test]
async fn a_call_finishes_on_the_tool_that_it_began_with() {
    let registry = registry([fake("t", "r", |_, _| async {
        loop_support::sleep(30).await;
        ToolReply::text("old")
    })]);
    let under_way = {
        let registry = Arc::clone(&registry);
        tokio::spawn(async move { run(&registry, "t", "{}").await })
    };
    loop_support::sleep(5).await;
    registry.replace(fake("t", "r", |_, _| async { ToolReply::text("new") })).expect("a good name");
    assert_eq!(under_way.await.expect("no panic").observation(), "old");
    assert_eq!(run(&registry, "t", "{}").await.observation(), "new");
}

#[test]
fn the_definitions_hold_what_tools_say() {
    let registry = registry([echo("t")]);
    let spec = serde_json::to_value(&registry.definitions()[0]).expect("JSON");
    assert_eq!(spec["name"], "t");
    assert_eq!(spec["input_schema"]["type"], Value::from("object"));
}
