//! Kinds of command lines beyond the corpus: what the shipped rules and the reference policy say
//! about them in a workdir with links, hostile names and a repository inside.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::symlink;
use std::path::Path;

use clawhold::shell::{Allowlist, Decision, RealTree, RuleSettings, Surroundings, Verdict};
use serde::Deserialize;

fn reference() -> Allowlist {
    #[derive(Deserialize)]
    struct File {
        bash: RuleSettings,
    }
    let file: File = toml::from_str(include_str!("data/policy.toml")).unwrap();
    Allowlist::new(&file.bash).unwrap()
}

fn shipped() -> Allowlist {
    Allowlist::new(&RuleSettings::default()).unwrap()
}

/// The tables of lines, kind by kind.
#[derive(Deserialize)]
struct Cases {
    pass_reference: Vec<String>,
    pass_shipped: Vec<String>,
    syntax: Vec<String>,
    programs: Vec<String>,
    options: Vec<String>,
    paths: Vec<String>,
}

fn cases() -> Cases {
    toml::from_str(include_str!("data/shell_cases.toml")).unwrap()
}

/// A workdir beside which a secret lies.
struct Fixture {
    _outer: tempfile::TempDir,
    workdir: std::path::PathBuf,
}

impl Fixture {
    fn new() -> Self {
        let outer = tempfile::tempdir().unwrap();
        let workdir = outer.path().join("work");
        let at = |p: &str| workdir.join(p);
        for dir in
            ["src/deep", "bare/objects", "bare/refs", "nested/.git", "-dir", "empty", "tricky"]
        {
            std::fs::create_dir_all(at(dir)).unwrap();
        }
        for file in [
            "a.txt",
            "b.txt",
            "src/main.rs",
            "src/lib.rs",
            "src/deep/x.rs",
            "bare/HEAD",
            "-rf",
            ".hidden",
            "tricky/--pre=e",
            "tricky/@x",
            "目录.txt",
            ".env",
            "src/server.pem",
        ] {
            std::fs::write(at(file), "x\n").unwrap();
        }
        std::fs::write(outer.path().join("secret"), "s\n").unwrap();
        symlink("../secret", at("leak")).unwrap();
        symlink("/etc", at("etc")).unwrap();
        symlink("..", at("up")).unwrap();
        symlink("src", at("link")).unwrap();
        symlink(".env", at("plain")).unwrap();
        symlink("../outside-and-absent", at("dangling")).unwrap();
        symlink("src/main.rs", at("inner")).unwrap();
        Self { _outer: outer, workdir }
    }

    fn judge(&self, list: &Allowlist, line: &str) -> Verdict {
        let tree = RealTree::open(&self.workdir).unwrap();
        list.judge(line.as_bytes(), Surroundings { tree: &tree, search: None, terminal: true })
    }

    fn check(&self, list: &Allowlist, allowed: bool, lines: &[impl AsRef<str>]) {
        let mut wrong = Vec::new();
        for line in lines {
            let line = line.as_ref();
            let verdict = self.judge(list, line);
            if (verdict.decision == Decision::Allow) != allowed {
                wrong.push(format!("{line:?}: {:?}, {}", verdict.decision, verdict.reason));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

#[test]
fn harmless_lines_pass_the_reference_policy() {
    Fixture::new().check(&reference(), true, &cases().pass_reference);
}

#[test]
fn syntax_that_is_not_understood_never_passes() {
    Fixture::new().check(&shipped(), false, &cases().syntax);
}

#[test]
fn characters_that_hide_never_pass() {
    let fixture = Fixture::new();
    let list = shipped();
    let hidden = [
        '\0',
        '\u{1}',
        '\u{7}',
        '\u{8}',
        '\u{b}',
        '\u{c}',
        '\r',
        '\u{1b}',
        '\u{7f}',
        '\u{85}',
        '\u{9b}',
        '\u{a0}',
        '\u{ad}',
        '\u{34f}',
        '\u{61c}',
        '\u{115f}',
        '\u{1680}',
        '\u{180e}',
        '\u{2000}',
        '\u{2003}',
        '\u{200b}',
        '\u{200d}',
        '\u{200e}',
        '\u{202e}',
        '\u{2028}',
        '\u{2029}',
        '\u{202f}',
        '\u{205f}',
        '\u{2060}',
        '\u{2066}',
        '\u{2069}',
        '\u{2800}',
        '\u{3000}',
        '\u{3164}',
        '\u{fe0f}',
        '\u{feff}',
        '\u{ffa0}',
        '\u{fff9}',
        '\u{e0041}',
        '\u{e0100}',
    ];
    for c in hidden {
        fixture.check(
            &list,
            false,
            &[
                &format!("ls{c}"),
                &format!("ls {c} src"),
                &format!("echo 'a{c}b'"),
                &format!("echo a # {c}"),
                &format!("echo \\{c}"),
            ],
        );
    }
    // Look-alikes of letters and signs: another program, or not understood.
    fixture.check(
        &list,
        false,
        &[
            "lѕ",
            "ｌｓ",
            "ls ；touch x",
            "ls ｜ cat",
            "ls “a”",
            "ls –la",
            "gіt status",
            "echo ＄HOME",
            "саt a.txt",
        ],
    );
}

#[test]
fn programs_are_meant_by_their_bare_name() {
    Fixture::new().check(&shipped(), false, &cases().programs);
}

#[test]
fn options_that_do_more_never_pass() {
    Fixture::new().check(&shipped(), false, &cases().options);
}

#[test]
fn paths_that_leave_never_pass() {
    Fixture::new().check(&shipped(), false, &cases().paths);
}

#[test]
fn useful_lines_pass_the_shipped_rules() {
    let fixture = Fixture::new();
    fixture.check(&shipped(), true, &cases().pass_shipped);
    let absolute = fixture.workdir.canonicalize().unwrap();
    let absolute = absolute.to_str().unwrap();
    for line in [
        "cat ABS/a.txt",
        "ls ABS",
        "cd ABS && git status",
        "cd ABS/src && ls",
        "grep -rn x ABS/src",
        "ls ABS/*.txt",
    ] {
        fixture.check(&shipped(), true, &[&line.replace("ABS", absolute)]);
    }
    for line in [
        "cat ABS/../secret",
        "cat ABSx",
        "cat ABS/leak",
        "cd ABS/.. && ls",
        "ls ABS/../*",
        "ls ABS/etc/*",
    ] {
        fixture.check(&shipped(), false, &[&line.replace("ABS", absolute)]);
    }
}

#[test]
fn wildcards_are_made_safe() {
    let fixture = Fixture::new();
    let list = shipped();
    let argv = |line: &str| fixture.judge(&list, line).commands[0].argv.clone();
    assert_eq!(argv("ls *.txt"), ["ls", "./a.txt", "./b.txt", "./目录.txt"]);
    assert_eq!(argv("ls src/*.rs"), ["ls", "src/lib.rs", "src/main.rs"]);
    assert_eq!(argv("ls tricky/*"), ["ls", "tricky/--pre=e", "tricky/@x"]);
    assert_eq!(argv("ls s*/*/"), ["ls", "./src/deep/"]);
    assert_eq!(argv("cat src/[!m]*.rs"), ["cat", "src/lib.rs"]);
    // A name like an option stays a name, and names with a dot in front have to be meant.
    let all = argv("ls ?*");
    assert!(
        all.contains(&"ls".into())
            && !all.iter().any(|a| a.starts_with('-') || a.contains("hidden")),
        "{all:?}"
    );
    let dashes = fixture.judge(&list, "cd tricky && cat *");
    assert_eq!(dashes.decision, Decision::Allow, "{}", dashes.reason);
    assert_eq!(dashes.commands[0].argv, ["cat", "./--pre=e", "./@x"]);
}

#[test]
fn a_directory_is_followed_for_what_comes_after() {
    let fixture = Fixture::new();
    let verdict = fixture.judge(&shipped(), "ls; cd src && cd deep && ls || cat x.rs\npwd");
    assert_eq!(verdict.decision, Decision::Allow, "{}", verdict.reason);
    let places: Vec<(&str, &Path)> =
        verdict.commands.iter().map(|c| (c.argv[0].as_str(), c.cwd.as_path())).collect();
    let deep = Path::new("src/deep");
    assert_eq!(places, [("ls", Path::new("")), ("ls", deep), ("cat", deep), ("pwd", deep)]);
}
