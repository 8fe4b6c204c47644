//! A guest whose constructor never ends, so that it never comes to its first call. The test that
//! uses it is `sandbox_hostile.rs`.

#![cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "only the component uses it"))]

use clawhold_sdk::{Args, Failure, Plugin, Reply, Tool};

#[cfg(target_arch = "wasm32")]
#[expect(unsafe_code, reason = "a static constructor is placed by its section")]
// SAFETY: the section holds pointers to functions without arguments that are called once before
// anything else; this is one, and it touches nothing.
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = {
    extern "C" fn never_ends() {
        loop {
            std::hint::spin_loop();
        }
    }
    never_ends
};

struct Late;

impl Plugin for Late {
    fn tools() -> Vec<Tool> {
        vec![Tool::new("late", "Is never reached.", r#"{"type":"object"}"#)]
    }

    fn call(_tool: &str, _args: Args) -> Result<Reply, Failure> {
        Ok(Reply::text("reached"))
    }
}

clawhold_sdk::export!(Late);
