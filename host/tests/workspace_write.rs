//! `write_file`, and what all changes have in common, as the model meets them in the real sandbox:
//! one step or nothing, modes, links, full disks, and other programs at work at the same time.

#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stderr, reason = "a test that cannot run here says so")]

#[path = "support/cli.rs"]
mod cli;
#[path = "support/lab.rs"]
mod lab;

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clawhold::model::{FailureCode, Outcome};
use clawhold::sandbox::Limits;
use cli::Claw;
use lab::Lab;
use serde_json::json;

/// Runs `claw` in `claw`'s workdir from a shell that has done `first`.
fn after(claw: &Claw, first: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{first}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_claw")]);
    command.args(arguments).current_dir(claw.work()).env("CLAWHOLD_HOME", claw.home());
    command.output().unwrap()
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().mode() & 0o7777
}

/// No temporary file is left in `folder` itself.
fn clean(folder: &Path) -> bool {
    let names = std::fs::read_dir(folder).unwrap();
    names
        .map(|entry| entry.unwrap().file_name())
        .all(|name| !name.to_string_lossy().ends_with(".tmp"))
}

#[test]
fn req_046_what_was_made_and_what_was_replaced_is_told_with_a_diff() {
    let lab = Lab::new();
    let made = lab.call("write_file", json!({"path": "a/b/目录.txt", "content": "one\ntwo\n"}));
    assert!(made.observation().starts_with("created `a/b/目录.txt`: 8 bytes, 2 lines"), "{made:?}");
    assert!(made.content[1].as_text().unwrap().contains("@@ -0,0 +1,2 @@\n+one\n+two\n"));
    assert!(made.receipt.created.contains(&"a/b/目录.txt".to_owned()), "{:?}", made.receipt);
    let replaced = lab.call("write_file", json!({"path": "a/b/目录.txt", "content": "one\n2\n"}));
    assert!(replaced.observation().starts_with("replaced `a/b/目录.txt`: 6 bytes, before 8"));
    assert!(replaced.content[1].as_text().unwrap().contains(" one\n-two\n+2\n"));
    assert_eq!(replaced.receipt.writes, ["a/b/目录.txt"]);
    assert!(replaced.receipt.created.is_empty() && replaced.receipt.removed.is_empty());
    lab.no_leftovers();
}

#[test]
fn f57_the_same_content_is_not_written_again() {
    let lab = Lab::new();
    lab.write("f", "same\n");
    let before = lab.path("f").metadata().unwrap();
    let reply = lab.call("write_file", json!({"path": "f", "content": "same\n"}));
    assert!(reply.observation().contains("has this content already; nothing was written"));
    let now = lab.path("f").metadata().unwrap();
    assert_eq!((before.ino(), before.modified().unwrap()), (now.ino(), now.modified().unwrap()));
    assert!(reply.receipt.writes.is_empty(), "{:?}", reply.receipt);
}

#[test]
fn f44_mode_and_owner_are_kept() {
    for (mode_before, tool) in
        [(0o755, "write_file"), (0o600, "write_file"), (0o755, "edit_file"), (0o640, "edit_file")]
    {
        let lab = Lab::new();
        lab.write("f", "old\n");
        std::fs::set_permissions(lab.path("f"), PermissionsExt::from_mode(mode_before)).unwrap();
        // Only root can give a file away; then it must stay with whom it was given to.
        let given = chown(lab.path("f"), Some(12_345), Some(23_456)).is_ok();
        let arguments = match tool {
            "write_file" => json!({"path": "f", "content": "new\n"}),
            _ => json!({"path": "f", "old_text": "old", "new_text": "new"}),
        };
        lab.done(tool, arguments);
        let now = lab.path("f").metadata().unwrap();
        assert_eq!(
            (now.mode() & 0o7777, lab.read("f")),
            (mode_before, b"new\n".to_vec()),
            "{tool}"
        );
        assert!(!given || (now.uid(), now.gid()) == (12_345, 23_456), "{tool}");
    }
}

#[test]
fn f44_a_new_file_obeys_the_umask_and_an_old_one_keeps_its_mode() {
    let claw = Claw::new().file("run.sh", "old\n");
    std::fs::set_permissions(claw.work().join("run.sh"), PermissionsExt::from_mode(0o755)).unwrap();
    for (umask, expect) in [("022", 0o644), ("077", 0o600), ("002", 0o664), ("000", 0o666)] {
        for (path, expect) in [(format!("new{umask}.txt"), expect), ("run.sh".to_owned(), 0o755)] {
            let arguments = json!({"path": path, "content": format!("{umask}\n")}).to_string();
            let arguments = ["call", "write_file", arguments.as_str(), "--no-session"];
            let output = after(&claw, &format!("umask {umask}"), &arguments);
            assert!(output.status.success(), "{output:?}");
            assert_eq!(mode(&claw.work().join(&path)), expect, "{path} under {umask}");
        }
    }
}

#[test]
fn f14_f45_a_link_inside_is_kept_and_its_target_changed() {
    let lab = Lab::new();
    lab.write("real/f", "old\n");
    symlink("real/f", lab.path("link")).unwrap();
    symlink("link", lab.path("link2")).unwrap();
    symlink("real/new", lab.path("dangling")).unwrap();
    symlink("real", lab.path("folder")).unwrap();
    lab.done("write_file", json!({"path": "link2", "content": "new\n"}));
    lab.done("edit_file", json!({"path": "link", "old_text": "new", "new_text": "newer"}));
    assert_eq!(lab.read("real/f"), b"newer\n");
    let reply = lab.call("write_file", json!({"path": "dangling", "content": "made\n"}));
    assert_eq!(
        (lab.read("real/new"), reply.receipt.created),
        (b"made\n".to_vec(), vec!["real/new".into()])
    );
    lab.done("write_file", json!({"path": "folder/g", "content": "g\n"}));
    assert_eq!(lab.read("real/g"), b"g\n");
    for link in ["link", "link2", "dangling", "folder"] {
        assert!(lab.path(link).is_symlink(), "{link}");
    }
    lab.no_leftovers();
}

#[test]
fn f46_f47_what_stands_in_the_way_is_never_lost() {
    let lab = Lab::new();
    lab.write("folder/in.txt", "x");
    lab.write("file", "x");
    std::fs::create_dir(lab.path("empty")).unwrap();
    for (path, words) in [
        ("folder", "it is a folder"),
        ("empty", "it is a folder"),
        ("folder/", "names no file"),
        ("", "names no file"),
        (".", "it is a folder"),
        ("file/below", "a part of the path is a file"),
        (&format!("{}.txt", "n".repeat(300)), "name is too long"),
        ("a\0b", "NUL"),
    ] {
        let said =
            lab.refused(&Outcome::Failed, "write_file", json!({"path": path, "content": "y"}));
        assert!(said.contains(words), "{path:?}: {said}");
    }
    assert_eq!((lab.read("folder/in.txt"), lab.read("file")), (b"x".to_vec(), b"x".to_vec()));
    assert!(lab.path("empty").is_dir());
    lab.no_leftovers();
}

#[test]
fn f39_names_that_differ_in_case_or_form_only_stay_two_files() {
    let lab = Lab::new();
    lab.write("A.txt", "upper");
    lab.write("caf\u{e9}", "composed");
    lab.done("write_file", json!({"path": "a.txt", "content": "lower"}));
    lab.done("write_file", json!({"path": "cafe\u{301}", "content": "decomposed"}));
    assert_eq!(
        (lab.read("A.txt"), lab.read("caf\u{e9}")),
        (b"upper".to_vec(), b"composed".to_vec())
    );
    assert_eq!(lab.done("glob", json!({"pattern": "*"})).lines().count(), 4);
}

#[test]
fn f41_f67_a_folder_that_may_only_be_read_stays_as_it_is() {
    let lab = Lab::with(lab::standard(), false, Limits::default());
    lab.write("f", "old\n");
    for (tool, arguments) in [
        ("write_file", json!({"path": "f", "content": "new"})),
        ("write_file", json!({"path": "new/f", "content": "new"})),
        ("edit_file", json!({"path": "f", "old_text": "old", "new_text": "new"})),
    ] {
        let said = lab.refused(&Outcome::Denied, tool, arguments);
        assert!(said.contains("read only"), "{said}");
    }
    assert_eq!((lab.read("f"), lab.path("new").exists()), (b"old\n".to_vec(), false));
    assert_eq!(lab.done("read_file", json!({"path": "f"})), "old\n");
}

#[test]
fn f41_what_the_system_forbids_is_told_and_nothing_is_forced() {
    let drop = "-dac_override,-dac_read_search,-fowner";
    let can = Command::new("setpriv").args(["--bounding-set", drop, "true"]).status();
    if rustix::process::geteuid().is_root() && !can.is_ok_and(|status| status.success()) {
        eprintln!("not run: root may do everything, and there is no setpriv to change that");
        return;
    }
    let claw = Claw::new().file("f", "old\n").file("shut/f", "old\n").file("secret", "x\n");
    for (path, mode) in [("f", 0o444), ("shut", 0o555), ("secret", 0o000)] {
        std::fs::set_permissions(claw.work().join(path), PermissionsExt::from_mode(mode)).unwrap();
    }
    let call = |tool: &str, arguments: serde_json::Value| {
        let root = rustix::process::geteuid().is_root();
        let first = if root {
            format!("set -- --bounding-set {drop} \"$0\" \"$@\"; exec setpriv \"$@\"")
        } else {
            ":".into()
        };
        let output = after(&claw, &first, &["call", tool, &arguments.to_string(), "--no-session"]);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = call("write_file", json!({"path": "shut/new", "content": "x"}));
    assert!(
        code == Some(1) && said.contains("cannot write `shut/new`: permission denied"),
        "{code:?} {said}"
    );
    let (code, said) =
        call("edit_file", json!({"path": "shut/f", "old_text": "old", "new_text": "x"}));
    assert!(code == Some(1) && said.contains("`shut/f`: permission denied"), "{code:?} {said}");
    let (code, said) = call("read_file", json!({"path": "secret"}));
    assert!(
        code == Some(1) && said.contains("cannot read `secret`: permission denied"),
        "{code:?} {said}"
    );
    assert_eq!(std::fs::read(claw.work().join("shut/f")).unwrap(), b"old\n");
    assert_eq!((mode(&claw.work().join("shut")), mode(&claw.work().join("secret"))), (0o555, 0));
    assert!(clean(&claw.work().join("shut")));
    std::fs::set_permissions(claw.work().join("shut"), PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn f42_a_file_that_may_not_grow_leaves_the_old_one_as_it_was() {
    let claw = Claw::new().file("f", "old\n");
    let arguments = json!({"path": "f", "content": "x".repeat(100_000)}).to_string();
    // Without the trap the system ends the process on the first byte too many.
    let first = "trap '' XFSZ; ulimit -f 32";
    let output = after(&claw, first, &["call", "write_file", &arguments, "--no-session"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the file would be larger than this system allows"), "{said}");
    assert!(said.contains("the file is as it was before"), "{said}");
    assert_eq!(std::fs::read(claw.work().join("f")).unwrap(), b"old\n");
    assert!(clean(&claw.work()));
}

#[test]
fn f42_a_full_disk_is_told_and_harms_nothing() {
    let lab = Lab::new();
    let disk = lab.path("disk");
    std::fs::create_dir(&disk).unwrap();
    let mounted =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "none"]).arg(&disk).status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("not run: no file system can be mounted here");
        return;
    }
    lab.write("disk/f", "old\n".repeat(4_000));
    let big = "y".repeat(100_000);
    let replies = [
        lab.call("write_file", json!({"path": "disk/f", "content": big})),
        lab.call("write_file", json!({"path": "disk/new", "content": big})),
        lab.call("edit_file", json!({"path": "disk/f", "old_text": "old", "new_text": "older and much longer", "replace_all": true})),
    ];
    let (content, tidy) = (lab.read("disk/f"), clean(&disk));
    let new = lab.path("disk/new").exists();
    assert!(Command::new("umount").arg(&disk).status().unwrap().success());
    for reply in replies {
        assert_eq!(reply.outcome, Outcome::Failed, "{reply:?}");
        assert!(reply.observation().contains("the disk is full"), "{}", reply.observation());
    }
    assert!(content == "old\n".repeat(4_000).as_bytes() && tidy && !new);
}

#[test]
fn f42_the_quota_of_a_call_ends_a_write_the_same_way() {
    let lab = Lab::with_quota_of(lab::standard(), 50_000);
    lab.write("f", "old\n");
    let reply = lab.call("write_file", json!({"path": "f", "content": "x".repeat(100_000)}));
    assert_eq!(reply.failure.as_ref().unwrap().code, FailureCode::TooLarge, "{reply:?}");
    assert!(reply.observation().contains("as much as one call may (50000 bytes)"));
    assert_eq!(lab.read("f"), b"old\n");
    lab.no_leftovers();
}

/// Does `act` again and again on another thread while `during` runs.
fn meanwhile(act: impl Fn() + Send + 'static, during: impl FnOnce()) {
    let stop = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&stop);
    let other = std::thread::spawn(move || {
        while !seen.load(Ordering::Relaxed) {
            act();
        }
    });
    during();
    stop.store(true, Ordering::Relaxed);
    other.join().unwrap();
}

fn rounds() -> usize {
    if std::env::var_os("CLAWHOLD_LONG").is_some() { 2_000 } else { 60 }
}

#[test]
fn f19_f59_a_folder_swapped_for_a_link_is_never_followed_outside() {
    let lab = Lab::new();
    let out = lab.temp.path().join("out");
    std::fs::create_dir(&out).unwrap();
    std::fs::write(out.join("f"), "SECRET\n").unwrap();
    lab.write("swap/f", "inside\n");
    symlink("../out", lab.path("other")).unwrap();
    let (one, other) = (lab.path("swap"), lab.path("other"));
    let exchange = move || {
        let flag = rustix::fs::RenameFlags::EXCHANGE;
        rustix::fs::renameat_with(rustix::fs::CWD, &one, rustix::fs::CWD, &other, flag).unwrap();
    };
    let mut done = 0;
    meanwhile(exchange, || {
        for n in 0..rounds() {
            for (tool, arguments) in [
                ("read_file", json!({"path": "swap/f"})),
                ("write_file", json!({"path": format!("swap/new{n}/deep/g"), "content": "x"})),
                (
                    "write_file",
                    json!({"path": format!("swap/g{}", n % 3), "content": format!("{n}")}),
                ),
                ("edit_file", json!({"path": "swap/f", "old_text": "SECRET", "new_text": "x"})),
                ("list_dir", json!({"path": "swap"})),
                ("grep", json!({"path": "swap", "pattern": "SECRET"})),
                ("glob", json!({"pattern": "swap/*"})),
            ] {
                let reply = lab.call(tool, arguments);
                let said = reply.observation();
                assert!(
                    !said.contains("SECRET\n") || tool == "grep" && said.starts_with("no match"),
                    "{tool}: {said}"
                );
                done += usize::from(reply.outcome == Outcome::Done);
            }
        }
    });
    assert!(done > 0, "nothing ever went well, so nothing was tried");
    let left: Vec<_> =
        std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["f"]);
    assert_eq!(std::fs::read(out.join("f")).unwrap(), b"SECRET\n");
}

#[test]
fn f21_a_folder_that_is_moved_away_during_a_write_takes_it_along_or_refuses() {
    let lab = Lab::new();
    let (here, away) = (lab.path("a"), lab.temp.path().join("away"));
    for folder in [&here, &away] {
        std::fs::create_dir(folder).unwrap();
        std::fs::write(folder.join("f"), "old").unwrap();
    }
    let (one, other) = (here.clone(), away.clone());
    let exchange = move || {
        let flag = rustix::fs::RenameFlags::EXCHANGE;
        rustix::fs::renameat_with(rustix::fs::CWD, &one, rustix::fs::CWD, &other, flag).unwrap();
    };
    meanwhile(exchange, || {
        for n in 0..rounds() {
            lab.call("write_file", json!({"path": "a/f", "content": format!("{n}")}));
        }
    });
    for folder in [here, away] {
        let names: Vec<_> =
            std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["f"], "in {}", folder.display());
        let content = std::fs::read_to_string(folder.join("f")).unwrap();
        assert!(content == "old" || content.parse::<usize>().is_ok(), "{content}");
    }
}
