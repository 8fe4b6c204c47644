//! Asking on the terminal whether a plugin may have what it wants.

use std::io::{BufRead as _, IsTerminal as _};
use std::sync::Arc;
use std::time::Duration;

use crate::app::{Consent, ConsentRequest};
use crate::config::{Approve, Settings};
use crate::ui::Output;

/// Nobody there is a no; a run that was left alone must not wait for ever.
const PATIENCE: Duration = Duration::from_mins(1);

/// The terminal of this process.
pub(super) struct Terminal {
    output: Arc<Output>,
}

impl Terminal {
    /// None where nobody can be asked, or the user wants no questions.
    pub(super) fn of(output: &Arc<Output>, settings: &Settings) -> Option<Self> {
        let there = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        (there && settings.approve.value == Approve::Ask)
            .then(|| Self { output: Arc::clone(output) })
    }
}

impl Consent for Terminal {
    fn approve(&self, request: &ConsentRequest) -> bool {
        let paint = self.output.err_paint();
        let say = |line: &str| self.output.note(line);
        say(&paint.bold(&format!(
            "The plugin `{}` ({}) wants more than it has.",
            request.plugin, request.source
        )));
        if let Some(description) = &request.description {
            say(&format!("  It calls itself: {description}"));
        }
        for ask in &request.asks {
            say(&format!("  {} {ask}", paint.yellow("it asks to")));
        }
        for change in &request.changes {
            say(&format!("  {} {change}", paint.yellow("changed:")));
        }
        for tool in &request.tools {
            say(&format!("  tool {tool}"));
        }
        say(&format!(
            "Allow this? Type y and Enter; anything else, or {} s without an answer, is no.",
            PATIENCE.as_secs()
        ));
        let yes = answer().is_some_and(|answer| matches!(answer.trim(), "y" | "Y" | "yes"));
        say(if yes { "Allowed." } else { "Not allowed." });
        yes
    }
}

/// One line that was typed after the question was shown.
#[cfg(unix)]
fn answer() -> Option<String> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::termios::{QueueSelector, tcflush};

    let stdin = std::io::stdin();
    // What was typed before is no answer to this.
    tcflush(&stdin, QueueSelector::IFlush).ok()?;
    let patience = Timespec::try_from(PATIENCE).ok()?;
    let ready = poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&patience)).ok()?;
    if ready == 0 {
        return None;
    }
    let mut line = String::new();
    // A terminal hands over whole lines, so this does not wait for more.
    stdin.lock().read_line(&mut line).ok()?;
    Some(line)
}

/// Without a way to wait for a bounded time, nobody is asked.
#[cfg(not(unix))]
fn answer() -> Option<String> {
    None
}
