//! The only place that prints. Progress goes to stderr, so that stdout holds what was asked for.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::fmt::Display;
use std::io::IsTerminal;

/// A command that is about to run.
pub(crate) fn step(shown: &str) {
    eprintln!("{} {shown}", bold("→"));
}

/// Something the user should know, without being a failure.
pub(crate) fn note(text: impl Display) {
    eprintln!("  {text}");
}

pub(crate) fn heading(text: &str) {
    eprintln!("\n{}", bold(text));
}

pub(crate) fn text(text: &str) {
    println!("{text}");
}

pub(crate) fn error(failure: impl Display) {
    eprintln!("{} {failure}", bold("error:"));
}

/// Whether stdout may be coloured: it is a terminal, and the user did not object.
pub(crate) fn stdout_in_colour() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

fn bold(text: &str) -> String {
    if std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        format!("\x1b[1m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}
