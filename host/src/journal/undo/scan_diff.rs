//! What a program has changed, from a scan before and one after it.

use std::collections::BTreeSet;

use super::entry::{At, Entry, State};
use super::error::UndoError;
use super::scan::Snapshot;
use super::store::UndoStore;

/// The paths that a program changed, relative to the directory that was scanned and sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScanChanges {
    pub created: Vec<String>,
    pub changed: Vec<String>,
    pub removed: Vec<String>,
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
        before: Snapshot,
        after: Snapshot,
    ) -> Result<ScanChanges, UndoError> {
        let mut changes = ScanChanges::default();
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

    fn record_change(&self, turn: u32, at: At, old: &State) -> Result<(), UndoError> {
        if !self.is_attached() {
            return Ok(());
        }
        if self.mark_kept(turn, &at)? {
            self.append(&Entry::Keep { turn, at: at.clone(), old: old.clone() })?;
        }
        self.settle(turn, at, &mut super::place::Last::default())
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
    matches!((old, new), (State::Dir { mode: old }, State::Dir { mode: new }) if old != new)
}
