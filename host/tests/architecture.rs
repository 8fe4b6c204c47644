//! Holds the source to its architecture: floors, homes for side effects, small files.
//!
//! Reads the source as text, so it needs none of it to compile. A violation names the file, the
//! line, and the rule. The tables to change, when the architecture does, are in
//! `architecture/rules.rs`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

#[path = "architecture/check.rs"]
mod check;
#[path = "architecture/rules.rs"]
mod rules;
#[path = "architecture/selftest.rs"]
mod selftest;
#[path = "architecture/tokens.rs"]
mod tokens;

use check::File;

/// A longer file wants to be two.
const LONGEST_FILE: usize = 450;

#[test]
fn modules_import_from_lower_floors_only() {
    report(check::floors);
}

#[test]
fn side_effects_stay_at_home() {
    report(check::homes);
}

/// An exception that nobody needs any more would let the next one in unseen.
#[test]
fn every_exception_is_needed() {
    let files = host_files();
    for home in rules::HOMES.iter().filter(|home| home.place.contains('/')) {
        let needed = files.iter().any(|file| {
            rules::is_in(&file.path, home.place) && !check::uses(file, home.effect).is_empty()
        });
        assert!(
            needed,
            "nothing in `{}` needs its exception for {:?} now: strike it from rules.rs",
            home.place, home.effect
        );
    }
}

#[test]
fn no_file_is_too_long() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut complaints = String::new();
    let mut seen = 0;
    for folder in ["host", "plugins", "xtask", "examples"] {
        for file in rust_files(&root.join(folder)) {
            seen += 1;
            let lines = read(&file).lines().count();
            if lines > LONGEST_FILE {
                let shown = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
                let _ = writeln!(
                    complaints,
                    "{shown}: {lines} lines, at most {LONGEST_FILE}: make it two"
                );
            }
        }
    }
    assert!(seen > 20, "only {seen} files found: is the search broken?");
    assert!(complaints.is_empty(), "\n{complaints}");
}

/// Applies `rule` to each file of the host and fails with all that it finds.
fn report(rule: impl Fn(&File) -> Vec<check::Violation>) {
    let mut complaints = String::new();
    for file in host_files() {
        for violation in rule(&file) {
            let _ = writeln!(
                complaints,
                "host/src/{}:{}: {}",
                file.path, violation.line, violation.rule
            );
        }
    }
    assert!(complaints.is_empty(), "\n{complaints}");
}

/// The files of `host/src`, with what their parents say of them.
fn host_files() -> Vec<File> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files: Vec<File> = rust_files(&source)
        .into_iter()
        .map(|path| {
            let inner = path.strip_prefix(&source).unwrap_or(&path);
            let inner = inner.to_string_lossy().replace('\\', "/");
            File::new(&inner, &read(&path))
        })
        .collect();
    assert!(files.len() > 10, "only {} files found: is the search broken?", files.len());
    check::link(&mut files);
    files
}

/// All Rust files below `folder`, in a fixed order, without what is built.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_path_buf()];
    while let Some(next) = pending.pop() {
        let Ok(entries) = fs::read_dir(&next) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            if path.is_dir() && entry.file_name() != "target" {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}
