//! What Clawhold costs, measured beside what it is compared with, in one run on one machine.
//!
//! `cargo xtask bench` runs all of it; `cargo bench -p clawhold --bench host -- call grep` only
//! the named parts. Figures are medians unless they say otherwise.

#![allow(clippy::print_stdout, clippy::unwrap_used, unreachable_pub)]

mod bash;
mod call;
mod grep;
#[path = "../../tests/support/lab.rs"]
mod lab;
mod measure;
mod start;
mod turns;

fn main() {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    if wanted.iter().any(|wanted| wanted == "read") {
        return call::read_only();
    }
    let all: [(&str, fn()); 5] = [
        ("call", call::run),
        ("start", start::run),
        ("turns", turns::run),
        ("grep", grep::run),
        ("bash", bash::run),
    ];
    for (name, run) in all {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            println!("\n## {name}\n");
            run();
        }
    }
}
