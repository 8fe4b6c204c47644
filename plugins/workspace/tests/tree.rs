//! `list_dir`, `glob` and `grep` on real trees.
#![allow(clippy::unwrap_used)]

mod support;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use support::Folder;

fn sample() -> Folder {
    let folder = Folder::new();
    folder.put("src/main.rs", "fn main() {\n    Hello();\n}\n");
    folder.put("src/deep/lib.rs", "// hello\n");
    folder.put("readme.md", "hello world\n");
    folder.put(".hidden", "hello\n");
    folder.put(".git/config", "hello\n");
    folder.put(".gitignore", "/target\n*.log\n!keep.log\n");
    folder.put("target/out.txt", "hello\n");
    folder.put("a.log", "hello\n");
    folder.put("keep.log", "hello\n");
    folder.put("src/.gitignore", "deep/\n");
    folder
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

#[test]
fn folders_are_listed_with_kinds_and_sizes() {
    let folder = sample();
    symlink("readme.md", folder.path("link")).unwrap();
    let text = folder.text("list_dir", json!({"path": ""}));
    assert_eq!(
        lines(&text),
        [
            "keep.log  6 B",
            "link -> readme.md",
            "readme.md  12 B",
            "src/",
            "[5 hidden or git-ignored; `all` shows them]"
        ]
    );
    let text = folder.text("list_dir", json!({"path": "", "depth": 3, "all": true}));
    assert_eq!(
        lines(&text),
        [
            ".git/",
            ".gitignore  24 B",
            ".hidden  6 B",
            "a.log  6 B",
            "keep.log  6 B",
            "link -> readme.md",
            "readme.md  12 B",
            "src/",
            "src/.gitignore  6 B",
            "src/deep/",
            "src/deep/lib.rs  9 B",
            "src/main.rs  27 B",
            "target/",
            "target/out.txt  6 B",
        ]
    );
    fs::create_dir(folder.path("void")).unwrap();
    assert_eq!(folder.text("list_dir", json!({"path": "void"})), "(empty folder)\n");
}

#[test]
fn f27_a_file_is_no_folder() {
    let folder = sample();
    let failure = folder.failure("list_dir", json!({"path": "readme.md"}));
    assert!(
        failure.contains("cannot list `readme.md`: it is a file\nread it with read_file"),
        "{failure}"
    );
    assert!(folder.failure("list_dir", json!({"path": "no"})).contains("does not exist"));
    assert!(
        folder
            .failure("grep", json!({"path": "no", "pattern": "x"}))
            .contains("cannot search `no`")
    );
    assert!(
        folder
            .failure("glob", json!({"path": "no", "pattern": "x/*"}))
            .contains("cannot search `no`")
    );
}

#[test]
fn f37_names_are_shown_so_that_they_can_be_sent_back() {
    let folder = Folder::new();
    for name in ["new\nline", "\u{1b}[31mred", "-rf", " lead", "back\\xff", "bidi\u{202e}"] {
        folder.put(name, "x");
    }
    folder.put("plain", "x");
    let raw = std::path::PathBuf::from(folder.path("")).join(OsStr::from_bytes(b"raw\xff\xfe"));
    fs::write(raw, "x").unwrap();
    let text = folder.text("list_dir", json!({"path": ""}));
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
    for expect in [
        r#""new\nline"  1 B"#,
        r#""\u001b[31mred"  1 B"#,
        "-rf  1 B",
        r#"" lead"  1 B"#,
        r#""back\\xff"  1 B"#,
        r#""bidi\u202e"  1 B"#,
        r"raw\xff\xfe  (name is not UTF-8; it cannot be opened)",
    ] {
        assert!(lines(&text).contains(&expect), "{expect} in {text}");
    }
    let back: String = serde_json::from_str(r#""new\nline""#).unwrap();
    assert_eq!(folder.text("read_file", json!({"path": back})), "x");
}

#[test]
fn files_are_found_by_name() {
    let folder = sample();
    let check = |pattern: &str, expect: &[&str]| {
        let text = folder.text("glob", json!({"path": "", "pattern": pattern}));
        assert_eq!(lines(&text), expect, "{pattern}");
    };
    check("**/*.rs", &["src/main.rs"]);
    check("src/*", &["src/.gitignore", "src/main.rs"]);
    check("*.{md,log}", &["keep.log", "readme.md"]);
    check("./readme.md", &["readme.md"]);
    // What is named is searched, ignored or not.
    check("target/*", &["target/out.txt"]);
    check("**/", &["src/"]);
    check(
        "*.zig",
        &[
            "no files match `*.zig`; `**/*.zig` looks in all folders",
            "[2 git-ignored entries were left out]",
        ],
    );
    check("nowhere/*.c", &["no files match `nowhere/*.c`; `**/nowhere/*.c` looks in all folders"]);
}

#[test]
fn f70_files_are_sorted_by_time_whatever_it_is() {
    let folder = Folder::new();
    for (name, seconds) in [("old", -40_000_000_i64), ("mid", 1_000_000), ("new", 16_725_225_600)] {
        let file = fs::File::create(folder.path(name)).unwrap();
        let since = Duration::from_secs(seconds.unsigned_abs());
        let time = if seconds < 0 {
            SystemTime::UNIX_EPOCH - since
        } else {
            SystemTime::UNIX_EPOCH + since
        };
        file.set_modified(time).unwrap();
    }
    let text = folder.text("glob", json!({"path": "", "pattern": "*", "sort": "mtime"}));
    assert_eq!(lines(&text), ["new", "mid", "old"]);
    assert!(
        folder
            .failure("glob", json!({"path": "", "pattern": "*", "sort": "size"}))
            .contains("not `size`")
    );
}

#[test]
fn contents_are_searched() {
    let folder = sample();
    let check = |args: &str, expect: &[&str]| {
        let mut args: Value = serde_json::from_str(args).unwrap();
        args["path"] = args.get("path").cloned().unwrap_or_else(|| json!(""));
        let text = folder.text("grep", args.clone());
        assert_eq!(lines(&text), expect, "{args}");
    };
    check(
        r#"{"pattern":"hello"}"#,
        &[
            ".hidden:1:hello",
            "keep.log:1:hello",
            "readme.md:1:hello world",
            "src/main.rs:2:    Hello();",
        ],
    );
    check(r#"{"pattern":"Hello"}"#, &["src/main.rs:2:    Hello();"]);
    check(r#"{"pattern":"hello","case":"sensitive","glob":"*.md"}"#, &["readme.md:1:hello world"]);
    check(
        r#"{"pattern":"HELLO","case":"insensitive","glob":"!*.{log,md}","path":"src"}"#,
        &["src/main.rs:2:    Hello();"],
    );
    check(r#"{"pattern":"hello","path":"a.log"}"#, &["a.log:1:hello"]);
    check(
        r#"{"pattern":"Hello","context":1}"#,
        &["src/main.rs-1-fn main() {", "src/main.rs:2:    Hello();", "src/main.rs-3-}", "--"],
    );
    check(
        r#"{"pattern":"main.*Hello","multiline":true}"#,
        &["src/main.rs:1:fn main() {", "src/main.rs:2:    Hello();"],
    );
    check(
        r#"{"pattern":"\\{\\n\\s+Hello"}"#,
        &["src/main.rs:1:fn main() {", "src/main.rs:2:    Hello();"],
    );
    check(r#"{"pattern":"no such thing"}"#, &["no match for `no such thing`"]);
    check(
        r#"{"pattern":"hello","limit":1}"#,
        &[
            ".hidden:1:hello",
            "[3 more matches; 4 in 4 files in all. Narrow the pattern, `path` or `glob`, or raise `limit`]",
        ],
    );
}

#[test]
fn f55_f64_binary_and_secret_files_are_left_out() {
    let folder = Folder::new();
    folder.put(".env", "TOKEN=hello\n");
    folder.put("keys/id_rsa", "hello\n");
    folder.put("bin", b"hello\0\n");
    folder.put("late", [&b"other\n".repeat(20_000)[..], b"hello\0hello\n"].concat());
    folder.put("crlf.txt", "hello\r\nworld\r\n");
    folder.put("wide.txt", b"\xff\xfeh\0e\0l\0l\0o\0\n\0");
    let text = folder.text("grep", json!({"path": "", "pattern": "hello$"}));
    assert_eq!(
        lines(&text),
        [
            "crlf.txt:1:hello",
            "wide.txt:1:hello",
            "[2 secret-looking files were not searched: .env, keys/id_rsa]"
        ]
    );
    let text = folder.text("grep", json!({"path": ".env", "pattern": "hello"}));
    assert!(!text.contains("TOKEN") && text.contains("1 secret-looking"), "{text}");
}

#[test]
fn f30_long_lines_are_clipped_around_the_match() {
    let folder = Folder::new();
    folder.put("min.js", "é".repeat(50_000) + "needle" + &"x".repeat(50_000));
    let text = folder.text("grep", json!({"path": "", "pattern": "needle"}));
    assert!(text.len() < 600 && text.contains("needle") && !text.contains('\u{fffd}'), "{text}");
    assert!(text.contains("[99900 bytes] …") && text.contains("bytes more]"), "{text}");
}

#[test]
fn f62_expressions_are_linear_or_refused() {
    let folder = Folder::new();
    folder.put("f", "a".repeat(1_000_000) + "!\n");
    let begun = Instant::now();
    folder.text("grep", json!({"path": "", "pattern": "(a+)+$"}));
    assert!(begun.elapsed() < Duration::from_secs(5));
    for (pattern, expect) in [
        ("(?=x)", "look-around"),
        ("(x", "unclosed group"),
        (r"(a)\1", "backreferences"),
        ("a{1000}{1000}{1000}", "size limit"),
        ("", "`pattern` is empty"),
    ] {
        let failure = folder.failure("grep", json!({"path": "", "pattern": pattern}));
        assert!(failure.contains(expect), "{pattern}: {failure}");
    }
}

#[test]
fn f26_f36_links_and_special_files_are_never_followed() {
    let folder = Folder::new();
    folder.put("d/f", "hello\n");
    symlink("..", folder.path("d/up")).unwrap();
    symlink("self", folder.path("self")).unwrap();
    let made = Command::new("mkfifo").arg(folder.path("d/pipe")).status();
    let has_pipe = made.is_ok_and(|status| status.success());
    let text = folder.text("grep", json!({"path": "", "pattern": "hello"}));
    assert_eq!(lines(&text), ["d/f:1:hello"]);
    let text = folder.text("list_dir", json!({"path": "", "depth": 9}));
    assert!(text.contains("d/up -> ..\n") && !text.contains("up/"), "{text}");
    assert_eq!(text.contains("d/pipe  (special file)"), has_pipe, "{text}");
    let text = folder.text("glob", json!({"path": "", "pattern": "**"}));
    assert_eq!(lines(&text), ["d/f", "d/up", "self"]);
}

#[test]
fn f34_deep_trees_end_and_say_so() {
    let folder = Folder::new();
    let root = folder.path("deep");
    let path = root.clone() + &"/d".repeat(600);
    fs::create_dir_all(&path).unwrap();
    fs::write(path + "/needle", "needle\n").unwrap();
    let begun = Instant::now();
    for (tool, args) in [
        ("list_dir", json!({"path": "deep", "depth": 9_999})),
        ("glob", json!({"path": "deep", "pattern": "**/needle"})),
        ("grep", json!({"path": "deep", "pattern": "needle"})),
    ] {
        let text = folder.text(tool, args);
        assert!(
            text.contains("[1 folders deeper than 256 levels were left out]"),
            "{tool}: {text}"
        );
    }
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn f35_large_folders_are_cut_in_a_fixed_order() {
    let folder = Folder::new();
    fs::create_dir(folder.path("many")).unwrap();
    for i in 0..5_000 {
        fs::File::create(folder.path(&format!("many/f{i:05}"))).unwrap();
    }
    let text = folder.text("list_dir", json!({"path": "many"}));
    let got = lines(&text);
    assert_eq!((got[0], got[999]), ("f00000  0 B", "f00999  0 B"));
    assert_eq!(got[1_000..], ["[4000 more entries; list a folder in it, or find names with glob]"]);
    let text = folder.text("glob", json!({"path": "", "pattern": "many/*"}));
    assert_eq!(lines(&text)[1_000], "[4000 more; use a narrower pattern]");
}
