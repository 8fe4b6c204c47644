//! The regular expression of a search.

use clawhold_sdk::Failure;
use clawhold_sdk::failure::invalid;
use grep_regex::{Error, ErrorKind, RegexMatcher, RegexMatcherBuilder};

use super::{Case, Request};

/// The largest compiled expression and the largest cache of its automaton, in bytes.
const MAX_SIZE: usize = 10 << 20;

/// Whether the pattern may speak of the end of a line, which then stands before CRLF, too.
pub(super) fn ends_lines(request: &Request) -> bool {
    !request.multiline && request.pattern.contains('$')
}

/// The matcher, and whether matches may go over several lines. They may without having been asked
/// for when the pattern names a line feed, for then nothing else can be meant.
pub(super) fn build(request: &Request) -> Result<(RegexMatcher, bool), Failure> {
    let mut built = compile(request, request.multiline);
    let mut multiline = request.multiline;
    if !multiline
        && let Err(error) = &built
        && let ErrorKind::NotAllowed(_) = error.kind()
    {
        multiline = true;
        built = compile(request, true);
    }
    built.map(|matcher| (matcher, multiline)).map_err(|error| wrong(request, &error))
}

fn compile(request: &Request, multiline: bool) -> Result<RegexMatcher, Error> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .case_smart(request.case == Case::Smart)
        .case_insensitive(request.case == Case::Insensitive)
        .size_limit(MAX_SIZE)
        .dfa_size_limit(MAX_SIZE);
    if multiline {
        builder.dot_matches_new_line(true);
    } else {
        // With this the searcher may look at whole buffers and find the lines afterwards.
        builder.line_terminator(Some(b'\n'));
        if ends_lines(request) {
            builder.crlf(true);
        }
    }
    builder.build(&request.pattern)
}

fn wrong(request: &Request, error: &Error) -> Failure {
    let text = error.to_string();
    let hint = if text.contains("look-around") || text.contains("backreference") {
        "lookaround and backreferences are not supported; search for more and choose from it"
    } else if text.contains("size limit") {
        "the expression is too large when compiled; use smaller repetitions"
    } else {
        "a literal `(`, `[`, `{`, `.`, `*`, `+`, `?`, `|` or `\\` needs a `\\` before it"
    };
    // The library shows the pattern with a mark under the fault, which says it best.
    invalid(format!("`pattern` is not valid: {}", text.trim())).hint(format!(
        "{hint}{}",
        if request.pattern.len() > 1_000 { "; the pattern is very long" } else { "" }
    ))
}
