//! The contract in `wit/`, as generated: types, what the host lends, and the export glue.
//!
//! Nothing here is written by hand. The rest of the crate is a thin layer over it, and a plugin
//! that needs what the layer leaves out finds it here.
#![allow(
    unsafe_code,
    unreachable_pub,
    missing_debug_implementations,
    clippy::all,
    clippy::pedantic,
    clippy::unwrap_used
)]

wit_bindgen::generate!({
    path: "../../wit",
    world: "tool-plugin",
    pub_export_macro: true,
    default_bindings_module: "clawhold_sdk::bindings",
});
