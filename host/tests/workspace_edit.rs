//! `edit_file` as the model meets it, in the real sandbox: what is matched, what is refused in which
//! words, and that every byte outside the change stays.

#![allow(clippy::unwrap_used)]

#[path = "support/lab.rs"]
mod lab;

use clawhold::model::{FailureCode, Outcome, ToolReply};
use lab::Lab;
use serde_json::json;

fn edit(lab: &Lab, old: &str, new: &str) -> ToolReply {
    lab.call("edit_file", json!({"path": "f", "old_text": old, "new_text": new}))
}

/// The edit turns `before` into `after` and says `level`.
#[track_caller]
fn check(before: impl AsRef<[u8]>, old: &str, new: &str, after: impl AsRef<[u8]>, level: &str) {
    let lab = Lab::new();
    lab.write("f", before);
    let reply = edit(&lab, old, new);
    assert_eq!(reply.outcome, Outcome::Done, "{old:?}: {reply:?}");
    assert_eq!(
        String::from_utf8_lossy(&lab.read("f")),
        String::from_utf8_lossy(after.as_ref()),
        "{old:?}"
    );
    assert_eq!(lab.read("f"), after.as_ref(), "{old:?}");
    assert_eq!(reply.structured.as_ref().unwrap()["levels"], json!([level]), "{old:?}");
    assert_eq!(reply.content[1].mime_type, "text/x-diff");
    assert_eq!(
        (&reply.receipt.writes[..], reply.receipt.created.len()),
        (&["f".to_owned()][..], 0)
    );
    lab.no_leftovers();
}

/// The edit is refused with `code` and each of `parts`, and the file is as it was.
#[track_caller]
fn refused(before: impl AsRef<[u8]>, old: &str, new: &str, code: &FailureCode, parts: &[&str]) {
    let lab = Lab::new();
    lab.write("f", before.as_ref());
    let reply = edit(&lab, old, new);
    assert_eq!(reply.outcome, Outcome::Failed, "{old:?}: {reply:?}");
    assert_eq!(&reply.failure.as_ref().unwrap().code, code, "{old:?}: {reply:?}");
    for part in parts {
        assert!(reply.observation().contains(part), "`{part}` is missing: {}", reply.observation());
    }
    assert_eq!(lab.read("f"), before.as_ref(), "{old:?}");
    assert!(reply.receipt.writes.is_empty(), "{:?}", reply.receipt);
    lab.no_leftovers();
}

#[test]
fn req_051_every_level_of_the_ladder_says_its_name() {
    check("a = 1\nb = 2\n", "b = 2", "b = 3", "a = 1\nb = 3\n", "exact");
    check("a\r\nb\r\nc\r\n", "a\nb\n", "A\nB\n", "A\r\nB\r\nc\r\n", "line_endings");
    check("f() {  \n  x\n}\n", "f() {\n  x\n", "g() {\n  y\n", "g() {\n  y\n}\n", "trailing_space");
    check(
        "if x:\n    a()\n    b()\n",
        "a()\nb()\n",
        "a()\nc()\n",
        "if x:\n    a()\n    c()\n",
        "indentation",
    );
    check("say “hi”\n", "say \"hi\"", "say \"ho\"", "say “ho”\n", "typography");
}

#[test]
fn d01_a_piece_of_a_word_is_never_matched_by_leniency() {
    refused(
        "max = 10\n",
        "x = 1\n",
        "y = 2\n",
        &FailureCode::NotFound,
        &["`old_text` is not in the file"],
    );
}

#[test]
fn d02_f51_f52_every_other_line_keeps_its_ending() {
    let before = "one\r\ntwo\nthree\rstill three\r\nfour\r\n";
    check(before, "two\n", "2\n", "one\r\n2\nthree\rstill three\r\nfour\r\n", "exact");
    check(
        before,
        "four\n",
        "4\n5\n",
        "one\r\ntwo\nthree\rstill three\r\n4\r\n5\r\n",
        "line_endings",
    );
}

#[test]
fn d03_the_indentation_of_the_place_is_kept() {
    let before = "class A:\n\tdef f(self):\n\t\treturn 1\n";
    let after = "class A:\n\tdef f(self):\n\t\tx = 2\n\t\treturn x\n";
    let old = "def f(self):\n\treturn 1\n";
    check(before, old, "def f(self):\n\tx = 2\n\treturn x\n", after, "indentation");
}

#[test]
fn d04_d05_no_blank_line_is_doubled_and_none_added() {
    let before = "a\n\n    b()\n    c()\n\nd\n";
    check(before, "\nb()\nc()\n\n", "\nb()\n\n", "a\n\n    b()\n\nd\n", "indentation");
    check("  a\n  b\n", "a\nb", "a\nc\n", "  a\n  c\n", "indentation");
}

#[test]
fn d06_f50_an_empty_old_text_matches_nothing() {
    for before in ["x\n", ""] {
        refused(
            before,
            "",
            "y",
            &FailureCode::InvalidArguments,
            &["`old_text` is empty", "write_file"],
        );
    }
    refused("a\n\nb\n", "  \n  \n", "c", &FailureCode::NotFound, &["not in the file"]);
    let lab = Lab::new();
    let reply = edit(&lab, "", "new\n");
    assert_eq!((reply.outcome, lab.read("f")), (Outcome::Done, b"new\n".to_vec()));
    assert_eq!(reply.receipt.created, ["f"]);
}

#[test]
fn d07_f50_a_change_of_nothing_is_no_success() {
    let invalid = FailureCode::InvalidArguments;
    refused("a\n", "a", "a", &invalid, &["`old_text` and `new_text` are the same"]);
    refused("say “a”\n", "say \"a\"", "say “a”", &invalid, &["change nothing"]);
}

#[test]
fn d08_a_path_that_leads_outside_is_denied() {
    let lab = Lab::new();
    std::fs::write(lab.temp.path().join("secret"), "SECRET").unwrap();
    let arguments = json!({"path": "../secret", "old_text": "SECRET", "new_text": "x"});
    let said = lab.refused(&Outcome::Denied, "edit_file", arguments);
    assert!(said.contains("outside") && said.contains("working directory"), "{said}");
    assert_eq!(std::fs::read(lab.temp.path().join("secret")).unwrap(), b"SECRET");
}

#[test]
fn f50_several_matches_are_counted_and_their_lines_named() {
    let conflict = FailureCode::Conflict;
    refused(
        "x\na\nx\n",
        "x",
        "y",
        &conflict,
        &["matches 2 places", "lines 1, 3", "replace_all", "nothing was changed"],
    );
    refused(
        "aaaa\n",
        "aa",
        "b",
        &conflict,
        &["matches 3 places", "on line 1", "nothing was changed"],
    );
    refused("  a()\n\ta()\nb\n", "a()\n", "c()\n", &conflict, &["matches 2 places"]);
    let lab = Lab::new();
    lab.write("f", "x\na\nx\n");
    let all = json!({"path": "f", "old_text": "x", "new_text": "y", "replace_all": true});
    assert!(lab.done("edit_file", all).contains("2 replacements"));
    assert_eq!(lab.read("f"), b"y\na\ny\n");
}

#[test]
fn req_056_what_is_not_there_is_answered_by_the_nearest_region() {
    let before = "fn a() {}\nlet total = 10;\nprint(total);\n";
    let parts = [
        "the nearest is lines 2-3",
        "-let total = 11;",
        "+let total = 10;",
        "copy the text as the file has it",
    ];
    refused(before, "let total = 11;\nprint(total);\n", "x", &FailureCode::NotFound, &parts);
}

#[test]
fn a_list_of_edits_is_applied_all_or_none() {
    let lab = Lab::new();
    lab.write("f", "a\nb\nc\n");
    let bad = json!({"path": "f", "edits": [
        {"old_text": "a", "new_text": "A"}, {"old_text": "zzz", "new_text": "Z"},
    ]});
    let said = lab.refused(&Outcome::Failed, "edit_file", bad);
    assert!(said.contains("edit 2 of 2") && said.contains("none was applied"), "{said}");
    assert_eq!(lab.read("f"), b"a\nb\nc\n");
    let good = json!({"path": "f", "edits": [
        {"old_text": "a", "new_text": "A"}, {"old_text": "A\nb", "new_text": "A\nB"},
    ]});
    lab.done("edit_file", good);
    assert_eq!(lab.read("f"), b"A\nB\nc\n");
}

#[test]
fn f54_gb18030_and_latin_1_are_edited_byte_for_byte() {
    // “the middle part” and “text” in GB18030, one character of it in four bytes.
    let gb = b"\xd6\xd0\xce\xc4\xc4\xda\xc8\xdd\r\n\x81\x30\x81\x30\xce\xc4\xb1\xbe\n\xce\xc4";
    let lab = Lab::new();
    lab.write("f", gb);
    let said = edit(&lab, "中文", "英文").observation();
    assert!(said.contains("the file stays GB18030"), "{said}");
    assert_eq!(lab.read("f"), [b"\xd3\xa2".as_slice(), &gb[2..]].concat());

    let lab = Lab::new();
    let latin = b"caf\xe9 \x80 d'\xe9t\xe9\nprix\r\n";
    lab.write("f", latin);
    let said = edit(&lab, "café", "thé").observation();
    assert!(said.contains("the file stays Latin-1"), "{said}");
    assert_eq!(lab.read("f"), [b"th\xe9".as_slice(), &latin[4..]].concat());
    let no_such = edit(&lab, "prix", "目");
    assert_eq!(no_such.outcome, Outcome::Failed);
    let said = no_such.observation();
    assert!(said.contains("is Latin-1, which has no `目`; nothing was changed"), "{said}");
    assert_eq!(lab.read("f"), [b"th\xe9".as_slice(), &latin[4..]].concat());
}

#[test]
fn f54_utf_16_and_utf_32_are_refused_in_words() {
    for (bytes, name) in [
        (&b"\xff\xfea\0\n\0"[..], "UTF-16 (little endian)"),
        (b"\xfe\xff\0a\0\n", "UTF-16 (big endian)"),
        (b"\xff\xfe\0\0a\0\0\0", "UTF-32 (little endian)"),
        (b"\0\0\xfe\xff\0\0\0a", "UTF-32 (big endian)"),
    ] {
        let way_out = "write the whole with write_file";
        refused(bytes, "a", "b", &FailureCode::Unsupported, &[name, "does not change", way_out]);
    }
}

#[test]
fn f54_bad_bytes_outside_the_change_stay_and_no_replacement_character_is_written() {
    let before = "“good” – naïve – “text” –\n".as_bytes();
    let before = [before, b"bad \xff\xfe end\nlast\n"].concat();
    let after = [&before[..before.len() - 5], b"LAST\n"].concat();
    check(&before, "last", "LAST", &after, "exact");
    refused(&before, "last", "\u{fffd}", &FailureCode::InvalidArguments, &["U+FFFD"]);
}

#[test]
fn f56_ends_marks_and_white_space_stay_as_they_are() {
    check("a\nb", "a", "A", "A\nb", "exact");
    check("a\nb", "b", "B", "a\nB", "exact");
    check("\n", "\n", "x\n", "x\n", "exact");
    check("a  \n\t\nb\n\n\n", "b", "B", "a  \n\t\nB\n\n\n", "exact");
    check(b"\xef\xbb\xbfa\r\n", "a", "A", b"\xef\xbb\xbfA\r\n", "exact");
    check(b"\xef\xbb\xbfa\n", "\u{feff}a", "A", b"\xef\xbb\xbfA\n", "exact");
}

#[test]
fn f49_what_somebody_else_changed_since_it_was_read_is_not_overwritten() {
    let lab = Lab::new();
    lab.write("f", "a\n");
    lab.done("read_file", json!({"path": "f"}));
    lab.write("f", "a, more\n");
    let reply = edit(&lab, "a", "b");
    assert_eq!(reply.outcome, Outcome::Failed, "{reply:?}");
    assert_eq!(reply.failure.as_ref().unwrap().code, FailureCode::Conflict);
    assert!(reply.observation().contains("read it again"), "{}", reply.observation());
    assert_eq!(lab.read("f"), b"a, more\n");
    // Once read again it may be changed, and one's own change is no stranger's.
    lab.done("read_file", json!({"path": "f"}));
    assert_eq!(edit(&lab, "a,", "b,").outcome, Outcome::Done);
    assert_eq!(edit(&lab, "b,", "c,").outcome, Outcome::Done);
    assert_eq!(lab.read("f"), b"c, more\n");
    lab.no_leftovers();
}
