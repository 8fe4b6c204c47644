//! A long run: what the host itself spends on a turn, with a call in each and the log on disk.

use std::fmt::Write as _;
use std::time::Instant;

use crate::measure::{claw, cost_of, shown};

const TURNS: u32 = 1000;

pub fn run() {
    let home = tempfile::tempdir().unwrap();
    let workdir = tempfile::tempdir().unwrap();
    std::fs::write(workdir.path().join("a.txt"), "0123456789abcde\n".repeat(64)).unwrap();
    for turns in [1, 100, TURNS] {
        let mut script = String::new();
        for turn in 0..turns {
            let _ = writeln!(
                script,
                r#"{{"tool_calls":[{{"id":"c{turn}","name":"read_file","arguments":{{"path":"a.txt"}}}}]}}"#
            );
        }
        script.push_str("{\"text\":\"done\"}\n");
        let path = workdir.path().join("script.jsonl");
        std::fs::write(&path, script).unwrap();
        let begun = Instant::now();
        let child = claw(home.path())
            .args(["run", "--max-turns", "0", "--model"])
            .arg(format!("script:{}", path.display()))
            .arg("read it")
            .current_dir(workdir.path())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let cost = cost_of(child);
        println!(
            "{turns:>5} turns with a read each: {:>9} wall, processor {:>9} ({:>8} a turn), memory {:.1} MiB",
            shown(begun.elapsed()),
            shown(cost.processor),
            shown(cost.processor / turns),
            cost.max_rss_kib as f64 / 1024.0
        );
    }
    println!("bounds: 0.6 ms of processor time a turn, 40 MB of memory, at 100 turns");
}
