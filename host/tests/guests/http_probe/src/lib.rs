//! A guest that asks over HTTP exactly what a test tells it to, part by part and without a
//! client library's caution, and says what came of it. The tests that use it are
//! `guard_http.rs`.

#![cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "only the component uses it"))]

mod ask;

use clawhold_sdk::{Args, Failure, FailureCode, Plugin, Reply, Tool, failure::failure};
use serde_json::Value;

use ask::{Ask, ask};

struct Probe;

impl Plugin for Probe {
    fn tools() -> Vec<Tool> {
        vec![Tool::new("ask", "Asks over HTTP.", r#"{"type":"object"}"#).read_only()]
    }

    /// Asks each of `asks` in order and says what the last one gave. A failed one ends the call,
    /// unless it is `soft`.
    fn call(_tool: &str, mut args: Args) -> Result<Reply, Failure> {
        let mut said = Vec::new();
        for mut one in args.opt_objects("asks")?.unwrap_or_default() {
            let soft = one.opt_flag("soft")?.unwrap_or(false);
            let follow = one.opt_whole("follow")?.unwrap_or(0);
            match chain(&read(one)?, follow) {
                Ok(answer) => said.push(answer),
                Err(why) if soft => said.push(Value::String(why)),
                Err(why) => return Err(failure(FailureCode::Failed, why)),
            }
        }
        Ok(Reply::text(Value::Array(said).to_string()))
    }
}

/// Follows up to `follow` redirects as a naive client does: with the same headers, wherever the
/// server says.
fn chain(first: &Ask, follow: u64) -> Result<Value, String> {
    let mut request = first.clone();
    for _ in 0..follow {
        let answer = ask(&request)?;
        let Some(location) = answer["headers"]["location"].as_str() else { return Ok(answer) };
        let (scheme, rest) = location.split_once("://").ok_or("a relative redirect")?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        scheme.clone_into(&mut request.scheme);
        authority.clone_into(&mut request.authority);
        request.path = format!("/{path}");
    }
    ask(&request)
}

fn read(mut args: Args) -> Result<Ask, Failure> {
    let headers = match args.value("headers") {
        Some(Value::Object(map)) => map
            .into_iter()
            .map(|(name, value)| (name, value.as_str().unwrap_or_default().to_owned()))
            .collect(),
        _ => Vec::new(),
    };
    let authority = args.text("authority")?;
    let scheme = args.opt_text("scheme")?.unwrap_or_else(|| "http".to_owned());
    Ok(Ask {
        method: args.opt_text("method")?.unwrap_or_else(|| "GET".to_owned()),
        scheme,
        authority,
        path: args.opt_text("path")?.unwrap_or_else(|| "/".to_owned()),
        headers,
        body: args.opt_whole("body")?,
        keep: args.opt_whole("keep")?.unwrap_or(4096),
        at_once: args.opt_whole("at_once")?.unwrap_or(1),
    })
}

clawhold_sdk::export!(Probe);
