//! `ci`: all that must hold before a change is merged.

use crate::cargo::cargo;
use crate::failure::Failure;
use crate::{demo, say, test};

pub(crate) fn run() -> Result<(), Failure> {
    say::heading("Tests");
    test::run(&[])?;
    say::heading("Demo");
    demo::run()?;
    say::heading("Formatting");
    cargo("fmt")
        .args(["--all", "--check"])
        .advice("run `cargo fmt --all`; if the command itself is missing, `rustup component add rustfmt`")
        .run()?;
    // Guests are members of the workspace and compile for this machine too, so this covers them.
    say::heading("Lints");
    cargo("clippy")
        .args(["--workspace", "--all-targets", "--", "-D", "warnings"])
        .advice(
            "mend what it names; if the command itself is missing, `rustup component add clippy`",
        )
        .run()?;
    say::heading("Documentation");
    cargo("doc").args(["--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-Dwarnings").run()?;
    say::heading("All good");
    Ok(())
}
