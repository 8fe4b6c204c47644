//! `read_file` on real files.
#![allow(clippy::unwrap_used)]

mod support;

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};

use serde_json::json;
use support::{Folder, first};

#[test]
fn req_044_a_small_file_comes_as_it_is() {
    let folder = Folder::new();
    for content in ["a\nb\n", "no end", "\n", "  spaces  \n\n", "目录\n", "a\tb\n"] {
        folder.put("f", content);
        let reply = folder.call("read_file", json!({"path": "f"})).unwrap();
        assert_eq!(first(&reply), content);
        assert_eq!(reply.content().len(), 1, "nothing to add: {reply:?}");
    }
}

#[test]
fn d09_lines_can_be_chosen_and_the_way_on_is_told() {
    let folder = Folder::new();
    let lines: String = (1..=10).fold(String::new(), |text, i| text + &format!("line {i}\n"));
    folder.put("f", &lines);
    let check = |args: &str, expect: &str| {
        let mut args: serde_json::Value = serde_json::from_str(args).unwrap();
        args["path"] = json!("f");
        assert_eq!(folder.text("read_file", args.clone()), expect, "{args}");
    };
    check(r#"{"offset":3,"limit":2}"#, "line 3\nline 4\n[lines 3-4 of 10; go on with offset 5]");
    check(r#"{"offset":10}"#, "line 10\n[lines 10-10 of 10]");
    check(r#"{"limit":1}"#, "line 1\n[lines 1-1 of 10; go on with offset 2]");
    check(r#"{"offset":9.0,"limit":18446744073709551615}"#, "line 9\nline 10\n[lines 9-10 of 10]");
    check(
        r#"{"from_byte":7,"limit":1}"#,
        "line 2\n[lines 1-1 of 9 counted from byte 7; go on with offset 2 or from_byte 14]",
    );
}

#[test]
fn d09_a_large_text_is_cut_between_lines_and_never_in_a_character() {
    let folder = Folder::new();
    let line = "目录".repeat(10) + "\n";
    folder.put("f", line.repeat(5_000));
    let mut seen = 0;
    let mut offset = 1;
    while offset <= 5_000 {
        let reply = folder.call("read_file", json!({"path": "f", "offset": offset})).unwrap();
        let text = first(&reply);
        assert!(text.len() <= 32 * 1024 && text.ends_with('\n') && !text.contains('\u{fffd}'));
        let got = text.lines().count();
        seen += got;
        offset += got;
    }
    assert_eq!(seen, 5_000);
}

#[test]
fn f30_one_huge_line_is_cut_with_a_mark_and_can_be_read_on() {
    let folder = Folder::new();
    let content = "é".repeat(25_000_000);
    folder.put("f", &content);
    let reply = folder.call("read_file", json!({"path": "f"})).unwrap();
    assert!(first(&reply).len() <= 32 * 1024 && first(&reply).chars().all(|c| c == 'é'));
    let note = reply.to_text();
    assert!(note.ends_with("[line 1 is cut after 32768 bytes; go on with from_byte 32768, or with offset 2 for the next line]"));
    // From within a character it begins with the next.
    let text = folder.text("read_file", json!({"path": "f", "from_byte": 49_999_999}));
    assert!(!text.contains('\u{fffd}'), "{text}");
}

#[test]
fn f31_offsets_that_make_no_sense_are_told() {
    let folder = Folder::new();
    folder.put("f", "a\nb\n");
    folder.put("open", "a\nb");
    folder.put("empty", "");
    let check = |args: serde_json::Value, expect: &str| {
        let failure = folder.failure("read_file", args);
        assert!(failure.contains(expect), "{failure}");
    };
    check(json!({"path": "f", "offset": 3}), "`offset` 3 is past the end: `f` has 2 lines");
    check(json!({"path": "open", "offset": 3}), "`open` has 2 lines");
    check(json!({"path": "empty", "offset": 2}), "no lines: it is empty");
    check(json!({"path": "f", "offset": 0}), "count lines from 1");
    check(json!({"path": "f", "limit": 0}), "count lines from 1");
    check(json!({"path": "f", "offset": -1}), "`offset` must be a whole number");
    check(json!({"path": "f", "from_byte": 9}), "`from_byte` 9 is past the end: `f` has 4 bytes");
}

#[test]
fn f32_an_empty_file_says_so() {
    let folder = Folder::new();
    folder.put("f", "");
    folder.put("bom", b"\xef\xbb\xbf");
    assert_eq!(folder.text("read_file", json!({"path": "f"})), "(empty file)");
    assert_eq!(
        folder.text("read_file", json!({"path": "bom"})),
        "(empty file)\n[UTF-8 with a byte order mark]"
    );
}

#[test]
fn f29_what_can_be_read_counts_and_not_the_size() {
    let reply = support::call("read_file", &json!({"path": "/proc/self/status"})).unwrap();
    assert!(first(&reply).contains("VmRSS"));
}

#[test]
fn huge_sparse_files_are_read_in_slices() {
    let folder = Folder::new();
    let path = folder.put("f", "one\ntwo\n");
    let mut file = File::options().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(1 << 40)).unwrap();
    file.write_all(b"\nlast\n").unwrap();
    let begun = std::time::Instant::now();
    let text = folder.text("read_file", json!({"path": "f", "limit": 2}));
    assert!(
        text.starts_with("one\ntwo\n[lines 1-2 of more; the file has 1099511627782 bytes"),
        "{text}"
    );
    // Whole lines that fit come; the terabyte of zeros after them is refused.
    let text = folder.text("read_file", json!({"path": "f"}));
    assert!(text.starts_with("one\ntwo\n[lines 1-2 of more"), "{text}");
    let failure = folder.failure("read_file", json!({"path": "f", "offset": 3}));
    assert!(failure.contains("`f` is not text: binary data, 1099511627782 bytes"), "{failure}");
    folder.put("short", "one\ntwo\n\0\0\n");
    let failure = folder.failure("read_file", json!({"path": "short"}));
    assert!(
        failure.contains("2 lines before it are text: read them with offset 1 and limit 2"),
        "{failure}"
    );
    let failure = folder.failure("read_file", json!({"path": "f", "offset": 4}));
    assert!(
        failure.contains("beyond the first 256 MiB") && failure.contains("from_byte"),
        "{failure}"
    );
    let text = folder.text("read_file", json!({"path": "f", "from_byte": (1_u64 << 40) + 1}));
    assert!(text.starts_with("last\n"), "{text}");
    assert!(begun.elapsed().as_secs() < 20);
}

#[test]
fn f54_f55_encodings_are_told_and_binary_files_refused() {
    let folder = Folder::new();
    let check = |content: &[u8], expect: &str| {
        folder.put("f", content);
        assert_eq!(folder.text("read_file", json!({"path": "f"})), expect);
    };
    check(b"\xef\xbb\xbfx\n", "x\n[UTF-8 with a byte order mark]");
    check(b"\xff\xfea\0\n\0", "a\n[decoded from UTF-16 (little endian)]");
    check(b"\xfe\xff\0a\0\n", "a\n[decoded from UTF-16 (big endian)]");
    check(b"\xd6\xd0\xce\xc4\n", "中文\n[decoded from GB18030]");
    check(b"caf\xe9\n", "café\n[decoded from Latin-1]");
    check(b"a\r\nb\r\n", "a\r\nb\r\n[lines end in CRLF]");
    check(
        &["naïve – text ".as_bytes(), b"\xff\n"].concat(),
        "naïve – text \u{fffd}\n[UTF-8 with 1 bad bytes or runs of them, shown as U+FFFD]",
    );
    folder.put("sjis", b"\x93\xfa\x96\x7b\n");
    let text = folder.text("read_file", json!({"path": "sjis", "encoding": "shift_jis"}));
    assert_eq!(text, "日本\n[decoded from Shift_JIS]");

    for (content, expect) in [
        (&b"\x89PNG\r\n\x1a\n\0\0"[..], "`f` is not text: PNG image, 10 bytes"),
        (b"\x7fELF\x02\x01\x01\0", "ELF program, 8 bytes"),
        (b"a\0b", "binary data, 3 bytes"),
    ] {
        folder.put("f", content);
        let failure = folder.failure("read_file", json!({"path": "f"}));
        assert!(failure.contains(expect), "{failure}");
    }
    let failure = folder.failure("read_file", json!({"path": "sjis", "encoding": "klingon"}));
    assert!(failure.contains("`klingon` is no encoding"), "{failure}");
}

#[test]
fn f06_f27_what_is_no_file_is_told() {
    let folder = Folder::new();
    folder.put("sub/f", "x");
    let check = |path: &str, expect: &str| {
        let failure = folder.failure("read_file", json!({"path": path}));
        assert!(failure.contains(expect), "{path}: {failure}");
    };
    check("sub", "cannot read `sub`: it is a folder");
    check("none", "cannot read `none`: it does not exist");
    check("sub/f/g", "a part of the path is a file");
    assert!(folder.failure("read_file", json!({"path": "a\u{0}b"})).contains("NUL"));
}
