//! The session log after crashes of every kind.

#![cfg(unix)]

mod loop_support;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use clawhold::agent::{Agent, AgentError};
use clawhold::journal::{Entry, Journal, JournalError, SessionId, read};
use clawhold::model::{Effects, Message, Role, ToolReply};
use clawhold::provider::Provider;
use loop_support::{FakeModel, asks, assert_paired, call, fake, log_of, registry, says};

/// A session in which the user spoke twice; its file and its name.
fn session(folder: &Path) -> (PathBuf, SessionId) {
    let journal = Journal::create(folder, Path::new("/w"), "p/m").expect("a log");
    for text in ["first", "second"] {
        journal.append(&Entry::User { text: text.into() }).expect("room");
    }
    (journal.path().to_owned(), journal.id().clone())
}

fn texts(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| message.content.as_str()).collect()
}

/// Resumes and appends, then gives back the user's texts of a second resume.
fn resume_and_append(folder: &Path, id: &SessionId) -> Vec<String> {
    let (journal, _) = Journal::resume(folder, id).expect("resumable");
    journal.append(&Entry::User { text: "third".into() }).expect("room");
    drop(journal);
    let (_, resumed) = Journal::resume(folder, id).expect("resumable");
    assert_eq!(resumed.torn_bytes, 0, "mended once");
    resumed.messages.into_iter().map(|message| message.content).collect()
}

#[test]
fn c01_a_log_cut_at_every_byte_of_its_last_record_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, id) = session(folder.path());
    let whole = std::fs::read(&path).expect("a log");
    let last = whole[..whole.len() - 1].iter().rposition(|b| *b == b'\n').expect("lines") + 1;
    let corrupt = path.with_extension("corrupt");
    for cut in last..whole.len() {
        std::fs::write(&path, &whole[..cut]).expect("written");
        let _ = std::fs::remove_file(&corrupt);
        let expect = if cut == whole.len() - 1 {
            // Requirement C05: only the newline is missing, so nothing is lost.
            vec!["first", "second", "third"]
        } else {
            vec!["first", "third"]
        };
        assert_eq!(resume_and_append(folder.path(), &id), expect, "cut at {cut}");
        let saved = std::fs::read(&corrupt).unwrap_or_default();
        let torn = if cut == last || cut == whole.len() - 1 { &[][..] } else { &whole[last..cut] };
        assert!(saved.starts_with(torn) && saved.len() <= torn.len() + 1, "cut at {cut}");
        assert!(torn.is_empty() == saved.is_empty(), "cut at {cut}");
    }
}

#[test]
fn c02_a_torn_line_with_blank_ones_after_it_is_torn_all_the_same() {
    for end in ["\n", "\n\n", "\r\n \n", "\0\0\0\0"] {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, id) = session(folder.path());
        let mut file = std::fs::OpenOptions::new().append(true).open(&path).expect("a log");
        write!(file, "{{\"seq\":3,\"time\":\"2026{end}").expect("written");
        assert_eq!(resume_and_append(folder.path(), &id), ["first", "second", "third"], "{end:?}");
    }
    // Blank lines after a whole record are no damage.
    let folder = tempfile::tempdir().expect("a folder");
    let (path, id) = session(folder.path());
    std::fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .and_then(|mut f| f.write_all(b"\n\n"))
        .expect("written");
    assert_eq!(resume_and_append(folder.path(), &id), ["first", "second", "third"]);
    assert!(!path.with_extension("corrupt").exists());
}

#[test]
fn c04_damage_in_the_middle_is_refused_by_name_and_shown_leniently() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, id) = session(folder.path());
    let whole = std::fs::read_to_string(&path).expect("a log");
    let lines: Vec<&str> = whole.lines().collect();
    let fused = format!("{}\n{}{}\n{}\n", lines[0], lines[1], lines[1], lines[2]);
    let flipped = whole.replacen("first", "fi\"st", 1);
    let repeated = format!("{}\n{}\n{}\n{}\n", lines[0], lines[1], lines[1], lines[2]);
    for (damaged, line, shown) in [(fused, 2, 2), (flipped, 2, 2), (repeated, 3, 4)] {
        std::fs::write(&path, &damaged).expect("written");
        let error = Journal::resume(folder.path(), &id).expect_err("damaged");
        assert!(matches!(&error, JournalError::Damaged(e) if e.line == line), "{error}");
        assert_eq!(std::fs::read_to_string(&path).expect("a log"), damaged, "left as it was");
        assert_eq!(read(&path).expect("a log").flatten().count(), shown);
    }
    for (broken, expect) in [
        (lines[1..].join("\n") + "\n", "the header is missing"),
        (whole.replacen("\"format\":1", "\"format\":2", 1), "format 2 is newer"),
        (String::new(), "empty"),
    ] {
        std::fs::write(&path, broken).expect("written");
        let error = Journal::resume(folder.path(), &id).expect_err("no session").to_string();
        assert!(error.contains(expect), "{error}");
    }
}

/// The log of a reply with three calls, of which the first has its result and the second began.
fn killed_between_intent_and_result(folder: &Path) -> SessionId {
    let journal = Journal::create(folder, Path::new("/w"), "p/m").expect("a log");
    let mut message = Message::assistant("on it");
    message.tool_calls =
        vec![call("a", "write_file", "{}"), call("b", "write_file", "{}"), call("c", "grep", "{}")];
    let intent = |id: &str| Entry::Call {
        id: id.into(),
        name: "write_file".into(),
        arguments: "{}".into(),
        turn: 1,
        effects: Effects::default(),
    };
    let reply = ToolReply::text("written");
    for entry in [
        Entry::User { text: "go".into() },
        Entry::assistant(&message),
        intent("a"),
        intent("b"),
        Entry::Result { id: "a".into(), name: "write_file".into(), ms: 1, reply },
    ] {
        journal.append(&entry).expect("room");
    }
    journal.id().clone()
}

#[test]
fn c07_c09_calls_without_results_get_one_and_only_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let id = killed_between_intent_and_result(folder.path());
    let (journal, resumed) = Journal::resume(folder.path(), &id).expect("resumable");
    assert_paired(&resumed.messages);
    assert_eq!(resumed.interrupted, ["write_file", "grep"]);
    let shown = texts(&resumed.messages);
    assert_eq!(shown[2], "written", "a recorded result is the one that is sent");
    assert!(shown[3].contains("interrupted; outcome unknown"), "{}", shown[3]);
    assert!(shown[4].contains("before it started"), "{}", shown[4]);
    let after_once = log_of(journal.path());
    drop(journal);
    let (journal, again) = Journal::resume(folder.path(), &id).expect("resumable");
    assert_eq!(again.messages, resumed.messages);
    assert!(again.interrupted.is_empty());
    assert_eq!(log_of(journal.path()), after_once);
}

#[tokio::test]
async fn n46_what_a_resumed_session_holds_is_never_run_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let id = killed_between_intent_and_result(folder.path());
    let (journal, resumed) = Journal::resume(folder.path(), &id).expect("resumable");
    let bomb = || fake("write_file", "w", |_, _| async { panic!("must not run again") });
    let model = FakeModel::new([says("I looked: all is well.")]);
    let provider: Arc<dyn Provider> = Arc::clone(&model) as _;
    let mut agent = Agent::builder(provider, registry([bomb()]), folder.path())
        .history(resumed.messages)
        .journal(Arc::new(journal))
        .build()
        .expect("good");
    let report = agent.run("go on").await.expect("a report");
    assert!(report.tools.is_empty());
    assert_paired(&model.request(0));
    assert_eq!(model.request(0).iter().filter(|m| m.role == Role::Tool).count(), 3);
}

#[test]
fn c17_only_a_regular_file_of_ones_own_is_a_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, id) = session(folder.path());
    let aside = folder.path().join("aside");
    std::fs::rename(&path, &aside).expect("moved");
    let refused = |what: &str| {
        for error in [Journal::resume(folder.path(), &id).map(drop), read(&path).map(drop)] {
            let error = error.expect_err(what);
            assert!(
                matches!(&error, JournalError::NotOurs { what: w, .. } if w.contains(what)),
                "{what}: {error}"
            );
        }
    };
    std::os::unix::fs::symlink(&aside, &path).expect("linked");
    refused("symlink");
    std::fs::remove_file(&path).expect("removed");
    std::fs::create_dir(&path).expect("made");
    refused("folder");
    std::fs::remove_dir(&path).expect("removed");
    assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
    refused("pipe");
    std::fs::remove_file(&path).expect("removed");
    // Only root may give a file away; for others the rest of this test has no subject.
    std::fs::copy(&aside, &path).expect("copied");
    if std::os::unix::fs::chown(&path, Some(12345), None).is_ok() {
        refused("somebody else");
    }
    let missing = SessionId::parse("20000101-000000-abcdef").expect("a name");
    assert!(matches!(
        Journal::resume(folder.path(), &missing),
        Err(JournalError::NoSession { .. })
    ));
}

#[test]
fn c15_a_second_writer_is_kept_away_and_a_dead_one_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = Journal::create(folder.path(), Path::new("/w"), "p/m").expect("a log");
    let id = journal.id().clone();
    assert!(matches!(Journal::resume(folder.path(), &id), Err(JournalError::Locked { .. })));
    assert_eq!(read(journal.path()).expect("reading needs no lock").count(), 1);
    drop(journal);
    assert!(Journal::resume(folder.path(), &id).is_ok());
}

#[test]
fn c16_no_child_inherits_the_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = Journal::create(folder.path(), Path::new("/w"), "p/m").expect("a log");
    let name = journal.id().to_string();
    let output = Command::new("sh")
        .args(["-c", "ls -l /proc/self/fd/ /proc/$$/fd/ 2>&1"])
        .output()
        .expect("sh");
    assert!(!String::from_utf8_lossy(&output.stdout).contains(&name));
    // The child outlives the journal, and holds no lock.
    let mut child = Command::new("sleep").arg("5").stdout(Stdio::null()).spawn().expect("sleep");
    let id = journal.id().clone();
    drop(journal);
    let resumed = Journal::resume(folder.path(), &id).map(drop);
    child.kill().and_then(|()| child.wait()).expect("killed");
    assert!(resumed.is_ok(), "{resumed:?}");
}

/// Runs the ignored test `name` of this program in a process of its own, through `shell`.
fn child(name: &str, shell: &str, folder: &Path) -> Command {
    let program = std::env::current_exe().expect("this program");
    let mut command = Command::new("sh");
    command.args(["-c", shell, "sh"]).arg(program);
    command.args(["--exact", name, "--ignored", "--test-threads=1", "-q"]);
    command.env("JOURNAL_FOLDER", folder).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn childs_folder() -> PathBuf {
    std::env::var_os("JOURNAL_FOLDER").expect("run by another test").into()
}

#[test]
fn c06_a_session_survives_being_killed_again_and_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, id) = session(folder.path());
    std::fs::write(folder.path().join("id"), id.as_str()).expect("written");
    for round in 0..25_u64 {
        let mut victim = child("c06_child", "exec \"$@\"", folder.path()).spawn().expect("a child");
        std::thread::sleep(Duration::from_millis(12 + round * 7 % 40));
        victim.kill().and_then(|()| victim.wait()).expect("killed");
        let acknowledged =
            std::fs::read_to_string(folder.path().join("acknowledged")).unwrap_or_default();
        let (journal, resumed) = Journal::resume(folder.path(), &id).expect("always resumable");
        assert_paired(&resumed.messages);
        drop(journal);
        let log = log_of(&path);
        for (index, record) in log.iter().enumerate() {
            assert_eq!(record["seq"], index, "no number twice");
        }
        let kept: Vec<&str> = resumed.messages.iter().map(|m| m.content.as_str()).collect();
        for text in acknowledged.lines() {
            assert!(kept.contains(&text), "`{text}` was acknowledged and is gone");
        }
    }
    assert!(log_of(&path).len() > 30, "the children did work: {}", log_of(&path).len());
}

#[test]
#[ignore = "the victim of c06, which runs it"]
fn c06_child() {
    let folder = childs_folder();
    let id = std::fs::read_to_string(folder.join("id"))
        .ok()
        .and_then(|id| SessionId::parse(&id))
        .expect("a name");
    let (journal, resumed) = Journal::resume(&folder, &id).expect("resumable");
    let mut acknowledged = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(folder.join("acknowledged"))
        .expect("a file");
    for number in resumed.messages.len().. {
        let text = format!("said {number} by {}", std::process::id());
        journal.append(&Entry::User { text: text.clone() }).expect("room");
        writeln!(acknowledged, "{text}").expect("room");
    }
}

#[test]
fn c11_a_full_disk_stops_the_tools_and_leaves_a_whole_log() {
    let folder = tempfile::tempdir().expect("a folder");
    // A limit on the size of files fails as a full disk does: some bytes go in, then no more.
    let shell = "trap '' XFSZ; ulimit -f 40; exec \"$@\"";
    let status = child("c11_child", shell, folder.path()).status().expect("a child");
    assert!(status.success(), "{status}");
    let runs = std::fs::read_to_string(folder.path().join("runs")).expect("some ran").len();
    let log = std::fs::read(std::fs::read_to_string(folder.path().join("log")).expect("a path"))
        .expect("a log");
    assert_eq!(log.last(), Some(&b'\n'), "no part of a record is left");
    let log = String::from_utf8(log).expect("text");
    let intents = log.lines().filter(|line| line.contains("\"type\":\"call\"")).count();
    assert!(runs > 2 && runs <= intents, "{runs} runs, {intents} intents");
}

#[tokio::test]
#[ignore = "the victim of c11, which runs it"]
async fn c11_child() {
    let folder = childs_folder();
    let journal = Arc::new(Journal::create(&folder, &folder, "p/m").expect("a log"));
    std::fs::write(folder.join("log"), journal.path().as_os_str().as_encoded_bytes())
        .expect("room");
    let runs = folder.join("runs");
    let acts = fake("acts", "w", move |_, _| {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&runs);
        file.and_then(|mut file| file.write_all(b".")).expect("room");
        async { ToolReply::text("x".repeat(700)) }
    });
    let arguments = format!("{{\"path\":\"{}\"}}", "p".repeat(300));
    let steps = (0..200).map(|i| asks("", vec![call(&format!("c{i}"), "acts", &arguments)]));
    let provider: Arc<dyn Provider> = FakeModel::new(steps);
    let mut agent =
        Agent::builder(provider, registry([acts]), &folder).journal(journal).build().expect("good");
    let error = agent.run("go").await.expect_err("the disk is full");
    assert!(matches!(error, AgentError::Journal(_) | AgentError::LogFailed { .. }), "{error}");
    assert_paired(agent.messages());
    // And it stays so: the next run must not begin.
    assert!(agent.run("again").await.is_err());
}
