//! Keeping what a change would destroy, so that the session can take it back.

use std::borrow::Cow;

use crate::journal::Change;
use crate::text::escape_line;

use super::place::Place;
use super::{Guard, Refusal};

impl Guard {
    /// Keeps the entry at `place` as it is before this turn first changes it.
    pub(super) fn keep(&self, place: &Place) -> Result<(), Refusal> {
        let kept = self.kept(place)?;
        let stored = self.rules.undo.before_change(self.turn, kept.change());
        stored.map_err(|error| kept.refuse(&error.to_string()))
    }

    /// The same before the entry is taken away.
    pub(super) fn keep_removed(&self, place: &Place) -> Result<(), Refusal> {
        let kept = self.kept(place)?;
        let stored = self.rules.undo.before_displace(self.turn, kept.change());
        stored.map_err(|error| kept.refuse(&error.to_string()))
    }

    /// The same before `from` takes the place of `to`.
    pub(super) fn keep_renamed(&self, from: &Place, to: &Place) -> Result<(), Refusal> {
        let (from, to) = (self.kept(from)?, self.kept(to)?);
        let kept = self.rules.undo.before_rename(self.turn, from.change(), to.change());
        kept.map_err(|error| to.refuse(&error.to_string()))
    }

    /// Tells the store how the paths that this call changed look now.
    pub(super) fn settle(&self) {
        let roots: Vec<_> =
            self.rules.roots.iter().map(|root| root.real.to_string_lossy()).collect();
        let changed: Vec<(&str, &str)> =
            self.changed.keys().map(|(root, path)| (&*roots[*root], path.as_str())).collect();
        if !changed.is_empty() {
            // Without it undo asks before it overwrites, which is the safe side.
            let _ = self.rules.undo.after_call(self.turn, &changed);
        }
    }

    fn kept<'a>(&'a self, place: &'a Place) -> Result<Kept<'a>, Refusal> {
        let root = &self.rules.roots[place.root];
        let label = escape_line(&root.label(&place.path));
        match place.name.to_str() {
            Some(name) => Ok(Kept { root: root.real.to_string_lossy(), place, name, label }),
            // It could not be written into the index.
            None => {
                Err(Refusal::CannotKeep { path: label, why: "its name is not UTF-8".to_owned() })
            }
        }
    }
}

/// A place in the terms of the store.
struct Kept<'a> {
    root: Cow<'a, str>,
    place: &'a Place,
    name: &'a str,
    label: String,
}

impl Kept<'_> {
    fn change(&self) -> Change<'_> {
        Change {
            root: &self.root,
            path: &self.place.path,
            parent: &self.place.parent,
            name: self.name,
        }
    }

    fn refuse(&self, why: &str) -> Refusal {
        Refusal::CannotKeep { path: self.label.clone(), why: why.to_owned() }
    }
}
