//! What the session log holds, and what it refuses to.

mod loop_support;

use std::path::Path;

use clawhold::journal::{Entry, Journal, JournalError, MAX_RECORD, Record, latest, list, read};
use clawhold::model::{
    Content, Effects, Failure, FailureCode, Message, Outcome, Payload, StopReason, ToolReply,
    Usage, VendorExtras,
};
use loop_support::{call, log_of};
use serde_json::json;

fn new(folder: &Path) -> Journal {
    Journal::create(folder, Path::new("/w"), "p/m").expect("a log")
}

fn result(text: impl Into<String>) -> Entry {
    Entry::Result { id: "c1".into(), name: "t".into(), ms: 1, reply: ToolReply::text(text) }
}

/// One of each kind.
fn entries() -> Vec<Entry> {
    let mut message = Message::assistant("hm");
    message.reasoning = Some(String::new());
    message.tool_calls = vec![call("c1", "t", "{\"a\": 1,")];
    let fields = json!({"signature": "s"}).as_object().cloned().unwrap_or_default();
    message.vendor = Some(VendorExtras { provider: "p".into(), fields });
    let mut reply = ToolReply::failed(
        Outcome::Interrupted { after_ms: 5 },
        Failure::new(FailureCode::Other("odd".into()), "no").hint("try"),
    );
    reply.content = vec![
        Content::text("é\n"),
        Content { mime_type: "image/png".into(), payload: Payload::Bytes(vec![0, 255]) },
        Content { mime_type: "text/html".into(), payload: Payload::Link("x:y".into()) },
    ];
    reply.structured = Some(json!({"n": 1.5}));
    reply.receipt.writes = vec!["a".into()];
    vec![
        Entry::User { text: "go".into() },
        Entry::assistant(&message),
        Entry::Call {
            id: "c1".into(),
            name: "t".into(),
            arguments: "{".into(),
            turn: 1,
            effects: Effects::READ_ONLY,
        },
        Entry::Decision {
            id: "c1".into(),
            verdict: "ask".into(),
            by: "rule 1".into(),
            reason: "why".into(),
        },
        Entry::Result { id: "c1".into(), name: "t".into(), ms: 3, reply },
        Entry::Note { text: "n".into() },
        Entry::Usage {
            turn: 1,
            ms: 2,
            usage: Usage { input: 3, output: 2, cached: 1 },
            cost: Some(0.5),
        },
        Entry::Stop { reason: StopReason::Answered, error: None },
    ]
}

#[test]
fn req_098_every_kind_of_record_comes_back_as_it_went_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = new(folder.path());
    for entry in entries() {
        journal.append(&entry).expect("room");
    }
    let records: Vec<Record> =
        read(journal.path()).expect("a log").map(|r| r.expect("whole")).collect();
    assert!(records.iter().enumerate().all(|(i, record)| record.seq == i as u64));
    assert!(matches!(&records[0].entry, Entry::Session { format: 1, model, .. } if model == "p/m"));
    let back: Vec<Entry> = records.into_iter().skip(1).map(|record| record.entry).collect();
    assert_eq!(back, entries());
}

#[test]
fn a_log_of_a_later_version_can_be_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = new(folder.path());
    let path = journal.path().to_owned();
    let mut text = std::fs::read_to_string(&path).expect("a log");
    text.push_str("{\"seq\":1,\"time\":\"\",\"type\":\"novelty\",\"x\":[1]}\n");
    std::fs::write(&path, text).expect("written");
    let last = read(&path).expect("a log").last().expect("records").expect("whole");
    assert_eq!(last.entry, Entry::Unknown);
}

#[cfg(unix)]
#[test]
fn req_099_the_log_is_for_its_owner_only_and_named_by_its_time() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let sessions = folder.path().join("new/sessions");
    let journal = new(&sessions);
    let mode = |path: &Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode(journal.path()), mode(&sessions)), (0o600, 0o700));
    let attachments = journal.folder().expect("made");
    assert_eq!(
        (attachments.file_name(), mode(&attachments)),
        (Some(journal.id().as_str().as_ref()), 0o700)
    );
    assert_eq!(journal.path().parent(), Some(sessions.as_path()));
}

#[test]
fn c20_a_result_too_long_for_a_record_is_clipped_with_a_note() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = new(folder.path());
    // Control characters take six bytes each in JSON, the worst there is.
    for text in ["x".repeat(100_000_000), "\u{1}".repeat(4_000_000), "目".repeat(9_000_000)] {
        journal.append(&result(text)).expect("clipped, not refused");
    }
    let records: Vec<Record> =
        read(journal.path()).expect("a log").map(|r| r.expect("whole")).collect();
    for record in &records[1..] {
        let Entry::Result { reply, .. } = &record.entry else { panic!("a result") };
        assert!(reply.observation().contains("bytes left out"));
    }
    let long = Entry::User { text: "x".repeat(MAX_RECORD) };
    assert!(matches!(journal.append(&long), Err(JournalError::TooLong { .. })));
    journal.append(&result("short")).expect("a refusal breaks nothing");
    assert_eq!(log_of(journal.path()).len(), 5);
}

#[test]
fn c20_what_is_no_record_is_an_error_of_its_line_and_no_more() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = new(folder.path());
    let path = journal.path().to_owned();
    let mut bytes = std::fs::read(&path).expect("a log");
    let good = "{\"seq\":1,\"time\":\"\",\"type\":\"note\",\"text\":\"good\"}\n";
    bytes.extend_from_slice(b"{\"seq\":1,\"time\":\"\xff\"}\n");
    bytes.extend(std::iter::repeat_n(b'x', 40_000_000));
    bytes.push(b'\n');
    bytes.extend_from_slice(good.as_bytes());
    bytes.extend("[".repeat(1_000_000).bytes());
    bytes.push(b'\n');
    bytes.extend_from_slice(good.as_bytes());
    std::fs::write(&path, bytes).expect("written");
    let shown: Vec<String> = read(&path)
        .expect("a log")
        .map(|record| match record {
            Ok(record) => record.seq.to_string(),
            Err(error) => {
                assert!(error.to_string().len() < 600, "{error}");
                format!(
                    "line {}: {}",
                    error.line,
                    error.cause.split(':').next().unwrap_or_default()
                )
            }
        })
        .collect();
    assert_eq!(
        shown,
        [
            "0",
            "line 2: not UTF-8",
            "line 3: longer than 16777216 bytes",
            "1",
            "line 5: not a record",
            "1"
        ]
    );
}

#[test]
fn c19_a_long_session_is_read_in_seconds() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = new(folder.path());
    let (path, id) = (journal.path().to_owned(), journal.id().clone());
    drop(journal);
    let filler = "x".repeat(400);
    let mut lines = vec![std::fs::read_to_string(&path).expect("a log")];
    lines.extend((1..=100_000).map(|seq| {
        format!("{{\"seq\":{seq},\"time\":\"t\",\"type\":\"note\",\"text\":\"{filler}\"}}\n")
    }));
    std::fs::write(&path, lines.concat()).expect("written");
    let begun = std::time::Instant::now();
    assert_eq!(read(&path).expect("a log").flatten().count(), 100_001);
    let (_, resumed) = Journal::resume(folder.path(), &id).expect("resumable");
    assert!(resumed.messages.is_empty());
    assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
}

#[test]
fn n44_known_secrets_do_not_reach_the_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = "sk-CANARY\"with\\odd";
    let journal = new(folder.path()).with_redactions(vec![secret.into()]);
    let arguments = json!({ "token": secret }).to_string();
    let mut message = Message::assistant(format!("I saw {secret}."));
    message.tool_calls = vec![call("c1", "t", &arguments)];
    journal.append(&Entry::User { text: secret.into() }).expect("room");
    journal.append(&Entry::assistant(&message)).expect("room");
    journal.append(&result(format!("KEY={secret}\n"))).expect("room");
    let text = std::fs::read_to_string(journal.path()).expect("a log");
    assert!(!text.contains("CANARY"), "{text}");
    assert_eq!(text.matches("[redacted]").count(), 4);
    assert_eq!(log_of(journal.path()).len(), 4, "every line is still a record");
}

#[test]
fn sessions_are_listed_newest_first_whatever_else_lies_there() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(list(&folder.path().join("missing")).expect("none").is_empty());
    std::fs::write(folder.path().join("20000101-000000-aaaaaa.jsonl"), "not a log\n")
        .expect("written");
    std::fs::write(folder.path().join("notes.jsonl"), "{}").expect("written");
    let journal = new(folder.path());
    journal.append(&Entry::User { text: "fix\nit".into() }).expect("room");
    let sessions = list(folder.path()).expect("listed");
    assert_eq!(sessions.len(), 2);
    assert_eq!(
        (sessions[0].session.as_str(), sessions[0].prompt.as_str()),
        (journal.id().as_str(), "fix\\nit")
    );
    assert_eq!(
        (sessions[0].workdir.as_path(), sessions[0].model.as_str()),
        (Path::new("/w"), "p/m")
    );
    assert!(sessions[0].problem.is_none() && sessions[1].problem.is_some());
    assert_eq!(latest(folder.path(), Path::new("/w")).expect("read").as_ref(), Some(journal.id()));
    assert_eq!(latest(folder.path(), Path::new("/elsewhere")).expect("read"), None);
}
