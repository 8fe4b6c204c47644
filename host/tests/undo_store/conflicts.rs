//! Nobody else's work is lost over an undo.

use std::fs;

use clawhold::journal::{OnConflict, Reason, StepOutcome, UndoError};

use super::desk::Desk;

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
