//! Running other programs: each is shown before it runs, and a failure says which one it was.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::{place, say};

/// One program with its arguments, run in the folder of the workspace.
#[derive(Debug)]
pub(crate) struct Step {
    command: Command,
    shown: Vec<String>,
    advice: String,
}

impl Step {
    pub(crate) fn new(program: impl AsRef<Path>) -> Self {
        let program = program.as_ref();
        let mut command = Command::new(program);
        // Nothing that is started here asks questions; without a terminal it must not wait for one.
        command.current_dir(place::root()).stdin(Stdio::null());
        // What cargo told this program of itself is not meant for the cargo that is started here:
        // some build scripts watch these names, and would run again at each change of caller.
        for (name, _) in std::env::vars_os() {
            let own = name.to_str().is_some_and(|name| {
                ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CRATE_", "CARGO_BIN_"]
                    .iter()
                    .any(|prefix| name.starts_with(prefix))
            });
            if own {
                command.env_remove(name);
            }
        }
        Self {
            command,
            shown: vec![program.display().to_string()],
            advice: "read its messages above".into(),
        }
    }

    pub(crate) fn arg(mut self, argument: impl Into<String>) -> Self {
        let argument = argument.into();
        self.command.arg(&argument);
        self.shown.push(quoted(&argument));
        self
    }

    pub(crate) fn args<'a>(self, arguments: impl IntoIterator<Item = &'a str>) -> Self {
        arguments.into_iter().fold(self, Step::arg)
    }

    /// Sets a variable that belongs to what is shown: a user who copies the line needs it.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.shown.insert(0, format!("{name}={}", quoted(value)));
        self.command.env(name, value);
        self
    }

    /// Sets a variable too long to be shown.
    pub(crate) fn hidden_env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn without_env(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    pub(crate) fn folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// What to do when this fails.
    pub(crate) fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = advice.into();
        self
    }

    /// The line as a user would type it.
    pub(crate) fn shown(&self) -> String {
        self.shown.join(" ")
    }

    pub(crate) fn run(mut self) -> Result<(), Failure> {
        say::step(&self.shown());
        match self.command.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(self.failed(&status.to_string())),
            Err(error) => Err(self.failed(&error.to_string())),
        }
    }

    /// As `run`, but ends the program when it takes longer than `limit`.
    pub(crate) fn run_within(mut self, limit: Duration) -> Result<(), Failure> {
        say::step(&self.shown());
        let began = Instant::now();
        let mut child = self.command.spawn().map_err(|error| self.failed(&error.to_string()))?;
        loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(self.failed(&status.to_string())),
                Err(error) => return Err(self.failed(&error.to_string())),
                Ok(None) if began.elapsed() < limit => {
                    std::thread::sleep(Duration::from_millis(100));
                }
                Ok(None) => break,
            }
        }
        let how = format!("did not end within {} s", limit.as_secs());
        // It may have ended just now, which is as good.
        child.kill().and_then(|()| child.wait()).ok();
        Err(self.failed(&how))
    }

    /// Runs and gives back the exit code, for programs whose exit code is an answer.
    pub(crate) fn exit_code(mut self) -> Result<Option<i32>, Failure> {
        say::step(&self.shown());
        match self.command.status() {
            Ok(status) => Ok(status.code()),
            Err(error) => Err(self.failed(&error.to_string())),
        }
    }

    fn failed(&self, how: &str) -> Failure {
        Failure::new(format!("`{}`: {how}", self.shown()), &*self.advice)
    }
}

/// A step of the cargo that runs us, so that a chosen toolchain (`cargo +NAME xtask …`) holds.
///
/// A machine that integrates must not change `Cargo.lock`; a developer's may.
pub(crate) fn cargo(subcommand: &str) -> Step {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut step = Step::new(Path::new(&program)).arg(subcommand);
    // The full path of the toolchain says nothing to the reader.
    step.shown[0] = "cargo".into();
    if subcommand != "fmt" && locked() {
        step = step.arg("--locked").advice(
            "read the messages above; if `Cargo.lock` is out of date, run any cargo command without CI set and commit the file",
        );
    }
    step
}

/// Whether `Cargo.lock` is to be used as it stands.
pub(crate) fn locked() -> bool {
    std::env::var_os("CI").is_some()
}

/// What a program prints to stdout, or nothing when it is missing or fails.
pub(crate) fn answer(program: impl AsRef<Path>, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program.as_ref())
        .args(arguments)
        .stdin(Stdio::null())
        .current_dir(place::root())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(text)
}

fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%…".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_shows_what_a_user_can_paste() {
        let step = Step::new("claw").args(["run", "say 'hi'"]).env("HOME", "a b");
        assert_eq!(step.shown(), r"HOME='a b' claw run 'say '\''hi'\'''");
    }

    #[test]
    fn a_failure_names_the_command_and_the_next_step() {
        let missing = Step::new("no-such-program").arg("x").advice("install it").run();
        let text = missing.map_err(|failure| failure.to_string());
        let text = text.expect_err("a program that does not exist cannot run");
        assert!(text.starts_with("`no-such-program x`: "), "{text}");
        assert!(text.ends_with("what to do: install it"), "{text}");
    }
}
