//! `setup`: finds or installs a compiler for guests, and remembers it.

use std::time::Duration;

use crate::cargo::{self, Step};
use crate::failure::Failure;
use crate::toolchain::{self, TARGET, Toolchain};
use crate::{debian, say};

/// Seconds that rustup may take. Without a network it may try for very long, and Debian's packages
/// are the other way.
const PATIENCE: u64 = 300;

pub(crate) fn run(words: &[&str]) -> Result<(), Failure> {
    let toolchain = match words {
        [] => ready()?,
        ["--toolchain", name] => {
            let toolchain = Toolchain::named(name).ok_or_else(|| {
                Failure::usage(format!(
                    "there is no toolchain `{name}`, only `rustup` and `debian`"
                ))
            })?;
            provide(toolchain)?;
            toolchain::remember(toolchain)?;
            toolchain
        }
        _ => {
            return Err(Failure::usage(
                "`setup` takes nothing but `--toolchain rustup` or `--toolchain debian`",
            ));
        }
    };
    debian::try_bubblewrap();
    say::note(format!("guests are built by the `{}` toolchain", toolchain.name()));
    Ok(())
}

/// A toolchain that builds guests; installed only if there is none. Quick and silent when all is
/// there already.
pub(crate) fn ready() -> Result<Toolchain, Failure> {
    toolchain::check_version()?;
    if let Some(toolchain) = toolchain::remembered() {
        return Ok(toolchain);
    }
    let toolchain = find_or_install()?;
    toolchain::remember(toolchain)?;
    Ok(toolchain)
}

fn find_or_install() -> Result<Toolchain, Failure> {
    let both = [Toolchain::Rustup, Toolchain::Debian];
    let mut lacking = Vec::new();
    for toolchain in both {
        match toolchain.lacks() {
            None => return Ok(toolchain),
            Some(lack) => lacking.push(format!("{}: {lack}", toolchain.name())),
        }
    }
    say::note("nothing here builds WebAssembly components yet:");
    for line in lacking {
        say::note(line);
    }
    let mut failures = Vec::new();
    for toolchain in both {
        match provide(toolchain) {
            Ok(()) => return Ok(toolchain),
            Err(failure) => failures.push(failure.to_string()),
        }
    }
    Err(Failure::new(
        format!("no toolchain for guests could be installed\n{}", failures.join("\n")),
        format!("make `rustup target add {TARGET}` work, then run `cargo xtask setup` again"),
    ))
}

/// Makes `toolchain` able to build guests.
fn provide(toolchain: Toolchain) -> Result<(), Failure> {
    if toolchain.lacks().is_none() {
        return Ok(());
    }
    match toolchain {
        Toolchain::Rustup => add_target(),
        Toolchain::Debian if debian::is_debian() => debian::install(),
        Toolchain::Debian => Err(Failure::new(
            "the `debian` toolchain needs `apt-get`, which is not here",
            "use rustup (https://rustup.rs)",
        )),
    }
}

fn add_target() -> Result<(), Failure> {
    if cargo::answer("rustup", &["--version"]).is_none() {
        return Err(Failure::new(
            "the `rustup` toolchain needs `rustup`, which is not here",
            format!(
                "install it (https://rustup.rs), or your distributor's package of the target {TARGET}"
            ),
        ));
    }
    Step::new("rustup")
        .args(["target", "add", TARGET])
        // Without a network, its backtrace would bury the message.
        .hidden_env("RUST_BACKTRACE", "0")
        .advice("see whether this machine reaches static.rust-lang.org; on Debian, `cargo xtask setup --toolchain debian` does without")
        .run_within(Duration::from_secs(PATIENCE))?;
    match Toolchain::Rustup.lacks() {
        None => Ok(()),
        Some(lack) => Err(Failure::new(
            format!("rustup added the target, but {lack}"),
            "see that `rustc` on the search path is rustup's (`rustup which rustc`)",
        )),
    }
}
