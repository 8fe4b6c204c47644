//! Where a path leads, as the model meets it through the `claw` binary: the registry's rewriting of
//! absolute paths, the guard's refusals in words, exit codes, and what stays untouched outside.

#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stderr, reason = "a test that cannot run here says so")]

#[path = "support/cli.rs"]
mod cli;

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cli::{Claw, Ended, ended};
use serde_json::{Value, json};

/// A workdir with a file and a folder, and a secret that lies beside it.
fn claw() -> Claw {
    let claw = Claw::new().file("in.txt", "needle\n").file("sub/deep.txt", "deep\n");
    std::fs::create_dir(out(&claw)).unwrap();
    std::fs::write(out(&claw).join("secret"), "SECRET\n").unwrap();
    claw
}

fn out(claw: &Claw) -> PathBuf {
    claw.work().parent().unwrap().join("out")
}

fn call(claw: &Claw, tool: &str, arguments: &Value) -> Ended {
    claw.run(&["call", tool, &arguments.to_string(), "--json", "--no-session"])
}

/// Every way in which the six tools could touch `path`.
fn ways(path: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("read_file", json!({"path": path})),
        ("write_file", json!({"path": path, "content": "x"})),
        ("edit_file", json!({"path": path, "old_text": "SECRET", "new_text": "x"})),
        ("list_dir", json!({"path": path})),
        ("glob", json!({"path": path, "pattern": "*"})),
        ("grep", json!({"path": path, "pattern": "SECRET"})),
    ]
}

/// The call is denied with exit 4, says so in words, and shows nothing of what lies outside.
#[track_caller]
fn denied(claw: &Claw, tool: &str, arguments: &Value, words: &str) {
    let ended = call(claw, tool, arguments).code(4);
    let reply = ended.json();
    assert_eq!(reply["outcome"], "denied", "{tool} {arguments}: {reply}");
    let message = reply["failure"]["message"].as_str().unwrap();
    assert!(message.contains(words), "{tool} {arguments}: {message}");
    assert!(!ended.out.contains("SECRET\\n"), "{}", ended.out);
    assert!(!reply["receipt"]["denials"].as_array().unwrap().is_empty(), "{reply}");
}

/// Nothing outside the workdir has been made, changed or removed.
#[track_caller]
fn untouched(claw: &Claw) {
    let names: Vec<_> =
        std::fs::read_dir(out(claw)).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["secret"]);
    assert_eq!(std::fs::read(out(claw).join("secret")).unwrap(), b"SECRET\n");
}

#[test]
fn f01_f05_paths_that_lead_outside_are_denied_to_every_tool() {
    let claw = claw();
    for path in ["../out/secret", "sub/../../out/secret"] {
        for (tool, arguments) in ways(path) {
            denied(&claw, tool, &arguments, "outside");
        }
    }
    for path in ["..", "sub/../..", "../out"] {
        denied(&claw, "list_dir", &json!({"path": path}), "outside");
    }
    untouched(&claw);
}

#[test]
fn f02_absolute_paths_work_inside_and_are_denied_outside() {
    let claw = claw();
    let inside = claw.work().join("in.txt");
    let reply = call(&claw, "read_file", &json!({"path": inside})).code(0).json();
    assert_eq!(reply["receipt"]["reads"], json!(["in.txt"]));
    let reply =
        call(&claw, "write_file", &json!({"path": claw.work().join("new"), "content": "x"}))
            .code(0)
            .json();
    assert_eq!(reply["receipt"]["created"], json!(["new"]));
    let edit = json!({"path": inside, "old_text": "needle", "new_text": "pin"});
    call(&claw, "edit_file", &edit).code(0);
    assert_eq!(std::fs::read(&inside).unwrap(), b"pin\n");
    for tool in ["grep", "glob"] {
        call(&claw, tool, &json!({"path": claw.work(), "pattern": "p*"})).code(0);
    }
    call(&claw, "list_dir", &json!({"path": claw.work().join("sub")})).code(0);
    // A folder beside it whose name only begins like the workdir's is not inside.
    let beside = format!("{}-not", claw.work().display());
    for path in ["/etc/passwd", "/", &beside, &out(&claw).join("secret").display().to_string()] {
        denied(&claw, "read_file", &json!({"path": path}), "outside the working directory");
        denied(
            &claw,
            "write_file",
            &json!({"path": path, "content": "x"}),
            "outside the working directory",
        );
    }
    untouched(&claw);
}

#[test]
fn f04_dots_inside_are_plain_paths() {
    let claw = claw();
    for path in ["in.txt", "./in.txt", "sub/../in.txt", "sub//../in.txt", "././sub/./../in.txt"] {
        let reply = call(&claw, "read_file", &json!({"path": path})).code(0).json();
        assert_eq!(reply["content"][0]["text"], "needle\n", "{path}");
        assert_eq!(reply["receipt"]["reads"], json!(["in.txt"]), "{path}");
    }
}

const OUTSIDE: [(&str, &str); 9] = [
    ("relative", "../out/secret"),
    ("folder", "../out"),
    ("chain1", "chain2"),
    ("chain2", "folder/secret"),
    ("slash", "evil/"),
    ("evil", "../out"),
    ("dangling", "../out/new"),
    ("sub/up", "../../out/secret"),
    ("self_cwd", "/proc/self/cwd/../out"),
];

/// Makes links that lead outside; gives the paths by which they would reach the secret.
fn set_traps(claw: &Claw) -> Vec<&'static str> {
    for (link, target) in OUTSIDE {
        symlink(target, claw.work().join(link)).unwrap();
    }
    let secret = out(claw).join("secret");
    for (link, target) in [
        ("absolute", secret.as_path()),
        ("root", Path::new("/proc/self/root/etc/passwd")),
        ("fd", Path::new("/dev/fd/0")),
    ] {
        symlink(target, claw.work().join(link)).unwrap();
    }
    vec![
        "relative",
        "folder/secret",
        "chain1",
        "slash/secret",
        "dangling",
        "sub/up",
        "self_cwd/secret",
        "absolute",
        "root",
        "fd",
    ]
}

#[test]
fn f09_f10_f11_f16_f17_links_that_lead_outside_are_denied() {
    let claw = claw();
    for path in set_traps(&claw) {
        for (tool, arguments) in ways(path).into_iter().take(3) {
            denied(&claw, tool, &arguments, "");
        }
    }
    for (tool, arguments) in [
        ("list_dir", json!({"path": "folder"})),
        ("glob", json!({"path": "folder", "pattern": "*"})),
        ("grep", json!({"path": "slash", "pattern": "SECRET"})),
        ("write_file", json!({"path": "folder/made/new", "content": "x"})),
    ] {
        denied(&claw, tool, &arguments, "outside");
    }
    // What the model reads names the path that it sent, not where a link's end pointed.
    denied(&claw, "read_file", &json!({"path": "relative"}), "`relative` leads outside");
    // A search of everything stays inside.
    let found = call(&claw, "grep", &json!({"pattern": "SECRET|needle"})).code(0).json();
    assert_eq!(found["structured"], json!({"matches": 1, "files": 1}));
    untouched(&claw);
}

#[test]
fn f15_a_link_with_an_absolute_target_is_denied_even_inside_and_says_why() {
    let claw = claw();
    symlink(claw.work().join("in.txt"), claw.work().join("link")).unwrap();
    for (tool, arguments) in [
        ("read_file", json!({"path": "link"})),
        ("write_file", json!({"path": "link", "content": "x"})),
        ("edit_file", json!({"path": "link", "old_text": "needle", "new_text": "x"})),
    ] {
        denied(&claw, tool, &arguments, "is a symlink with an absolute target");
    }
    assert_eq!(std::fs::read(claw.work().join("in.txt")).unwrap(), b"needle\n");
}

/// Builds the program that takes a system call away; none without a C compiler or the headers.
fn restrict(folder: &Path) -> Option<PathBuf> {
    let program = folder.join("restrict");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/restrict.c");
    let built =
        Command::new("cc").arg("-o").arg(&program).arg(source).stderr(Stdio::null()).status();
    let works = built.is_ok_and(|status| status.success())
        && Command::new(&program).arg("/bin/true").status().is_ok_and(|status| status.success());
    works.then_some(program)
}

#[test]
fn f16_the_same_links_are_denied_where_the_system_has_no_openat2() {
    let claw = claw();
    let paths = set_traps(&claw);
    let Some(restrict) = restrict(claw.home().parent().unwrap()) else {
        eprintln!("not run: no C compiler, or no seccomp filters here");
        return;
    };
    let run = |tool: &str, arguments: &Value| {
        let mut command = Command::new(&restrict);
        command.arg(env!("CARGO_BIN_EXE_claw")).args([
            "call",
            tool,
            &arguments.to_string(),
            "--json",
            "--no-session",
        ]);
        command.current_dir(claw.work()).env("CLAWHOLD_HOME", claw.home()).stdin(Stdio::null());
        ended(&command.output().unwrap())
    };
    for path in paths {
        for (tool, arguments) in ways(path).into_iter().take(3) {
            let ended = run(tool, &arguments).code(4);
            assert!(!ended.out.contains("SECRET\\n"), "{path}: {}", ended.out);
        }
    }
    run("read_file", &json!({"path": "sub/../in.txt"})).code(0);
    run("write_file", &json!({"path": "new/in.txt", "content": "x"})).code(0);
    run("list_dir", &json!({"path": "folder"})).code(4);
    untouched(&claw);
}

#[test]
fn f22_a_workdir_behind_a_link_is_pinned_and_both_its_paths_are_inside() {
    let claw = claw();
    let link = claw.work().parent().unwrap().join("link");
    symlink("work", &link).unwrap();
    let workdir = link.display().to_string();
    for path in [json!("in.txt"), json!(link.join("in.txt")), json!(claw.work().join("in.txt"))] {
        let arguments = json!({"path": path}).to_string();
        let args = ["-C", &workdir, "call", "read_file", &arguments, "--json", "--no-session"];
        assert_eq!(claw.run(&args).code(0).json()["receipt"]["reads"], json!(["in.txt"]), "{path}");
    }
}

#[test]
fn f24_protected_places_are_read_and_never_written() {
    let claw = claw().file(".git/config", "[core]\n").file(".envrc", "x\n");
    std::fs::create_dir(claw.work().join(".GIT")).unwrap();
    symlink(".git", claw.work().join("alias")).unwrap();
    symlink(".git/config", claw.work().join("alias_config")).unwrap();
    for path in [
        ".git/config",
        ".git/hooks/pre-commit",
        ".git/hooks/new/x",
        ".gitmodules",
        ".envrc",
        ".vscode/settings.json",
        ".mcp.json",
        ".bashrc",
        "sub/.mcp.json",
        ".claw/config.toml",
        ".GIT/config",
        ".git /config",
        ".git./config",
        "GIT~1/config",
        ".git::$INDEX_ALLOCATION/config",
        ".g\u{200c}it/config",
        "sub/../.git/config",
        "alias/config",
        "alias/hooks/x",
        "alias_config",
        ".cargo/config.toml",
    ] {
        denied(&claw, "write_file", &json!({"path": path, "content": "x"}), "protected");
    }
    denied(
        &claw,
        "edit_file",
        &json!({"path": ".git/config", "old_text": "core", "new_text": "x"}),
        "ask the user",
    );
    call(&claw, "read_file", &json!({"path": ".git/config"})).code(0);
    for path in
        [".gitignore", ".github/workflows/ci.yml", ".git/HEAD", "git/config", "src/.vscodeignore"]
    {
        call(&claw, "write_file", &json!({"path": path, "content": "x\n"})).code(0);
    }
    assert_eq!(std::fs::read(claw.work().join(".git/config")).unwrap(), b"[core]\n");
    assert!(!claw.work().join(".git/hooks").exists(), "nor were folders made on the way");
}

#[test]
fn f24_our_own_settings_and_state_are_neither_read_nor_written() {
    let claw = claw().config("# mine\n");
    let workdir = claw.home().parent().unwrap().display().to_string();
    for (tool, arguments) in [
        ("read_file", json!({"path": "home/config.toml"})),
        ("write_file", json!({"path": "home/config.toml", "content": "x"})),
        ("write_file", json!({"path": "home/plugins/evil.wasm", "content": "x"})),
        ("list_dir", json!({"path": "home/state"})),
    ] {
        let arguments = arguments.to_string();
        let args = [
            "-C",
            &workdir,
            "--allow-wide-workdir",
            "call",
            tool,
            &arguments,
            "--json",
            "--no-session",
        ];
        let reply = claw.run(&args).code(4).json();
        assert!(
            reply["failure"]["message"].as_str().unwrap().contains("Clawhold's own"),
            "{reply}"
        );
    }
    assert_eq!(std::fs::read(claw.home().join("config.toml")).unwrap(), b"# mine\n");
}

#[test]
fn f61_a_pattern_that_leads_outside_finds_nothing_there() {
    let claw = claw();
    for pattern in ["../**", "../out/*", "sub/../../out/*", "/etc/*"] {
        let ended = call(&claw, "glob", &json!({"pattern": pattern})).code(1);
        let failure = ended.json()["failure"].clone();
        assert_eq!(failure["code"], "denied", "{pattern}: {failure}");
        assert!(failure["message"].as_str().unwrap().contains("leads outside"), "{failure}");
    }
}
