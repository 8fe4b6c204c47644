//! What changing files may do and leaves behind, tried by a guest that does whatever it is told.

#![allow(clippy::unwrap_used)]

#[path = "support/lab.rs"]
mod lab;

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::sync::Arc;

use clawhold::model::{FailureCode, Outcome, ToolReply};
use clawhold::sandbox::{Limits, Plugin, Source};
use lab::{Lab, guest};
use serde_json::json;

fn probe() -> &'static Arc<Plugin> {
    static PROBE: std::sync::OnceLock<Arc<Plugin>> = std::sync::OnceLock::new();
    PROBE.get_or_init(|| {
        Arc::new(Plugin::load(lab::runtime(), "probe", Source::File(guest("probe"))).unwrap())
    })
}

fn lab() -> Lab {
    let lab = Lab::with(probe(), true, Limits::default());
    lab.write("in.txt", "in");
    lab.write("sub/deep.txt", "deep");
    std::fs::create_dir(lab.temp.path().join("out")).unwrap();
    std::fs::write(lab.temp.path().join("out/secret"), "SECRET").unwrap();
    lab
}

fn outside(lab: &Lab) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(lab.temp.path().join("out"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn try_op(lab: &Lab, op: &str, path: &str, to: &str) -> ToolReply {
    lab.call("files", json!({"op": op, "path": path, "to": to, "n": 3}))
}

fn denied(lab: &Lab, op: &str, path: &str, to: &str, word: &str) {
    let reply = try_op(lab, op, path, to);
    assert_eq!(reply.outcome, Outcome::Denied, "{op} {path} {to}: {reply:?}");
    assert!(reply.observation().contains(word), "{op} {path}: {}", reply.observation());
    assert!(!reply.receipt.denials.is_empty(), "{op} {path}");
}

fn done(lab: &Lab, op: &str, path: &str, to: &str) -> String {
    let reply = try_op(lab, op, path, to);
    assert_eq!(reply.outcome, Outcome::Done, "{op} {path} {to}: {reply:?}");
    reply.observation()
}

#[test]
fn f41_f44_modes_are_kept_and_new_files_are_ordinary() {
    let lab = lab();
    for mode in [0o755, 0o600, 0o644] {
        std::fs::set_permissions(lab.path("in.txt"), PermissionsExt::from_mode(mode)).unwrap();
        done(&lab, "replace", "in.txt", ".in.txt.tmp");
        assert_eq!(lab.path("in.txt").metadata().unwrap().mode() & 0o7777, mode);
    }
    done(&lab, "write", "plain.txt", "");
    assert_eq!(lab.path("plain.txt").metadata().unwrap().mode() & 0o7777, 0o644);
    done(&lab, "replace", "fresh.txt", ".fresh.txt.tmp");
    assert_eq!(lab.path("fresh.txt").metadata().unwrap().mode() & 0o7777, 0o644);
}

#[test]
fn f46_a_temporary_name_that_is_a_link_is_not_written_through() {
    let lab = lab();
    symlink("../out/secret", lab.path(".in.txt.tmp")).unwrap();
    denied(&lab, "replace", "in.txt", ".in.txt.tmp", "outside");
    let reply = try_op(&lab, "create_new", ".in.txt.tmp", "");
    assert_eq!(reply.outcome, Outcome::Failed, "{reply:?}");
    assert_eq!(outside(&lab), ["secret"]);
    assert_eq!(std::fs::read(lab.temp.path().join("out/secret")).unwrap(), b"SECRET");
}

#[test]
fn f60_removing_a_link_removes_the_link_only() {
    let lab = lab();
    symlink("../out", lab.path("folder")).unwrap();
    done(&lab, "remove", "folder", "");
    assert!(!lab.path("folder").is_symlink());
    assert_eq!(outside(&lab), ["secret"]);
}

#[test]
fn f66_p24_no_link_is_ever_made() {
    let lab = lab();
    for (op, path, to) in [
        ("symlink", "../out", "planted"),
        ("symlink", "in.txt", "planted"),
        ("hard_link", "in.txt", "planted"),
    ] {
        denied(&lab, op, path, to, "links are not made");
    }
    assert!(!lab.path("planted").is_symlink() && !lab.path("planted").exists());
}

#[test]
fn f67_a_read_only_folder_stays_as_it_is() {
    let read_only = Lab::with(probe(), false, Limits::default());
    let writable = lab();
    for lab in [&read_only, &writable] {
        lab.write("in.txt", "in");
        lab.write("sub/deep.txt", "deep");
    }
    // The same attempts: by a plugin without the grant, and by a tool that calls itself read-only.
    for (lab, tool) in [(&read_only, "files"), (&writable, "look")] {
        for (op, path, to) in [
            ("write", "in.txt", ""),
            ("append", "in.txt", ""),
            ("truncate", "in.txt", ""),
            ("set_len", "in.txt", ""),
            ("create_new", "new", ""),
            ("mkdir", "new", ""),
            ("remove", "in.txt", ""),
            ("rename", "in.txt", "moved"),
            ("rmdir", "sub", ""),
        ] {
            let reply = lab.call(tool, json!({"op": op, "path": path, "to": to}));
            assert_eq!(reply.outcome, Outcome::Denied, "{tool} {op}: {reply:?}");
            assert!(reply.observation().contains("read only"), "{}", reply.observation());
        }
        assert_eq!(lab.call(tool, json!({"op": "read", "path": "in.txt"})).observation(), "in");
        assert_eq!(lab.read("in.txt"), b"in");
    }
    done(&writable, "write", "in.txt", "");
}

#[test]
fn f64_files_of_secrets_are_refused() {
    let lab = lab();
    lab.write(".env", "TOKEN=x");
    lab.write("server.pem", "-----BEGIN");
    for path in [".env", "server.pem"] {
        denied(&lab, "read", path, "", "secret");
    }
    lab.write(".env.example", "TOKEN=");
    assert_eq!(done(&lab, "read", ".env.example", ""), "TOKEN=");
}

#[test]
fn f48_what_somebody_else_changed_is_not_overwritten() {
    let lab = lab();
    assert_eq!(done(&lab, "read", "in.txt", ""), "in");
    lab.write("in.txt", "changed by the user");
    for (op, to) in [("write", ""), ("append", ""), ("replace", ".in.txt.tmp"), ("remove", "")] {
        let reply = try_op(&lab, op, "in.txt", to);
        assert_eq!(
            reply.failure.as_ref().map(|f| &f.code),
            Some(&FailureCode::Conflict),
            "{op}: {reply:?}"
        );
    }
    assert_eq!(lab.read("in.txt"), b"changed by the user");
    // After another look it may, and after its own writing it knows the file.
    done(&lab, "read", "in.txt", "");
    done(&lab, "write", "in.txt", "");
    done(&lab, "write", "in.txt", "");
    // What was never read was never relied on.
    lab.write("unread.txt", "x");
    done(&lab, "write", "unread.txt", "");
}

#[test]
fn p17_open_files_end_at_the_limit() {
    let lab = lab();
    let hold = |n: u64| lab.call("files", json!({"op": "hold", "path": "in.txt", "n": n}));
    assert_eq!(hold(50).observation(), "holds 50");
    let reply = hold(100_000);
    assert_eq!(reply.outcome, Outcome::Failed, "{reply:?}");
    assert!(reply.observation().contains("as many as one call may"), "{}", reply.observation());
}

#[test]
fn p25_writing_ends_at_the_quota_by_every_way() {
    let fill = |op: &str, n: u64| {
        let lab = Lab::with_quota_of(probe(), 1 << 20);
        lab.write("in.txt", "in");
        let reply = lab.call("files", json!({"op": op, "path": "in.txt", "n": n}));
        let size = lab.path("in.txt").metadata().unwrap().blocks() * 512;
        assert!(size <= 2 << 20, "{op}: {size}");
        reply
    };
    assert_eq!(fill("fill", 8).outcome, Outcome::Done);
    for (op, n) in [("fill", 100_000), ("set_len", 1 << 40)] {
        let reply = fill(op, n);
        assert_eq!(
            reply.failure.as_ref().map(|f| &f.code),
            Some(&FailureCode::TooLarge),
            "{op}: {reply:?}"
        );
        assert!(reply.observation().contains("as much as one call may"), "{}", reply.observation());
    }
    assert_eq!(fill("set_len", 1 << 19).outcome, Outcome::Done);
}

#[test]
fn temporaries_of_a_call_that_died_are_removed() {
    let lab = lab();
    let reply = lab.call("files", json!({"op": "temporary", "path": ".in.txt.abc.tmp"}));
    assert_eq!(reply.outcome, Outcome::Failed);
    lab.no_leftovers();
    assert!(
        reply.receipt.created.is_empty() && reply.receipt.writes.is_empty(),
        "{:?}",
        reply.receipt
    );
    // What does not look like one is the guest's own doing, and stays.
    lab.call("files", json!({"op": "temporary", "path": "half-done.txt"}));
    assert!(lab.path("half-done.txt").exists());
}

#[test]
fn a_receipt_names_two_hundred_paths_and_counts_the_rest() {
    let lab = Lab::new();
    for n in 0..300 {
        lab.write(&format!("f{n}.txt"), "needle");
    }
    let reply = lab.call("grep", json!({"pattern": "needle"}));
    assert_eq!(reply.outcome, Outcome::Done, "{:?}", reply.failure);
    assert_eq!(reply.receipt.reads.len(), 200);
    assert!(reply.receipt.omitted >= 100, "{}", reply.receipt.omitted);
}

#[test]
fn the_receipt_tells_what_was_made_and_removed() {
    let lab = lab();
    let receipt = |op: &str, path: &str, to: &str| try_op(&lab, op, path, to).receipt;
    let made = receipt("write", "new.txt", "");
    assert_eq!(
        (made.created, made.writes),
        (vec!["new.txt".to_owned()], vec!["new.txt".to_owned()])
    );
    let moved = receipt("rename", "new.txt", "moved.txt");
    assert_eq!(
        (moved.created, moved.removed),
        (vec!["moved.txt".to_owned()], vec!["new.txt".to_owned()])
    );
    assert_eq!(receipt("remove", "moved.txt", "").removed, ["moved.txt"]);
    let replaced = receipt("replace", "in.txt", ".in.txt.tmp");
    assert_eq!(
        (replaced.writes, replaced.created),
        (vec!["in.txt".to_owned()], Vec::<String>::new())
    );
}
