//! `test`: the guests, then all tests of the workspace.

use crate::failure::Failure;
use crate::{cargo, plugins};

/// Switches on the tests that take long. Tests look at the variable themselves, so that plain
/// `cargo test` runs the same code.
const LONG: &str = "CLAWHOLD_LONG";

/// All words but `--long` are handed to `cargo test`.
pub(crate) fn run(words: &[&str]) -> Result<(), Failure> {
    plugins::run(&[])?;
    let mut step = cargo::cargo("test").arg("--workspace");
    if words.first() == Some(&"--long") {
        step = step.env(LONG, "1");
    }
    let rest = words.iter().copied().filter(|word| *word != "--long");
    step.args(rest).run()
}
