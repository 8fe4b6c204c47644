//! The plugin that is part of the binary: reading, writing, editing and searching files.

use std::sync::Arc;

use super::{LoadError, Plugin, Runtime, Source};

/// Its name in config and receipts.
pub const STANDARD_NAME: &str = "workspace";

/// The component, put here by the build script together with its hash.
static WASM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/workspace.wasm"));
const SHA256: &str = include_str!(concat!(env!("OUT_DIR"), "/workspace.sha256"));

/// Whether the component with this hash is the one that is part of the binary.
pub fn is_standard(sha256: &str) -> bool {
    sha256 == SHA256
}

pub fn standard_plugin(runtime: &Arc<Runtime>) -> Result<Plugin, LoadError> {
    let source = Source::Embedded { wasm: WASM, sha256: SHA256 };
    let mut plugin = Plugin::load(runtime, STANDARD_NAME, source)?;
    plugin.manifest = Some(crate::policy::Manifest::standard());
    Ok(plugin)
}
