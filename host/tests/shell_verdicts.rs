//! The corpus of command lines as a table of verdicts, under the reference policy and under the
//! shipped rules. Each row's set-up is run in a workdir of its own, then the line is judged there.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

use clawhold::shell::{Allowlist, Decision, RealTree, RuleSettings, Surroundings, Verdict};
use serde::Deserialize;

#[derive(Deserialize)]
struct Row {
    id: String,
    cmd: String,
    expect: String,
    #[serde(default)]
    setup: String,
    #[serde(default)]
    fires_in_bash5_2: Option<bool>,
}

impl Row {
    fn must_not_pass(&self) -> bool {
        self.expect == "deny"
    }
}

fn corpus() -> Vec<Row> {
    let text = include_str!("data/bash.jsonl");
    let rows: Vec<Row> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert!(rows.len() > 200, "the corpus is cut short");
    rows
}

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

/// A workdir as the corpus presumes it.
fn workdir(setup: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("src")).unwrap();
    std::fs::write(dir.path().join("a.txt"), "foo\nbar\n").unwrap();
    if !setup.is_empty() {
        let mut shell = Command::new("bash");
        shell
            .args(["--noprofile", "--norc", "-c", setup])
            .current_dir(dir.path())
            .env("HOME", dir.path());
        shell.output().unwrap();
    }
    dir
}

fn judge(list: &Allowlist, dir: &Path, line: &[u8], terminal: bool) -> Verdict {
    let tree = RealTree::open(dir).unwrap();
    list.judge(line, Surroundings { tree: &tree, search: None, terminal })
}

/// Every set-up is run once; the rows share a workdir where they share the set-up.
fn wrong_rows(list: &Allowlist, wrong: impl Fn(&Row, Decision) -> bool) -> Vec<String> {
    let mut dirs: std::collections::HashMap<String, tempfile::TempDir> =
        std::collections::HashMap::new();
    let mut failures = Vec::new();
    for row in corpus() {
        let dir = dirs.entry(row.setup.clone()).or_insert_with(|| workdir(&row.setup));
        for terminal in [true, false] {
            let verdict = judge(list, dir.path(), row.cmd.as_bytes(), terminal);
            if wrong(&row, verdict.decision) {
                failures.push(format!(
                    "{} {:?} {:?}: {}",
                    row.id, row.cmd, verdict.decision, verdict.reason
                ));
            }
        }
    }
    failures
}

#[test]
fn reference_policy_holds_over_the_corpus() {
    let failures = wrong_rows(&reference(), |row, decision| {
        (decision == Decision::Allow) == row.must_not_pass()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn shipped_rules_hold_for_every_row_that_fires() {
    let failures = wrong_rows(&shipped(), |row, decision| {
        let allowed = decision == Decision::Allow;
        allowed == row.must_not_pass()
            && (!row.must_not_pass() || row.fires_in_bash5_2 == Some(true))
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Without a set-up, as `claw policy check` is asked about a line out of the blue.
#[test]
fn verdicts_hold_in_an_empty_workdir() {
    let dir = tempfile::tempdir().unwrap();
    let list = reference();
    for row in corpus() {
        let verdict = judge(&list, dir.path(), row.cmd.as_bytes(), true);
        assert_eq!(
            verdict.decision != Decision::Allow,
            row.must_not_pass(),
            "{} {:?}: {}",
            row.id,
            row.cmd,
            verdict.reason
        );
    }
}
