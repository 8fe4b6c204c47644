//! How long the program takes to begin, and how large the first request is.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use crate::measure::{Times, claw, shown};

pub fn run() {
    let home = tempfile::tempdir().unwrap();
    let workdir = tempfile::tempdir().unwrap();
    let version = Times::of(100, || {
        assert!(claw(home.path()).arg("--version").output().unwrap().status.success());
    });
    version.report("claw --version, process included", "bound 3 ms");

    // Fills the cache, as the first run of a user does.
    let tools = || claw(home.path()).arg("tools").current_dir(workdir.path()).output().unwrap();
    assert!(tools().status.success());
    Times::of(50, || drop(tools())).report("claw tools, from the cache", "");

    let mut sizes = Vec::new();
    let mut waits: Vec<Duration> = (0..30)
        .map(|_| {
            let (wait, size) = first_request(home.path(), workdir.path());
            sizes.push(size);
            wait
        })
        .collect();
    waits.sort_unstable();
    println!(
        "{:<52} p50 {:>10}  p99 {:>10}  bound 15 ms",
        "start of the process to the first request",
        shown(waits[15]),
        shown(waits[29])
    );
    println!("first request: {} bytes with the six tools (bound 6144)", sizes[0]);
}

/// Starts a run against a server that answers once; the time until its request is there, and the
/// bytes of the request's body.
fn first_request(home: &std::path::Path, workdir: &std::path::Path) -> (Duration, usize) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let begun = Instant::now();
    let child = claw(home)
        .args(["run", "--model", "openai/m", "hello"])
        .env("OPENAI_BASE_URL", url)
        .env("OPENAI_API_KEY", "k")
        .current_dir(workdir)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn();
    let (mut stream, _) = listener.accept().unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut length = 0;
    let mut line = String::new();
    while reader.read_line(&mut line).unwrap() > 2 {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let wait = begun.elapsed();
    let answer =
        r#"{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#;
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{answer}",
        answer.len()
    )
    .unwrap();
    assert!(child.unwrap().wait().unwrap().success());
    (wait, length)
}
