//! Everything a guest should not get away with, short of files.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicU32, Ordering};

use clawhold_sdk::failure::invalid;
use clawhold_sdk::{Args, Failure, Reply};

pub(crate) fn run(mut args: Args) -> Result<Reply, Failure> {
    let op = args.text("op")?;
    let n = args.opt_whole("n")?.unwrap_or(0);
    let count = usize::try_from(n).unwrap_or(0);
    Ok(Reply::text(match op.as_str() {
        "spin" => loop {
            std::hint::spin_loop();
        },
        "sleep" => {
            std::thread::sleep(std::time::Duration::from_millis(n));
            "slept".to_owned()
        }
        "grow" => grow(count),
        "recurse" => format!("{}", recurse(1)),
        "panic" => panic!("the probe panics as told"),
        "exit" => std::process::exit(i32::from(n != 0)),
        "text" => "x".repeat(count),
        "stderr" => flood(count),
        "count" => {
            static CALLS: AtomicU32 = AtomicU32::new(0);
            format!("{}", CALLS.fetch_add(1, Ordering::Relaxed) + 1)
        }
        "environment" => {
            let all: Vec<String> =
                std::env::vars().map(|(name, value)| format!("{name}={value}")).collect();
            format!(
                "{} variables: {}; {} arguments",
                all.len(),
                all.join(" "),
                std::env::args().count()
            )
        }
        "stdin" => {
            let mut text = String::new();
            let read = std::io::stdin().read_to_string(&mut text);
            format!("{read:?}")
        }
        "clock" => format!("{:?}", std::time::SystemTime::now().elapsed().is_ok()),
        "progress" => {
            clawhold_sdk::bindings::clawhold::tool::host::progress(
                1,
                Some(2),
                "half \u{1b}[31mway",
            );
            "told".to_owned()
        }
        "cancelled" => format!("{}", clawhold_sdk::bindings::clawhold::tool::host::cancelled()),
        "setting" => {
            let name = args.text("name")?;
            format!("{:?}", clawhold_sdk::bindings::clawhold::tool::host::setting(&name))
        }
        other => return Err(invalid(format!("no such op `{other}`"))),
    }))
}

/// Takes `count` MiB, touched so that they are real.
fn grow(count: usize) -> String {
    let mut held: Vec<Vec<u8>> = Vec::new();
    for _ in 0..count {
        let mut block = Vec::new();
        if block.try_reserve_exact(1 << 20).is_err() {
            return format!("refused after {} MiB", held.len());
        }
        block.resize(1 << 20, 1);
        held.push(block);
    }
    format!("has {} MiB", held.len())
}

#[expect(unconditional_recursion, reason = "the stack is to overflow")]
fn recurse(depth: u64) -> u64 {
    std::hint::black_box(recurse(std::hint::black_box(depth + 1))) + depth
}

/// Writes `count` lines to the standard error, with what a terminal would obey.
fn flood(count: usize) -> String {
    let mut stderr = std::io::stderr();
    for line in 0..count {
        let _ = writeln!(stderr, "line {line} \u{1b}]52;c;eHh4\u{7}");
    }
    panic!("after the flood")
}
