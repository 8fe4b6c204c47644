//! Where paths lead, tried by a guest that does whatever it is told: each denial beside the same
//! attempt where it is allowed.

#![allow(clippy::unwrap_used)]

#[path = "support/lab.rs"]
mod lab;

use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clawhold::model::{Outcome, ToolReply};
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
fn f01_f04_f05_dots_inside_work_and_outside_do_not() {
    let lab = lab();
    for path in ["in.txt", "./in.txt", "sub/../in.txt", "sub//../in.txt"] {
        assert_eq!(done(&lab, "read", path, ""), "in");
    }
    for path in ["../out/secret", "sub/../../out/secret", "../work/in.txt"] {
        denied(&lab, "read", path, "", "outside");
        denied(&lab, "write", path, "", "outside");
    }
    for path in ["..", "sub/../.."] {
        denied(&lab, "list", path, "", "outside");
    }
    assert_eq!(done(&lab, "list", "sub/..", ""), "in.txt\nsub/");
    assert_eq!(outside(&lab), ["secret"]);
}

#[test]
fn f06_f07_odd_paths_are_plain_errors() {
    let lab = lab();
    for (path, kind) in
        [("in.txt/", "NotADirectory"), ("in.txt/x", "NotADirectory"), ("none", "NotFound")]
    {
        let reply = try_op(&lab, "read", path, "");
        assert_eq!(reply.outcome, Outcome::Failed, "{path:?}: {reply:?}");
        assert!(reply.observation().contains(kind), "{path:?}: {}", reply.observation());
    }
    let reply = try_op(&lab, "read", "a\0b", "");
    assert_eq!(reply.outcome, Outcome::Failed, "{reply:?}");
}

#[test]
fn f09_f10_f11_f16_f17_links_outside_are_not_followed() {
    let lab = lab();
    let out = lab.temp.path().join("out");
    for (link, target) in [
        ("absolute", out.join("secret").to_str().unwrap()),
        ("relative", "../out/secret"),
        ("folder", "../out"),
        ("absolute_folder", out.to_str().unwrap()),
        ("slash", "folder/"),
        ("chain1", "chain2"),
        ("chain2", "folder/secret"),
        ("dangling", "../out/new"),
        ("proc", "/proc/self/root/etc/passwd"),
        ("cwd", "/proc/self/cwd"),
        ("fd", "/dev/fd/0"),
    ] {
        symlink(target, lab.path(link)).unwrap();
    }
    for path in [
        "absolute",
        "relative",
        "folder/secret",
        "absolute_folder/secret",
        "slash/secret",
        "chain1",
        "dangling",
        "proc",
        "cwd/etc",
        "fd",
    ] {
        for op in ["read", "write", "append", "truncate"] {
            let reply = try_op(&lab, op, path, "");
            assert_eq!(reply.outcome, Outcome::Denied, "{op} {path}: {reply:?}");
        }
    }
    for (op, path, to) in [
        ("create_new", "folder/new", ""),
        ("mkdir", "folder/new", ""),
        ("remove", "folder/secret", ""),
        ("rename", "in.txt", "folder/in.txt"),
        ("rename", "folder/secret", "stolen"),
        ("list", "folder", ""),
        ("stat", "relative", ""),
    ] {
        let reply = try_op(&lab, op, path, to);
        assert_eq!(reply.outcome, Outcome::Denied, "{op} {path}: {reply:?}");
    }
    assert_eq!(outside(&lab), ["secret"]);
    assert_eq!(std::fs::read(out.join("secret")).unwrap(), b"SECRET");
}

#[test]
fn f12_f14_f15_links_inside() {
    let lab = lab();
    symlink("in.txt", lab.path("inside")).unwrap();
    symlink("../in.txt", lab.path("sub/up")).unwrap();
    symlink("sub", lab.path("folder")).unwrap();
    symlink("loop_b", lab.path("loop_a")).unwrap();
    symlink("loop_a", lab.path("loop_b")).unwrap();
    symlink(lab.path("in.txt"), lab.path("absolute")).unwrap();
    assert_eq!(done(&lab, "read", "inside", ""), "in");
    assert_eq!(done(&lab, "read", "sub/up", ""), "in");
    assert_eq!(done(&lab, "read", "folder/deep.txt", ""), "deep");
    let reply = try_op(&lab, "read", "folder/deep.txt", "");
    assert_eq!(reply.receipt.reads, ["sub/deep.txt"], "the receipt names the real place");
    done(&lab, "write", "inside", "");
    assert!(lab.path("inside").is_symlink() && lab.read("in.txt") != b"in");
    let begun = Instant::now();
    assert_eq!(try_op(&lab, "read", "loop_a", "").outcome, Outcome::Failed);
    assert!(begun.elapsed() < Duration::from_secs(1));
    denied(&lab, "read", "absolute", "", "absolute target");
}

#[test]
fn f19_a_folder_swapped_for_a_link_never_leads_a_write_astray() {
    let lab = lab();
    let (real, link) = (lab.path("swap"), lab.path("swap_link"));
    std::fs::create_dir(&real).unwrap();
    std::fs::create_dir_all(lab.path(".git/hooks")).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    for target in [lab.temp.path().join("out"), "../out".into(), ".git/hooks".into()] {
        let _ = std::fs::remove_file(&link);
        symlink(&target, &link).unwrap();
        let (stop_swapping, one, other) = (Arc::clone(&stop), real.clone(), link.clone());
        stop.store(false, Ordering::Relaxed);
        let swapper = std::thread::spawn(move || {
            let mut swaps = 0_u64;
            while !stop_swapping.load(Ordering::Relaxed) {
                // One name is by turns the folder and the link.
                let exchange = rustix::fs::RenameFlags::EXCHANGE;
                rustix::fs::renameat_with(rustix::fs::CWD, &one, rustix::fs::CWD, &other, exchange)
                    .unwrap();
                swaps += 1;
            }
            swaps
        });
        let rounds = if std::env::var_os("CLAWHOLD_LONG").is_some() { 100 } else { 5 };
        for _ in 0..rounds {
            let arguments = json!({"op": "write_many", "path": "swap/planted", "n": 400});
            assert_eq!(lab.call("files", arguments).outcome, Outcome::Done);
            lab.call("files", json!({"op": "mkdir", "path": "swap/made"}));
            lab.call(
                "files",
                json!({"op": "rename", "path": "swap/planted", "to": "swap/renamed"}),
            );
        }
        stop.store(true, Ordering::Relaxed);
        assert!(swapper.join().unwrap() > 100);
        assert_eq!(outside(&lab), ["secret"], "through a link to {}", target.display());
        assert_eq!(std::fs::read_dir(lab.path(".git/hooks")).unwrap().count(), 0);
        // Whichever of the two names the folder has now, it takes the other role's next.
        if real.is_symlink() {
            std::fs::remove_file(&real).unwrap();
            std::fs::rename(&link, &real).unwrap();
        }
    }
}

#[test]
fn f22_a_workdir_that_was_deleted_is_an_error() {
    let lab = lab();
    std::fs::remove_dir_all(lab.workdir()).unwrap();
    std::fs::create_dir(lab.workdir()).unwrap();
    lab.write("in.txt", "another");
    assert_ne!(try_op(&lab, "read", "in.txt", "").outcome, Outcome::Done);
    assert_ne!(try_op(&lab, "write", "new.txt", "").outcome, Outcome::Done);
    assert!(!lab.path("new.txt").exists());
}

#[test]
fn f24_protected_places_by_every_route() {
    let lab = lab();
    std::fs::create_dir_all(lab.path(".git/hooks")).unwrap();
    lab.write(".git/config", "[core]");
    lab.write("evil/hooks/pre-commit", "#!/bin/sh");
    lab.write("evil/config", "[core]");
    symlink(".git", lab.path("alias")).unwrap();
    symlink(".git/config", lab.path("alias_config")).unwrap();
    for (op, path, to) in [
        ("write", ".git/config", ""),
        ("append", ".git/config", ""),
        ("truncate", ".git/config", ""),
        ("set_len", ".git/config", ""),
        ("remove", ".git/config", ""),
        ("write", ".git/hooks/pre-commit", ""),
        ("create_new", ".git/hooks/pre-commit", ""),
        ("mkdir", ".git/hooks/sub", ""),
        ("rmdir", ".git/hooks", ""),
        ("rename", "in.txt", ".git/hooks/pre-commit"),
        ("rename", ".git/config", "stolen"),
        ("rename", ".git", "moved"),
        ("rename", "evil", ".git"),
        ("rename", "evil", ".git/modules"),
        ("write", "alias/config", ""),
        ("write", "alias/hooks/x", ""),
        ("write", "alias_config", ""),
        ("write", "sub/../.git/config", ""),
        ("write", ".GIT/config", ""),
        ("write", ".envrc", ""),
        ("mkdir", ".vscode", ""),
        ("mkdir", ".claw", ""),
        ("write", ".bashrc", ""),
        ("write", "sub/.mcp.json", ""),
    ] {
        let reply = try_op(&lab, op, path, to);
        // A case variant that does not exist ends earlier, at its missing folder.
        let fine = reply.outcome == Outcome::Denied
            || path.starts_with(".GIT") && reply.outcome == Outcome::Failed;
        assert!(fine, "{op} {path} {to}: {reply:?}");
    }
    std::fs::create_dir(lab.path(".GIT")).unwrap();
    denied(&lab, "write", ".GIT/config", "", "protected");
    assert_eq!(lab.read(".git/config"), b"[core]");
    assert_eq!(std::fs::read_dir(lab.path(".git/hooks")).unwrap().count(), 0);
    // Reading them, and writing beside them, is allowed.
    assert_eq!(done(&lab, "read", ".git/config", ""), "[core]");
    done(&lab, "write", ".git/HEAD", "");
    done(&lab, "write", ".gitignore", "");
    done(&lab, "mkdir", ".github", "");
}

#[test]
fn f25_f26_what_is_not_a_regular_file_is_refused_at_once() {
    let lab = lab();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        lab.path("fifo"),
        rustix::fs::FileType::Fifo,
        0o644.into(),
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(lab.path("socket")).unwrap();
    for path in ["fifo", "socket"] {
        for op in ["read", "write", "append", "truncate"] {
            let begun = Instant::now();
            let reply = try_op(&lab, op, path, "");
            assert_eq!(reply.outcome, Outcome::Failed, "{op} {path}: {reply:?}");
            assert!(begun.elapsed() < Duration::from_secs(2), "{op} {path}: {:?}", begun.elapsed());
        }
    }
    assert!(try_op(&lab, "read", "fifo", "").observation().contains("a FIFO"));
    assert_eq!(try_op(&lab, "read", "sub", "").outcome, Outcome::Failed);
    assert_eq!(try_op(&lab, "list", "in.txt", "").outcome, Outcome::Failed);
}

#[test]
fn f37_names_of_all_kinds_survive_a_listing() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let lab = Lab::with(probe(), true, Limits::default());
    let names: [&[u8]; 6] = [
        b"new\nline",
        b"-rf",
        b" blank ",
        b"esc\x1b[31m",
        "\u{202e}rtl".as_bytes(),
        b"odd\xff\xfe",
    ];
    for name in names {
        std::fs::write(lab.workdir().join(OsStr::from_bytes(name)), "x").unwrap();
    }
    let reply = lab.call("files", json!({"op": "list", "path": "."}));
    let text = reply.content[0].as_text().unwrap();
    assert!(text.contains("odd\\xff\\xfe"), "{text:?}");
    assert_eq!(text.matches("blank").count(), 1);
    assert_eq!(done(&lab, "read", "odd\\xff\\xfe", ""), "x", "what was listed can be opened");
    assert_eq!(done(&lab, "read", "new\nline", ""), "x");
    let reply = try_op(&lab, "read", "esc\u{1b}[31m", "");
    assert_eq!(reply.receipt.reads, ["esc\\x1b[31m"], "receipts are escaped");
}
