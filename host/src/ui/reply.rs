//! What a tool answered, as a person reads it.

use super::{Output, json};
use crate::model::{Outcome, Payload, ToolReply};
use crate::text::escape_text;

/// Prints a call's content to standard output, and what went wrong to standard error.
pub fn show_reply(output: &Output, reply: &ToolReply) {
    for piece in &reply.content {
        match &piece.payload {
            Payload::Text(text) if piece.mime_type == "text/x-diff" && output.out_is_terminal() => {
                output.print(&output.out_paint().diff(&escape_text(text)));
            }
            Payload::Text(text) => output.print_foreign(text),
            Payload::Bytes(bytes) => output.print_foreign(&format!(
                "[{}, {} bytes; `--output json` has them]",
                piece.mime_type,
                bytes.len()
            )),
            Payload::Link(uri) => output.print_foreign(&format!("[{} at {uri}]", piece.mime_type)),
        }
    }
    if let (true, Some(structured)) = (reply.content.is_empty(), &reply.structured) {
        output.print(&json::to_line(structured));
    }
    let paint = output.err_paint();
    match (&reply.failure, &reply.outcome) {
        (Some(failure), outcome) => {
            let word = if *outcome == Outcome::Failed { "error" } else { outcome.word() };
            output.note(&format!("{}: {}", paint.red(word), escape_text(&failure.message)));
            if let Some(hint) = &failure.hint {
                output.note(&format!("hint: {}", escape_text(hint)));
            }
        }
        (None, Outcome::Done) => {}
        (None, outcome) => {
            output.note(&format!("{}: the tool gave no reason", paint.red(outcome.word())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Buffer;
    use super::*;
    use crate::model::{Content, Failure, FailureCode};

    fn shown(reply: &ToolReply, terminal: bool) -> (String, String) {
        let (out, err) = (Buffer::default(), Buffer::default());
        let output = Output::to(Box::new(out.clone()), Box::new(err.clone()), terminal);
        show_reply(&output, reply);
        (out.text(), err.text())
    }

    #[test]
    fn content_and_failure_go_to_their_streams() {
        let mut reply = ToolReply::failed(
            Outcome::Failed,
            Failure::new(FailureCode::NotFound, "no `b\x1b`").hint("see list_dir"),
        );
        reply.content.push(Content::text("partial"));
        let (out, err) = shown(&reply, false);
        assert_eq!(out, "partial\n");
        assert_eq!(err, "error: no `b\\x1b`\nhint: see list_dir\n");
    }

    #[test]
    fn a_diff_is_coloured_on_a_terminal_alone() {
        let diff =
            Content { mime_type: "text/x-diff".into(), payload: Payload::Text("+a\x1b\n".into()) };
        let reply = ToolReply::done(vec![diff]);
        assert_eq!(shown(&reply, true).0, "\x1b[32m+a\\x1b\x1b[0m\n");
        assert_eq!(shown(&reply, false).0, "+a\x1b\n");
    }
}
