//! The lexer against a real bash: whenever it says that it understands a line, bash passes exactly
//! the same arguments to exactly the same commands. And it survives whatever it is given.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

use clawhold::shell::{Joint, Line, MAX_BYTES, MAX_COMMANDS, Redirect, lex};
use proptest::prelude::*;

/// A record of what ran: the arguments of each command, the command's name first.
type Ran = Vec<Vec<String>>;

/// What runs when every command succeeds: what stands behind `||` does not.
fn expected(line: &Line) -> Ran {
    let mut ran = Vec::new();
    let mut skipped = false;
    for command in &line.commands {
        // The parts of a pipe share the fate of its first.
        if command.joint != Joint::Pipe {
            skipped = command.joint == Joint::Or;
        }
        if !skipped {
            ran.push(command.words.iter().map(|w| w.text().to_owned()).collect());
        }
    }
    ran
}

/// Lets bash read many lines, each command of them replaced by a function that writes down its
/// arguments. Wildcards are off, since the lexer leaves them as they stand too.
fn ran_by_bash(lines: &[(String, Line)]) -> Vec<Ran> {
    let dir = tempfile::tempdir().unwrap();
    let mut script = String::from("set -f\n");
    for (number, (text, line)) in lines.iter().enumerate() {
        std::fs::write(dir.path().join(format!("{number}.in")), text).unwrap();
        let mut names: Vec<&str> = line.commands.iter().map(|c| c.words[0].text()).collect();
        names.sort_unstable();
        names.dedup();
        // A subshell each, so that functions do not leak; `eval` reads the line as `-c` does.
        let _ = writeln!(script, "( exec 9>>{number}.out");
        for name in names {
            // One line and one write for each call, since the parts of a pipe write side by side.
            let _ = writeln!(
                script,
                "function {name} {{ local IFS=$'\\1'; local r=\"{name}${{1+$IFS}}$*\"; printf '%s\\n' \"${{r//$'\\n'/$'\\2'}}\" >&9; }}"
            );
        }
        let _ = writeln!(
            script,
            "builtin eval \"$(</dev/stdin)\" ) <{number}.in >/dev/null 2>>{number}.err"
        );
    }
    std::fs::write(dir.path().join("script"), script).unwrap();
    let mut bash = Command::new("/bin/bash");
    bash.args(["--noprofile", "--norc", "script"])
        .env_clear()
        .env("PATH", "/nonexistent")
        .env("LC_ALL", "C.UTF-8");
    bash.current_dir(dir.path()).output().unwrap();
    let read = |number: usize| -> Ran {
        let bytes = std::fs::read(dir.path().join(format!("{number}.out"))).unwrap_or_default();
        let text = String::from_utf8(bytes).unwrap();
        text.lines()
            .map(|call| call.split('\u{1}').map(|arg| arg.replace('\u{2}', "\n")).collect())
            .collect()
    };
    (0..lines.len()).map(read).collect()
}

/// Compares every line that the lexer understands, and says how many those were.
fn compare(lines: impl IntoIterator<Item = String>) -> usize {
    let understood: Vec<(String, Line)> = lines
        .into_iter()
        .filter_map(|text| lex(text.as_bytes()).ok().map(|line| (text, line)))
        // Names that bash does not take for a function: what `cd` and such do is not of interest.
        .filter(|(_, line)| {
            line.commands
                .iter()
                .all(|c| c.words[0].text().bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'))
        })
        // `builtin` and `printf` are what the recording itself is made of.
        .filter(|(_, line)| {
            line.commands
                .iter()
                .all(|c| !matches!(c.words[0].text(), "builtin" | "printf" | "exec" | "eval"))
        })
        .collect();
    for chunk in understood.chunks(500) {
        for ((text, line), mut ran) in chunk.iter().zip(ran_by_bash(chunk)) {
            let mut wanted = expected(line);
            // The parts of a pipe run side by side, so the order says nothing.
            if line.commands.iter().any(|c| c.joint == Joint::Pipe) {
                wanted.sort();
                ran.sort();
            }
            assert_eq!(ran, wanted, "bash (left) and the lexer (right) read {text:?} differently");
        }
    }
    understood.len()
}

/// A small generator of its own, so that a run can be repeated from its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    /// A line of pieces that mean something to a shell, most of them next to others that do.
    fn line(&mut self) -> String {
        const PIECES: [&str; 76] = [
            "a",
            "b",
            "ls",
            "x1",
            "2",
            "1",
            "0",
            "-n",
            "--",
            "-",
            "--k=v",
            "/",
            "..",
            ".",
            "目录",
            "é",
            " ",
            " ",
            " ",
            " ",
            "\t",
            "\n",
            ";",
            "|",
            "||",
            "&&",
            "&",
            "|&",
            "'",
            "'",
            "\"",
            "\"",
            "\\",
            "\\\\",
            "\\'",
            "\\\"",
            "\\\n",
            "\\ ",
            "''",
            "\"\"",
            "'a b'",
            "\"a b\"",
            "\"\\$x\"",
            "\"\\a\"",
            "'\\'",
            "#",
            " #c",
            "~",
            "^",
            "!",
            "$",
            "`",
            "*",
            "?",
            "[a-c]",
            "[",
            "]",
            "[!x]",
            "{",
            "}",
            "{a,b}",
            "(",
            ")",
            "<",
            ">",
            ">/dev/null",
            " 2>/dev/null",
            " 2>&1",
            "2>&1",
            " >/dev/null ",
            "=",
            "A=1",
            "%",
            "@",
            ":",
            "+",
        ];
        let length = 1 + self.below(14);
        // Begin with a command's name, else nearly nothing is understood.
        let mut line = String::from(if self.below(8) == 0 { "" } else { "ls " });
        for _ in 0..length {
            line.push_str(PIECES[self.below(PIECES.len())]);
        }
        line
    }

    /// Pieces that are all understood by themselves, so that long lines get through.
    fn friendly_line(&mut self) -> String {
        const PIECES: [&str; 40] = [
            "a",
            "foo",
            "x1",
            "2",
            "-n",
            "--",
            "--k=v",
            "./a",
            "目录",
            "'a b'",
            "\"a b\"",
            "\"\\$x\"",
            "\"\\a\\\\\"",
            "'\\'",
            "\\ ",
            "\\\\",
            "\\#",
            "\\;",
            "\\|",
            "\\*",
            "a~",
            "a^b",
            "''",
            "\"\"",
            "*.rs",
            "[a-c]?",
            "\"*\"",
            "'#'",
            "\"'\"",
            "'\"'",
            "\"\\\"\"",
            "%",
            "@x",
            "a=b",
            "\"a;b\"",
            "'a&&b'",
            "\"\n\"",
            "\\>",
            "2\\>",
            "\\~",
        ];
        const JOINTS: [&str; 14] = [
            " && ",
            "; ",
            "\n",
            " | ",
            " || ",
            ";\n",
            "|\n",
            "&&\n\n",
            " >/dev/null; ",
            " 2>&1 | ",
            " 2>/dev/null && ",
            " # c\n",
            "&&",
            "|",
        ];
        let mut line = String::new();
        for command in 0..=self.below(4) {
            if command > 0 {
                line.push_str(JOINTS[self.below(JOINTS.len())]);
            }
            line.push_str(["ls", "a1", "'gi't", "l\\s", "run"][self.below(5)]);
            for _ in 0..self.below(5) {
                line.push_str(["", " ", " ", " ", "  ", "\t"][self.below(6)]);
                line.push_str(PIECES[self.below(PIECES.len())]);
            }
        }
        line
    }
}

fn corpus() -> impl Iterator<Item = String> {
    include_str!("data/bash.jsonl").lines().map(|row| {
        let row: serde_json::Value = serde_json::from_str(row).unwrap();
        row["cmd"].as_str().unwrap().to_owned()
    })
}

#[test]
fn lexer_against_bash_on_the_corpus() {
    assert!(compare(corpus()) > 60);
}

#[test]
fn lexer_against_bash_on_generated_lines() {
    let rounds = if std::env::var_os("CLAWHOLD_LONG").is_some() { 150_000 } else { 3000 };
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let understood = compare(
        (0..rounds).map(|i| if i % 8 == 0 { random.friendly_line() } else { random.line() }),
    );
    assert!(understood * 8 > rounds, "only {understood} of {rounds} lines were compared");
}

/// Pieces of corpus lines put together anew.
#[test]
fn lexer_against_bash_on_crossed_lines() {
    let lines: Vec<Vec<char>> =
        corpus().map(|l| l.chars().collect()).filter(|l: &Vec<char>| l.len() < 200).collect();
    let rounds = if std::env::var_os("CLAWHOLD_LONG").is_some() { 60_000 } else { 1500 };
    let mut random = Random(0x0dd0_c0de_5eed_1234);
    let crossed = (0..rounds).map(|_| {
        let (a, b) = (&lines[random.below(lines.len())], &lines[random.below(lines.len())]);
        let (i, j) = (random.below(a.len() + 1), random.below(b.len() + 1));
        a[..i].iter().chain(&b[j..]).collect()
    });
    assert!(compare(crossed.collect::<Vec<String>>()) > 50);
}

#[test]
fn redirections_are_told_from_arguments() {
    use Redirect::{ErrToNull, ErrToOut, OutToNull};
    let check = |line: &str, words: &[&str], redirects: &[Redirect]| {
        let decoded = lex(line.as_bytes()).unwrap();
        let [command] = decoded.commands.as_slice() else { panic!("{line}: not one command") };
        let texts: Vec<&str> = command.words.iter().map(clawhold::shell::Word::text).collect();
        assert_eq!((texts.as_slice(), command.redirects.as_slice()), (words, redirects), "{line}");
    };
    check("a 2>/dev/null", &["a"], &[ErrToNull]);
    check("a 2 >/dev/null", &["a", "2"], &[OutToNull]);
    check("a \\2>/dev/null", &["a", "2"], &[OutToNull]);
    check("a '2'>/dev/null", &["a", "2"], &[OutToNull]);
    check("a ''2>/dev/null", &["a", "2"], &[OutToNull]);
    check("a b2>/dev/null", &["a", "b2"], &[OutToNull]);
    check("a2>/dev/null", &["a2"], &[OutToNull]);
    check("a > \t/dev/null b 2>&1", &["a", "b"], &[OutToNull, ErrToOut]);
    check("a 2>&1 >/dev/null", &["a"], &[ErrToOut, OutToNull]);
}

#[test]
fn bombs_end_quickly() {
    let repeat = |piece: &str| piece.repeat(MAX_BYTES / piece.len());
    let started = Instant::now();
    for piece in [
        "(",
        "{",
        "$(",
        "`",
        "'",
        "\"",
        "\\",
        "[",
        "[a",
        "[!",
        "a ",
        "a;",
        "a|",
        "''",
        "\"\"",
        "#",
        "\n",
        "*",
        "?",
        "*a",
        "a&&\n",
        "é",
        "<<E ",
        "2>&1 ",
        ">/dev/null ",
    ] {
        let _ = lex(repeat(piece).as_bytes());
        let _ = lex(format!("ls {}", repeat(piece)).as_bytes());
    }
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
}

#[test]
fn limits_are_held_exactly() {
    let longest = format!("ls {}", "x".repeat(MAX_BYTES - 3));
    assert!(lex(longest.as_bytes()).is_ok());
    assert!(lex(format!("{longest}x").as_bytes()).is_err());
    let most = vec!["ls"; MAX_COMMANDS].join(";");
    assert_eq!(lex(most.as_bytes()).unwrap().commands.len(), MAX_COMMANDS);
    assert!(lex(format!("{most};ls").as_bytes()).is_err());
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    for line in
        [&b"ls \xff"[..], b"ls \xed\xa0\x80", b"ls a\0b", b"ls \xc3", b"\xfe\xff\0l\0s", b""]
    {
        assert!(lex(line).is_err(), "{line:?}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(line in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = lex(&line);
    }

    #[test]
    fn no_text_makes_it_panic(line in "\\PC{0,80}") {
        let _ = lex(line.as_bytes());
    }

    /// Quoting a text by single quotes gives back exactly that text, whatever it holds that may be seen.
    #[test]
    fn quoted_text_comes_back(text in "[ -~\n\t\u{4e00}-\u{4fff}]{0,60}") {
        let line = format!("echo '{}'", text.replace('\'', "'\\''"));
        let decoded = lex(line.as_bytes()).unwrap();
        prop_assert_eq!(decoded.commands.len(), 1);
        prop_assert_eq!(decoded.commands[0].words[1].text(), text);
    }

    /// What is understood stays understood the same way when it is written out and read again.
    #[test]
    fn decoded_lines_are_stable(line in "[a-c \\\\'\";|&#*?~>2=-]{0,30}") {
        if let Ok(decoded) = lex(line.as_bytes()) {
            for command in decoded.commands {
                let quoted: Vec<String> = command.words.iter().map(|w| format!("'{}'", w.text().replace('\'', "'\\''"))).collect();
                let again = lex(quoted.join(" ").as_bytes()).unwrap();
                let words: Vec<&str> = again.commands[0].words.iter().map(clawhold::shell::Word::text).collect();
                prop_assert_eq!(words, command.words.iter().map(clawhold::shell::Word::text).collect::<Vec<_>>());
            }
        }
    }
}
