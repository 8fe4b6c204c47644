//! `claw session undo` and `claw session diff`: what a session changed, and taking it back.

use std::path::Path;

use serde_json::{Value, json};

use super::args::Undoing;
use super::usage::UsageError;
use super::{Invocation, session};
use crate::journal::{
    Action, ChangedPath, Conflict, OnConflict, SessionSummary, Step, StepOutcome, Undo, UndoError,
    UndoPlan,
};
use crate::text::{escape_line, escape_text};
use crate::ui;

/// Takes back what a session's tools changed: all of it, or one turn. With conflicts nothing is
/// done and the exit code is 1, unless told to skip or to overwrite them.
pub(super) fn undo(invocation: &Invocation, asked: &Undoing) -> anyhow::Result<u8> {
    let (summary, undo) = session_to_undo(invocation, asked.id.as_deref())?;
    let plan = match undo.plan(asked.turn) {
        Ok(plan) => plan,
        Err(
            error @ (UndoError::Nothing
            | UndoError::NoSuchTurn { .. }
            | UndoError::AlreadyUndone { .. }),
        ) => {
            return Err(UsageError(format!("session {}: {error}", summary.session)).into());
        }
        Err(error) => return Err(error.into()),
    };
    let blocked = plan.conflicts().next().is_some() && !asked.skip && !asked.overwrite;
    if asked.dry_run || blocked {
        show(invocation, &summary, &plan, None, asked.dry_run);
        return Ok(u8::from(blocked));
    }
    let mode = if asked.overwrite {
        OnConflict::Overwrite
    } else if asked.skip {
        OnConflict::Skip
    } else {
        OnConflict::Refuse
    };
    let report = undo.apply(&plan, mode)?;
    show(invocation, &summary, &plan, Some((&report.outcomes, report.turn)), false);
    let failed = report.outcomes.iter().any(|outcome| matches!(outcome, StepOutcome::Failed(_)));
    Ok(u8::from(failed))
}

/// Prints the session's changes as one unified diff, from before the session to now.
pub(super) fn diff(invocation: &Invocation, id: Option<&str>) -> anyhow::Result<u8> {
    let (summary, undo) = session_to_undo(invocation, id)?;
    let text = undo.diff(&summary.workdir)?;
    if invocation.json {
        let value = json!({ "session": summary.session, "diff": text });
        invocation.output.print(&ui::json::to_line(&value));
    } else {
        invocation.output.print_foreign(&text);
    }
    Ok(0)
}

/// The paths that each turn of a session touched, for `claw session show`.
pub(super) fn touched(folder: &Path) -> Vec<String> {
    let Ok(undo) = Undo::open(folder) else { return Vec::new() };
    let mut lines = Vec::new();
    for turn in undo.turns() {
        let what = match turn.undoes.as_slice() {
            [] => String::new(),
            turns => format!(" (undo of {})", list(turns)),
        };
        let undone = turn.undone_by.map(|by| format!(", undone by {by}")).unwrap_or_default();
        lines.push(format!("turn {}{what}{undone}:", turn.turn));
        // What came and went within the turn, such as a temporary file, is nobody's concern.
        let seen = turn.touched.iter().filter(|touched| touched.change != ChangedPath::Unchanged);
        for touched in seen {
            lines.push(format!(
                "  {} {}",
                change_word(&touched.change),
                escape_line(&touched.path)
            ));
        }
    }
    lines
}

fn change_word(change: &ChangedPath) -> String {
    match change {
        ChangedPath::Created => "created".to_owned(),
        ChangedPath::Changed => "changed".to_owned(),
        ChangedPath::Removed => "removed".to_owned(),
        ChangedPath::Moved(to) => format!("moved to {}:", escape_line(to)),
        ChangedPath::Unchanged => "left as it was".to_owned(),
        ChangedPath::Unknown => "changed (the call was cut off)".to_owned(),
        ChangedPath::NotLookedAt(why) => format!("not looked at, {}:", escape_line(why)),
    }
}

/// The session named, else the newest one of this workdir that changed something.
fn session_to_undo(
    invocation: &Invocation,
    id: Option<&str>,
) -> anyhow::Result<(SessionSummary, Undo)> {
    let sessions = &invocation.settings.sessions.value;
    if let Some(id) = id {
        let summary = session::find(sessions, Some(id))?;
        let undo = Undo::open(&summary.path.with_extension(""))?;
        return Ok((summary, undo));
    }
    let workdir = invocation.settings.workdir.value.canonicalize()?;
    for summary in crate::journal::list(sessions)? {
        if summary.workdir != workdir {
            continue;
        }
        let undo = Undo::open(&summary.path.with_extension(""))?;
        if undo.turns().iter().any(|turn| turn.undone_by.is_none() && turn.undoes.is_empty()) {
            return Ok((summary, undo));
        }
    }
    Err(UsageError(format!(
        "no session has changed anything in `{}` that is not undone; `claw session list` shows them all",
        escape_line(&workdir.to_string_lossy())
    ))
    .into())
}

fn show(
    invocation: &Invocation,
    summary: &SessionSummary,
    plan: &UndoPlan,
    done: Option<(&[StepOutcome], u32)>,
    dry_run: bool,
) {
    let output = &invocation.output;
    if invocation.json {
        let steps: Vec<Value> = plan
            .steps
            .iter()
            .enumerate()
            .map(|(at, step)| step_json(step, done.map(|(outcomes, _)| &outcomes[at])))
            .collect();
        let lost: Vec<Value> =
            plan.lost.iter().map(|lost| json!({ "path": lost.path, "why": lost.why })).collect();
        output.print(&ui::json::to_line(&json!({
            "session": summary.session,
            "turns": plan.turns,
            "dry_run": dry_run,
            "recorded_as_turn": done.map(|(_, turn)| turn),
            "steps": steps,
            "not_restored": lost,
        })));
        return;
    }
    let paint = output.out_paint();
    for (at, step) in plan.steps.iter().enumerate() {
        let outcome = done.map(|(outcomes, _)| &outcomes[at]);
        let ending = match outcome {
            Some(StepOutcome::Failed(why)) => paint.red(&format!("  failed: {}", escape_line(why))),
            Some(StepOutcome::Skipped) => paint.yellow("  skipped"),
            _ => String::new(),
        };
        output.print(&format!(
            "{} {}{ending}\n",
            action_word(&step.action),
            escape_line(&step.path)
        ));
        if let Some(Conflict { reason, diff }) = step.conflict.as_ref().filter(|_| done.is_none()) {
            output.print(&format!("    {}\n", paint.red(&reason.to_string())));
            if let Some(diff) = diff {
                output.print(&escape_text(diff));
            }
        }
    }
    for lost in &plan.lost {
        let path = escape_line(&lost.path);
        output.print(&format!(
            "{} {path}: {}\n",
            paint.yellow("cannot restore"),
            escape_line(&lost.why)
        ));
    }
    if let Some((_, turn)) = done {
        output.note(&format!(
            "turns {} of session {} undone; `claw session undo {} --turn {turn}` brings it back",
            list(&plan.turns),
            summary.session,
            summary.session
        ));
    } else if dry_run {
        output.note("nothing was done (--dry-run)");
    } else {
        output.note(
            "nothing was done, since somebody's changes would be lost: `--skip` leaves those files, \
             `--overwrite` replaces them",
        );
    }
}

fn step_json(step: &Step, outcome: Option<&StepOutcome>) -> Value {
    json!({
        "path": step.path,
        "root": step.root,
        "action": action_word(&step.action),
        "conflict": step.conflict.as_ref().map(|c| json!({ "reason": c.reason.to_string(), "diff": c.diff })),
        "outcome": outcome.map(|outcome| match outcome {
            StepOutcome::Done => "done".to_owned(),
            StepOutcome::Skipped => "skipped".to_owned(),
            StepOutcome::Failed(why) => format!("failed: {why}"),
        }),
    })
}

fn action_word(action: &Action) -> &'static str {
    match action {
        Action::Restore { .. } => "restore",
        Action::Recreate { .. } => "recreate",
        Action::Remove => "remove",
        Action::MakeDirectory { .. } => "make directory",
        Action::Link { .. } => "link",
        Action::MoveBack { .. } => "move back",
    }
}

fn list(turns: &[u32]) -> String {
    turns.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
