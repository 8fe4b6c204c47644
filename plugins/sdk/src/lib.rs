//! What a Clawhold plugin written in Rust is made with.
//!
//! A plugin is a type that implements [`Plugin`], exported once with [`export!`] and built as a
//! `cdylib` for `wasm32-wasip2`:
//!
//! ```
//! use clawhold_sdk::{Args, Failure, Plugin, Reply, Tool};
//!
//! struct Greeter;
//!
//! impl Plugin for Greeter {
//!     fn tools() -> Vec<Tool> {
//!         vec![
//!             Tool::new("greet", "Says hello to somebody.", r#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#)
//!                 .read_only()
//!                 .idempotent(),
//!         ]
//!     }
//!
//!     fn call(_tool: &str, mut args: Args) -> Result<Reply, Failure> {
//!         let name = args.text("name")?;
//!         Ok(Reply::text(format!("hello, {name}")))
//!     }
//! }
//!
//! clawhold_sdk::export!(Greeter);
//! ```
//!
//! Files, clocks and randomness are the standard library's: the host grants them through WASI.
//! Everything but the glue of [`export!`] also compiles natively, so a plugin's logic is tested
//! like any other code.

mod args;
pub mod bindings;
pub mod clip;
pub mod failure;
mod reply;
mod tool;

pub use args::Args;
pub use bindings::clawhold::tool::types::{Content, Effects, Failure, FailureCode, Payload};
pub use reply::Reply;
pub use tool::Tool;

/// A plugin: what it offers and how it answers.
pub trait Plugin {
    /// The tools of this plugin. The host asks once and pins the answer, so it must be the same
    /// each time.
    fn tools() -> Vec<Tool>;

    /// Runs the tool named `tool`. Each call has a fresh instance: nothing that was kept in
    /// memory by an earlier one is there.
    fn call(tool: &str, args: Args) -> Result<Reply, Failure>;
}

/// Makes a [`Plugin`] the exports of this component. Expands to nothing on other targets, where
/// there is no component to export from.
#[macro_export]
macro_rules! export {
    ($plugin:ty) => {
        #[cfg(target_arch = "wasm32")]
        #[allow(unsafe_code, unreachable_pub, missing_debug_implementations)]
        const _: () = {
            struct Exported;

            impl $crate::bindings::exports::clawhold::tool::tools::Guest for Exported {
                fn list_tools() -> Vec<$crate::bindings::clawhold::tool::types::ToolSpec> {
                    <$plugin as $crate::Plugin>::tools()
                        .into_iter()
                        .map($crate::Tool::into_spec)
                        .collect()
                }

                fn call_tool(
                    name: String,
                    arguments: String,
                ) -> Result<$crate::bindings::clawhold::tool::types::ToolResult, $crate::Failure>
                {
                    let args = $crate::Args::parse(&arguments)?;
                    <$plugin as $crate::Plugin>::call(&name, args).map($crate::Reply::into_result)
                }
            }

    $crate::bindings::export!(Exported with_types_in $crate::bindings);
        };
    };
}
