//! Puts the built standard plugin where the binary embeds it, or says which command makes it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use sha2::{Digest, Sha256};

fn main() {
    println!("cargo::rerun-if-env-changed=CLAWHOLD_STANDARD_PLUGIN");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let candidates = candidates(&out);
    let Some(path) = candidates.iter().find(|path| path.is_file()) else {
        println!(
            "cargo::error=the standard plugin is not built yet; run `cargo xtask plugins` once, then this again"
        );
        return;
    };
    // Only what exists: a file that is watched and missing would run this at each build.
    println!("cargo::rerun-if-changed={}", path.display());
    if let Err(error) = embed(path, &out) {
        println!("cargo::error=cannot embed {}: {error}", path.display());
    }
}

/// Where it may lie: named by the environment, in the published crate, in the target folder that
/// this very build writes to.
fn candidates(out: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    paths.extend(env::var_os("CLAWHOLD_STANDARD_PLUGIN").map(PathBuf::from));
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    paths.push(package.join("prebuilt/workspace.wasm"));
    paths.extend(
        out.ancestors()
            .map(|above| above.join("plugins/workspace.wasm"))
            .filter(|path| path.is_file()),
    );
    paths.push(package.join("../target/plugins/workspace.wasm"));
    paths
}

fn embed(path: &Path, out: &Path) -> std::io::Result<()> {
    let wasm = fs::read(path)?;
    let mut sha256 = String::new();
    for byte in Sha256::digest(&wasm) {
        let _ = write!(sha256, "{byte:02x}");
    }
    fs::write(out.join("workspace.wasm"), wasm)?;
    fs::write(out.join("workspace.sha256"), sha256)
}
