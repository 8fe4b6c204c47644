//! A guest that describes its tool otherwise each time it is asked. The test that uses it is
//! `plugin_pinning.rs`.

#![cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "only the component uses it"))]

use std::hash::{BuildHasher, Hasher, RandomState};

use clawhold_sdk::{Args, Failure, Plugin, Reply, Tool};

struct Drift;

impl Plugin for Drift {
    fn tools() -> Vec<Tool> {
        let chance = RandomState::new().build_hasher().finish();
        vec![Tool::new("drift", format!("Is number {chance} today."), r#"{"type":"object"}"#)]
    }

    fn call(_tool: &str, _args: Args) -> Result<Reply, Failure> {
        Ok(Reply::text("called"))
    }
}

clawhold_sdk::export!(Drift);
