//! What a turn has changed comes back as it was.

#![cfg(unix)]

#[path = "undo_store/conflicts.rs"]
mod conflicts;
#[path = "undo_store/desk.rs"]
mod desk;
#[path = "undo_store/kinds.rs"]
mod kinds;
#[path = "undo_store/scans.rs"]
mod scans;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Arc;
use std::time::Instant;

use clawhold::journal::{
    Action, Change, ChangedPath, DEFAULT_LIMIT, OnConflict, StepOutcome, Undo, UndoError, UndoStore,
};
use desk::Desk;

#[test]
fn one_turn_of_several_is_undone_alone() {
    let desk = Desk::new();
    desk.seed("a", "1");
    desk.seed("b", "1");
    desk.write(1, "a", "2");
    desk.write(2, "b", "2");
    desk.apply(Some(2));
    assert_eq!((desk.read("a"), desk.read("b")), ("2".into(), "1".into()));
    let turns = desk.undo().turns();
    assert_eq!(
        turns.iter().map(|t| (t.turn, t.undone_by)).collect::<Vec<_>>(),
        [(1, None), (2, Some(3)), (3, None)]
    );
    assert_eq!(turns[2].undoes, [2]);
    assert_eq!(turns[0].touched[0].change, ChangedPath::Changed);
    assert!(matches!(desk.undo().plan(Some(2)), Err(UndoError::AlreadyUndone { turn: 2, by: 3 })));
    assert!(matches!(desk.undo().plan(Some(9)), Err(UndoError::NoSuchTurn { turn: 9 })));
    desk.apply(None);
    assert_eq!(desk.read("a"), "1");
    assert!(matches!(desk.undo().plan(None), Err(UndoError::Nothing)));
}

#[test]
fn what_does_not_fit_is_refused_before_anything_is_lost() {
    let desk = Desk::with_limit(100);
    desk.seed("small", &"s".repeat(60));
    desk.seed("large", &"l".repeat(41));
    desk.write(1, "small", "1");
    let refused = desk.before(1, "large");
    assert!(
        matches!(&refused, Err(UndoError::TooLarge { path, size: 41, left: 40 }) if path == "large"),
        "{refused:?}"
    );
    // The room counts for the session, not for the process.
    let next = UndoStore::new(100);
    desk.leave();
    next.attach(desk.session.clone());
    let (parent, name) = desk.open("large");
    let change = Change { root: desk.root(), path: "large", parent: &parent, name: &name };
    assert!(matches!(next.before_change(2, change), Err(UndoError::TooLarge { left: 40, .. })));
    assert_eq!(next.last_turn().expect("an index"), 1);
}

#[test]
fn without_content_undo_says_what_it_cannot_do() {
    let desk = Desk::with_limit(0);
    desk.seed("a", "1");
    desk.write(1, "a", "2");
    desk.write(1, "new", "2");
    desk.seed("b", "1");
    desk.rename(1, "b", "c");
    let plan = desk.plan(None);
    assert_eq!(plan.lost[0].path, "a");
    assert!(plan.lost[0].why.contains("switched off"));
    desk.apply(None);
    assert_eq!(desk.tree().into_keys().collect::<Vec<_>>(), ["a", "b"], "a move needs no content");
    assert_eq!((desk.read("a"), desk.read("b")), ("2".into(), "1".into()));
}

#[test]
fn nothing_is_made_before_it_is_needed_and_then_for_our_eyes_only() {
    let detached = UndoStore::new(DEFAULT_LIMIT);
    let desk = Desk::new();
    desk.seed("a", "1");
    let (parent, name) = desk.open("a");
    let change = Change { root: desk.root(), path: "a", parent: &parent, name: &name };
    detached.before_change(1, change).expect("nothing to do");
    detached.after_call(1, &[(desk.root(), "a")]).expect("nothing to do");
    assert!(!desk.session.exists());
    assert!(desk.undo().turns().is_empty());
    desk.write(1, "a", "2");
    for entry in fs::read_dir(desk.session.join("undo")).expect("the folder") {
        let metadata = entry.expect("an entry").metadata().expect("metadata");
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn a_torn_last_line_is_forgotten_and_a_damaged_one_named() {
    let desk = Desk::new();
    desk.seed("a", "1");
    desk.write(1, "a", "2");
    desk.leave();
    let index = desk.session.join("undo/index.jsonl");
    let whole = fs::read(&index).expect("the index");
    for cut in 0..whole.len() {
        fs::write(&index, &whole[..cut]).expect("written");
        let turns = Undo::open(&desk.session).expect("tolerated").turns();
        assert!(turns.len() <= 1, "at {cut}");
    }
    fs::write(&index, [&whole[..], b"{\"op\":\"keep\",\"tu"].concat()).expect("written");
    desk.write(2, "a", "3");
    assert_eq!(desk.undo().turns().len(), 2);
    desk.apply(None);
    assert_eq!(desk.read("a"), "1");
    let text = String::from_utf8(whole).expect("json");
    let check = |bad: String, line: usize| {
        fs::write(&index, bad).expect("written");
        let opened = Undo::open(&desk.session);
        assert!(
            matches!(&opened, Err(UndoError::Damaged { line: l, .. }) if *l == line),
            "{opened:?}"
        );
    };
    check(text.replacen("\"keep\"", "\"kee", 1), 2);
    check(text.replacen("\"path\":\"a\"", "\"path\":\"../a\"", 1), 2);
    fs::write(&index, "{\"op\":\"begin\",\"format\":2}\n").expect("written");
    assert!(matches!(Undo::open(&desk.session), Err(UndoError::Newer { found: 2, .. })));
}

#[test]
fn damaged_content_is_never_restored() {
    let desk = Desk::new();
    desk.seed("a", "12345");
    desk.write(1, "a", "2");
    fs::write(desk.session.join("undo/pack"), "1234\0").expect("written");
    let report = desk.apply(None);
    assert!(!report.whole);
    assert!(matches!(&report.outcomes[0], StepOutcome::Failed(why) if why.contains("damaged")));
    assert_eq!(desk.tree().into_keys().collect::<Vec<_>>(), ["a"], "no leftover");
    assert_eq!(desk.read("a"), "2");
}

#[test]
fn a_link_in_the_way_leads_nowhere() {
    let desk = Desk::new();
    let outside = desk.root.with_file_name("outside");
    fs::create_dir(&outside).expect("made");
    fs::write(outside.join("f"), "theirs").expect("written");
    desk.seed("d/f", "1");
    desk.seed("g", "1");
    desk.write(1, "d/f", "2");
    desk.write(1, "g", "2");
    fs::rename(desk.path("d"), desk.path("away")).expect("moved");
    symlink(&outside, desk.path("d")).expect("linked");
    fs::remove_file(desk.path("g")).expect("removed");
    symlink(outside.join("f"), desk.path("g")).expect("linked");
    let report = desk.apply_as(None, OnConflict::Overwrite);
    assert!(matches!(report.outcomes[0], StepOutcome::Failed(_)), "{report:?}");
    assert_eq!(fs::read_to_string(outside.join("f")).expect("there"), "theirs");
    assert_eq!(fs::read_dir(&outside).expect("there").count(), 1);
    // The link itself is replaced, not followed.
    assert!(desk.path("g").symlink_metadata().expect("there").is_file());
    assert_eq!(desk.read("g"), "1");
}

#[test]
fn a_fifo_is_passed_without_waiting() {
    let desk = Desk::new();
    rustix::fs::mkfifoat(rustix::fs::CWD, desk.path("p"), rustix::fs::Mode::RUSR).expect("made");
    desk.remove(1, "p");
    assert_eq!(desk.plan(None).lost[0].path, "p");
}

#[test]
fn calls_that_meet_at_one_path_keep_it_whole() {
    let desk = Arc::new(Desk::new());
    let text = "x".repeat(3 << 20);
    for turn in 1..=8 {
        desk.seed("a", &text);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    desk.before(turn, "a").expect("kept");
                    // Whoever returns first spoils the file at once.
                    fs::write(desk.path("a"), "spoilt").expect("written");
                });
            }
        });
        desk.after(turn, &["a"]);
    }
    desk.apply(None);
    assert_eq!(desk.read("a"), text);
}

#[test]
fn the_session_is_one_diff_that_names_all() {
    let desk = Desk::new();
    desk.seed("changed", "one\ntwo\n");
    desk.seed("gone", "x\n");
    desk.seed("same", "1\n");
    desk.seed("bin", "a\0b");
    desk.seed("d/f", "1\n");
    desk.write(1, "changed", "one\n2\n");
    desk.write(2, "changed", "one\n3");
    desk.write(1, "new", "n\n");
    desk.remove(1, "gone");
    desk.write(1, "bin", "a\0c");
    desk.write(1, "same", "2\n");
    desk.write(2, "same", "1\n");
    desk.rename(2, "d", "e");
    desk.write(2, "e/f", "2\n");
    let diff = desk.undo().diff(&desk.root).expect("a diff");
    for part in [
        "diff --git a/changed b/changed\n--- a/changed\n+++ b/changed\n@@ -1,2 +1,2 @@\n one\n-two\n\
         +3\n\\ No newline at end of file\n",
        "new file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+n\n",
        "deleted file mode 100644\n--- a/gone\n+++ /dev/null\n",
        "Binary files a/bin and b/bin differ\n",
        "# moved d to e\n",
        "diff --git a/d/f b/e/f\nrename from d/f\nrename to e/f\n--- a/d/f\n+++ b/e/f\n",
    ] {
        assert!(diff.contains(part), "{part}\nis not in\n{diff}");
    }
    assert!(!diff.contains("same"), "{diff}");
    desk.apply(None);
    assert_eq!(desk.undo().diff(&desk.root).expect("a diff"), "");
}

#[test]
fn a_plan_is_only_good_for_the_session_it_was_made_from() {
    let desk = Desk::new();
    desk.seed("a", "1");
    desk.write(1, "a", "2");
    let undo = desk.undo();
    let plan = undo.plan(None).expect("a plan");
    assert!(matches!(plan.steps[0].action, Action::Restore { size: 1, .. }));
    assert!(matches!(undo.apply(&plan, OnConflict::Refuse), Err(UndoError::Journal(_))), "in use");
    desk.write(2, "a", "3");
    desk.leave();
    assert!(matches!(undo.apply(&plan, OnConflict::Refuse), Err(UndoError::Stale)));
}

/// In memory where that is possible: it is our own work that is measured, not what else keeps the
/// disk busy. The times are printed with `--nocapture`.
#[test]
#[expect(clippy::print_stdout, reason = "the measured time is asked for")]
fn undo_of_a_thousand_files_is_quick() {
    let memory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let desk = Desk::over(DEFAULT_LIMIT, memory.expect("a folder"));
    let text = "a line of about sixty characters, as source files have them\n".repeat(70);
    for i in 0..1000 {
        desk.seed(&format!("d{}/f{i}", i % 10), &text);
    }
    let (parent, _) = desk.open("d0/f0");
    let begun = Instant::now();
    for i in (0..1000).step_by(10) {
        let (path, name) = (format!("d0/f{i}"), format!("f{i}"));
        let change = Change { root: desk.root(), path: &path, parent: &parent, name: &name };
        desk.store.before_change(1, change).expect("kept");
    }
    let keeping = begun.elapsed() / 100;
    let begun = Instant::now();
    for i in 0..1000 {
        desk.write(1, &format!("d{}/f{i}", i % 10), "changed");
    }
    let writing = begun.elapsed();
    desk.leave();
    let begun = Instant::now();
    let undo = desk.undo();
    let plan = undo.plan(None).expect("a plan");
    let planned = begun.elapsed();
    let report = undo.apply(&plan, OnConflict::Refuse).expect("applied");
    let all = begun.elapsed();
    assert!(report.whole && plan.steps.len() == 1000);
    assert!((0..1000).all(|i| desk.read(&format!("d{}/f{i}", i % 10)) == text));
    println!(
        "keeping a file of 4 KiB: {keeping:?}; 1,000 changes: {writing:?}; plan: {planned:?}; \
         plan and undo: {all:?}"
    );
    assert!(all.as_secs() < 2, "{all:?}");
}
