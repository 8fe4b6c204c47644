//! `plugins`: builds the guests that changed.

use std::fs;
use std::path::PathBuf;

use crate::failure::Failure;
use crate::fingerprint::Shared;
use crate::guest::{self, Guest};
use crate::toolchain::Toolchain;
use crate::{place, say, setup, tree};

/// Builds the guests named in `words`, or all.
pub(crate) fn run(words: &[&str]) -> Result<(), Failure> {
    let guests = guest::all()?;
    for word in words {
        if !guests.iter().any(|guest| guest.name == *word) {
            let known: Vec<&str> = guests.iter().map(|guest| &*guest.name).collect();
            return Err(Failure::usage(format!(
                "there is no guest `{word}`, only {}",
                known.join(", ")
            )));
        }
    }
    let toolchain = setup::ready()?;
    let shared = Shared::new(&toolchain.build().shown(), &toolchain.version())?;
    let mut fresh = 0;
    for guest in &guests {
        if !words.is_empty() && !words.contains(&&*guest.name) {
            continue;
        }
        let fingerprint = shared.of(guest)?;
        if is_fresh(guest, &fingerprint) {
            fresh += 1;
        } else {
            build(guest, toolchain)?;
            tree::replace(&stamp(guest), fingerprint.as_bytes())?;
        }
    }
    if fresh > 0 {
        say::note(format!("{fresh} of the guests up to date"));
    }
    Ok(())
}

fn is_fresh(guest: &Guest, fingerprint: &str) -> bool {
    let built = fs::read_to_string(stamp(guest)).is_ok_and(|old| old == fingerprint);
    built && product(guest).is_file()
}

/// One guest at a time: built together, they would get each other's features of shared crates, and
/// what is in a component would depend on what was built with it.
fn build(guest: &Guest, toolchain: Toolchain) -> Result<(), Failure> {
    let manifest = guest.folder.join("Cargo.toml");
    toolchain
        .build()
        .args(["--manifest-path", &place::shown(&manifest)])
        .advice(format!(
            "read the compiler's messages above; if they are about a missing `std` or linker, run `cargo xtask setup --toolchain {}`",
            toolchain.name()
        ))
        .run()?;
    let component = tree::read(&toolchain.product(&guest.library))?;
    let goal = product(guest);
    tree::replace(&goal, &component)?;
    say::note(format!("{}: {} KB", place::shown(&goal), component.len().div_ceil(1000)));
    Ok(())
}

fn product(guest: &Guest) -> PathBuf {
    place::plugins().join(format!("{}.wasm", guest.name))
}

fn stamp(guest: &Guest) -> PathBuf {
    place::guest_build().join(format!("{}.stamp", guest.name))
}
