//! Where things lie.

use std::path::{Path, PathBuf};

/// The folder of the workspace.
///
/// Cargo tells it at run time; the place where this was compiled may have moved since.
pub(crate) fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map(Path::to_path_buf).unwrap_or(here)
}

/// Where our own products go. Always below the workspace, whatever `CARGO_TARGET_DIR` says, for
/// the build of the host looks for the standard plugin there.
pub(crate) fn target() -> PathBuf {
    root().join("target")
}

/// The finished components, `NAME.wasm` each.
pub(crate) fn plugins() -> PathBuf {
    target().join("plugins")
}

/// The target directory of guest builds: one of their own, so that their profile and flags never
/// make cargo build the host again.
pub(crate) fn guest_build() -> PathBuf {
    target().join("guests")
}

/// The `claw` binary that `cargo build -p clawhold` makes: cargo puts it beside this program.
pub(crate) fn claw() -> std::io::Result<PathBuf> {
    let name = format!("claw{}", std::env::consts::EXE_SUFFIX);
    Ok(std::env::current_exe()?.with_file_name(name))
}

/// `path` as seen from the workspace, for messages.
pub(crate) fn shown(path: &Path) -> String {
    let root = root();
    path.strip_prefix(&root).unwrap_or(path).display().to_string()
}
