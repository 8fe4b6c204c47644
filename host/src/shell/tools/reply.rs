//! What the model is told of a line that ran.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::json;

use super::denial::{Explanation, explain};
use crate::model::{Content, Denial, Failure, FailureCode, Outcome, ToolReply};
use crate::shell::confine::Planted;
use crate::shell::run::{Ended, Piece, Process, Stop};
use crate::shell::session::Shell;
use crate::text::escape_line;

/// How long a process that fails at once may take to do so.
const FIRST_LOOK: Duration = Duration::from_millis(150);

/// The reply about a line that was waited for; no `ended` is a call that was given up.
pub(super) fn ran(
    shell: &Shell,
    process: &Process,
    ended: Option<&Ended>,
    planted: &[Planted],
    limit: Duration,
) -> ToolReply {
    let pid = process.running.pid();
    let piece = process.output.show();
    let mut text = shown(&piece, pid);
    let mut denials = Vec::new();
    let code = ended.and_then(|ended| ended.code);
    if code.is_some_and(|code| code != 0) {
        for Explanation { denial, advice } in explain(&piece.text, shell) {
            let _ = writeln!(text, "[sandbox] {advice}");
            denials.push(denial);
        }
    }
    for place in planted {
        let _ = writeln!(text, "[sandbox] {}", told(place));
        denials.push(denied(place));
    }
    let (outcome, failure) = judged(ended, planted, limit);
    if let Some(ended) = ended {
        if ended.left_behind && ended.stop.is_none() {
            text.push_str(
                "[processes left in the background were ended; mode `spawn` keeps one running]\n",
            );
        }
        match (ended.stop, ended.code) {
            (Some(_), _) | (None, None) => {}
            (None, Some(code)) => {
                let signal = ended.signal.map(|n| format!(" (signal {n})")).unwrap_or_default();
                let _ = write!(text, "exit code: {code}{signal}");
            }
        }
    }
    let mut reply = ToolReply { outcome, failure, ..ToolReply::text(text.trim_end()) };
    reply.structured = Some(json!({
        "exit_code": code,
        "pid": pid,
        "output_bytes": piece.total,
        "omitted_bytes": piece.omitted,
        "sandbox": shell.tier().word(),
    }));
    reply.receipt.denials = denials;
    reply
}

/// The reply about a process that stays. One that has ended already is told as it ended.
pub(super) async fn spawned(shell: &Shell, process: &Process) -> ToolReply {
    let pid = process.running.pid();
    let early = tokio::time::timeout(FIRST_LOOK, process.running.ended()).await;
    if let Ok(ended) = early {
        process.running.drained(FIRST_LOOK).await;
        let planted = shell.look_after(process);
        let mut reply = ran(shell, process, Some(&ended), &planted, Duration::ZERO);
        reply.content.insert(0, Content::text(format!("process {pid} has ended already")));
        return reply;
    }
    let text = format!(
        "started, pid {pid}; `process_output` shows what it prints, `kill_process` ends it, and it ends with the session"
    );
    let mut reply = ToolReply::text(text);
    reply.structured = Some(json!({ "pid": pid, "sandbox": shell.tier().word() }));
    reply
}

/// The output, with how to read what is left out.
fn shown(piece: &Piece, pid: u32) -> String {
    let mut text = piece.text.clone();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    if piece.omitted > 0 {
        let _ = writeln!(
            text,
            "[{} of {} bytes left out; process_output {{\"pid\":{pid},\"offset\":{}}} reads on]",
            piece.omitted, piece.total, piece.omitted_at
        );
    }
    if text.is_empty() {
        text.push_str("(no output)\n");
    }
    text
}

fn judged(
    ended: Option<&Ended>,
    planted: &[Planted],
    limit: Duration,
) -> (Outcome, Option<Failure>) {
    let failed = |code, message: String| (Outcome::Failed, Some(Failure::new(code, message)));
    let Some(ended) = ended else {
        let failure = Failure::new(
            FailureCode::Unavailable,
            "interrupted; everything that it had started was ended",
        );
        return (Outcome::Interrupted { after_ms: 0 }, Some(failure));
    };
    if let Some(fault) = &ended.fault {
        return failed(
            FailureCode::Internal,
            format!("the sandbox failed: {}", escape_line(fault)),
        );
    }
    if ended.stop == Some(Stop::TimedOut) {
        let message = format!(
            "not finished after {} s, so it was ended with everything that it had started",
            limit.as_secs()
        );
        let failure = Failure::new(FailureCode::TimedOut, message)
            .hint("give a longer `timeout`, or use mode `spawn` for what does not end by itself");
        return (Outcome::TimedOut, Some(failure));
    }
    if !planted.is_empty() {
        return failed(
            FailureCode::Denied,
            "the command made files that programs of the user would act on; they were taken away"
                .into(),
        );
    }
    (Outcome::Done, None)
}

/// A reply about a process, together with what it was found to have planted.
pub(super) fn with_planted(mut reply: ToolReply, planted: &[Planted]) -> ToolReply {
    for place in planted {
        reply.content.push(Content::text(format!("[sandbox] {}", told(place))));
        reply.receipt.denials.push(denied(place));
    }
    reply
}

fn denied(place: &Planted) -> Denial {
    Denial {
        what: "write".into(),
        subject: escape_line(&place.path.to_string_lossy()),
        reason: "a protected place that no command may make".into(),
    }
}

fn told(place: &Planted) -> String {
    let path = escape_line(&place.path.to_string_lossy());
    match &place.moved_to {
        Ok(to) => format!("`{path}` is protected and was moved away, to `{}`", to.display()),
        Err(why) => format!("`{path}` is protected and could not be moved away: {why}"),
    }
}
