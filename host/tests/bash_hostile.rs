//! What a project brings along that runs by itself: it stays in the sandbox.
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so and why")]

#[path = "support/canaries.rs"]
mod canaries;
#[path = "support/shell.rs"]
mod shell;

use std::process::Command;
use std::time::Duration;

use canaries::Canaries;
use serde_json::json;
use shell::{Lab, full};

/// A repository whose own settings start programs at the most harmless command.
fn hostile_repository(lab: &Lab) {
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.args(args).current_dir(lab.work());
        let status = command.env("HOME", lab.root().join("user")).output().unwrap().status;
        assert!(status.success(), "git {args:?}");
    };
    let out = lab.root().join("sibling/PWN").display().to_string();
    git(&["init", "-q", "."]);
    lab.put("a.txt", "x");
    lab.put(".gitattributes", "* filter=evil\n");
    git(&["config", "user.email", "a@b"]);
    git(&["config", "user.name", "a"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "one"]);
    let script = format!("#!/bin/sh\ntouch {out} PWN-INSIDE\ncat\n");
    lab.put("evil.sh", script);
    Command::new("chmod").args(["+x", "evil.sh"]).current_dir(lab.work()).status().unwrap();
    std::fs::copy(lab.work().join("evil.sh"), lab.work().join(".git/hooks/post-index-change"))
        .unwrap();
    git(&["config", "core.fsmonitor", "./evil.sh"]);
    git(&["config", "filter.evil.clean", "./evil.sh"]);
    git(&["config", "core.pager", "./evil.sh"]);
    // A bare repository among the files, with settings of its own.
    lab.put("bare/HEAD", "ref: refs/heads/main\n");
    lab.put("bare/objects/x", "");
    lab.put("bare/refs/x", "");
    lab.put("bare/config", "[core]\nbare = true\nfsmonitor = ../evil.sh\nworktree = .\n");
    lab.put("a.txt", "changed\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_repository_stays_inside() {
    let Some(tier) = full() else { return };
    let lab = Lab::new(tier);
    hostile_repository(&lab);
    let canaries = Canaries::around(&lab);
    for command in
        ["git status", "git diff", "git log -p", "cd bare && git status", "git add a.txt"]
    {
        lab.call("bash", json!({"command": command})).await;
        canaries.are_untouched(command);
        assert!(!lab.root().join("sibling/PWN").exists(), "{command}");
    }
    assert!(lab.work().join("PWN-INSIDE").exists(), "the repository is hostile indeed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_build_script_stays_inside() {
    let Some(tier) = full() else { return };
    let home = std::env::var_os("HOME").map(std::path::PathBuf::from);
    if !home.as_ref().is_some_and(|home| home.join(".cargo/bin/cargo").exists()) {
        eprintln!("skipped: there is no cargo in the home directory");
        return;
    }
    let lab = Lab::with(tier, |settings| {
        settings.home = home;
        settings.max_timeout = Duration::from_mins(5);
    });
    let canaries = Canaries::around(&lab);
    let tcp = canaries.tcp.local_addr().unwrap();
    let out = lab.root().join("sibling/PWN").display().to_string();
    let file = lab.root().join("sibling/notes.txt").display().to_string();
    lab.put(
        "Cargo.toml",
        "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
    );
    lab.put(
        "src/lib.rs",
        "#[test] fn t() { assert_eq!(env!(\"SEEN\"), \"false false false\"); }\n",
    );
    lab.put("build.rs", format!(
        "fn main() {{ let wrote = std::fs::write(\"{out}\", \"x\").is_ok(); let read = std::fs::read(\"{file}\").is_ok();\n\
         let net = std::net::TcpStream::connect(\"{tcp}\").is_ok(); println!(\"cargo:rustc-env=SEEN={{wrote}} {{read}} {{net}}\"); }}\n"
    ));
    let reply = lab.call("bash", json!({"command": "cargo test", "timeout": 300})).await;
    let text = reply.observation();
    assert!(text.contains("1 passed") && text.ends_with("exit code: 0"), "{text}");
    canaries.are_untouched("build.rs");
    assert!(!lab.root().join("sibling/PWN").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_folder_does_not_hide_the_repository_beside_it() {
    let Some(tier) = full() else { return };
    let lab = Lab::new(tier);
    let git = Command::new("git").args(["init", "-q", "."]).current_dir(lab.work()).status();
    assert!(git.unwrap().success());
    // More than one look goes through, and first in the order of names.
    let large = lab.work().join("a");
    std::fs::create_dir(&large).unwrap();
    for number in 0..110_000 {
        std::fs::File::create(large.join(number.to_string())).unwrap();
    }
    let text = lab.bash("echo evil > .git/hooks/pre-commit; true $((1))").await;
    assert!(text.contains("Read-only file system"), "{text}");
    assert!(!lab.work().join(".git/hooks/pre-commit").exists());
}
