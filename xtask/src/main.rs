//! What a developer of Clawhold runs: `cargo xtask help` lists it.

use std::process::ExitCode;

use crate::failure::Failure;

mod bench;
mod cargo;
mod ci;
mod debian;
mod demo;
mod failure;
mod fingerprint;
mod guest;
mod place;
mod plugins;
mod say;
mod setup;
mod test;
mod toolchain;
mod tree;

const HELP: &str = "\
Usage: cargo xtask COMMAND

  setup [--toolchain rustup|debian]
                       find or install what builds WebAssembly components, and remember it
  plugins [NAME…]      build the guests that changed into target/plugins/NAME.wasm
  demo                 build all, then run a scripted session on a copy of examples/workspace
  test [--long] [ARG…] build the guests, then `cargo test --workspace ARG…`;
                       --long adds the tests that take minutes (sets CLAWHOLD_LONG=1)
  bench [ARG…]         build the guests, then `cargo bench -p clawhold ARG…`
  ci                   what .ci/run does: test, demo, formatting, lints, documentation
  help                 this text

Each command does first what it needs: after a fresh clone, start with any of them.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say::error(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}

fn run(words: &[&str]) -> Result<(), Failure> {
    let (command, rest) = words.split_first().unwrap_or((&"help", &[]));
    match *command {
        "help" | "--help" | "-h" => say::text(HELP),
        "setup" => setup::run(rest)?,
        "plugins" => plugins::run(rest)?,
        "demo" => no_arguments(rest).and_then(|()| demo::run())?,
        "test" => test::run(rest)?,
        "bench" => bench::run(rest)?,
        "ci" => no_arguments(rest).and_then(|()| ci::run())?,
        other => {
            return Err(Failure::usage(format!("there is no command `{other}`")));
        }
    }
    Ok(())
}

fn no_arguments(rest: &[&str]) -> Result<(), Failure> {
    match rest.first() {
        None => Ok(()),
        Some(word) => {
            Err(Failure::usage(format!("this command takes no argument, but got `{word}`")))
        }
    }
}
