//! `read_file` as the model meets it, in the real sandbox: rows of the corpus of file system cases
//! that concern reading, each with the words, the receipt and the bounds.

#![allow(clippy::unwrap_used)]

#[path = "support/lab.rs"]
mod lab;

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use clawhold::model::{FailureCode, Outcome, ToolReply};
use clawhold::sandbox::Limits;
use lab::Lab;
use rustix::fs::{CWD, FileType, Timespec, Timestamps};
use serde_json::{Value, json};

/// What one call may take where nothing is large. A debug build on a busy machine is slow.
const SOON: Duration = Duration::from_secs(5);

fn read(lab: &Lab, path: &str) -> ToolReply {
    lab.call("read_file", json!({"path": path}))
}

/// The call fails with `code`, and says each of `parts`.
#[track_caller]
fn fails(reply: &ToolReply, code: &FailureCode, parts: &[&str]) {
    assert_eq!(reply.outcome, Outcome::Failed, "{reply:?}");
    assert_eq!(&reply.failure.as_ref().unwrap().code, code, "{reply:?}");
    for part in parts {
        assert!(reply.observation().contains(part), "`{part}` is missing: {}", reply.observation());
    }
}

/// The first piece of a reply, which is the file's text alone.
fn text(reply: &ToolReply) -> &str {
    assert_eq!(reply.outcome, Outcome::Done, "{reply:?}");
    reply.content[0].as_text().unwrap()
}

#[test]
fn f25_f26_what_is_no_regular_file_is_refused_at_once_by_every_tool() {
    let lab = Lab::new();
    lab.write("a.txt", "needle\n");
    rustix::fs::mknodat(CWD, lab.path("fifo"), FileType::Fifo, 0o644.into(), 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(lab.path("socket")).unwrap();
    symlink("fifo", lab.path("to_fifo")).unwrap();
    let mut specials = vec![("fifo", "a FIFO"), ("socket", "a socket"), ("to_fifo", "a FIFO")];
    // Only root makes devices; 1:5 is that of `/dev/zero`.
    let zero = rustix::fs::makedev(1, 5);
    if rustix::fs::mknodat(CWD, lab.path("zero"), FileType::CharacterDevice, 0o666.into(), zero)
        .is_ok()
    {
        specials.push(("zero", "a character device"));
    }
    for (path, kind) in specials {
        for (tool, arguments) in [
            ("read_file", json!({"path": path})),
            ("edit_file", json!({"path": path, "old_text": "a", "new_text": "b"})),
            ("write_file", json!({"path": path, "content": "x"})),
            ("grep", json!({"path": path, "pattern": "x"})),
        ] {
            let begun = Instant::now();
            let reply = lab.call(tool, arguments);
            fails(&reply, &FailureCode::Unsupported, &["is not a regular file", kind]);
            assert!(begun.elapsed() < SOON, "{tool} {path}: {:?}", begun.elapsed());
        }
    }
    // A search goes past them, and a listing says what they are.
    assert_eq!(lab.done("grep", json!({"pattern": "needle"})), "a.txt:1:needle\n");
    assert!(lab.done("list_dir", json!({})).contains("fifo  (special file)\n"));
    assert_eq!(lab.done("glob", json!({"pattern": "*"})), "a.txt\nto_fifo\n");
    lab.no_leftovers();
}

#[test]
fn f06_f27_a_folder_is_no_file_and_a_file_no_folder() {
    let lab = Lab::new();
    lab.write("sub/in.txt", "x");
    let check = |tool: &str, arguments: Value, parts: &[&str]| {
        let reply = lab.call(tool, arguments.clone());
        assert_eq!(reply.outcome, Outcome::Failed, "{tool} {arguments}: {reply:?}");
        for part in parts {
            assert!(
                reply.observation().contains(part),
                "{tool} {arguments}: {}",
                reply.observation()
            );
        }
    };
    for path in ["sub", ".", "sub/..", "sub/"] {
        check("read_file", json!({"path": path}), &["it is a folder", "list_dir"]);
    }
    check(
        "edit_file",
        json!({"path": "sub", "old_text": "a", "new_text": "b"}),
        &["it is a folder"],
    );
    check("list_dir", json!({"path": "sub/in.txt"}), &["it is a file", "read_file"]);
    check("read_file", json!({"path": ""}), &["cannot read"]);
    check("read_file", json!({"path": "gone"}), &["does not exist", "list_dir or glob"]);
    for path in ["sub/in.txt/", "sub/in.txt/.", "sub/in.txt/..", "sub/in.txt/x"] {
        check("read_file", json!({"path": path}), &["not a folder"]);
    }
    let reply = lab.call("read_file", json!({"path": "a\0b"}));
    fails(&reply, &FailureCode::InvalidArguments, &["NUL", "\"a\\u0000b\""]);
    assert!(reply.receipt.reads.is_empty());
}

#[test]
fn f29_a_file_that_says_it_is_empty_is_read_to_its_end() {
    let proc =
        lab::tools_over(lab::standard(), Path::new("/proc/self"), false, Limits::default(), 0);
    let call = |tool: &str, arguments: Value| {
        let context = clawhold::tool::CallContext::detached("c1");
        lab::executor().block_on(proc[tool].call(&arguments, &context))
    };
    assert_eq!(std::fs::metadata("/proc/self/status").unwrap().len(), 0);
    assert!(text(&call("read_file", json!({"path": "status"}))).contains("VmRSS"));
    assert!(
        call("grep", json!({"path": "status", "pattern": "^VmRSS"}))
            .observation()
            .contains("VmRSS")
    );
    // Its links lead out of the tree, wherever they say that they lead.
    for path in ["root/etc/passwd", "cwd/Cargo.toml", "fd/0", "exe"] {
        let reply = call("read_file", json!({"path": path}));
        assert_ne!(reply.outcome, Outcome::Done, "{path}");
    }
}

#[test]
fn f30_one_line_of_fifty_megabytes_is_cut_with_a_mark() {
    let lab = Lab::new();
    lab.write("min.js", "é".repeat(25_000_000) + "needle");
    let begun = Instant::now();
    let reply = read(&lab, "min.js");
    assert!(text(&reply).len() <= 32 * 1024 && text(&reply).chars().all(|c| c == 'é'));
    let note = reply.content[1].as_text().unwrap();
    assert!(note.contains("line 1 is cut after 32768 bytes; go on with from_byte 32768"), "{note}");
    assert!(reply.receipt.peak_memory < 16 << 20, "{}", reply.receipt.peak_memory);
    let end = lab.done("read_file", json!({"path": "min.js", "from_byte": 49_999_998}));
    assert!(end.starts_with("éneedle"), "{end}");
    // Longer than a line that is searched may be: left out and said so, or shown clipped.
    let found = lab.done("grep", json!({"pattern": "needle"}));
    assert!(found.len() < 2_000 && found.contains("min.js"), "{found}");
    let refusal =
        lab.call("edit_file", json!({"path": "min.js", "old_text": "needle", "new_text": "x"}));
    fails(&refusal, &FailureCode::TooLarge, &["larger than the 16 MiB that edit_file takes"]);
    assert!(begun.elapsed() < Duration::from_mins(1), "{:?}", begun.elapsed());
}

#[test]
fn f31_offsets_and_limits_that_make_no_sense_are_told() {
    let lab = Lab::new();
    lab.write("f", "a\nb\n");
    for (arguments, part) in [
        (json!({"path": "f", "offset": 3}), "`offset` 3 is past the end: `f` has 2 lines"),
        (json!({"path": "f", "offset": u64::MAX}), "is past the end"),
        (json!({"path": "f", "offset": 0}), "count lines from 1"),
        (json!({"path": "f", "limit": 0}), "count lines from 1"),
        (json!({"path": "f", "offset": -1}), "`offset` must be a whole number"),
        (json!({"path": "f", "from_byte": u64::MAX}), "past the end"),
    ] {
        fails(&lab.call("read_file", arguments), &FailureCode::InvalidArguments, &[part]);
    }
    let all = lab.done("read_file", json!({"path": "f", "limit": u64::MAX}));
    assert_eq!(all, "a\nb\n");
    lab.done("list_dir", json!({"depth": u64::MAX}));
    lab.done("grep", json!({"pattern": "a", "context": u64::MAX, "limit": u64::MAX}));
}

#[test]
fn f32_f55_empty_and_binary_files_say_what_they_are() {
    let lab = Lab::new();
    lab.write("empty", "");
    assert_eq!(lab.done("read_file", json!({"path": "empty"})), "(empty file)");
    for (content, words) in [
        (&b"\x89PNG\r\n\x1a\n\0\0"[..], "is not text: PNG image, 10 bytes"),
        (b"\x7fELF\x02\x01\x01\0", "is not text: ELF program, 8 bytes"),
        (b"needle\0b", "is not text: binary data, 8 bytes"),
    ] {
        lab.write("bin", content);
        fails(&read(&lab, "bin"), &FailureCode::Unsupported, &[words]);
        let edit = json!({"path": "bin", "old_text": "N", "new_text": "M"});
        fails(&lab.call("edit_file", edit), &FailureCode::Unsupported, &["is not text"]);
        assert_eq!(lab.read("bin"), content);
        assert!(!lab.done("grep", json!({"pattern": "needle"})).contains("bin:"));
    }
}

#[test]
fn f54_encodings_are_decoded_and_said() {
    let lab = Lab::new();
    for (bytes, seen) in [
        (&b"\xef\xbb\xbfx\n"[..], "x\n\n[UTF-8 with a byte order mark]"),
        (b"\xff\xfea\0\n\0", "a\n\n[decoded from UTF-16 (little endian)]"),
        (b"\xfe\xff\0a\0\n", "a\n\n[decoded from UTF-16 (big endian)]"),
        (b"\xff\xfe\0\0a\0\0\0", "a\n[decoded from UTF-32 (little endian)]"),
        (b"\xd6\xd0\xce\xc4\n", "中文\n\n[decoded from GB18030]"),
        (b"caf\xe9\n", "café\n\n[decoded from Latin-1]"),
        (b"a\r\nb\r\n", "a\r\nb\r\n\n[lines end in CRLF]"),
        (b"\xe2\x80\x9cquoted\xe2\x80\x9d \xff\n", "“quoted” \u{fffd}\n\n[UTF-8 with 1 bad bytes"),
    ] {
        lab.write("f", bytes);
        let reply = lab.done("read_file", json!({"path": "f"}));
        assert!(reply.starts_with(seen), "{bytes:?}: {reply}");
    }
    lab.write("sjis", b"\x93\xfa\x96\x7b\n");
    let named = lab.done("read_file", json!({"path": "sjis", "encoding": "shift_jis"}));
    assert!(named.starts_with("日本\n"), "{named}");
}

#[test]
fn d09_no_character_is_split_and_the_rest_of_a_large_file_can_be_reached() {
    let lab = Lab::new();
    let line = "目录".repeat(10) + "\n";
    lab.write("f", line.repeat(5_000));
    let mut whole = String::new();
    while whole.lines().count() < 5_000 {
        let offset = whole.lines().count() + 1;
        let reply = lab.call("read_file", json!({"path": "f", "offset": offset}));
        assert!(text(&reply).len() <= 32 * 1024 && text(&reply).ends_with('\n'));
        let next = offset + text(&reply).lines().count();
        let note = reply.content[1].as_text().unwrap();
        let way_on = if next > 5_000 {
            "of 5000]".to_owned()
        } else {
            format!("of 5000; go on with offset {next}]")
        };
        assert!(note.ends_with(&way_on), "{note}");
        whole += text(&reply);
    }
    assert_eq!(whole.into_bytes(), lab.read("f"));
}

#[test]
fn a_slice_of_a_terabyte_comes_in_bounded_memory_and_time() {
    let lab = Lab::new();
    lab.write("f", "one\ntwo\n");
    let mut file = File::options().write(true).open(lab.path("f")).unwrap();
    file.seek(SeekFrom::Start(1 << 40)).unwrap();
    file.write_all(b"\nlast\n").unwrap();
    let begun = Instant::now();
    for (arguments, start) in [
        (
            json!({"path": "f", "limit": 2}),
            "one\ntwo\n\n[lines 1-2 of more; the file has 1099511627782 bytes",
        ),
        (json!({"path": "f"}), "one\ntwo\n"),
        (json!({"path": "f", "from_byte": (1_u64 << 40) + 1}), "last\n"),
    ] {
        let reply = lab.call("read_file", arguments);
        assert!(reply.observation().starts_with(start), "{}", reply.observation());
        assert!(reply.receipt.peak_memory < 16 << 20, "{}", reply.receipt.peak_memory);
    }
    let far = lab.call("read_file", json!({"path": "f", "offset": 4}));
    fails(&far, &FailureCode::TooLarge, &["beyond the first 256 MiB", "from_byte"]);
    let edit = lab.call("edit_file", json!({"path": "f", "old_text": "one", "new_text": "1"}));
    fails(&edit, &FailureCode::TooLarge, &["larger than the 16 MiB"]);
    assert!(begun.elapsed() < Duration::from_mins(1), "{:?}", begun.elapsed());
}

#[test]
fn f65_more_than_a_reply_holds_is_cut_with_the_total() {
    let lab = Lab::new();
    for n in 0..30 {
        lab.write(&format!("f{n:02}"), "needle\n".repeat(100));
    }
    let found = lab.call("grep", json!({"pattern": "needle"}));
    assert!(found.observation().contains("2800 more"), "{}", found.observation());
    assert_eq!(found.structured.as_ref().unwrap()["matches"], 3_000);
    assert_eq!(lab.done("grep", json!({"pattern": "needle"})), found.observation(), "stable");
    lab.write("long", "line\n".repeat(20_000));
    let reply = read(&lab, "long");
    let note = reply.content[1].as_text().unwrap();
    assert!(note.contains(" of 20000; go on with offset "), "{note}");
}

#[test]
fn f70_times_before_1970_and_far_ahead_are_no_trouble() {
    let lab = Lab::new();
    for (name, seconds) in [("old", -20_000_000), ("far", 16_725_225_600), ("now", 1_700_000_000)] {
        lab.write(name, "needle\n");
        let time = Timespec { tv_sec: seconds, tv_nsec: 0 };
        let times = Timestamps { last_access: time, last_modification: time };
        rustix::fs::utimensat(CWD, lab.path(name), &times, rustix::fs::AtFlags::empty()).unwrap();
    }
    assert_eq!(lab.done("glob", json!({"pattern": "*", "sort": "mtime"})), "far\nnow\nold\n");
    lab.done("list_dir", json!({}));
    for name in ["old", "far"] {
        lab.done("read_file", json!({"path": name}));
        lab.done("edit_file", json!({"path": name, "old_text": "needle", "new_text": "pin"}));
        assert_eq!(lab.read(name), b"pin\n");
    }
}
