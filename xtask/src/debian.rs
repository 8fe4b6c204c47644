//! Guests by Debian's packages: a compiler of its own beside the usual one, the sources of the
//! standard library, and a C library for WASI.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cargo::{self, Step};
use crate::failure::Failure;
use crate::{place, toolchain, tree};

pub(crate) const RUSTC: &str = "/usr/bin/rustc";
const CARGO: &str = "/usr/bin/cargo";
const LIBRARY_SOURCES: &str = "/usr/lib/rustlib/src/rust/library/Cargo.toml";
const WASI_LIBC: &str = "/usr/lib/wasm32-wasi";
const RUSTLIB: &str = "/usr/lib/rustlib";

const PACKAGES: [&str; 5] =
    ["rustc-web", "cargo-web", "rust-web-src", "rust-web-llvm", "wasi-libc"];

/// What is missing, or nothing.
pub(crate) fn lacks() -> Option<String> {
    let libc = format!("{WASI_LIBC}/libc.a");
    for needed in [RUSTC, CARGO, LIBRARY_SOURCES, &libc] {
        if !Path::new(needed).is_file() {
            return Some(format!("there is no `{needed}`"));
        }
    }
    if component_linker().is_none() {
        return Some("there is no `wasm-component-ld`".into());
    }
    if linker_folder().is_none() {
        return Some("there is no `wasm-ld`".into());
    }
    too_old()
}

/// Installs what is missing. Asks the package lists anew first: old ones name a compiler that is
/// too old, or packages that are gone.
pub(crate) fn install() -> Result<(), Failure> {
    apt(&["update"])?;
    let mut wanted = vec!["install", "-y", "--no-install-recommends"];
    wanted.extend(PACKAGES);
    apt(&wanted)?;
    if linker_folder().is_none() {
        // The compiler links to `lld-N` of its own LLVM, but its packages do not depend on it.
        let linker = matching_lld().unwrap_or_else(|| "lld".into());
        apt(&["install", "-y", "--no-install-recommends", &linker])?;
    }
    match lacks() {
        None => Ok(()),
        Some(lack) => Err(Failure::new(
            format!("Debian's packages are installed, but {lack}"),
            "this release of Debian is too old or packages the compiler differently: use rustup (https://rustup.rs)",
        )),
    }
}

/// Installs the program that confines commands, where that is possible. Without it everything else
/// works, so nothing here is a failure.
pub(crate) fn try_bubblewrap() {
    if Path::new("/usr/bin/bwrap").is_file() {
        return;
    }
    if is_debian() && apt(&["install", "-y", "--no-install-recommends", "bubblewrap"]).is_ok() {
        return;
    }
    crate::say::note(
        "`bwrap` is not here, so commands run in a weaker sandbox: install the package `bubblewrap`",
    );
}

/// `cargo rustc` with Debian's compiler, which compiles the standard library along.
pub(crate) fn cargo_rustc(flags_variable: &str, flags: &str) -> Step {
    let mut step = Step::new(CARGO)
        .arg("rustc")
        .arg("-Zbuild-std=std,panic_abort")
        .env(flags_variable, &format!("{flags} -Lnative={WASI_LIBC}"))
        .env("RUSTC", RUSTC)
        // `-Z` flags are for nightly compilers; this admits them in a released one.
        .env("RUSTC_BOOTSTRAP", "1")
        // Set by the cargo that runs us to the libraries of another compiler.
        .without_env("LD_LIBRARY_PATH");
    if cargo::locked() {
        step = step.arg("--locked");
    }
    if let Some(folder) = linker_folder() {
        let path = std::env::var("PATH").unwrap_or_default();
        step = step.hidden_env("PATH", &format!("{}:{path}", folder.display()));
    }
    step
}

/// Whether the packages can be had at all.
pub(crate) fn is_debian() -> bool {
    Path::new("/usr/bin/apt-get").is_file()
}

fn apt(arguments: &[&str]) -> Result<(), Failure> {
    let line = format!("apt-get {}", arguments.join(" "));
    Step::new("apt-get")
        .args(arguments.iter().copied())
        .env("DEBIAN_FRONTEND", "noninteractive")
        .advice(format!(
            "if it lacked permission, run `sudo {line}` and then `cargo xtask setup` again"
        ))
        .run()
}

fn too_old() -> Option<String> {
    let manifest = fs::read_to_string(place::root().join("Cargo.toml")).ok()?;
    let wanted = toolchain::wanted(&manifest)?;
    let shown = cargo::answer(RUSTC, &["--version"]).unwrap_or_default();
    match toolchain::version(&shown) {
        Some(have) if have >= wanted => None,
        _ => Some(format!("`{RUSTC}` is {shown}, older than {}.{}", wanted.0, wanted.1)),
    }
}

/// The program that turns a linked module into a component; it lies in a folder named for the
/// machine.
fn component_linker() -> Option<PathBuf> {
    tree::entries(Path::new(RUSTLIB))
        .ok()?
        .into_iter()
        .map(|machine| machine.join("bin/wasm-component-ld"))
        .find(|program| program.is_file())
}

/// The folder that holds a `wasm-ld`: the one of the compiler's own LLVM where it is installed,
/// for an older linker may not read what a newer compiler wrote; else any on the search path.
fn linker_folder() -> Option<PathBuf> {
    let own = matching_lld().and_then(|name| {
        let version = name.strip_prefix("lld-")?;
        Some(PathBuf::from(format!("/usr/lib/llvm-{version}/bin")))
    });
    let path = std::env::var_os("PATH").unwrap_or_default();
    own.into_iter()
        .chain(std::env::split_paths(&path))
        .find(|folder| folder.join("wasm-ld").is_file())
}

/// The package of the linker that the compiler points to, `lld-22` say.
fn matching_lld() -> Option<String> {
    let link = fs::read_link("/usr/bin/rust-lld").ok()?;
    let name = link.file_name()?.to_str()?.to_owned();
    name.starts_with("lld-").then_some(name)
}
