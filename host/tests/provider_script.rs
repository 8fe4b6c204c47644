//! The provider that plays a file.

#![allow(clippy::unwrap_used)]

mod provider_support;

use clawhold::model::{Message, Usage};
use clawhold::provider::{Provider, ProviderError, ReplyStop, ScriptProvider};
use provider_support::{ask, ask_with};

#[tokio::test]
async fn req_025_a_script_is_played_line_by_line() {
    let script = concat!(
        "\u{feff}{\"reasoning\":\"hm\",\"text\":\"looking\",\"tool_calls\":[{\"name\":\"read_file\",\"arguments\":{\"path\":\"a\"}}]}\r\n",
        "\n  \n",
        r#"{"text":"done","usage":{"input":7,"output":2},"stop":"length"}"#,
    );
    let provider = ScriptProvider::from_lines("demo.jsonl", script).unwrap();
    assert_eq!(
        (provider.name(), provider.model(), provider.remaining()),
        ("script", "demo.jsonl", 2)
    );
    let asked = ask(&provider).await;
    assert_eq!(asked.shown, ["reasoning:hm", "text:looking"]);
    let first = asked.reply().message.clone();
    assert_eq!(first.tool_calls[0].arguments, r#"{"path":"a"}"#);
    assert_eq!(first.tool_calls[0].id, "call00001");
    assert_eq!(first.vendor, None);
    let asked = ask_with(
        &provider,
        &[Message::user("u"), first, Message::tool("call00001", "r", false)],
        &[],
    )
    .await;
    assert_eq!(asked.reply().message, Message::assistant("done"));
    assert_eq!(asked.reply().usage, Usage { input: 7, output: 2, cached: 0 });
    assert_eq!(asked.reply().stop, ReplyStop::Length);
    let asked = ask(&provider).await;
    assert_eq!(asked.error(), &ProviderError::ScriptExhausted { lines: 2 });
    assert!(asked.error().to_string().starts_with("script exhausted"));
}

#[tokio::test]
async fn n20_ids_of_a_script_are_unique_in_the_conversation() {
    let line = r#"{"tool_calls":[{"id":"c1","name":"t"},{"id":"c1","name":"t"},{"name":"t"}]}"#;
    let provider = ScriptProvider::from_lines("s", &format!("{line}\n{line}\n")).unwrap();
    let ids = |message: &Message| {
        message.tool_calls.iter().map(|call| call.id.clone()).collect::<Vec<_>>()
    };
    let first = ask(&provider).await.reply().message.clone();
    assert_eq!(ids(&first), ["c1", "call00001", "call00002"]);
    let second = ask_with(&provider, &[first], &[]).await.reply().message.clone();
    assert_eq!(ids(&second), ["call00004", "call00005", "call00006"]);
}

#[tokio::test]
async fn a_script_says_what_it_expected_and_did_not_find() {
    let line = |text: &str| format!(r#"{{"expect":{{"contains":["{text}"]}}}}"#);
    let play = async |wanted: &str, messages: &[Message]| {
        let provider =
            ScriptProvider::from_lines("s.jsonl", &format!("\n{}", line(wanted))).unwrap();
        ask_with(&provider, messages, &[]).await.reply.map(|_| ())
    };
    let first = [Message::system("the system"), Message::user("the task")];
    assert_eq!(play("the system", &first).await, Ok(()));
    assert_eq!(play("the task", &first).await, Ok(()));
    let later = [
        Message::user("the task"),
        Message::assistant("old words"),
        Message::tool("c1", "one result", false),
        Message::tool("c2", "another", false),
    ];
    assert_eq!(play("one result", &later).await, Ok(()));
    assert_eq!(play("another", &later).await, Ok(()));
    for missing in ["the task", "old words", "no such"] {
        let error = play(missing, &later).await.unwrap_err();
        let want = format!(
            "script `s.jsonl`, line 2: expected `{missing}` in the newest messages, and none has it"
        );
        assert_eq!(error.to_string(), want);
    }
}

#[test]
fn a_bad_line_is_named_with_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("demo.jsonl");
    std::fs::write(&path, "{}\n\n{\"texts\":\"a\"}\n").unwrap();
    let error = ScriptProvider::open(&path).unwrap_err().to_string();
    let want =
        format!("script `{}`, line 3: unknown key `texts`; did you mean `text`?", path.display());
    assert_eq!(error, want);

    let missing = directory.path().join("none.jsonl");
    let error = ScriptProvider::open(&missing).unwrap_err();
    assert!(
        matches!(&error, ProviderError::ScriptUnreadable { file, .. } if *file == missing.display().to_string())
    );
    std::fs::write(&path, b"{\"text\":\"\xff\"}").unwrap();
    assert!(matches!(ScriptProvider::open(&path), Err(ProviderError::ScriptUnreadable { .. })));
}

#[tokio::test]
async fn an_empty_script_is_exhausted_at_once() {
    let provider = ScriptProvider::from_lines("s", "\n\n").unwrap();
    assert_eq!(ask(&provider).await.error(), &ProviderError::ScriptExhausted { lines: 0 });
}
