//! The file system as it would be after the steps planned so far.

use std::collections::HashMap;

use super::entry::{At, State, below};
use super::error::UndoError;
use super::place::{Last, Roots};

/// Answers from the plan where that says something, from the disk otherwise.
#[derive(Debug, Default)]
pub(super) struct View {
    pub(super) roots: Roots,
    last: Last,
    /// What planned steps leave, by absolute path.
    planned: HashMap<String, State>,
    /// Planned moves, in their order.
    moves: Vec<(At, At)>,
}

impl View {
    /// What a planned step leaves at the path, if one has to do with it.
    pub(super) fn planned(&self, at: &At) -> Option<&State> {
        self.planned.get(&at.absolute())
    }

    /// How the entry will be.
    pub(super) fn look(&mut self, at: &At) -> Result<State, UndoError> {
        if let Some(state) = self.planned(at) {
            return Ok(state.clone());
        }
        match self.real(at) {
            Some(real) => self.roots.look(&real, &mut self.last),
            None => Ok(State::Absent),
        }
    }

    /// Where on the disk the entry is now, or none if what is there will have moved away.
    pub(super) fn real(&self, at: &At) -> Option<At> {
        let mut at = at.clone();
        for (from, to) in self.moves.iter().rev() {
            let path = at.absolute();
            if let Some(rest) = below(&path, &to.absolute()) {
                at = At::new(&from.root, &format!("{}{rest}", from.path));
            } else if below(&path, &from.absolute()).is_some() {
                return None;
            }
        }
        Some(at)
    }

    pub(super) fn plan(&mut self, at: &At, state: State) {
        self.planned.insert(at.absolute(), state);
    }

    /// Plans a move, which takes along what was planned below its origin.
    pub(super) fn plan_move(&mut self, from: &At, to: &At) {
        let (origin, target) = (from.absolute(), to.absolute());
        let carried: Vec<(String, State)> =
            self.planned.extract_if(|path, _| below(path, &origin).is_some()).collect();
        // What was planned at the target stood there before the move only.
        self.planned.retain(|path, _| below(path, &target).is_none());
        for (path, state) in carried {
            self.planned.insert(format!("{target}{}", &path[origin.len()..]), state);
        }
        self.moves.push((from.clone(), to.clone()));
    }

    /// The identity of what will be at the path.
    pub(super) fn identity(&mut self, at: &At) -> Result<Option<(u64, u64)>, UndoError> {
        let Some(real) = self.real(at) else { return Ok(None) };
        Ok(match self.roots.parent(&real, &mut self.last)? {
            Ok((parent, name)) => super::look::identity(&parent, name).ok(),
            Err(_) => None,
        })
    }

    /// Whether the directory will hold something once the plan is carried out.
    pub(super) fn holds_something(&mut self, at: &At) -> Result<bool, UndoError> {
        use cap_fs_ext::DirExt;

        let Some(real) = self.real(at) else { return Ok(false) };
        let Ok((parent, name)) = self.roots.parent(&real, &mut self.last)? else {
            return Ok(false);
        };
        let Ok(entries) = parent.open_dir_nofollow(name).and_then(|dir| dir.entries()) else {
            return Ok(false);
        };
        for entry in entries {
            let entry = entry.map_err(|cause| UndoError::io("list", &at.absolute(), cause))?;
            // A name that is not UTF-8 cannot have been planned away.
            let Ok(name) = entry.file_name().into_string() else { return Ok(true) };
            let real = At::new(&real.root, &format!("{}/{name}", real.path));
            let moved_away = self.moves.iter().any(|(from, _)| *from == real);
            let child = At::new(&at.root, &format!("{}/{name}", at.path));
            if !moved_away && self.planned(&child) != Some(&State::Absent) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
