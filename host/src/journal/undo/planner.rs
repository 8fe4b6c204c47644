//! Makes a plan: reads the turns' entries from the last to the first and asks, for each path,
//! what is there now and what was there before.
//!
//! Between two moves the order of entries does not matter, only the oldest state of each path:
//! together these are a picture of the tree at one moment. It is reached by removing from the
//! deepest path up, then making directories from the top down, then putting files. A move in
//! between is a step of its own, which renames what all earlier entries are about.

use std::collections::{BTreeSet, HashMap};

use super::content;
use super::diff;
use super::entry::{At, Entry, State, below};
use super::error::UndoError;
use super::plan::{Action, Conflict, Lost, Reason, Step, UndoPlan};
use super::read::Undo;
use super::view::View;

pub(super) fn plan(undo: &Undo, turns: BTreeSet<u32>) -> Result<UndoPlan, UndoError> {
    let mut planner = Planner {
        undo,
        turns: &turns,
        view: View::default(),
        steps: Vec::new(),
        lost: Vec::new(),
        left_by: left_by(&undo.entries),
    };
    let mut between = Vec::new();
    for (number, entry) in undo.entries.iter().enumerate().rev() {
        if !turns.contains(&entry.turn()) {
            continue;
        }
        match entry {
            Entry::Keep { .. } => between.push((number, entry)),
            Entry::Move { from, to, dev, ino, .. } => {
                planner.restore(&std::mem::take(&mut between))?;
                planner.move_back(number, from, to, (*dev, *ino))?;
            }
            Entry::Gap { at, why, .. } => planner.lose(at, why),
            Entry::Begin { .. } | Entry::After { .. } | Entry::Undo { .. } => {}
        }
    }
    planner.restore(&between)?;
    let Planner { steps, lost, .. } = planner;
    Ok(UndoPlan { turns: turns.into_iter().collect(), steps, lost, length: undo.length })
}

struct Planner<'a> {
    undo: &'a Undo,
    turns: &'a BTreeSet<u32>,
    view: View,
    steps: Vec<Step>,
    lost: Vec<Lost>,
    /// For each entry that keeps: how the turn left the path.
    left_by: HashMap<usize, &'a State>,
}

/// A path between two moves.
struct Wish<'a> {
    at: &'a At,
    /// The oldest state.
    target: &'a State,
    /// The number of the last entry about it.
    last: usize,
    present: State,
    /// Whether `present` is what the disk says.
    real: bool,
}

impl<'a> Planner<'a> {
    /// Plans to bring the paths back that these entries, the last first, have kept.
    fn restore(&mut self, entries: &[(usize, &'a Entry)]) -> Result<(), UndoError> {
        let mut wishes: Vec<Wish<'a>> = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        for (number, entry) in entries {
            let Entry::Keep { at, old, .. } = entry else { continue };
            if let Some(place) = known.get(&at.absolute()) {
                wishes[*place].target = old;
                continue;
            }
            known.insert(at.absolute(), wishes.len());
            // What a step before this one leaves was judged with that step.
            let real = self.view.planned(at).is_none() && self.view.real(at).is_some();
            let present = self.view.look(at)?;
            wishes.push(Wish { at, target: old, last: *number, present, real });
        }
        wishes.retain(|wish| self.is_due(wish));
        // Parents sort before what they hold.
        wishes.sort_by_cached_key(|wish| wish.at.absolute());
        for wish in &wishes {
            self.view.plan(wish.at, wish.target.clone());
        }
        for wish in wishes.iter().rev().filter(|wish| in_the_way(wish)) {
            self.remove(wish)?;
        }
        for wish in wishes.iter().filter(|wish| wish.target.is_dir()) {
            self.put(wish)?;
        }
        for wish in wishes.iter().filter(|wish| !wish.target.is_dir()) {
            self.put(wish)?;
        }
        Ok(())
    }

    /// Whether there is something to do for a path, and a way to do it.
    fn is_due(&mut self, wish: &Wish<'_>) -> bool {
        let mode_differs = matches!((&wish.present, wish.target),
            (State::Dir { mode: now, .. }, State::Dir { mode: old, .. }) if now != old);
        if wish.present.same(wish.target) && !mode_differs {
            return false;
        }
        match wish.target {
            State::File(file) if file.content.is_none() => {
                let why = file.lost.as_deref().unwrap_or("its content was not kept");
                self.lose(wish.at, why);
                false
            }
            State::Other { what } => {
                self.lose(wish.at, &format!("it was {what}, which cannot be made again"));
                false
            }
            _ => true,
        }
    }

    fn remove(&mut self, wish: &Wish<'_>) -> Result<(), UndoError> {
        if wish.present.is_dir() && self.view.holds_something(wish.at)? {
            self.lose(wish.at, "the folder holds something that was not there when the turn ended");
            self.view.plan(wish.at, wish.present.clone());
            return Ok(());
        }
        self.push(wish, Action::Remove)
    }

    fn put(&mut self, wish: &Wish<'_>) -> Result<(), UndoError> {
        let action = match wish.target {
            State::File(file) if matches!(wish.present, State::File(_)) => {
                Action::Restore { size: file.size, mode: file.mode }
            }
            State::File(file) => Action::Recreate { size: file.size, mode: file.mode },
            State::Dir { mode, .. } => Action::MakeDirectory { mode: *mode },
            State::Symlink { target } => Action::Link { target: target.clone() },
            State::Absent | State::Other { .. } => return Ok(()),
        };
        self.push(wish, action)
    }

    fn push(&mut self, wish: &Wish<'_>, action: Action) -> Result<(), UndoError> {
        let reason = if wish.real { self.objection(wish) } else { None };
        // Where something else has to go first, its removal carries the conflict.
        let replaced = in_the_way(wish) && action != Action::Remove;
        let conflict = match reason {
            Some(reason) if !replaced => Some(Conflict { reason, diff: self.diff(wish)? }),
            _ => None,
        };
        let file = match wish.target {
            State::File(file) if action != Action::Remove => Some(file.clone()),
            _ => None,
        };
        self.steps.push(Step {
            root: wish.at.root.clone(),
            path: wish.at.path.clone(),
            action,
            conflict,
            file,
            found: (wish.real && !replaced).then(|| wish.present.clone()),
        });
        Ok(())
    }

    /// Whether somebody else has changed the path since its turn ended.
    fn objection(&self, wish: &Wish<'_>) -> Option<Reason> {
        let Some(left) = self.left_by.get(&wish.last) else { return Some(Reason::Unsettled) };
        if wish.present.same(left) {
            return None;
        }
        if let Some(turn) = self.later_turn(wish.last, wish.at) {
            return Some(Reason::ChangedByTurn(turn));
        }
        Some(match (left, &wish.present) {
            (_, State::Absent) => Reason::RemovedSince,
            (State::Absent, _) => Reason::CreatedSince,
            _ => Reason::ChangedSince,
        })
    }

    /// A turn that is not being undone and has changed the path after the entry.
    fn later_turn(&self, number: usize, at: &At) -> Option<u32> {
        let path = at.absolute();
        let later = self.undo.entries[number..].iter().filter(|e| !self.turns.contains(&e.turn()));
        let about = |entry: &&Entry| match entry {
            Entry::Keep { at, .. } => at.absolute() == path,
            Entry::Move { from, to, .. } => {
                [from, to].iter().any(|end| below(&path, &end.absolute()).is_some())
            }
            _ => false,
        };
        later.filter(about).map(Entry::turn).next_back()
    }

    fn diff(&self, wish: &Wish<'_>) -> Result<Option<String>, UndoError> {
        let (State::File(now), State::File(old)) = (&wish.present, wish.target) else {
            return Ok(None);
        };
        if now.size.max(old.size) > diff::TEXT_LIMIT {
            return Ok(None);
        }
        let Some(real) = self.view.real(wish.at) else { return Ok(None) };
        let now = diff::present(&self.view.roots, &real)?;
        // Damaged content is found again, and named, when it is to be restored.
        let old = content::load(&self.undo.folder, old).unwrap_or_default();
        Ok(now.and_then(|now| diff::conflict(&wish.at.path, &now, &old)))
    }

    fn move_back(
        &mut self,
        number: usize,
        from: &At,
        to: &At,
        identity: (u64, u64),
    ) -> Result<(), UndoError> {
        if self.view.identity(from)? == Some(identity) {
            // It never moved, or somebody has moved it back.
            return Ok(());
        }
        let there = self.view.identity(to)? == Some(identity);
        let free = self.view.look(from)? == State::Absent;
        let reason = if there && free {
            None
        } else if let Some(turn) = self.later_turn(number, to) {
            Some(Reason::ChangedByTurn(turn))
        } else if there {
            Some(Reason::CreatedSince)
        } else {
            Some(Reason::NotWhereItWas)
        };
        let conflict = reason.map(|reason| Conflict { reason, diff: None });
        self.steps.push(Step {
            root: to.root.clone(),
            path: to.path.clone(),
            action: Action::MoveBack { root: from.root.clone(), path: from.path.clone() },
            conflict,
            file: None,
            found: None,
        });
        if there && free {
            self.view.plan_move(to, from);
        }
        Ok(())
    }

    fn lose(&mut self, at: &At, why: &str) {
        let lost = Lost { root: at.root.clone(), path: at.path.clone(), why: why.to_owned() };
        if !self.lost.contains(&lost) {
            self.lost.push(lost);
        }
    }
}

/// Whether what is there has to go before what was there can come back.
fn in_the_way(wish: &Wish<'_>) -> bool {
    match (&wish.present, wish.target) {
        (State::Absent, _) => false,
        (_, State::Absent) => true,
        (now, old) => now.is_dir() != old.is_dir(),
    }
}

/// For each entry that keeps: the last word of its turn about the path. After a move in the same
/// turn the path can be kept again, and then each has a word of its own.
fn left_by(entries: &[Entry]) -> HashMap<usize, &State> {
    let mut open: HashMap<(u32, &At), usize> = HashMap::new();
    let mut left = HashMap::new();
    for (number, entry) in entries.iter().enumerate() {
        match entry {
            Entry::Keep { turn, at, .. } => {
                open.insert((*turn, at), number);
            }
            Entry::After { turn, at, new } => {
                if let Some(kept) = open.get(&(*turn, at)) {
                    left.insert(*kept, new);
                }
            }
            _ => {}
        }
    }
    left
}
