//! An agent in a program of one's own. Run it with
//! `cargo run -p clawhold --example embed`.

#![allow(clippy::print_stdout, reason = "it is a program")]

use std::sync::Arc;

use clawhold::agent::Agent;
use clawhold::app::Host;
use clawhold::config::{Env, Flags, Settings};
use clawhold::provider::ScriptProvider;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    // The tools of this folder, each in its sandbox, as the user's settings grant them.
    let settings = Settings::load(&Flags::default(), Env::of_process())?;
    let host = Host::open(&settings)?;
    // Any `Provider` will do; this one needs no key and no network.
    let script = concat!(
        r#"{"tool_calls":[{"name":"list_dir","arguments":{}}]}"#,
        "\n",
        r#"{"text":"that is what lies here"}"#
    );
    let model = Arc::new(ScriptProvider::from_lines("embedded", script)?);
    let tools = Arc::clone(host.registry());
    let report =
        Agent::builder(model, tools, host.workdir().path()).build()?.run("look around").await?;
    println!("{} after {} turns", report.answer, report.turns);
    Ok(())
}
