//! What a program has changed, from a scan before and one after it.

use std::collections::{BTreeSet, HashMap};

use super::entry::{At, Entry, State, below};
use super::error::UndoError;
use super::look;
use super::place::Last;
use super::scan::Snapshot;
use super::store::UndoStore;

/// The paths that a program changed, relative to the directory that was scanned and sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScanChanges {
    pub created: Vec<String>,
    pub changed: Vec<String>,
    pub removed: Vec<String>,
    /// From where to where, with all that was below.
    pub moved: Vec<(String, String)>,
    /// Those among the changed and removed whose old content was not kept, and why.
    pub lost: Vec<(String, String)>,
    /// Folders that nobody looked into, and why; `.` is the directory itself.
    pub gaps: Vec<(String, String)>,
}

impl UndoStore {
    /// Records the difference of two scans of one directory as this turn's changes.
    ///
    /// A path counts as created only where its folder was listed in full before, since undo
    /// would remove it; and as removed only where its folder was listed in full after.
    pub fn record_scan_diff(
        &self,
        turn: u32,
        mut before: Snapshot,
        after: Snapshot,
    ) -> Result<ScanChanges, UndoError> {
        let mut changes = ScanChanges::default();
        for (from, to) in moves(&before, &after) {
            // It may have been carried along with its folder already.
            let from = changes.moved.iter().fold(from, |from, (old, new)| {
                below(&from, old).map_or(from.clone(), |rest| format!("{new}{rest}"))
            });
            if from == to {
                continue;
            }
            // A folder made for it comes first, so that undo takes it away last.
            for (cut, _) in to.match_indices('/') {
                let above = &to[..cut];
                if !before.entries.contains_key(above) && absent(above, &before).is_some() {
                    self.record_change(turn, At::new(&before.root, above), &State::Absent)?;
                }
            }
            self.record_move(turn, &At::new(&before.root, &from), &At::new(&before.root, &to))?;
            carry(&mut before, &from, &to);
            changes.moved.push((from, to));
        }
        let paths: BTreeSet<&String> = before.entries.keys().chain(after.entries.keys()).collect();
        for path in paths {
            let old = before.entries.get(path).or_else(|| absent(path, &before));
            let new = after.entries.get(path).or_else(|| absent(path, &after));
            let (Some(old), Some(new)) = (old, new) else { continue };
            if old.untouched(new) && !mode_differs(old, new) {
                continue;
            }
            match (old, new) {
                (State::Absent, _) => changes.created.push(path.clone()),
                (_, State::Absent) => changes.removed.push(path.clone()),
                _ => changes.changed.push(path.clone()),
            }
            if let State::File(file) = old
                && file.content.is_none()
            {
                let why = file.lost.as_deref().unwrap_or("its content was not kept");
                changes.lost.push((path.clone(), why.to_owned()));
            }
            self.record_change(turn, At::new(&before.root, path), old)?;
        }
        let gaps: BTreeSet<(String, &str)> = before.gaps.into_iter().chain(after.gaps).collect();
        for (path, why) in gaps {
            let path = if path.is_empty() { ".".to_owned() } else { path };
            changes.gaps.push((path.clone(), why.to_owned()));
            if self.is_attached() {
                let why = format!("not looked into while a command ran: {why}");
                self.append_gap(turn, At::new(&before.root, &path), why)?;
            }
        }
        Ok(changes)
    }

    fn record_move(&self, turn: u32, from: &At, to: &At) -> Result<(), UndoError> {
        if !self.is_attached() {
            return Ok(());
        }
        self.forget_below(&from.absolute());
        let parent = self.roots.parent(to, &mut Last::default())?;
        let identity = parent.and_then(|(parent, name)| look::identity(&parent, name));
        let (dev, ino) =
            identity.map_err(|cause| UndoError::io("look at", &to.absolute(), cause))?;
        self.append(&Entry::Move { turn, from: from.clone(), to: to.clone(), dev, ino })
    }

    fn record_change(&self, turn: u32, at: At, old: &State) -> Result<(), UndoError> {
        if !self.is_attached() {
            return Ok(());
        }
        if self.mark_kept(turn, &at)? {
            self.append(&Entry::Keep { turn, at: at.clone(), old: old.clone() })?;
        }
        self.settle(turn, at, &mut Last::default())
    }

    /// Said once per turn, however many commands it ran.
    fn append_gap(&self, turn: u32, at: At, why: String) -> Result<(), UndoError> {
        let marker = At::new(&at.root, &format!("{}/?", at.path));
        if self.mark_kept(turn, &marker)? {
            self.append(&Entry::Gap { turn, at, why })?;
        }
        Ok(())
    }
}

/// What is gone under one name and there under another, in the order of new
/// names, so that a folder comes before what was moved into it. Without this, undo would
/// take the new name for something made and could not bring back what it had not kept.
fn moves(before: &Snapshot, after: &Snapshot) -> Vec<(String, String)> {
    let arrived = after.entries.iter().filter(|(path, _)| !before.entries.contains_key(*path));
    let by_identity: HashMap<Identity, &String> =
        arrived.filter_map(|(path, state)| Some((identity(state)?, path))).collect();
    let gone = before.entries.iter().filter(|(path, _)| !after.entries.contains_key(*path));
    let mut moves: Vec<(String, String)> = gone
        .filter_map(|(path, state)| {
            let to = *by_identity.get(&identity(state)?)?;
            let certain = absent(path, after).is_some() && absent(to, before).is_some();
            certain.then(|| (path.clone(), to.clone()))
        })
        .collect();
    moves.sort_unstable_by(|a, b| a.1.cmp(&b.1));
    moves
}

/// Inode, size of a file, and a time, since inodes are used again.
type Identity = (u64, Option<u64>, i64);

fn identity(state: &State) -> Option<Identity> {
    match state {
        State::Dir { ino, born, .. } => Some((*ino, None, (*born)?)),
        State::File(file) => Some((file.ino, Some(file.size), file.mtime)),
        _ => None,
    }
}

/// Turns the snapshot into what it would have been after the move.
fn carry(before: &mut Snapshot, from: &str, to: &str) {
    let new = |path: &str| below(path, from).map(|rest| format!("{to}{rest}"));
    before.entries =
        before.entries.drain().map(|(path, state)| (new(&path).unwrap_or(path), state)).collect();
    before.listed = before.listed.drain().map(|path| new(&path).unwrap_or(path)).collect();
    for (path, _) in &mut before.gaps {
        if let Some(new) = new(path) {
            *path = new;
        }
    }
}

/// Absent for certain: the folder's list does not have it, or there is no such folder.
fn absent(path: &str, snapshot: &Snapshot) -> Option<&'static State> {
    let above = path.rsplit_once('/').map_or("", |(above, _)| above);
    if snapshot.listed.contains(above) {
        return Some(&State::Absent);
    }
    if above.is_empty() {
        return None;
    }
    match snapshot.entries.get(above) {
        // There, but not looked into.
        Some(State::Dir { .. }) => None,
        Some(_) => Some(&State::Absent),
        None => absent(above, snapshot),
    }
}

fn mode_differs(old: &State, new: &State) -> bool {
    matches!((old, new), (State::Dir { mode: old, .. }, State::Dir { mode: new, .. }) if old != new)
}
