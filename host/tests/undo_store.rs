//! What a turn has changed comes back as it was, and nobody else's work is lost over it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use clawhold::journal::{
    Action, Bounds, Change, ChangedPath, DEFAULT_LIMIT, OnConflict, Reason, StepOutcome, Undo,
    UndoError, UndoPlan, UndoReport, UndoStore,
};

/// A working directory and a session, with a tool that does what the guard does around effects.
struct Desk {
    _folder: tempfile::TempDir,
    root: PathBuf,
    session: PathBuf,
    store: Arc<UndoStore>,
}

impl Desk {
    fn new() -> Self {
        Self::with_limit(DEFAULT_LIMIT)
    }

    fn with_limit(limit: u64) -> Self {
        Self::over(limit, tempfile::tempdir().expect("a folder"))
    }

    fn over(limit: u64, folder: tempfile::TempDir) -> Self {
        let base = folder.path().canonicalize().expect("a real path");
        let (root, session) = (base.join("work"), base.join("session"));
        fs::create_dir(&root).expect("a workdir");
        let store = Arc::new(UndoStore::new(limit));
        store.attach(session.clone());
        Self { _folder: folder, root, session, store }
    }

    fn root(&self) -> &str {
        self.root.to_str().expect("utf-8")
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Puts a file there as the user would, outside of any turn.
    fn seed(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).expect("a file")
    }

    fn before(&self, turn: u32, path: &str) -> Result<(), UndoError> {
        let (parent, name) = self.open(path);
        let change = Change { root: self.root(), path, parent: &parent, name: &name };
        self.store.before_change(turn, change)
    }

    fn open(&self, path: &str) -> (Dir, String) {
        let full = self.path(path);
        let parent = full.parent().expect("a parent");
        let dir = Dir::open_ambient_dir(parent, ambient_authority()).expect("a folder");
        (dir, full.file_name().and_then(|n| n.to_str()).expect("a name").to_owned())
    }

    fn after(&self, turn: u32, paths: &[&str]) {
        let changed: Vec<(&str, &str)> = paths.iter().map(|path| (self.root(), *path)).collect();
        self.store.after_call(turn, &changed).expect("noted");
    }

    fn write(&self, turn: u32, path: &str, text: &str) {
        self.before(turn, path).expect("kept");
        fs::write(self.path(path), text).expect("written");
        self.after(turn, &[path]);
    }

    fn mkdir(&self, turn: u32, path: &str) {
        self.before(turn, path).expect("kept");
        fs::create_dir(self.path(path)).expect("made");
        self.after(turn, &[path]);
    }

    fn remove(&self, turn: u32, path: &str) {
        self.before(turn, path).expect("kept");
        let full = self.path(path);
        if full.is_dir() { fs::remove_dir(full) } else { fs::remove_file(full) }.expect("removed");
        self.after(turn, &[path]);
    }

    fn rename(&self, turn: u32, old: &str, new: &str) {
        let ((from, old_name), (to, new_name)) = (self.open(old), self.open(new));
        let from = Change { root: self.root(), path: old, parent: &from, name: &old_name };
        let to = Change { root: self.root(), path: new, parent: &to, name: &new_name };
        self.store.before_rename(turn, from, to).expect("kept");
        fs::rename(self.path(old), self.path(new)).expect("moved");
        self.after(turn, &[old, new]);
    }

    fn undo(&self) -> Undo {
        Undo::open(&self.session).expect("an index")
    }

    fn plan(&self, turn: Option<u32>) -> UndoPlan {
        self.undo().plan(turn).expect("a plan")
    }

    /// Lets go of the session, as a process that has ended has.
    fn leave(&self) {
        self.store.attach(self.session.clone());
    }

    fn apply(&self, turn: Option<u32>) -> UndoReport {
        self.apply_as(turn, OnConflict::Refuse)
    }

    fn apply_as(&self, turn: Option<u32>, mode: OnConflict) -> UndoReport {
        self.leave();
        let undo = self.undo();
        let plan = undo.plan(turn).expect("a plan");
        let report = undo.apply(&plan, mode).expect("applied");
        assert_eq!(report.outcomes.len(), plan.steps.len());
        report
    }

    /// The tree: path to what is there with its permissions.
    fn tree(&self) -> BTreeMap<String, String> {
        let mut tree = BTreeMap::new();
        walk(&self.root, &self.root, &mut tree);
        tree
    }
}

fn walk(root: &Path, folder: &Path, tree: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let metadata = path.symlink_metadata().expect("metadata");
        let mode = metadata.permissions().mode() & 0o7777;
        let what = if metadata.is_dir() {
            walk(root, &path, tree);
            format!("dir {mode:o}")
        } else if metadata.is_symlink() {
            format!("link {}", fs::read_link(&path).expect("a link").display())
        } else {
            format!("file {mode:o} {}", String::from_utf8_lossy(&fs::read(&path).expect("bytes")))
        };
        tree.insert(path.strip_prefix(root).expect("below").display().to_string(), what);
    }
}

/// What the tree holds at first, what turn 1 does with it; undo must bring the first tree back,
/// and undoing the undo the second.
fn check(name: &str, seed: impl Fn(&Desk), act: impl Fn(&Desk)) {
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
fn an_earlier_turn_names_the_later_one_in_its_way() {
    let desk = Desk::new();
    desk.seed("a", "1");
    desk.write(1, "a", "2");
    desk.write(2, "a", "3");
    let plan = desk.plan(Some(1));
    let conflict = plan.steps[0].conflict.as_ref().expect("a conflict");
    assert_eq!(conflict.reason, Reason::ChangedByTurn(2));
    assert_eq!(desk.undo().plan_from(1).expect("a plan").turns, [1, 2]);
    desk.apply(Some(2));
    desk.apply(Some(1));
    assert_eq!(desk.read("a"), "1");
}

#[test]
fn what_somebody_else_changed_is_refused_shown_and_kept() {
    let desk = Desk::new();
    desk.seed("a", "one\ntwo\n");
    desk.seed("b", "1");
    desk.write(1, "a", "one\n2\n");
    desk.write(1, "b", "2");
    desk.seed("a", "one\n2\nmine\n");
    desk.leave();
    let undo = desk.undo();
    let plan = undo.plan(None).expect("a plan");
    let diff = plan.conflicts().next().and_then(|s| s.conflict.clone()?.diff).expect("a diff");
    assert!(diff.contains("-mine\n") && diff.contains("+two\n"), "{diff}");
    let refused = undo.apply(&plan, OnConflict::Refuse);
    let paths = vec![desk.path("a").display().to_string()];
    assert!(matches!(refused, Err(UndoError::Conflicts { paths: p }) if p == paths));
    assert_eq!((desk.read("a"), desk.read("b")), ("one\n2\nmine\n".into(), "2".into()));

    let partial = desk.apply_as(None, OnConflict::Skip);
    assert_eq!(partial.outcomes, [StepOutcome::Skipped, StepOutcome::Done]);
    assert_eq!((desk.read("a"), desk.read("b")), ("one\n2\nmine\n".into(), "1".into()));

    // What is left of the turn can still be undone, by force, and even that has a way back.
    let forced = desk.apply_as(Some(1), OnConflict::Overwrite);
    assert_eq!(desk.read("a"), "one\ntwo\n");
    desk.apply(Some(forced.turn));
    assert_eq!(desk.read("a"), "one\n2\nmine\n");
}

#[test]
fn every_conflict_has_its_reason() {
    let reason = |act: fn(&Desk)| {
        let desk = Desk::new();
        desk.seed("a", "1");
        desk.seed("d/f", "1");
        act(&desk);
        desk.leave();
        let plan = desk.plan(None);
        let reasons: Vec<Reason> =
            plan.conflicts().filter_map(|s| Some(s.conflict.clone()?.reason)).collect();
        reasons
    };
    assert_eq!(
        reason(|d| {
            d.write(1, "a", "2");
            d.seed("a", "3");
        }),
        [Reason::ChangedSince]
    );
    assert_eq!(
        reason(|d| {
            d.write(1, "a", "2");
            fs::remove_file(d.path("a")).expect("gone");
        }),
        [Reason::RemovedSince]
    );
    assert_eq!(
        reason(|d| {
            d.remove(1, "a");
            d.seed("a", "3");
        }),
        [Reason::CreatedSince]
    );
    assert_eq!(
        reason(|d| {
            d.before(1, "a").expect("kept");
            d.seed("a", "2");
        }),
        [Reason::Unsettled]
    );
    assert_eq!(
        reason(|d| {
            d.rename(1, "d", "e");
            fs::rename(d.path("e"), d.path("x")).expect("ok");
        }),
        [Reason::NotWhereItWas]
    );
    // Touched or written anew with the same bytes is no conflict, and neither is a change that
    // somebody has taken back already.
    assert_eq!(
        reason(|d| {
            d.write(1, "a", "2");
            d.seed("a", "2");
        }),
        []
    );
    assert_eq!(
        reason(|d| {
            d.write(1, "a", "2");
            d.seed("a", "1");
        }),
        []
    );
}

#[test]
fn a_folder_with_somebody_elses_file_stays_and_is_named() {
    let desk = Desk::new();
    desk.mkdir(1, "x");
    desk.write(1, "x/ours", "1");
    desk.seed("x/theirs", "2");
    let plan = desk.plan(None);
    assert_eq!(plan.lost.len(), 1);
    assert_eq!(plan.lost[0].path, "x");
    desk.apply(None);
    assert_eq!(desk.tree().into_keys().collect::<Vec<_>>(), ["x", "x/theirs"]);
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
    let plan = desk.plan(None);
    assert_eq!(plan.lost[0].path, "a");
    assert!(plan.lost[0].why.contains("switched off"));
    desk.apply(None);
    assert_eq!(desk.tree().into_keys().collect::<Vec<_>>(), ["a"]);
    assert_eq!(desk.read("a"), "2");
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
