//! Small files that break one rule each: a checker that finds nothing must not pass for a clean
//! tree.

use crate::check::{self, File};

/// The lines with violations of the floors.
#[track_caller]
fn floors(path: &str, source: &str, expect: &[(usize, &str)]) {
    compare(&check::floors(&File::new(path, source)), expect);
}

#[track_caller]
fn homes(path: &str, source: &str, expect: &[(usize, &str)]) {
    compare(&check::homes(&File::new(path, source)), expect);
}

#[track_caller]
fn compare(found: &[check::Violation], expect: &[(usize, &str)]) {
    let lines: Vec<usize> = found.iter().map(|violation| violation.line).collect();
    let expected: Vec<usize> = expect.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, expected, "{found:?}");
    for (violation, (_, part)) in found.iter().zip(expect) {
        assert!(violation.rule.contains(part), "{violation:?} does not say `{part}`");
    }
}

#[test]
fn imports_go_down() {
    floors("agent/turn.rs", "use crate::tool::Tool;\nuse crate::{model, text::clip};", &[]);
    floors("tool/run.rs", "\nuse crate::agent::Agent;", &[(2, "upwards from `agent`")]);
    floors("tool/run.rs", "use crate::provider::X;", &[(1, "sideways from `provider`")]);
    floors("tool/run.rs", "use crate::tool::X;\nuse super::check;", &[]);
    floors("agent/mod.rs", "use crate::sandbox::X;", &[(1, "must not know `sandbox`")]);
    floors("app/mod.rs", "use crate::sandbox::X;", &[]);
}

#[test]
fn groups_and_paths_in_code_count() {
    let group = "use crate::{\n    model::{Call, agent},\n    ui::Screen,\n    cli,\n};";
    floors("context/mod.rs", group, &[(3, "`ui`"), (4, "`cli`")]);
    floors("text/mod.rs", "fn f() {\n    crate::model::x();\n}", &[(2, "sideways")]);
    floors("text/mod.rs", "pub(crate) fn f() {}", &[]);
}

#[test]
fn climbing_by_super_is_seen() {
    floors("tool/mod.rs", "use super::agent::X;", &[(1, "upwards")]);
    floors("tool/run.rs", "use super::agent::X;", &[]);
    floors("tool/run.rs", "use super::super::agent::X;", &[(1, "upwards")]);
    floors(
        "tool/mod.rs",
        "mod tests {\n    use super::agent;\n    use super::super::cli;\n}",
        &[(3, "upwards")],
    );
}

#[test]
fn a_module_without_a_floor_is_refused() {
    floors("helpers/mod.rs", "", &[(1, "`helpers` is on no floor")]);
    floors("tool/mod.rs", "use crate::helpers::x;", &[(1, "`crate::helpers` is on no floor")]);
    floors("main.rs", "use crate::anything::x;", &[]);
}

#[test]
fn files_are_opened_at_home() {
    homes("journal/file.rs", "use std::fs::File;", &[]);
    homes("sandbox/guard/open.rs", "std::fs::File::open(p)", &[]);
    homes("sandbox/guardian.rs", "std::fs::File::open(p)", &[(1, "files are opened in")]);
    homes(
        "agent/mod.rs",
        "use std::{\n    io,\n    fs,\n};\ntokio::fs::read(p);",
        &[(1, "files"), (5, "files")],
    );
    homes("agent/mod.rs", "use cap_std::fs::Dir;", &[]);
}

#[test]
fn programs_are_started_at_home() {
    homes("shell/run.rs", "use tokio::process::Command;", &[]);
    homes("tool/run.rs", "use std::process::{Stdio, Command};", &[(1, "programs are started")]);
    homes("tool/run.rs", "use std::process;\nprocess::Command::new(x);", &[(2, "programs")]);
    homes("tool/run.rs", "use std::process::ExitCode;\nenum Command {}", &[]);
}

#[test]
fn text_is_printed_at_home() {
    homes("ui/output.rs", "println!(\"x\"); io::stdout()", &[]);
    homes("main.rs", "eprintln!(\"x\")", &[]);
    homes("agent/mod.rs", "\neprintln!(\"x\");\ndbg!(1);", &[(2, "printed"), (3, "printed")]);
    homes("agent/mod.rs", "std::io::stdout().lock()", &[(1, "printed")]);
    homes("agent/mod.rs", "fn print() {}\nprint();\nwriteln!(out, \"x\")", &[]);
}

#[test]
fn unsafe_is_named() {
    homes("text/clip.rs", "unsafe { x() }", &[(1, "`unsafe` is written in")]);
    homes("text/clip.rs", "#![deny(unsafe_code)]", &[]);
}

#[test]
fn tests_may_do_anything_but_climb() {
    let tests = "#[cfg(test)]\n#[allow(x)]\nmod tests {\n    use std::fs;\n}\nuse std::fs;";
    homes("tool/mod.rs", tests, &[(6, "files")]);
    homes("tool/mod.rs", "#[cfg(test)]\nuse std::fs;\nfn f() { println!() }", &[(3, "printed")]);
    homes("tool/mod.rs", "#![cfg(test)]\nuse std::fs;", &[]);
    floors("tool/mod.rs", "#[cfg(test)]\nmod tests {\n    use crate::agent;\n}", &[(3, "upwards")]);

    let mut files = [
        File::new("tool/mod.rs", "#[cfg(test)]\nmod support;\nmod run;"),
        File::new("tool/support.rs", "use std::fs;"),
        File::new("tool/run.rs", "use std::fs;"),
    ];
    check::link(&mut files);
    let violations = files.each_ref().map(|file| check::homes(file).len());
    assert_eq!(violations, [0, 0, 1]);
}

#[test]
fn files_under_another_name_are_followed() {
    let parent = "#[cfg(test)]\n#[path = \"run_tests.rs\"]\nmod tests;";
    let child = "use std::fs;\nuse super::super::check;\nuse super::super::super::agent;";
    let mut files = [File::new("tool/run.rs", parent), File::new("tool/run_tests.rs", child)];
    check::link(&mut files);
    compare(&check::homes(&files[1]), &[]);
    compare(&check::floors(&files[1]), &[(3, "upwards")]);
}

#[test]
fn comments_and_literals_are_no_code() {
    let quiet = r##"
        // use std::fs; unsafe
        /* println!() /* nested */ unsafe */
        const A: &str = "std::fs \" unsafe";
        const B: &str = r#"unsafe " println!("#;
        const C: (char, char, u8) = ('"', '\'', b'"');
        fn f<'a>(x: &'a str) -> &'a str { x }
        const D: &[u8] = b"unsafe";
    "##;
    homes("text/clip.rs", quiet, &[]);
    // What follows all that is seen, on its own line.
    homes("text/clip.rs", &format!("{quiet}\nunsafe"), &[(10, "unsafe")]);
}
