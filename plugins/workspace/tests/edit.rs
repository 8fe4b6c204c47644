//! `edit_file` on real files: the ladder, the defects that it must not have, and what it says.
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::json;
use support::Folder;

/// Edits `before` and compares all bytes; tells the level.
fn check(before: impl AsRef<[u8]>, old: &str, new: &str, after: impl AsRef<[u8]>, level: &str) {
    let folder = Folder::new();
    folder.put("f", before);
    let reply = folder
        .call("edit_file", json!({"path": "f", "old_text": old, "new_text": new}))
        .unwrap_or_else(|failure| panic!("{old:?}: {failure:?}"));
    let got = folder.get("f");
    assert_eq!(String::from_utf8_lossy(&got), String::from_utf8_lossy(after.as_ref()), "{old:?}");
    assert_eq!(got, after.as_ref(), "{old:?}");
    let structured = reply.structured_text().unwrap();
    assert!(structured.contains(&format!("[\"{level}\"]")), "{old:?}: {structured}");
    assert!(reply.content().iter().any(|piece| piece.mime_type == "text/x-diff"), "{reply:?}");
}

/// Edits `before`, which must fail, and compares the failure; nothing changes.
fn refused(before: impl AsRef<[u8]>, old: &str, new: &str, expect: &str) {
    let folder = Folder::new();
    folder.put("f", &before);
    let failure =
        folder.failure("edit_file", json!({"path": "f", "old_text": old, "new_text": new}));
    assert!(failure.contains(expect), "{old:?}: {failure}");
    assert_eq!(folder.get("f"), before.as_ref());
    assert_eq!(folder.names(), ["f"]);
}

#[test]
fn req_051_exact() {
    check("a b c\n", "b", "x", "a x c\n", "exact");
    check("a\nb\nc\n", "b\n", "", "a\nc\n", "exact");
    check("a\nb\n", "\nb", "\nb\nc", "a\nb\nc\n", "exact");
    check("目录一", "录", "次", "目次一", "exact");
}

#[test]
fn req_052_req_059_f51_line_endings() {
    check("a\r\nb\r\nc\r\n", "a\nb\n", "a\nx\ny\n", "a\r\nx\r\ny\r\nc\r\n", "line_endings");
    // A piece of one line is exact; what is added takes the ending there.
    check("one\r\ntwo\r\n", "two", "2\n3", "one\r\n2\r\n3\r\n", "exact");
    check("f(a,\r\n  b)\r\n", "(a,\n  b", "(x,\n  y", "f(x,\r\n  y)\r\n", "line_endings");
    check("a\nb\n", "a\r\nb", "a\r\nc", "a\nc\n", "line_endings");
    check("a\rb\rc\r", "a\nb", "a\nx\ny", "a\rx\ry\rc\r", "line_endings");
}

#[test]
fn f52_mixed_endings_stay_outside_the_change() {
    check("a\r\nb\nbare\rcr\r\nd\n", "b\n", "B\n", "a\r\nB\nbare\rcr\r\nd\n", "exact");
    // Lines that the caller left alone keep their own ends inside the match, too.
    check("a\nb\r\nc\nd\r\n", "a\nb\nc\nd\n", "a\nb\nX\nd\n", "a\nb\r\nX\nd\r\n", "line_endings");
}

#[test]
fn req_053_trailing_space() {
    check("a  \nb\t\nc\n", "a\nb\n", "a\nx\n", "a  \nx\nc\n", "trailing_space");
    check("a\nb\nc\n", "a \nb  \n", "x\n", "x\nc\n", "trailing_space");
    check("a\r\nb \r\nc", "a\nb\n", "a\nx\n", "a\r\nx\r\nc", "trailing_space");
}

#[test]
fn d01_a_piece_of_a_word_is_never_matched() {
    refused("max = 10\n", "x = 1\n", "y = 2\n", "not in the file");
    refused("    x = 10\n", "x = 1 ", "y", "not in the file");
}

#[test]
fn d02_other_lines_keep_their_endings() {
    check("a\r\n  b  \r\nc\r\n\nd\r\n", "b", "x", "a\r\n  x  \r\nc\r\n\nd\r\n", "exact");
    check("a\r\n  b \r\nc\n", "b\nc\n", "x\nc\n", "a\r\n  x\r\nc\n", "indentation");
}

#[test]
fn d03_req_054_indentation_is_kept() {
    check(
        "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        pass\n",
        "def f(self):\n    return 1\n",
        "def f(self, x):\n    if x:\n        return x\n    return 1\n",
        "class A:\n    def f(self, x):\n        if x:\n            return x\n        return 1\n\n    def g(self):\n        pass\n",
        "indentation",
    );
}

#[test]
fn req_058_tabs_spaces_and_drift() {
    check(
        "\tif x {\n\t\ty()\n\t}\n",
        "    if x {\n        y()\n    }\n",
        "    if x {\n        y()\n        z()\n    }\n",
        "\tif x {\n\t\ty()\n\t\tz()\n\t}\n",
        "indentation",
    );
    check(
        "    if x:\n        y()\n",
        "\tif x:\n\t\ty()\n",
        "\tif x:\n\t\tfor z in y:\n\t\t\tz()\n",
        "    if x:\n        for z in y:\n            z()\n",
        "indentation",
    );
    // One column off in one line.
    check(
        "  a\n   b\n  c\n",
        "  a\n  b\n  c\n",
        "  a\n  B\n  c\n",
        "  a\n   B\n  c\n",
        "indentation",
    );
}

#[test]
fn d04_d05_blank_lines_are_not_doubled() {
    check(
        "a\n\nfoo  \n\nb\n",
        "\n\n\nfoo\n\n\n",
        "\n\n\nbar\n\n\n",
        "a\n\nbar\n\nb\n",
        "trailing_space",
    );
    check("if a:\n    b\n    c\n", "b\nc", "x\ny\n", "if a:\n    x\n    y\n", "indentation");
    check("if a:\n    b\n    c\n", "b\nc\n", "x\ny", "if a:\n    x\n    y\n", "indentation");
    check("if a:\n    b\n    c\nd\n", "b\nc\n", "", "if a:\nd\n", "indentation");
}

#[test]
fn d06_empty_and_blank_texts_match_nothing_by_chance() {
    refused("a\n", "", "x", "`old_text` is empty");
    refused("", "", "x", "`old_text` is empty");
    refused("a\n\nb\n", " \n ", "x", "not in the file");
    check("a\n \t\nb\n", " \t", "x", "a\nx\nb\n", "exact");
}

#[test]
fn d07_no_change_is_no_success() {
    refused("a\n", "a", "a", "`old_text` and `new_text` are the same");
    refused("a\r\nb\r\n", "a\nb\n", "a\r\nb\r\n", "change nothing");
}

#[test]
fn typography_is_forgiven_and_kept() {
    check(
        "say “hello” to Bob – now\n",
        "say \"hello\" to Bob - now",
        "say \"hello\" to Ann - now",
        "say “hello” to Ann – now\n",
        "typography",
    );
    check(
        "  it’s here\u{a0}now \nnext\n",
        "it's here now\nnext\n",
        "it's there now\nnext\n",
        "  it’s there\u{a0}now\nnext\n",
        "typography",
    );
}

#[test]
fn req_055_f50_several_matches_are_refused_with_their_lines() {
    refused("a\nb\na\nc\na\n", "a\n", "x\n", "matches 3 places, at lines 1, 3, 5");
    refused("aaa", "aa", "b", "matches 2 places, the first on line 1");
    refused(
        "  a\n\ta\n",
        "a \n",
        "b\n",
        "matches 2 places (matched but for indentation, which was kept), at lines 1, 2",
    );
    let many = "x\n".repeat(50);
    refused(many, "x", "y", "matches 50 places, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and more");
}

#[test]
fn all_places_are_replaced_when_asked() {
    let folder = Folder::new();
    folder.put("f", "a b a\na\n");
    let text = folder.text(
        "edit_file",
        json!({"path": "f", "old_text": "a", "new_text": "xx", "replace_all": "true"}),
    );
    assert_eq!(folder.get("f"), b"xx b xx\nxx\n");
    assert!(text.starts_with("edited `f`: 3 replacements, line 1, 1, 2, exact match"), "{text}");
    folder.put("f", "aaa");
    let failure = folder.failure(
        "edit_file",
        json!({"path": "f", "old_text": "aa", "new_text": "b", "replace_all": true}),
    );
    assert!(failure.contains("overlap at line 1"), "{failure}");
}

#[test]
fn req_056_what_is_not_there_is_answered_by_the_nearest() {
    refused(
        "fn a() {}\nlet total = 10;\nprint(total);\n",
        "let total = 12;\nprint(total);\n",
        "x",
        "the nearest is lines 2-3 (`-` old_text, `+` the file):\n-let total = 12;\n+let total = 10;\n print(total);",
    );
    refused("abc\n", "something else", "x", "nothing in the file resembles it");
}

#[test]
fn lists_of_edits_are_applied_all_or_none() {
    let folder = Folder::new();
    folder.put("f", "a\nb\nc\n");
    let edits =
        json!([{"old_text": "a", "new_text": "A"}, {"old_text": "A\nb", "new_text": "A\nB"}]);
    let text = folder.text("edit_file", json!({"path": "f", "edits": edits.to_string()}));
    assert_eq!(folder.get("f"), b"A\nB\nc\n");
    assert!(text.starts_with("edited `f`: 2 replacements"), "{text}");
    let edits = json!([{"old_text": "c", "new_text": "C"}, {"old_text": "zzz", "new_text": "y"}]);
    let failure = folder.failure("edit_file", json!({"path": "f", "edits": edits}));
    assert!(
        failure.starts_with("`f`, edit 2 of 2: `old_text` is not in the file; none was applied"),
        "{failure}"
    );
    assert_eq!(folder.get("f"), b"A\nB\nc\n");
    let failure = folder.failure("edit_file", json!({"path": "f", "edits": []}));
    assert!(failure.contains("`edits` is empty"), "{failure}");
    assert!(folder.failure("edit_file", json!({"path": "f"})).contains("`old_text` is missing"));
}

#[test]
fn f54_f56_bytes_outside_the_change_stay() {
    check("\u{feff}a\r\nb", "b", "c", "\u{feff}a\r\nc", "exact");
    check("\u{feff}a\n", "\u{feff}a", "\u{feff}b", "\u{feff}b\n", "exact");
    check("a\nb", "b", "c", "a\nc", "exact");
    check("a \nb\n\n\n", "b", "c", "a \nc\n\n\n", "exact");
    check(b"r\xe9sum\xe9 old\n", "résumé old", "résumé né", b"r\xe9sum\xe9 n\xe9\n", "exact");
    check(b"\xd6\xd0\xce\xc4 a\n", "a", "文", b"\xd6\xd0\xce\xc4 \xce\xc4\n", "exact");
    let broken = ["naïve – – – ".as_bytes(), b"\xff\xfe old\n"].concat();
    let fixed = ["naïve – – – ".as_bytes(), b"\xff\xfe new\n"].concat();
    check(&broken, "old", "new", &fixed, "exact");
    refused(&broken, "old", "\u{fffd}", "holds U+FFFD");
    refused(b"r\xe9sum\xe9\n", "résumé", "目录", "is Latin-1, which has no `目`");
    refused(b"\xff\xfea\0", "a", "b", "is UTF-16 (little endian), which edit_file does not change");
    refused(b"\xff\xfe\0\0a\0\0\0", "a", "b", "is UTF-32 (little endian)");
    refused(b"a\0b", "a", "b", "is not text: binary data");
}

#[test]
fn f50_an_empty_old_text_makes_a_new_file() {
    let folder = Folder::new();
    let text = folder.text("edit_file", json!({"path": "new", "old_text": "", "new_text": "x\n"}));
    assert!(text.starts_with("created `new`"), "{text}");
    let failure =
        folder.failure("edit_file", json!({"path": "no", "old_text": "a", "new_text": "b"}));
    assert!(
        failure.contains("cannot edit `no`: it does not exist\nlook for the name"),
        "{failure}"
    );
}

#[test]
fn large_files_are_edited_quickly_and_larger_ones_refused() {
    let folder = Folder::new();
    let line = "the same line again and again\n";
    let mut text = line.repeat(200_000);
    text.push_str("  only here\n");
    folder.put("f", &text);
    let begun = std::time::Instant::now();
    folder.text(
        "edit_file",
        json!({"path": "f", "old_text": "only here \n", "new_text": "changed\n"}),
    );
    folder.failure(
        "edit_file",
        json!({"path": "f", "old_text": line.repeat(3_000) + "x", "new_text": ""}),
    );
    assert!(begun.elapsed().as_secs() < 20);
    assert!(folder.get("f").ends_with(b"again\n  changed\n"));
    folder.put("f", vec![b'a'; (16 << 20) + 1]);
    let failure =
        folder.failure("edit_file", json!({"path": "f", "old_text": "b", "new_text": ""}));
    assert!(failure.contains("larger than the 16 MiB"), "{failure}");
}
