//! Wildcards against a real bash, and rules against generated lines.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use clawhold::shell::{Allowlist, Decision, RealTree, RuleSettings, Surroundings, Verdict};
use proptest::prelude::*;

fn judge_in(dir: &Path, line: &str) -> Verdict {
    static LIST: LazyLock<Allowlist> =
        LazyLock::new(|| Allowlist::new(&RuleSettings::default()).unwrap());
    let tree = RealTree::open(dir).unwrap();
    LIST.judge(line.as_bytes(), Surroundings { tree: &tree, search: None, terminal: true })
}

/// Judges in a workdir that has nothing in it.
fn judge(line: &str) -> Verdict {
    static EMPTY: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().unwrap());
    judge_in(EMPTY.path(), line)
}

/// Wildcards give what bash gives in the C locale, but for the `./` in front and for no match.
#[test]
fn wildcards_agree_with_bash() {
    let dir = tempfile::tempdir().unwrap();
    for path in [
        "a/b/c.rs",
        "a/d.rs",
        "a/.e.rs",
        "ab/x",
        "b.rs",
        "B.rs",
        ".dot/f.rs",
        "-n",
        "x y",
        "a/b/q[1].rs",
        "1",
        "12",
        "zz/zz/zz",
    ] {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    symlink("a", dir.path().join("l")).unwrap();
    for pattern in [
        "*",
        "*.rs",
        "?.rs",
        "[ab].rs",
        "[!a].rs",
        "[A-Z].rs",
        "a/*",
        "a/*.rs",
        "*/*",
        "*/*.rs",
        "*/",
        "a/*/",
        ".*/*",
        ".d*",
        "a/.*.rs",
        "a//*.rs",
        "./*.rs",
        "*/b/*",
        "**",
        "*b*",
        "[0-9]*",
        "?",
        "a*/*",
        "l/*",
        "x\\ *",
        "a/b/q\\[*",
        "z*/z*/z*",
        "a/b/*.rs",
        "*\\ y",
        "-*x",
        "a/*.r?",
        "'a'/*.rs",
        "\"a\"*/d*",
        "*/../*.rs",
        "nope/*",
        "b.rs/*",
        "*?",
        "?*?",
    ] {
        let line = format!("cat {pattern}");
        let verdict = judge_in(dir.path(), &line);
        let bash = Command::new("/bin/bash")
            .args([
                "--noprofile",
                "--norc",
                "-c",
                &format!("shopt -s nullglob; printf '%s\\n' {pattern}"),
            ])
            .env("LC_ALL", "C")
            .current_dir(dir.path())
            .output()
            .unwrap();
        let text = String::from_utf8(bash.stdout).unwrap();
        let wanted: Vec<&str> = text.lines().filter(|l| !l.is_empty()).collect();
        if verdict.decision != Decision::Allow {
            assert!(
                wanted.is_empty() || pattern.contains("..") || pattern.starts_with('-'),
                "{pattern}: {}",
                verdict.reason
            );
            continue;
        }
        let mut got: Vec<String> = verdict.commands[0].argv[1..].to_vec();
        if !pattern.starts_with("./") {
            got = got.iter().map(|g| g.strip_prefix("./").unwrap_or(g).to_owned()).collect();
        }
        got.sort();
        let mut wanted: Vec<String> = wanted.iter().map(ToString::to_string).collect();
        // Older shells list the directory itself under `.*`.
        wanted.retain(|w| {
            !w.split('/').any(|part| part == "." && !pattern.starts_with("./") || part == "..")
        });
        wanted.sort();
        assert_eq!(got, wanted, "{pattern}");
    }
}

#[test]
fn wildcards_end_in_bounded_time() {
    let dir = tempfile::tempdir().unwrap();
    for number in 0..1500 {
        std::fs::write(
            dir.path().join(format!("{number}aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab")),
            "",
        )
        .unwrap();
    }
    let started = std::time::Instant::now();
    for pattern in ["*", &"*a".repeat(2000), &"?*".repeat(2000), &"*/".repeat(2000)] {
        let line = format!("cat {pattern}");
        assert_ne!(judge_in(dir.path(), &line).decision, Decision::Allow);
    }
    assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
}

proptest! {
    /// Nothing made of words that matter gets an option past its rule.
    #[test]
    fn only_listed_options_pass(words in proptest::collection::vec(
        prop::sample::select(vec!["-n", "-e", "--", "-o", "x", "--output=x", "-no", "5", "-k", "-t", "--outp", ":", "-ox", "-k2", "-S", "-T"]), 0..7)
    ) {
        let line = format!("sort {}", words.join(" "));
        let verdict = judge(&line);
        if verdict.decision == Decision::Allow {
            // As sort itself reads them: -k and -t take the next word, `--` ends the options.
            let mut words = words.iter();
            while let Some(word) = words.next() {
                match *word {
                    "--" => break,
                    "-k" | "-t" => { words.next(); }
                    word => prop_assert!(!word.starts_with('-') || ["-n", "-k2"].contains(&word), "{line}"),
                }
            }
        }
    }

    #[test]
    fn nothing_makes_the_judge_panic(line in proptest::collection::vec(
        prop::sample::select(vec!["ls", "cat", "grep", "find", "git", "cd", "status", " ", " ", " ", "-", "--", "-n", "=", "'", "\"", "*", "?", "[a]", "/", "..", ".", "@", ":", "|", "&&", ";", "\n", "é", "目", "-é", "2>&1", "\\"]), 0..20)
    ) {
        let _ = judge(&line.concat());
    }
}
