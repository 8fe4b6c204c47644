//! From what came of a call to the reply that the model reads.

use std::fmt::Write as _;

use wasmtime::{Trap, WasmBacktrace};

use crate::model::{Failure, FailureCode, Outcome, Receipt, ToolReply};
use crate::text::{clip_end, escape_text};

use super::drive::Stopped;
use super::guard::Ruling;
use super::output::Output;
use super::run::{Broken, Ran};
use super::wasi::GuestExit;
use super::{Limits, contract};

/// Bytes of what a failed guest wrote to its streams that are told.
const STREAM_TAIL: usize = 2000;

/// The reply, without its receipt's identity, which the caller knows.
pub(super) fn reply(mut ran: Ran, limits: &Limits, elapsed_ms: u64) -> ToolReply {
    let hosts = ran.http.merge_into(&mut ran.record);
    let mut reply = match ran.result {
        Ok(Ok(result)) => match structured(result.structured) {
            Ok(structured) => {
                let mut reply = ToolReply::done(contract::contents(result.content, limits.output));
                reply.structured = structured;
                reply
            }
            Err(failure) => ToolReply::failed(Outcome::Failed, failure),
        },
        Ok(Err(failure)) => {
            ToolReply::failed(Outcome::Failed, clipped(contract::failure(failure), limits.output))
        }
        Err(Broken::Stopped(Stopped::TimedOut)) => {
            let message = format!(
                "the call was stopped after {} ms, when its time was up",
                limits.timeout.as_millis()
            );
            let failure = Failure::new(FailureCode::TimedOut, message).hint(
                "ask for less in one call; the user can allow more time with `limits = { timeout = \"…\" }` under `[plugins.NAME]`",
            );
            ToolReply::failed(Outcome::TimedOut, failure)
        }
        Err(Broken::Stopped(Stopped::Cancelled)) => ToolReply::failed(
            Outcome::Interrupted { after_ms: elapsed_ms },
            Failure::new(
                FailureCode::Failed,
                format!("the call was interrupted after {elapsed_ms} ms"),
            ),
        ),
        Err(Broken::Guest(error)) => {
            let mut failure = Failure::new(FailureCode::Internal, chain(&error, &ran.output));
            if ran.memory_refused {
                let most = limits.memory >> 20;
                failure = failure.hint(format!(
                    "it asked for more memory or larger tables than it may have ({most} MiB); ask for less, or let the user raise `limits = {{ memory = \"…\" }}` under `[plugins.NAME]`"
                ));
            }
            ToolReply::failed(Outcome::Failed, failure)
        }
        Err(Broken::Host(panic)) => {
            ToolReply::failed(Outcome::Failed, Failure::new(FailureCode::Internal, panic))
        }
    };
    if reply.outcome == Outcome::Failed
        && let Some((ruling, reason)) = ran.record.last
    {
        explain(&mut reply, &ruling, &reason);
    }
    reply.receipt = Receipt {
        instantiate_us: ran.instantiate_us,
        execute_us: ran.execute_us,
        peak_memory: ran.peak_memory,
        reads: ran.record.reads,
        writes: ran.record.writes,
        created: ran.record.created,
        removed: ran.record.removed,
        hosts,
        denials: ran.record.denials,
        omitted: ran.record.omitted,
        log: ran.output.lines(),
        ..Receipt::default()
    };
    reply
}

/// A call that failed after the guard had refused it something: the guest saw an error number,
/// the model is told the reason.
fn explain(reply: &mut ToolReply, ruling: &Ruling, reason: &str) {
    let Some(failure) = &mut reply.failure else { return };
    match ruling {
        Ruling::Denied => {
            reply.outcome = Outcome::Denied;
            failure.code = FailureCode::Denied;
        }
        Ruling::Failed(code) => failure.code = code.clone(),
    }
    failure.retryable = false;
    // The host's reason stands first: it says what is the case, the guest only what it saw.
    failure.hint = None;
    failure.message = format!("{reason} (the tool said: {})", failure.message);
}

/// What broke, from the outside to the root, where in the guest, and what it last wrote.
pub(super) fn chain(error: &wasmtime::Error, output: &Output) -> String {
    let mut text = if let Some(exit) = error.downcast_ref::<GuestExit>() {
        exit.to_string()
    } else if let Some(trap) = error.downcast_ref::<Trap>() {
        format!("the plugin trapped: {trap}{}", frames(error))
    } else {
        let mut causes: Vec<String> = error.chain().map(ToString::to_string).collect();
        causes.retain(|cause| !cause.starts_with("error while executing at wasm backtrace"));
        causes.dedup();
        format!("the plugin failed: {}{}", causes.join(": "), frames(error))
    };
    for (name, stream) in [("stderr", output.stderr()), ("stdout", output.stdout())] {
        let stream = stream.trim();
        if !stream.is_empty() {
            let from =
                crate::text::floor_boundary(stream, stream.len().saturating_sub(STREAM_TAIL));
            let _ = write!(text, "\nits {name}: {}", &stream[from..]);
        }
    }
    text
}

/// The innermost functions by name, where the component carries names.
fn frames(error: &wasmtime::Error) -> String {
    let Some(backtrace) = error.downcast_ref::<WasmBacktrace>() else { return String::new() };
    let names: Vec<String> = backtrace
        .frames()
        .iter()
        .filter_map(|frame| frame.func_name())
        .take(5)
        .map(|name| rustc_demangle::demangle(name).to_string())
        .collect();
    if names.is_empty() {
        return String::new();
    }
    format!(" in {}", escape_text(&clip_end(&names.join(" < "), 500)))
}

fn structured(text: Option<String>) -> Result<Option<serde_json::Value>, Failure> {
    let Some(text) = text else { return Ok(None) };
    serde_json::from_str(&text).map(Some).map_err(|error| {
        Failure::new(
            FailureCode::Internal,
            format!("the plugin's structured result is not JSON: {error}"),
        )
    })
}

fn clipped(mut failure: Failure, limit: usize) -> Failure {
    failure.message = clip_end(&failure.message, limit);
    failure.hint = failure.hint.map(|hint| clip_end(&hint, limit));
    failure
}
