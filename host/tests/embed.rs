//! The example of embedding is a program that runs.

use std::path::Path;
use std::process::Command;

#[test]
fn req_079_the_embedding_example_runs() {
    let source = include_str!("../../examples/embed.rs");
    let body = source.split_once("async fn main").map_or("", |(_, body)| body);
    let lines =
        body.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
    assert!(lines.count() < 20, "embedding takes under 20 lines");

    let binary = Path::new(env!("CARGO_BIN_EXE_claw"));
    let example = binary.with_file_name("examples").join("embed");
    assert!(
        example.is_file(),
        "`cargo test` builds it, or `cargo build -p clawhold --example embed`"
    );
    let home = tempfile::tempdir().expect("a temporary directory");
    let work = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(work.path().join("a.txt"), "x").expect("a file");
    let output = Command::new(example)
        .env_clear()
        .env("CLAWHOLD_HOME", home.path())
        .current_dir(work.path())
        .output()
        .expect("the example runs");
    let told = String::from_utf8_lossy(&output.stdout);
    assert_eq!(told.trim(), "that is what lies here after 2 turns", "{output:?}");
}
