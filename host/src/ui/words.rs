//! Small quantities and gists in words.

use serde_json::Value;

use crate::model::StopReason;
use crate::tool::Progress;

/// Bytes for a reader: `512 B`, `1.5 KiB`.
pub fn size(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut unit = "B";
    for larger in ["KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = larger;
    }
    if unit == "B" { format!("{bytes} B") } else { format!("{value:.1} {unit}") }
}

/// Microseconds for a reader: `80 µs`, `1.2 ms`, `3.4 s`.
pub fn time(microseconds: u64) -> String {
    match microseconds {
        0..1_000 => format!("{microseconds} µs"),
        1_000..1_000_000 => format!("{:.1} ms", microseconds as f64 / 1e3),
        _ => format!("{:.1} s", microseconds as f64 / 1e6),
    }
}

/// `1 tool`, `2 tools`.
pub fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// The word of docs and JSON for why a run ended.
pub fn stop_word(stop: StopReason) -> String {
    match serde_json::to_value(stop) {
        Ok(Value::String(word)) => word,
        _ => format!("{stop:?}"),
    }
}

/// How far a call has come, on one line.
pub fn progress(progress: &Progress) -> String {
    let Progress { done, total, message } = progress;
    let of = total.map(|total| format!(" of {total}")).unwrap_or_default();
    format!("  {done}{of} {}", crate::text::clip_end(&crate::text::escape_line(message), 200))
}

/// Bytes that a gist may take on a line.
const GIST: usize = 72;

/// The argument that tells calls apart at a glance: the first of the names that tools usually
/// have for their object, else the first text, else all of it. Escaped, on one line, short.
pub fn gist(arguments: &str) -> String {
    const TELLING: [&str; 7] = ["path", "command", "pattern", "url", "query", "name", "prompt"];
    let parsed: Option<Value> = serde_json::from_str(arguments).ok();
    let text = match &parsed {
        Some(Value::Object(map)) => {
            let telling =
                TELLING.iter().filter_map(|name| map.get(*name)?.as_str()).collect::<Vec<_>>();
            match telling.as_slice() {
                // `grep` is told by both what it looks for and where.
                [first, second, ..] => format!("{second} in {first}"),
                [only] => (*only).to_owned(),
                [] => map.values().find_map(Value::as_str).map_or_else(
                    || if map.is_empty() { String::new() } else { arguments.to_owned() },
                    str::to_owned,
                ),
            }
        }
        _ => arguments.to_owned(),
    };
    crate::text::clip_end(&crate::text::escape_line(&text), GIST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities() {
        assert_eq!(
            [size(0), size(1023), size(1536), size(3 << 30)],
            ["0 B", "1023 B", "1.5 KiB", "3.0 GiB"]
        );
        assert_eq!([time(80), time(1_200), time(3_400_000)], ["80 µs", "1.2 ms", "3.4 s"]);
        assert_eq!([count(1, "tool"), count(2, "tool")], ["1 tool", "2 tools"]);
    }

    #[test]
    fn words_of_stops_and_progress() {
        assert_eq!(stop_word(StopReason::TurnsExhausted), "turns-exhausted");
        let at = |total| progress(&Progress { done: 3, total, message: "files\x1b".into() });
        assert_eq!([at(Some(9)), at(None)], ["  3 of 9 files\\x1b", "  3 files\\x1b"]);
    }

    #[test]
    fn the_argument_that_matters() {
        let check =
            |arguments: &str, expect: &str| assert_eq!(gist(arguments), expect, "{arguments}");
        check(r#"{"content":"long text","path":"a.txt"}"#, "a.txt");
        check(r#"{"pattern":"TODO","path":"src"}"#, "TODO in src");
        check(r#"{"language":"en"}"#, "en");
        check(r#"{"depth":2}"#, r#"{"depth":2}"#);
        check("{}", "");
        check("not json", "not json");
        check(r#"{"path":"a\u001b[31m\nb"}"#, "a\\x1b[31m\\nb");
    }

    #[test]
    fn a_gist_is_short() {
        let long = format!("{{\"path\":\"{}\"}}", "x".repeat(5000));
        assert!(gist(&long).len() < 120);
    }
}
