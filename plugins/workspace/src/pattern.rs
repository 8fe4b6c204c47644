//! Glob patterns: what they may be, and where they are wrong.

use clawhold_sdk::failure::{failure, invalid};
use clawhold_sdk::{Failure, FailureCode};
use globset::{Glob, GlobBuilder, GlobMatcher};

use crate::names::shown;

/// The longest pattern. Matching is linear, compiling one is not free.
const MAX_LEN: usize = 4_096;

/// A matcher in which `*` stays within a folder and `**` does not.
pub fn compile(pattern: &str) -> Result<GlobMatcher, Failure> {
    if pattern.is_empty() {
        return Err(invalid("the pattern is empty").hint("for everything use `**`"));
    }
    if pattern.len() > MAX_LEN {
        return Err(failure(
            FailureCode::TooLarge,
            format!("the pattern has {} bytes; {MAX_LEN} are the most", pattern.len()),
        )
        .hint("use a shorter pattern, or several calls"));
    }
    if pattern.starts_with('/') || pattern.split('/').any(|part| part == "..") {
        return Err(failure(
            FailureCode::Denied,
            format!("the pattern `{}` leads outside the folder that is searched", shown(pattern)),
        )
        .hint("patterns are relative to `path`, and that must be inside the working directory"));
    }
    let glob = GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build();
    glob.as_ref().map(Glob::compile_matcher).map_err(|error| {
        invalid(format!(
            "the pattern `{}` is not valid: {} at character {}",
            shown(pattern),
            words(error.kind()),
            position(pattern, error.kind())
        ))
        .hint("a literal `[`, `{`, `}` or `*` is written in brackets: `[[]`, `[{]`, `[}]`, `[*]`")
    })
}

/// The folders at the start of a pattern that hold no wildcard, and the rest of it.
pub fn split_literal(pattern: &str) -> (&str, &str) {
    let wild = pattern.find(['*', '?', '[', '{', '\\']).unwrap_or(pattern.len());
    match pattern[..wild].rfind('/') {
        Some(slash) => (&pattern[..slash], &pattern[slash + 1..]),
        None => ("", pattern),
    }
}

fn words(kind: &globset::ErrorKind) -> String {
    use globset::ErrorKind as Kind;
    match kind {
        Kind::UnclosedClass => "`[` is not closed".to_owned(),
        Kind::InvalidRange(from, to) => format!("the range {from}-{to} runs backwards"),
        Kind::UnopenedAlternates => "`}` without `{`".to_owned(),
        Kind::UnclosedAlternates => "`{` is not closed".to_owned(),
        Kind::DanglingEscape => "`\\` escapes nothing".to_owned(),
        other => other.to_string(),
    }
}

/// The character, from 1, at which the fault shows.
fn position(pattern: &str, kind: &globset::ErrorKind) -> usize {
    use globset::ErrorKind as Kind;
    let at = match kind {
        Kind::UnclosedClass => pattern.rfind('['),
        Kind::InvalidRange(from, to) => pattern.find(&format!("{from}-{to}")),
        Kind::UnclosedAlternates => unbalanced(pattern),
        Kind::UnopenedAlternates => pattern.rfind('}'),
        Kind::DanglingEscape => pattern.len().checked_sub(1),
        _ => None,
    };
    pattern[..at.unwrap_or(0)].chars().count() + 1
}

/// The first `{` that nothing closes.
fn unbalanced(pattern: &str) -> Option<usize> {
    let mut open = Vec::new();
    for (at, c) in pattern.char_indices() {
        match c {
            '{' => open.push(at),
            '}' => _ = open.pop(),
            _ => {}
        }
    }
    open.first().copied()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn f61_patterns_that_lead_outside_are_denied() {
        for pattern in ["../**", "/etc/*", "a/../../b", ".."] {
            let failure = compile(pattern).unwrap_err();
            assert!(matches!(failure.code, FailureCode::Denied), "{pattern}: {failure:?}");
        }
        assert!(compile("a..b/..c").is_ok());
    }

    #[test]
    fn f61_faults_have_a_place() {
        for (pattern, expect) in [
            ("src/[", "`[` is not closed at character 5"),
            ("é/[z-a]", "the range z-a runs backwards at character 4"),
            ("a{b,c", "`{` is not closed at character 2"),
            ("ab}", "`}` without `{` at character 3"),
            ("ab\\", "`\\` escapes nothing at character 3"),
        ] {
            let message = compile(pattern).unwrap_err().message;
            assert!(message.ends_with(expect), "{pattern}: {message}");
        }
    }

    #[test]
    fn f61_long_patterns_are_refused_or_quick() {
        assert!(matches!(compile(&"*".repeat(10_000)).unwrap_err().code, FailureCode::TooLarge));
        let matcher = compile(&format!("{}b", "**/".repeat(1_000))).unwrap();
        let begun = std::time::Instant::now();
        assert!(!matcher.is_match("a/".repeat(2_000)));
        let stars = compile(&format!("{}b", "*a".repeat(500))).unwrap();
        assert!(!stars.is_match("a".repeat(50_000)));
        assert!(begun.elapsed().as_secs() < 5);
    }

    #[test]
    fn literal_folders_are_split_off() {
        assert_eq!(split_literal("src/a/*.rs"), ("src/a", "*.rs"));
        assert_eq!(split_literal("**/x"), ("", "**/x"));
        assert_eq!(split_literal("a/b.txt"), ("a", "b.txt"));
        assert_eq!(split_literal("a{b/c}"), ("", "a{b/c}"));
    }
}
