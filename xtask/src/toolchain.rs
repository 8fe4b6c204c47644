//! The compiler that makes guests: which there are, which one was chosen, how it is called.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cargo::{self, Step};
use crate::failure::Failure;
use crate::{debian, place, tree};

/// What guests are compiled to: a component that speaks WASI 0.2.
pub(crate) const TARGET: &str = "wasm32-wasip2";

/// Guests may use SIMD, which wasmtime always offers: searching text is several times faster.
const FLAGS: &str = "-Ctarget-feature=+simd128";

/// Guests never unwind, are loaded on each machine, and are built rarely: so small and fast
/// matters, the time to build does not.
const PROFILE: [(&str, &str); 5] = [
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "3"),
    ("CARGO_PROFILE_RELEASE_LTO", "fat"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1"),
    ("CARGO_PROFILE_RELEASE_PANIC", "abort"),
    ("CARGO_PROFILE_RELEASE_STRIP", "symbols"),
];

/// Variables that tune a build for this machine and would break one for another.
const OF_THE_HOST: [&str; 4] =
    ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS", "CARGO_BUILD_TARGET"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Toolchain {
    /// The compiler that builds the host, with the target's standard library added by rustup (or
    /// by whoever packaged the compiler).
    Rustup,
    /// Debian's own packages, where rustup cannot fetch anything. Debian ships no standard library
    /// for the target, so it is compiled along with the guest.
    Debian,
}

impl Toolchain {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Rustup => "rustup",
            Self::Debian => "debian",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::Rustup, Self::Debian].into_iter().find(|toolchain| toolchain.name() == name)
    }

    /// What it lacks to build guests, or nothing.
    pub(crate) fn lacks(self) -> Option<String> {
        match self {
            Self::Rustup => has_target().err(),
            Self::Debian => debian::lacks(),
        }
    }

    /// The command that builds the library of one package, without the package itself.
    pub(crate) fn build(self) -> Step {
        let mut step = match self {
            Self::Rustup => cargo::cargo("rustc").env(&flags_variable(), FLAGS),
            Self::Debian => debian::cargo_rustc(&flags_variable(), FLAGS),
        };
        for name in OF_THE_HOST {
            step = step.without_env(name);
        }
        for (name, value) in PROFILE {
            step = step.env(name, value);
        }
        // The crate type is named here, so that a crate which is an ordinary library too (for its
        // native tests) still gets link-time optimisation.
        step.args(["--release", "--lib", "--crate-type", "cdylib"])
            .args(["--target", TARGET])
            .env("CARGO_TARGET_DIR", &place::shown(&place::guest_build().join(self.name())))
    }

    /// Where `build` leaves a library called `crate_name`.
    pub(crate) fn product(self, crate_name: &str) -> PathBuf {
        place::guest_build()
            .join(self.name())
            .join(TARGET)
            .join("release")
            .join(format!("{}.wasm", crate_name.replace('-', "_")))
    }

    /// Which compiler this is, exactly: another one means to build again.
    pub(crate) fn version(self) -> String {
        let compiler = match self {
            Self::Rustup => rustc(),
            Self::Debian => debian::RUSTC.into(),
        };
        cargo::answer(compiler, &["-vV"]).unwrap_or_default()
    }
}

/// The choice that `setup` made earlier, if it still holds.
pub(crate) fn remembered() -> Option<Toolchain> {
    let text = fs::read_to_string(memory()).ok()?;
    Toolchain::named(text.trim()).filter(|toolchain| toolchain.lacks().is_none())
}

pub(crate) fn remember(toolchain: Toolchain) -> Result<(), Failure> {
    tree::replace(&memory(), format!("{}\n", toolchain.name()).as_bytes())
}

/// Fails when the compiler is older than the workspace allows, which cargo would say once for
/// each package and only after fetching them all.
pub(crate) fn check_version() -> Result<(), Failure> {
    let manifest = place::root().join("Cargo.toml");
    let text = String::from_utf8_lossy(&tree::read(&manifest)?).into_owned();
    let Some(wanted) = wanted(&text) else {
        return Ok(());
    };
    let shown = cargo::answer(rustc(), &["--version"]).unwrap_or_default();
    match version(&shown) {
        Some(have) if have < wanted => Err(Failure::new(
            format!("this is {shown}, and the workspace needs {}.{} or newer", wanted.0, wanted.1),
            "run `rustup update stable`, or name a newer toolchain as in `cargo +stable xtask …`",
        )),
        _ => Ok(()),
    }
}

/// The oldest compiler that the workspace admits, from the text of its manifest.
pub(crate) fn wanted(manifest: &str) -> Option<(u32, u32)> {
    let line = manifest.lines().find(|line| line.starts_with("rust-version"))?;
    version(line.split('"').nth(1)?)
}

/// The first two numbers of the first word that looks like a version.
pub(crate) fn version(text: &str) -> Option<(u32, u32)> {
    text.split_whitespace().find_map(|word| {
        let mut numbers = word.split('.').map(str::parse);
        match (numbers.next()?, numbers.next()?) {
            (Ok(major), Ok(minor)) => Some((major, minor)),
            _ => None,
        }
    })
}

fn rustc() -> PathBuf {
    std::env::var_os("RUSTC").map_or_else(|| "rustc".into(), PathBuf::from)
}

/// Whether the compiler of the host has a standard library for the target. Asked of the compiler
/// and not of rustup, for other distributors ship it as well.
fn has_target() -> Result<(), String> {
    let question = ["--print", "target-libdir", "--target", TARGET];
    let Some(folder) = cargo::answer(rustc(), &question) else {
        return Err(format!("`rustc` does not know the target `{TARGET}`"));
    };
    let is_std = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libstd-")
    };
    match tree::entries(Path::new(&folder)) {
        Ok(entries) if entries.iter().any(is_std) => Ok(()),
        _ => Err(format!("there is no standard library in `{folder}`")),
    }
}

fn memory() -> PathBuf {
    place::target().join("guest-toolchain")
}

/// Flags for the target alone; build scripts and macros are compiled for this machine.
fn flags_variable() -> String {
    format!("CARGO_TARGET_{}_RUSTFLAGS", TARGET.to_uppercase().replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_what_compilers_and_manifests_say() {
        let check = |text, expect| assert_eq!(version(text), expect, "{text}");
        check("rustc 1.95.0 (59807616e 2026-04-14)", Some((1, 95)));
        check("rustc 1.96.0-nightly (1.2 of x)", Some((1, 96)));
        check("1.95", Some((1, 95)));
        check("rustc", None);
        let manifest = "[workspace.package]\nrust-version = \"1.95\"\n";
        assert_eq!(wanted(manifest), Some((1, 95)));
        assert_eq!(wanted("[package]\n"), None);
    }

    #[test]
    fn a_toolchain_is_found_by_the_name_it_is_remembered_under() {
        for toolchain in [Toolchain::Rustup, Toolchain::Debian] {
            assert_eq!(Toolchain::named(toolchain.name()), Some(toolchain));
        }
        assert_eq!(Toolchain::named("clang"), None);
    }

    #[test]
    fn the_product_is_named_as_rustc_names_it() {
        let path = Toolchain::Rustup.product("clawhold-workspace");
        assert!(path.ends_with("guests/rustup/wasm32-wasip2/release/clawhold_workspace.wasm"));
    }
}
