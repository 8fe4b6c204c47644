//! `write_file` on real files.
#![allow(clippy::unwrap_used)]

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;
use support::Folder;

#[test]
fn req_046_req_096_files_are_created_and_replaced() {
    let folder = Folder::new();
    let text = folder.text("write_file", json!({"path": "a/b/hello.txt", "content": "你好\n"}));
    assert!(text.starts_with("created `a/b/hello.txt`: 7 bytes, 1 lines\n"), "{text}");
    assert!(text.contains("@@ -0,0 +1 @@\n+你好\n"), "{text}");
    let text = folder.text("write_file", json!({"path": "a/b/hello.txt", "content": "hi\n"}));
    assert!(text.starts_with("replaced `a/b/hello.txt`: 3 bytes, before 7\n"), "{text}");
    assert!(text.contains("-你好\n+hi\n"), "{text}");
    assert_eq!(folder.get("a/b/hello.txt"), b"hi\n");
}

#[test]
fn f57_the_same_content_is_not_written() {
    let folder = Folder::new();
    let path = folder.put("f", "same");
    let before = fs::metadata(&path).unwrap().modified().unwrap();
    let text = folder.text("write_file", json!({"path": "f", "content": "same"}));
    assert!(text.contains("nothing was written"), "{text}");
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), before);
}

#[test]
fn f14_f45_links_are_kept_and_their_targets_written() {
    let folder = Folder::new();
    folder.put("sub/real", "old");
    symlink("sub/link2", folder.path("link")).unwrap();
    symlink("real", folder.path("sub/link2")).unwrap();
    folder.text("write_file", json!({"path": "link", "content": "new"}));
    folder.text("edit_file", json!({"path": "link", "old_text": "new", "new_text": "newer"}));
    assert_eq!(folder.get("sub/real"), b"newer");
    assert!(fs::symlink_metadata(folder.path("link")).unwrap().is_symlink());
    assert!(fs::symlink_metadata(folder.path("sub/link2")).unwrap().is_symlink());
}

#[test]
fn f12_f15_links_in_a_circle_and_absolute_ones_are_told() {
    let folder = Folder::new();
    symlink("b", folder.path("a")).unwrap();
    symlink("a", folder.path("b")).unwrap();
    symlink("/somewhere/else", folder.path("abs")).unwrap();
    let failure = folder.failure("write_file", json!({"path": "a", "content": ""}));
    assert!(failure.contains("more than 40 symbolic links"), "{failure}");
    let failure = folder.failure("write_file", json!({"path": "abs", "content": ""}));
    assert!(failure.contains("absolute path `/somewhere/else`"), "{failure}");
}

#[test]
fn f41_f46_f47_a_failed_write_leaves_nothing_behind() {
    let folder = Folder::new();
    folder.put("dir/inner", "x");
    folder.put("file", "x");
    let failure = folder.failure("write_file", json!({"path": "dir", "content": "y"}));
    assert!(failure.contains("cannot write `dir`: it is a folder"), "{failure}");
    let failure = folder.failure("write_file", json!({"path": "file/below", "content": "y"}));
    assert!(failure.contains("a part of the path is a file"), "{failure}");
    assert!(
        folder
            .failure("write_file", json!({"path": "dir/", "content": "y"}))
            .contains("names no file")
    );
    assert_eq!(folder.names(), ["dir", "file"]);
    // The root of a test run may write anywhere, so this only counts for others.
    let read_only = fs::Permissions::from_mode(0o555);
    fs::set_permissions(folder.path("dir"), read_only).unwrap();
    if fs::write(folder.path("dir/probe"), "").is_err() {
        let failure = folder.failure("write_file", json!({"path": "dir/inner", "content": "y"}));
        assert!(failure.contains("permission denied"), "{failure}");
    }
    fs::set_permissions(folder.path("dir"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(folder.get("dir/inner"), b"x");
}

#[test]
fn f42_a_full_disk_is_told_and_harms_nothing() {
    let folder = Folder::new();
    folder.put("f", "old");
    let error = std::io::Error::from(std::io::ErrorKind::StorageFull);
    let failure = clawhold_workspace::fault::io("write", "f", &error);
    assert_eq!(failure.message, "cannot write `f`: the disk is full");
    assert!(failure.hint.unwrap().contains("as it was before"));
    // A device that is always full shows that an error after the start is seen at all.
    let full = fs::File::options().write(true).open("/dev/full");
    if let Ok(mut full) = full {
        let error = std::io::Write::write_all(&mut full, b"x").unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    }
}

#[test]
fn a_changed_encoding_is_told() {
    let folder = Folder::new();
    folder.put("f", b"\xd6\xd0\xce\xc4\n");
    let text = folder.text("write_file", json!({"path": "f", "content": "中文!\n"}));
    assert!(
        text.contains("it was GB18030 and is UTF-8 now") && text.contains("-中文\n+中文!\n"),
        "{text}"
    );
}
