//! Plugins for tests, made from the guests that are built: other manifests, other mistakes.

#![allow(dead_code, reason = "each test file uses its share")]

use std::path::{Path, PathBuf};

/// A guest that `cargo xtask plugins` has built.
pub(crate) fn guest(name: &str) -> Vec<u8> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/plugins");
    let folder = std::env::var_os("CLAWHOLD_GUESTS").map_or(own, PathBuf::from);
    let path = folder.join(format!("{name}.wasm"));
    std::fs::read(&path)
        .unwrap_or_else(|error| panic!("{}: {error}: run `cargo xtask plugins`", path.display()))
}

/// The same with a manifest in its custom section.
pub(crate) fn declaring(mut wasm: Vec<u8>, json: &str) -> Vec<u8> {
    let name = b"clawhold:manifest";
    let mut body = vec![u8::try_from(name.len()).expect("a short name")];
    body.extend_from_slice(name);
    body.extend_from_slice(json.as_bytes());
    wasm.push(0);
    let mut length = body.len();
    while length >= 0x80 {
        wasm.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    wasm.push(length as u8);
    wasm.extend_from_slice(&body);
    wasm
}
