//! Asking the user on the terminal.

use std::io::BufRead as _;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;

use super::Output;
use crate::text::escape_text;
use crate::tool::{Answer, Approver, Question};

/// Silence for so long is a no.
const PATIENCE: Duration = Duration::from_mins(5);

/// Shows a question on standard error and reads the answer from standard input.
pub struct TerminalApprover {
    output: Arc<Output>,
    /// One question at a time.
    turn: Mutex<()>,
}

impl TerminalApprover {
    pub fn new(output: Arc<Output>) -> Self {
        Self { output, turn: Mutex::new(()) }
    }
}

impl std::fmt::Debug for TerminalApprover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TerminalApprover").finish_non_exhaustive()
    }
}

#[async_trait::async_trait]
impl Approver for TerminalApprover {
    async fn ask(&self, question: &Question) -> Answer {
        let _turn = self.turn.lock().await;
        let paint = self.output.err_paint();
        // The whole of it, however long: what is approved must have been seen.
        self.output.note(&format!("\n{} asks to run:", paint.yellow(&question.tool)));
        for line in escape_text(&question.what).lines() {
            self.output.note(&format!("    {}", paint.bold(line)));
        }
        self.output.note(&format!("  because {}", escape_text(&question.reason)));
        let always = match &question.remember {
            Some(rule) => {
                self.output.note(&format!("  a[lways] would store the rule {}", escape_text(rule)));
                ", a[lways]"
            }
            None => "",
        };
        self.output.note(&format!("  y[es]{always}, n[o] (default), or a reason against it:"));
        // A thread of its own: nothing can interrupt a read from a terminal.
        let (sender, answer) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = std::io::stdin().lock().read_line(&mut line);
            let _ = sender.send(read.is_ok().then_some(line));
        });
        let line = tokio::time::timeout(PATIENCE, answer).await;
        let line = line.ok().and_then(Result::ok).flatten();
        read_answer(line.as_deref().unwrap_or_default(), question.remember.is_some())
    }
}

/// What was typed. Only a clear yes is one.
fn read_answer(line: &str, can_remember: bool) -> Answer {
    match line.trim() {
        "y" | "Y" | "yes" => Answer::Once,
        "a" | "A" | "always" if can_remember => Answer::Always,
        "" | "n" | "N" | "no" | "a" | "A" | "always" => Answer::No,
        reason => Answer::NoBecause(reason.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_is_one() {
        let check = |line: &str, remember, expect: Answer| {
            assert_eq!(read_answer(line, remember), expect, "{line:?}");
        };
        check("y\n", false, Answer::Once);
        check("yes", true, Answer::Once);
        check("a", true, Answer::Always);
        check("a", false, Answer::No);
        check("", true, Answer::No);
        check("n", true, Answer::No);
        check("yes, but later", true, Answer::NoBecause("yes, but later".into()));
    }
}
