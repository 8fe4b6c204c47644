//! Faults of the command line, told in one paragraph.

use clap::error::{Error, ErrorKind};

use crate::ui::Output;

/// The exit code for whatever is wrong with what the user typed or set.
pub(super) const USAGE: u8 = 2;

/// A command that is well formed and still cannot be meant.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct UsageError(pub(super) String);

/// Prints what clap has to say, and gives the exit code: help and version are answers, all else
/// is an error.
pub(super) fn report(output: &Output, error: &Error) -> u8 {
    let text = error.render().to_string();
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        output.print(&text);
        return 0;
    }
    // A command that was left half said is answered by its help, which names the other half.
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        output.note(text.trim_end());
        return USAGE;
    }
    let paragraph = paragraph(&text);
    output.note(&match paragraph.strip_prefix("error: ") {
        Some(rest) => format!("{} {rest}", output.err_paint().red("error:")),
        None => paragraph,
    });
    USAGE
}

/// Clap's paragraphs joined to one: the fault and its tips, without the usage line that follows.
fn paragraph(text: &str) -> String {
    let parts: Vec<String> = text
        .split("\n\n")
        .take_while(|part| !part.starts_with("Usage:"))
        .filter(|part| !part.starts_with("For more information"))
        .map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "))
        .map(|part| part.replacen("tip: ", "", 1))
        .filter(|part| !part.is_empty())
        .collect();
    format!("{}; see `claw --help`", crate::text::escape_line(&parts.join("; ")))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::super::args::Args;
    use super::*;

    #[test]
    fn one_paragraph_with_the_word_that_was_meant() {
        let check = |line: &[&str], parts: &[&str]| {
            let error = Args::try_parse_from(line).expect_err("the line is wrong");
            let text = paragraph(&error.render().to_string());
            assert!(!text.contains(['\n', '\u{1b}']), "{text}");
            assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        };
        check(&["claw", "rum", "x"], &["'rum'", "'run'", "claw --help"]);
        check(&["claw", "--modle", "x"], &["'--modle'", "'--model'"]);
        check(&["claw", "run", "--max-turns", "many"], &["'many'", "--max-turns"]);
        check(&["claw", "run", "fix", "it"], &["'it'"]);
        check(&["claw", "\u{1b}[31m"], &[]);
        check(&["claw", "call"], &["<TOOL>"]);
        check(&["claw", "call", "glob", "--jsn"], &["'--jsn'", "'--json'"]);
        check(&["claw", "tools", "--output", "jsn"], &["'jsn'", "json"]);
        check(&["claw", "tools", "--json", "--output", "text"], &["--json"]);
        check(&["claw", "r\u{202e}m"], &["r\\u{202e}m"]);
    }
}
