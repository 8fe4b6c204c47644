//! The reading side: which turns changed what.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use super::entry::{At, Entry, State};
use super::error::UndoError;
use super::plan::UndoPlan;
use super::{diff, index, planner};

/// What a session has kept, as it was when this was opened.
#[derive(Debug)]
pub struct Undo {
    /// The session's folder.
    pub(super) session: PathBuf,
    /// The folder `undo` in it.
    pub(super) folder: PathBuf,
    pub(super) entries: Vec<Entry>,
    /// The length of the index, which tells whether it is still the same.
    pub(super) length: u64,
}

/// A turn that changed something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnChanges {
    pub turn: u32,
    /// The turns that this one undid; empty for a turn of the agent.
    pub undoes: Vec<u32>,
    /// The turn that undid this one, unless that was undone in its turn.
    pub undone_by: Option<u32>,
    /// In the order of first change.
    pub touched: Vec<Touched>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touched {
    /// The granted directory, absolute.
    pub root: String,
    /// Relative to `root`.
    pub path: String,
    pub change: Change,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Created,
    Changed,
    Removed,
    /// To this absolute path.
    Moved(String),
    /// It was there for a while, or is as it was.
    Unchanged,
    /// The call did not live to tell.
    Unknown,
    /// Nobody looked, for this reason.
    NotLookedAt(String),
}

impl Undo {
    /// Reads what the session in this folder has kept; a session that kept nothing is no error.
    pub fn open(session_folder: &Path) -> Result<Self, UndoError> {
        let folder = session_folder.join("undo");
        let (entries, length) = index::read(&folder)?;
        Ok(Self { session: session_folder.to_owned(), folder, entries, length })
    }

    /// All turns with changes, in their order.
    pub fn turns(&self) -> Vec<TurnChanges> {
        let undone = undone(&self.entries);
        let mut turns: BTreeMap<u32, TurnChanges> = BTreeMap::new();
        let mut places: HashMap<(u32, &At), usize> = HashMap::new();
        let mut old: HashMap<(u32, &At), &State> = HashMap::new();
        for entry in &self.entries {
            let number = entry.turn();
            if number == 0 {
                continue;
            }
            let turn = turns.entry(number).or_insert_with(|| TurnChanges {
                turn: number,
                undoes: Vec::new(),
                undone_by: undone.get(&number).copied(),
                touched: Vec::new(),
            });
            let (at, change) = match entry {
                Entry::Begin { .. } => continue,
                Entry::Undo { of, .. } => {
                    turn.undoes.clone_from(of);
                    continue;
                }
                Entry::Keep { at, old: state, .. } => {
                    old.entry((number, at)).or_insert(state);
                    (at, Change::Unknown)
                }
                Entry::After { at, new, .. } => (at, between(old.get(&(number, at)), new)),
                Entry::Move { from, to, .. } => (from, Change::Moved(to.absolute())),
                Entry::Gap { at, why, .. } => (at, Change::NotLookedAt(why.clone())),
            };
            let place = *places.entry((number, at)).or_insert(turn.touched.len());
            let touched = Touched { root: at.root.clone(), path: at.path.clone(), change };
            match turn.touched.get_mut(place) {
                Some(known) => *known = touched,
                None => turn.touched.push(touched),
            }
        }
        turns.into_values().collect()
    }

    /// What undoing this turn would do now, or without a number undoing all that the agent did
    /// in the session and that is not undone. Nothing is changed.
    pub fn plan(&self, turn: Option<u32>) -> Result<UndoPlan, UndoError> {
        let turns = match turn {
            Some(turn) => BTreeSet::from([self.undoable(turn)?]),
            None => self.agent_turns(),
        };
        if turns.is_empty() {
            return Err(UndoError::Nothing);
        }
        planner::plan(self, turns)
    }

    /// Like [`Self::plan`], for the turns from this one on: what brings back the state before it.
    pub fn plan_from(&self, turn: u32) -> Result<UndoPlan, UndoError> {
        let turns = self.agent_turns().split_off(&turn);
        if turns.is_empty() {
            return Err(UndoError::NoSuchTurn { turn });
        }
        planner::plan(self, turns)
    }

    /// What the session has changed as one diff that `git apply` reads: the oldest state of each
    /// path against the present. Paths in `workdir` are relative to it.
    ///
    /// The text is that of the files: escape it before it reaches a terminal.
    pub fn diff(&self, workdir: &Path) -> Result<String, UndoError> {
        diff::session(self, workdir)
    }

    fn undoable(&self, turn: u32) -> Result<u32, UndoError> {
        if turn == 0 || !self.entries.iter().any(|entry| entry.turn() == turn) {
            return Err(UndoError::NoSuchTurn { turn });
        }
        match undone(&self.entries).get(&turn) {
            Some(by) => Err(UndoError::AlreadyUndone { turn, by: *by }),
            None => Ok(turn),
        }
    }

    fn agent_turns(&self) -> BTreeSet<u32> {
        let undone = undone(&self.entries);
        let undos = undo_turns(&self.entries);
        let turns = self.entries.iter().map(Entry::turn).filter(|turn| *turn > 0);
        turns.filter(|turn| !undos.contains(turn) && !undone.contains_key(turn)).collect()
    }
}

pub(super) fn last_turn(entries: &[Entry]) -> u32 {
    entries.iter().map(Entry::turn).max().unwrap_or(0)
}

/// The turns that are undos.
pub(super) fn undo_turns(entries: &[Entry]) -> BTreeSet<u32> {
    let undos = entries.iter().filter(|entry| matches!(entry, Entry::Undo { .. }));
    undos.map(Entry::turn).collect()
}

/// The undone turns, and by which. An undo that was undone itself counts for nothing, and only
/// a later one can have done that, so they are read from the end.
fn undone(entries: &[Entry]) -> HashMap<u32, u32> {
    let mut undone = HashMap::new();
    for entry in entries.iter().rev() {
        if let Entry::Undo { turn, of, whole: true } = entry
            && !undone.contains_key(turn)
        {
            undone.extend(of.iter().map(|of| (*of, *turn)));
        }
    }
    undone
}

fn between(old: Option<&&State>, new: &State) -> Change {
    match (old, new) {
        (None, _) => Change::Unknown,
        (Some(old), new) if old.same(new) => Change::Unchanged,
        (Some(State::Absent), _) => Change::Created,
        (Some(_), State::Absent) => Change::Removed,
        (Some(_), _) => Change::Changed,
    }
}
