//! grep over a large tree, beside single-threaded ripgrep.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use clawhold::sandbox::Limits;
use clawhold::tool::CallContext;
use serde_json::json;

use crate::lab;
use crate::measure::Times;

const FILES: usize = 20_000;
const BYTES: usize = 10 << 10;

pub fn run() {
    let temp = tempfile::tempdir().unwrap();
    plant(temp.path());
    let limits = Limits { timeout: std::time::Duration::from_mins(2), ..Limits::default() };
    let tools = lab::tools_over(lab::standard(), temp.path(), false, limits, 0);
    let tool = &tools["grep"];
    for (name, pattern) in [
        ("a rare word", "needle_[0-9]+"),
        ("a common word", "the lazy [a-z]+ jumps"),
        ("nothing", "no such words"),
    ] {
        let ours = Times::of(3, || {
            let arguments = json!({"pattern": pattern, "limit": 100});
            let reply =
                lab::executor().block_on(tool.call(&arguments, &CallContext::detached("c")));
            assert!(reply.outcome.is_done(), "{:?}", reply.failure);
        });
        ours.report(
            &format!("grep for {name}, {FILES} files, {} MB", FILES * BYTES / 1_000_000),
            "",
        );
        let ripgrep = Times::of(3, || {
            let output = Command::new("rg")
                .args(["-j1", "--sort", "path", "-n", pattern])
                .current_dir(temp.path())
                .output();
            assert!(
                output.is_ok(),
                "ripgrep is needed for the comparison: install the package `ripgrep`"
            );
        });
        ripgrep.report("    ripgrep -j1 --sort path", "");
        println!(
            "    ratio {:.2} (bound 3)",
            ours.median().as_secs_f64() / ripgrep.median().as_secs_f64()
        );
    }
}

/// 20,000 files of 10 KB in 200 folders, one in a hundred with the rare word.
fn plant(root: &Path) {
    let mut filler = String::new();
    while filler.len() < BYTES {
        let _ = writeln!(
            filler,
            "line {} of text where the quick brown fox meets the lazy dog",
            filler.len()
        );
    }
    for folder in 0..200 {
        let dir = root.join(format!("d{folder:03}"));
        std::fs::create_dir(&dir).unwrap();
        for file in 0..FILES / 200 {
            let mut text = filler.clone();
            if file == 7 {
                text.insert_str(BYTES / 2, &format!("needle_{folder}\n"));
            }
            std::fs::write(dir.join(format!("f{file:03}.txt")), text).unwrap();
        }
    }
}
