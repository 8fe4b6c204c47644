//! What a command has changed, from a scan before and one after.

use std::fs;
use std::os::unix::fs::symlink;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use clawhold::journal::Bounds;

use super::desk::Desk;
use super::kinds::check;

/// Runs `act` between two scans, as the tool for commands does.
fn command(desk: &Desk, turn: u32, bounds: &Bounds, act: impl FnOnce()) -> Vec<Vec<String>> {
    let dir = Dir::open_ambient_dir(&desk.root, ambient_authority()).expect("a folder");
    let before = desk.store.scan(desk.root(), &dir, bounds).expect("scanned");
    act();
    let after = desk.store.scan_after(desk.root(), &dir, bounds).expect("scanned");
    let changes = desk.store.record_scan_diff(turn, before, after).expect("recorded");
    vec![changes.created, changes.changed, changes.removed]
}

#[test]
fn what_a_command_did_comes_back() {
    let act = |desk: &Desk| {
        let found = command(desk, 1, &Bounds::default(), || {
            fs::write(desk.path("a"), "2").expect("ok");
            fs::remove_dir_all(desk.path("d")).expect("ok");
            fs::create_dir_all(desk.path("n/m")).expect("ok");
            fs::write(desk.path("n/m/f"), "new").expect("ok");
            symlink("a", desk.path("l")).expect("ok");
        });
        assert_eq!(
            found,
            [
                vec!["l".to_owned(), "n".into(), "n/m".into(), "n/m/f".into()],
                vec!["a".to_owned()],
                vec!["d".to_owned(), "d/e".into(), "d/e/f".into()],
            ]
        );
        // The next command finds what the first one left, and only looks.
        let found = command(desk, 2, &Bounds::default(), || desk.seed("a", "3"));
        assert_eq!(found, [vec![], vec!["a".to_owned()], vec![]]);
    };
    check("a command", |d| (d.seed("a", "1"), d.seed("d/e/f", "1")).0, act);
}

#[test]
fn what_a_command_moved_goes_back_even_if_it_was_not_kept() {
    let act = |desk: &Desk| {
        let bounds = Bounds { file_bytes: 2, ..Bounds::default() };
        command(desk, 1, &bounds, || {
            fs::rename(desk.path("big"), desk.path("d/big2")).expect("ok");
            fs::rename(desk.path("target"), desk.path("t")).expect("ok");
            fs::create_dir(desk.path("made")).expect("ok");
            fs::rename(desk.path("x/big"), desk.path("made/big")).expect("ok");
            fs::remove_dir(desk.path("x")).expect("ok");
            fs::write(desk.path("d/f"), "2").expect("ok");
            fs::rename(desk.path("d"), desk.path("e")).expect("ok");
        });
    };
    let seed = |desk: &Desk| {
        desk.seed("big", "too large to keep");
        desk.seed("x/big", "another of the kind");
        desk.seed("target/out", "not looked into");
        desk.seed("d/f", "1");
    };
    let desk = Desk::new();
    seed(&desk);
    let first = desk.tree();
    act(&desk);
    let lost: Vec<String> = desk.plan(None).lost.into_iter().map(|lost| lost.path).collect();
    assert_eq!(lost, ["t"], "nobody looked into it before");
    let report = desk.apply(None);
    assert!(report.whole, "{report:?}");
    assert_eq!(desk.tree(), first);
}

#[test]
fn what_passed_the_bounds_is_said_and_never_taken_for_new() {
    let desk = Desk::new();
    desk.seed("big", &"x".repeat(50));
    desk.seed("deep/a", "1");
    desk.seed("deep/b", "1");
    desk.seed("target/out", "1");
    let bounds = Bounds { entries: 4, bytes: 100, file_bytes: 10 };
    let found = command(&desk, 1, &bounds, || {
        fs::write(desk.path("big"), "y").expect("ok");
        fs::remove_file(desk.path("deep/b")).expect("ok");
        desk.seed("target/more", "2");
    });
    assert_eq!(found, [vec![], vec!["big".to_owned()], vec![]], "deep did not fit before");
    let plan = desk.plan(None);
    let lost: Vec<&str> = plan.lost.iter().map(|lost| lost.path.as_str()).collect();
    assert_eq!(lost, ["target", "deep", "big"], "{plan:?}");
    assert!(plan.steps.is_empty());
    desk.apply(None);
    assert_eq!(desk.read("deep/a"), "1");
}
