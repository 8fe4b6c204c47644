//! A guest that tries whatever a test asks of it, and says what came of it. The tests that use it
//! are `sandbox_hostile.rs` and `guard_*.rs`.

#![cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "only the component uses it"))]

mod files;
mod hostile;

use clawhold_sdk::{Args, Failure, Plugin, Reply, Tool};

struct Probe;

const ANY: &str = r#"{"type":"object"}"#;

impl Plugin for Probe {
    fn tools() -> Vec<Tool> {
        let mut tools: Vec<Tool> = ["hostile", "files"]
            .into_iter()
            .map(|name| Tool::new(name, "Tries what `op` says.", ANY))
            .collect();
        tools.push(
            Tool::new("look", "The same as `files`, declared to read only.", ANY).read_only(),
        );
        tools
    }

    fn call(tool: &str, args: Args) -> Result<Reply, Failure> {
        match tool {
            "hostile" => hostile::run(args),
            _ => files::run(args),
        }
    }
}

clawhold_sdk::export!(Probe);
