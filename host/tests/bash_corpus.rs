//! Every line of the corpus that must not pass, run live in the full sandbox as if a person had
//! said yes to it: nothing outside is touched, and nothing is left running.
#![allow(clippy::unwrap_used)]

#[path = "support/shell.rs"]
mod shell;

use std::process::Command;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use shell::{Lab, Yes, full};

#[derive(Deserialize)]
struct Row {
    id: String,
    cmd: String,
    expect: String,
    #[serde(default)]
    setup: String,
}

fn rows() -> Vec<Row> {
    let text = include_str!("data/bash.jsonl");
    let rows = text.lines().map(|line| serde_json::from_str(line).unwrap());
    rows.filter(|row: &Row| row.expect != "allow").collect()
}

/// Everything below `dir` with its content, for comparing.
fn state(dir: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            all.extend(state(&path));
        } else {
            all.push((path.clone(), std::fs::read(&path).unwrap_or_default()));
        }
    }
    all.sort();
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn every_line_that_must_not_pass_is_held_by_the_sandbox_alone() {
    let Some(tier) = full() else { return };
    let rows = rows();
    assert!(rows.len() > 150, "the corpus is cut short");
    for row in &rows {
        let lab = Lab::with(tier.clone(), |settings| {
            settings.timeout = Duration::from_secs(2);
            settings.approval = clawhold::shell::Approval::Ask;
            settings.approver = std::sync::Arc::new(Yes);
            settings.rules.shipped_rules = false;
            settings.rules.outside = None;
        });
        std::fs::create_dir(lab.work().join("src")).unwrap();
        lab.put("a.txt", "foo\nbar\n");
        for name in ["user", "ours", "sibling"] {
            std::fs::write(lab.root().join(name).join("canary"), "untouched").unwrap();
        }
        if !row.setup.is_empty() {
            let mut setup = Command::new("bash");
            setup.args(["--noprofile", "--norc", "-c", &row.setup]).current_dir(lab.work());
            setup.env("HOME", lab.work()).output().unwrap();
        }
        let outside = || ["user", "ours", "sibling"].map(|name| state(&lab.root().join(name)));
        let before = outside();
        let reply = lab.call("bash", json!({"command": row.cmd})).await;
        assert!(before == outside(), "{}: {}", row.id, row.cmd);
        assert!(!reply.observation().contains("untouched"), "{}: {}", row.id, reply.observation());
        let mut beside: Vec<_> =
            std::fs::read_dir(lab.root()).unwrap().map(|e| e.unwrap().file_name()).collect();
        beside.retain(|name| name != "scratch");
        assert_eq!(
            beside.len(),
            4,
            "{}: something was made beside the workdir: {beside:?}",
            row.id
        );
    }
}
