//! Reading out of a failed command's output that the sandbox was the cause, and saying what would
//! allow it: the model would otherwise mend what is not broken.
//!
//! The words looked for are the C library's own, in the language that every command runs in. What
//! is found is a hint beside the output and decides nothing.

use std::path::{Path, PathBuf};

use crate::model::Denial;
use crate::shell::session::Shell;
use crate::text::{clip_end, escape_line};

/// One cause, for the receipt and for the model.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Explanation {
    pub(super) denial: Denial,
    pub(super) advice: String,
}

/// More would only repeat.
const MOST: usize = 3;

const NETWORK: [&str; 6] = [
    "Network is unreachable",
    "Temporary failure in name resolution",
    "Could not resolve host",
    "Could not resolve hostname",
    "Name or service not known",
    "failed to lookup address",
];
const WRITE: [&str; 2] = ["Read-only file system", "read-only file system"];
const REFUSED: [&str; 3] = ["Permission denied", "Operation not permitted", "(os error 13)"];
const MISSING: [&str; 2] = ["No such file or directory", "(os error 2)"];

/// What the sandbox had to do with it, as far as the output tells.
pub(super) fn explain(output: &str, shell: &Shell) -> Vec<Explanation> {
    let settings = &shell.settings;
    explanations(output, &settings.workdir, &shell.shown_places(), settings.network)
}

fn explanations(
    output: &str,
    workdir: &Path,
    shown: &[PathBuf],
    network: bool,
) -> Vec<Explanation> {
    let mut found: Vec<Explanation> = Vec::new();
    let says = |line: &str, words: &[&str]| words.iter().any(|word| line.contains(word));
    for line in output.lines() {
        let explanation = if !network && says(line, &NETWORK) {
            Some(Explanation {
                denial: denial("connect", "network", "commands have no network"),
                advice: "commands have no network here; the user can grant it with `network = true` under `[bash]`".into(),
            })
        } else if says(line, &WRITE) {
            path_in(line).map(|path| of_write(&path, workdir))
        } else if says(line, &REFUSED) || says(line, &MISSING) {
            path_in(line)
                .filter(|path| !is_shown(path, workdir, shown))
                .map(|path| of_hidden(&path))
        } else {
            None
        };
        if let Some(explanation) = explanation
            && !found.contains(&explanation)
        {
            found.push(explanation);
            if found.len() == MOST {
                break;
            }
        }
    }
    found
}

fn of_write(path: &Path, workdir: &Path) -> Explanation {
    let subject = escaped(path);
    let advice = if path.is_relative() || path.starts_with(workdir) {
        format!(
            "`{subject}` is protected: programs of the user act on it, so commands cannot change it; tell the user what should be changed"
        )
    } else {
        let folder = escaped(path.parent().unwrap_or(path));
        format!(
            "`{subject}` cannot be written by commands; the user can grant it with `write = [\"{folder}\"]` under `[bash]`"
        )
    };
    Explanation { denial: denial("write", &subject, "read-only for commands"), advice }
}

fn of_hidden(path: &Path) -> Explanation {
    let subject = escaped(path);
    let folder = escaped(path.parent().unwrap_or(path));
    Explanation {
        denial: denial("read", &subject, "not shown to commands"),
        advice: format!(
            "`{subject}` is outside what commands may see, whether it exists or not; the user can grant it with `read = [\"{folder}\"]` under `[bash]`"
        ),
    }
}

fn denial(what: &str, subject: &str, reason: &str) -> Denial {
    Denial { what: what.into(), subject: subject.into(), reason: reason.into() }
}

fn escaped(path: &Path) -> String {
    clip_end(&escape_line(&path.to_string_lossy()), 200)
}

fn is_shown(path: &Path, workdir: &Path, shown: &[PathBuf]) -> bool {
    path.is_relative() || path.starts_with(workdir) || shown.iter().any(|s| path.starts_with(s))
}

/// The path in a message: what stands in quotes, else the last word before the reason that holds
/// a slash or stands where `PROGRAM: PATH: reason` has it.
fn path_in(line: &str) -> Option<PathBuf> {
    for (open, close) in
        [('\'', '\''), ('\u{2018}', '\u{2019}'), ('`', '`'), ('"', '"'), ('`', '\'')]
    {
        let quoted = line.split_once(open).and_then(|(_, rest)| rest.split_once(close));
        if let Some((path, _)) = quoted
            && !path.is_empty()
        {
            return Some(path.into());
        }
    }
    let mut parts: Vec<&str> = line.split(": ").map(str::trim).collect();
    parts.pop();
    let last = parts.pop()?;
    let word = last.rsplit(' ').next().unwrap_or(last);
    let path = if word.contains('/') { word } else { last };
    (!path.is_empty() && !parts.is_empty()).then(|| path.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice(line: &str) -> Option<String> {
        let found = explanations(line, Path::new("/w"), &["/usr".into(), "/tmp".into()], false);
        found.into_iter().next().map(|e| e.advice)
    }

    #[test]
    fn the_cause_and_the_grant_are_named() {
        let check = |line: &str, parts: &[&str]| {
            let advice = advice(line).unwrap_or_default();
            for part in parts {
                assert!(advice.contains(part), "{line}: {advice}");
            }
        };
        check("curl: (6) Could not resolve host: example.com", &["network = true"]);
        check(
            "touch: cannot touch '/etc/x': Read-only file system",
            &["/etc/x", "write = [\"/etc\"]"],
        );
        check("bash: line 1: .git/hooks/pre-commit: Read-only file system", &["protected"]);
        check("cat: /home/u/notes.txt: No such file or directory", &["read = [\"/home/u\"]"]);
        check("ls: cannot access '/srv/data': No such file or directory", &["read = [\"/srv\"]"]);
    }

    #[test]
    fn ordinary_failures_are_not_blamed_on_the_sandbox() {
        for line in [
            "cat: nope.txt: No such file or directory",
            "cat: /w/nope.txt: No such file or directory",
            "ls: cannot access '/usr/nope': No such file or directory",
            "error[E0308]: mismatched types",
            "No such file or directory",
            "",
        ] {
            assert_eq!(advice(line), None, "{line}");
        }
    }
}
