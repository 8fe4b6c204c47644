//! Generated from the files in `wit/`: the Rust side of the plugin contract, nothing else.
//!
//! The records are converted into `crate::model` in `contract.rs`, so that no other module
//! depends on the generated types.

#![allow(missing_debug_implementations, unreachable_pub, clippy::pedantic)]

wasmtime::component::bindgen!({
    path: "../wit",
    world: "clawhold:tool/tool-plugin",
    imports: { default: trappable },
    exports: { default: async },
});
