//! `list_dir`, `glob` and `grep` as the model meets them, in the real sandbox: odd names, huge and
//! deep trees, patterns that are wrong or dear.

#![allow(clippy::unwrap_used)]

#[path = "support/lab.rs"]
mod lab;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::{Duration, Instant};

use clawhold::model::{FailureCode, Outcome};
use lab::Lab;
use rustix::fs::{Mode, OFlags};
use serde_json::{Value, json};

#[test]
fn f12_f36_circles_end_and_links_are_shown_and_not_entered() {
    let lab = Lab::new();
    lab.write("d/f", "needle\n");
    for (target, link) in [
        ("..", "d/up"),
        ("loop_b", "loop_a"),
        ("loop_a", "loop_b"),
        ("self", "self"),
        ("d", "to_d"),
    ] {
        symlink(target, lab.path(link)).unwrap();
    }
    assert_eq!(lab.done("grep", json!({"pattern": "needle"})), "d/f:1:needle\n");
    let listed = lab.done("list_dir", json!({"depth": 9}));
    assert_eq!(
        listed,
        "d/\nd/f  7 B\nd/up -> ..\nloop_a -> loop_b\nloop_b -> loop_a\nself -> self\nto_d -> d\n"
    );
    assert_eq!(lab.done("glob", json!({"pattern": "**/f"})), "d/f\n");
    for (tool, arguments) in [
        ("read_file", json!({"path": "loop_a"})),
        ("read_file", json!({"path": "self"})),
        ("list_dir", json!({"path": "loop_a"})),
        ("edit_file", json!({"path": "self", "old_text": "a", "new_text": "b"})),
        ("write_file", json!({"path": "loop_b", "content": "x"})),
        ("write_file", json!({"path": "self/f", "content": "x"})),
    ] {
        let said = lab.refused(&Outcome::Failed, tool, arguments.clone());
        assert!(said.contains("symbolic links"), "{tool} {arguments}: {said}");
    }
    // A link to a folder inside may be named.
    assert_eq!(lab.done("read_file", json!({"path": "to_d/f"})), "needle\n");
    assert_eq!(lab.done("read_file", json!({"path": "d/up/d/f"})), "needle\n");
    lab.no_leftovers();
}

#[test]
fn f11_a_chain_of_forty_one_links_is_too_long() {
    let lab = Lab::new();
    lab.write("l0", "end\n");
    for n in 1..=60 {
        symlink(format!("l{}", n - 1), lab.path(&format!("l{n}"))).unwrap();
    }
    assert_eq!(lab.done("read_file", json!({"path": "l30"})), "end\n");
    let said = lab.refused(&Outcome::Failed, "read_file", json!({"path": "l60"}));
    assert!(said.contains("symbolic links"), "{said}");
    let said = lab.refused(&Outcome::Failed, "write_file", json!({"path": "l60", "content": "x"}));
    assert!(said.contains("more than 40 symbolic links"), "{said}");
    assert_eq!(lab.read("l0"), b"end\n");
}

#[test]
fn f34_a_tree_three_thousand_deep_ends_and_says_that_it_was_cut() {
    const DEPTH: usize = 3_000;
    let lab = Lab::new();
    std::fs::create_dir(lab.path("deep")).unwrap();
    // Longer than a path may be, so each folder is made from within the one above.
    let mut at = rustix::fs::open(lab.path("deep"), OFlags::DIRECTORY, Mode::empty()).unwrap();
    for depth in 0..DEPTH {
        if depth % 100 == 0 {
            let file =
                rustix::fs::openat(&at, "needle", OFlags::CREATE | OFlags::WRONLY, Mode::RWXU)
                    .unwrap();
            rustix::io::write(&file, b"needle\n").unwrap();
        }
        rustix::fs::mkdirat(&at, "d", Mode::RWXU).unwrap();
        at = rustix::fs::openat(&at, "d", OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    let begun = Instant::now();
    let (mut said, mut counted) = (Vec::new(), Vec::new());
    for (tool, arguments) in [
        ("list_dir", json!({"path": "deep", "depth": 9_999})),
        ("glob", json!({"path": "deep", "pattern": "**/needle"})),
        ("grep", json!({"path": "deep", "pattern": "needle"})),
    ] {
        let reply = lab.call(tool, arguments);
        counted.push(reply.observation().matches("needle").count());
        said.push((tool, reply.outcome.clone(), reply.observation()));
    }
    let took = begun.elapsed();
    // A path that is too long to be one fails as any other.
    let far = lab.call("read_file", json!({"path": format!("deep{}/needle", "/d".repeat(2_900))}));
    let odd = lab.call(
        "write_file",
        json!({"path": format!("deep{}/new", "/d".repeat(2_900)), "content": "x"}),
    );
    // The standard library would hold a handle for each level while it removes them.
    Command::new("rm").arg("-rf").arg(lab.path("deep")).status().unwrap();
    for (tool, outcome, text) in said {
        assert_eq!(outcome, Outcome::Done, "{tool}: {text}");
        assert!(
            text.contains("[1 folders deeper than 256 levels were left out]"),
            "{tool}: {text}"
        );
    }
    assert_eq!(counted[1], 3, "at 0, 100 and 200");
    assert!(took < Duration::from_mins(1), "{took:?}");
    assert!(matches!(far.outcome, Outcome::Done | Outcome::Failed), "{far:?}");
    assert!(matches!(odd.outcome, Outcome::Done | Outcome::Failed), "{odd:?}");
}

#[test]
fn f35_a_folder_of_very_many_files_is_cut_in_a_fixed_order_with_a_count() {
    let many = if std::env::var_os("CLAWHOLD_LONG").is_some() { 200_000 } else { 20_000 };
    let lab = Lab::new();
    std::fs::create_dir(lab.path("many")).unwrap();
    let at = rustix::fs::open(lab.path("many"), OFlags::DIRECTORY, Mode::empty()).unwrap();
    // Made from the last to the first, so that no order but the sorted one is that of a listing.
    for n in (0..many).rev() {
        rustix::fs::openat(&at, format!("f{n:06}"), OFlags::CREATE | OFlags::WRONLY, Mode::RWXU)
            .unwrap();
    }
    let begun = Instant::now();
    let listed = lab.call("list_dir", json!({"path": "many"}));
    let text = listed.observation();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines[0], lines[999]), ("f000000  0 B", "f000999  0 B"));
    assert!(
        lines[1_000].starts_with(&format!("[{} more entries", many - 1_000)),
        "{}",
        lines[1_000]
    );
    assert_eq!(listed.structured.as_ref().unwrap()["more"], many - 1_000);
    let found = lab.done("glob", json!({"pattern": "many/*"}));
    assert!(found.contains(&format!("[{} more; use a narrower pattern]", many - 1_000)));
    let last = format!("many/f{:06}\n", many - 1);
    assert_eq!(lab.done("glob", json!({"pattern": format!("**/f{:06}", many - 1)})), last);
    lab.done("grep", json!({"pattern": "x"}));
    assert!(begun.elapsed() < Duration::from_mins(2), "{:?}", begun.elapsed());
}

#[test]
fn f37_every_name_is_shown_on_one_line_and_can_be_sent_back() {
    let lab = Lab::new();
    let long = "n".repeat(255);
    let names: [&[u8]; 16] = [
        b"new\nline",
        b"tab\there",
        b"-rf",
        b" lead",
        b"trail ",
        b"q\"uote'",
        b"back\\slash",
        b"esc\x1b[31m",
        "\u{202e}rtl".as_bytes(),
        "zero\u{200b}width".as_bytes(),
        b"bell\x07",
        long.as_bytes(),
        b"odd\xff\xfe",
        b"odd\\xff\\xfe",
        "目录".as_bytes(),
        b"f;$(id)`",
    ];
    for (n, name) in names.iter().enumerate() {
        std::fs::write(lab.workdir().join(OsStr::from_bytes(name)), format!("needle {n}\n"))
            .unwrap();
    }
    let listed = lab.call("list_dir", json!({}));
    let text = listed.observation();
    assert_eq!(text.lines().count(), names.len(), "{text:?}");
    let found = lab.done("grep", json!({"pattern": "needle"}));
    assert_eq!(found.lines().count(), names.len(), "{found}");
    let globbed = lab.done("glob", json!({"pattern": "*"}));
    assert_eq!(globbed.lines().count(), names.len(), "{globbed}");
    for text in [&text, &found, &globbed] {
        let bad = |c: char| c.is_control() && c != '\n' || matches!(c, '\u{202e}' | '\u{200b}');
        assert!(!text.contains(bad), "{text:?}");
    }
    // Each line that a listing shows stands for one file, and none for two.
    let shown: BTreeSet<&str> = text.lines().collect();
    assert_eq!(shown.len(), names.len());
    let mut read = BTreeSet::new();
    for entry in listed.structured.unwrap()["entries"].as_array().unwrap() {
        let reply = lab.call("read_file", json!({"path": entry["name"]}));
        if reply.outcome == Outcome::Done {
            read.insert(reply.content[0].as_text().unwrap().to_owned());
        }
    }
    assert!(read.len() >= names.len() - 1, "{read:?}");
    for name in
        ["new\nline", " lead", "trail ", "-rf", "esc\u{1b}[31m", "\u{202e}rtl", &long, "目录"]
    {
        lab.done("edit_file", json!({"path": name, "old_text": "needle", "new_text": "pin"}));
        assert!(lab.read(name).starts_with(b"pin "), "{name:?}");
    }
}

#[test]
fn f61_patterns_that_lead_outside_or_are_wrong_or_dear() {
    let lab = Lab::new();
    std::fs::write(lab.temp.path().join("secret"), "x").unwrap();
    for path in ["a", "b", "sub/deep/c", "[x]", "{y}"] {
        lab.write(path, "x");
    }
    for (pattern, found) in [
        ("**/*", "[x]\na\nb\nsub/deep/c\n{y}\n"),
        ("**", "[x]\na\nb\nsub/deep/c\n{y}\n"),
        ("{a,b}", "a\nb\n"),
        ("./a", "a\n"),
        ("sub/**/c", "sub/deep/c\n"),
        ("**/deep/", "sub/deep/\n"),
        ("[[]x]", "[x]\n"),
        ("[{]y[}]", "{y}\n"),
        ("**/**/**/**/**/**/**/**/c", "sub/deep/c\n"),
    ] {
        assert_eq!(lab.done("glob", json!({"pattern": pattern})), found, "{pattern}");
    }
    for (pattern, code, words) in [
        ("../**", FailureCode::Denied, "leads outside"),
        ("sub/../../*", FailureCode::Denied, "leads outside"),
        ("/etc/*", FailureCode::Denied, "leads outside"),
        ("[", FailureCode::InvalidArguments, "`[` is not closed at character 1"),
        ("a{b", FailureCode::InvalidArguments, "is not closed"),
        ("", FailureCode::InvalidArguments, "for everything use `**`"),
        (&"a".repeat(10_000), FailureCode::TooLarge, "10000 bytes; 4096 are the most"),
    ] {
        let reply = lab.call("glob", json!({"pattern": pattern}));
        assert_eq!(
            reply.failure.as_ref().map(|failure| &failure.code),
            Some(&code),
            "{pattern}: {reply:?}"
        );
        assert!(reply.observation().contains(words), "{pattern}: {}", reply.observation());
        // The filter of a search is the same language.
        if !pattern.is_empty() {
            let reply = lab.call("grep", json!({"pattern": "x", "glob": pattern}));
            assert_eq!(reply.outcome, Outcome::Failed, "{pattern}: {reply:?}");
        }
    }
    lab.write(&"a".repeat(200), "x");
    let begun = Instant::now();
    lab.call("glob", json!({"pattern": "*a".repeat(1_000) + "b"}));
    lab.call("glob", json!({"pattern": "**/*a".repeat(100)}));
    lab.call("glob", json!({"pattern": "{a,{b,{c,{d,{e,{f,*}}}}}}".repeat(20)}));
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn f62_expressions_take_linear_time_or_are_refused_in_words() {
    let lab = Lab::new();
    lab.write("f", "a".repeat(1_000_000) + "!\n");
    let begun = Instant::now();
    assert!(lab.done("grep", json!({"pattern": "(a+)+$"})).starts_with("no match"));
    lab.done("grep", json!({"pattern": "(a|a)*b"}));
    lab.done("grep", json!({"pattern": "(?s)(.*)(.*)(.*)x", "multiline": true}));
    assert!(begun.elapsed() < Duration::from_mins(1), "{:?}", begun.elapsed());
    for (pattern, words) in [
        ("(?=x)", "lookaround and backreferences are not supported"),
        ("(?<!a)b", "lookaround and backreferences are not supported"),
        (r"(a)\1", "backreferences are not supported"),
        ("(x", "unclosed group"),
        ("*", "repetition"),
        ("a{1000}{1000}{1000}", "size limit"),
        ("", "`pattern` is empty"),
    ] {
        let reply = lab.call("grep", json!({"pattern": pattern}));
        assert_eq!(reply.outcome, Outcome::Failed, "{pattern}: {reply:?}");
        assert!(reply.observation().contains(words), "{pattern}: {}", reply.observation());
    }
}

#[test]
fn f55_f64_a_search_shows_neither_binary_files_nor_secrets_nor_what_git_ignores() {
    let lab = Lab::new();
    for (path, content) in [
        ("a.txt", &b"one\nneedle\nthree\n"[..]),
        ("bin", b"needle\0\n"),
        (".env", b"KEY=needle\n"),
        ("keys/id_rsa", b"needle\n"),
        ("c.pem", b"needle\n"),
        (".gitignore", b"target/\n*.log\n"),
        ("target/x", b"needle\n"),
        ("y.log", b"needle\n"),
        (".git/HEAD", b"needle\n"),
        ("wide", b"\xff\xfen\0e\0e\0d\0l\0e\0\n\0"),
    ] {
        lab.write(path, content);
    }
    let reply = lab.call("grep", json!({"pattern": "needle"}));
    let text = reply.observation();
    assert!(text.starts_with("a.txt:2:needle\nwide:1:needle\n"), "{text}");
    assert!(
        text.contains("3 secret-looking files were not searched") && !text.contains("KEY"),
        "{text}"
    );
    for path in [".env", "keys/id_rsa", "target/x", "y.log"] {
        assert!(
            !reply.receipt.reads.contains(&path.to_owned()),
            "{path}: {:?}",
            reply.receipt.reads
        );
    }
    let around = lab.done(
        "grep",
        json!({"pattern": "NEEDLE", "case": "insensitive", "context": 1, "glob": "*.txt"}),
    );
    assert!(around.starts_with("a.txt-1-one\na.txt:2:needle\na.txt-3-three\n"), "{around}");
    let none: Value = json!({"pattern": "needle", "path": "keys"});
    assert!(lab.done("grep", none).starts_with("no match"));
    // The guard holds the same for a file that is named.
    let said = lab.refused(&Outcome::Denied, "read_file", json!({"path": ".env"}));
    assert!(said.contains("secret_files") && !said.contains("KEY"), "{said}");
}
