//! Every kind of change, undone, done again and undone again.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::desk::Desk;

/// What the tree holds at first, what turn 1 does with it; undo must bring the first tree back,
/// and undoing the undo the second.
pub(crate) fn check(name: &str, seed: impl Fn(&Desk), act: impl Fn(&Desk)) {
    let desk = Desk::new();
    seed(&desk);
    let first = desk.tree();
    act(&desk);
    let second = desk.tree();
    let report = desk.apply(None);
    assert!(report.whole, "{name}: {report:?}");
    assert_eq!(desk.tree(), first, "{name}: undo");
    let back = desk.apply(Some(report.turn));
    assert!(back.whole, "{name}: {back:?}");
    assert_eq!(desk.tree(), second, "{name}: undo of the undo");
    // And there and back once more: the turn counts as done again.
    assert!(desk.apply(None).whole, "{name}: again");
    assert_eq!(desk.tree(), first, "{name}: undo again");
}

#[test]
fn every_kind_of_change_comes_back_and_forth() {
    let nothing = |_: &Desk| {};
    check("changed", |d| d.seed("a", "1"), |d| d.write(1, "a", "2"));
    check("created", nothing, |d| d.write(1, "a", "2"));
    check("removed", |d| d.seed("a", "1"), |d| d.remove(1, "a"));
    check("emptied", |d| d.seed("a", "1"), |d| d.write(1, "a", ""));
    check("mode kept", |d| mode(d, "a", 0o751), |d| d.write(1, "a", "2"));
    check(
        "twice in a turn",
        |d| d.seed("a", "1"),
        |d| {
            d.write(1, "a", "2");
            d.write(1, "a", "3");
        },
    );
    check(
        "over three turns",
        |d| d.seed("a", "1"),
        |d| {
            d.write(1, "a", "2");
            d.remove(2, "a");
            d.write(3, "a", "4");
        },
    );
    check("a tree made", nothing, |d| {
        d.mkdir(1, "x");
        d.mkdir(1, "x/y");
        d.write(1, "x/y/f", "1");
    });
    check(
        "a tree removed",
        |d| d.seed("x/y/f", "1"),
        |d| {
            d.remove(1, "x/y/f");
            d.remove(1, "x/y");
            d.remove(1, "x");
        },
    );
    check(
        "a link removed",
        |d| symlink("/nowhere", d.path("l")).expect("linked"),
        |d| {
            d.remove(1, "l");
        },
    );
    check(
        "a folder becomes a file",
        |d| d.seed("x/f", "1"),
        |d| {
            d.remove(1, "x/f");
            d.remove(1, "x");
            d.write(1, "x", "now a file");
        },
    );
    check(
        "a file becomes a folder",
        |d| d.seed("x", "1"),
        |d| {
            d.remove(1, "x");
            d.mkdir(1, "x");
            d.write(1, "x/f", "1");
        },
    );
    check("large", |d| d.seed("a", &"x".repeat(300_000)), |d| d.write(1, "a", "2"));
    check(
        "larger than is hashed",
        |d| d.seed("a", &"y".repeat((16 << 20) + 1)),
        |d| {
            d.write(1, "a", "2");
        },
    );
}

#[test]
fn moves_come_back_with_all_that_happened_around_them() {
    check(
        "atomic replacement",
        |d| d.seed("a", "1"),
        |d| {
            d.write(1, ".a.tmp", "2");
            d.rename(1, ".a.tmp", "a");
        },
    );
    check("a file moved", |d| d.seed("a", "1"), |d| d.rename(1, "a", "b"));
    check(
        "a file moved over another",
        |d| (d.seed("a", "1"), d.seed("b", "2")).0,
        |d| {
            d.rename(1, "a", "b");
        },
    );
    check("a folder moved", |d| d.seed("x/y/f", "1"), |d| d.rename(1, "x", "z"));
    check(
        "a folder moved twice",
        |d| d.seed("x/f", "1"),
        |d| {
            d.rename(1, "x", "y");
            d.rename(2, "y", "z");
        },
    );
    check(
        "changed, then moved",
        |d| d.seed("x/f", "1"),
        |d| {
            d.write(1, "x/f", "2");
            d.rename(1, "x", "z");
        },
    );
    check(
        "moved, then changed",
        |d| d.seed("x/f", "1"),
        |d| {
            d.rename(1, "x", "z");
            d.write(1, "z/f", "2");
            d.write(1, "z/new", "3");
        },
    );
    check(
        "changed on both sides of a move",
        |d| d.seed("x/f", "1"),
        |d| {
            d.write(1, "x/f", "2");
            d.write(1, "x/g", "made before");
            d.rename(1, "x", "z");
            d.write(1, "z/f", "3");
            d.remove(2, "z/g");
        },
    );
    check(
        "the old name is used again",
        |d| d.seed("x/f", "1"),
        |d| {
            d.rename(1, "x", "z");
            d.mkdir(1, "x");
            d.write(1, "x/f", "another");
        },
    );
    check(
        "two folders change places",
        |d| (d.seed("x/f", "1"), d.seed("y/f", "2")).0,
        |d| {
            d.rename(1, "x", "t");
            d.rename(1, "y", "x");
            d.rename(1, "t", "y");
            d.write(1, "x/f", "3");
        },
    );
    check(
        "over an empty folder",
        |d| (d.seed("x/f", "1"), made(d, "e")).0,
        |d| {
            d.rename(1, "x", "e");
        },
    );
}

fn mode(desk: &Desk, path: &str, mode: u32) {
    desk.seed(path, "1");
    fs::set_permissions(desk.path(path), fs::Permissions::from_mode(mode)).expect("set");
}

fn made(desk: &Desk, path: &str) {
    fs::create_dir(desk.path(path)).expect("made");
}
