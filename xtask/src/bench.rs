//! `bench`: the measurements of docs/performance.md, on a release build.

use crate::failure::Failure;
use crate::{cargo, place, plugins, say, tree};

/// Each file in `host/benches` is a program that prints its figures; `words` go to `cargo bench`,
/// where `--bench NAME` picks one.
pub(crate) fn run(words: &[&str]) -> Result<(), Failure> {
    plugins::run(&[])?;
    let mut names = Vec::new();
    for file in tree::entries(&place::root().join("host/benches"))? {
        if file.extension().is_some_and(|extension| extension == "rs") {
            names.extend(file.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    if names.is_empty() {
        return Err(Failure::new(
            "there are no benchmarks in `host/benches`",
            "add one, with `[[bench]] name = \"…\" harness = false` in `host/Cargo.toml`",
        ));
    }
    say::note(format!("benchmarks: {}", names.join(", ")));
    // Without `--benches`, the library's unit tests would be built in release mode as well.
    let mut step = cargo::cargo("bench").args(["-p", "clawhold"]);
    if !words.contains(&"--bench") {
        for name in &names {
            step = step.args(["--bench", name]);
        }
    }
    step.args(words.iter().copied()).run()
}
