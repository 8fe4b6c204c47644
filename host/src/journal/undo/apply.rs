//! Carries a plan out.
//!
//! Every step opens its directory anew from the granted one, part by part and following no link,
//! looks once more whether the entry is what the plan saw, keeps it as any turn would, and then
//! changes one name: a file is written beside and renamed over. Restored files get the time of
//! the restoration, not their old one: to a build tool an old time would say that nothing
//! happened.

use std::fs::File;
use std::io;
use std::sync::Arc;

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, OpenOptions};

use super::Change;
use super::content;
use super::entry::{At, Entry, FileState, State};
use super::error::UndoError;
use super::look;
use super::place::Last;
use super::plan::{Action, Step, UndoPlan};
use super::read::{self, Undo};
use super::store::UndoStore;

/// What to do where somebody else's work would be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnConflict {
    /// Do nothing at all.
    #[default]
    Refuse,
    /// Do the other steps.
    Skip,
    /// Do these steps too. What they replace is kept, so undoing the undo brings it back.
    Overwrite,
}

/// What an undo did.
#[derive(Debug)]
pub struct UndoReport {
    /// The turn under which the undo itself was recorded, and by which it can be undone.
    pub turn: u32,
    /// One for each step of the plan, in the same order.
    pub outcomes: Vec<StepOutcome>,
    /// Whether every step was done, so that the turns count as undone from now on.
    pub whole: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepOutcome {
    Done,
    /// Left out because of its conflict.
    Skipped,
    /// Not done, for this reason. Nothing was lost.
    Failed(String),
}

impl Undo {
    /// Does what the plan says. The session must not be in use by anybody else.
    ///
    /// What it takes away is kept without a limit: the user has asked for it, and must be able
    /// to ask for the opposite.
    pub fn apply(&self, plan: &UndoPlan, mode: OnConflict) -> Result<UndoReport, UndoError> {
        let conflicts: Vec<String> = plan.conflicts().map(Step::absolute).collect();
        if mode == OnConflict::Refuse && !conflicts.is_empty() {
            return Err(UndoError::Conflicts { paths: conflicts });
        }
        let store = UndoStore::new(u64::MAX);
        store.attach(self.session.clone());
        if store.index_length()? != self.length || plan.length != self.length {
            return Err(UndoError::Stale);
        }
        let turn = read::last_turn(&self.entries) + 1;
        // Said first, so that an undo that dies half-way is not taken for a turn of the agent.
        store.append(&Entry::Undo { turn, of: plan.turns.clone(), whole: false })?;
        let mut run = Run { undo: self, store: &store, turn, last: Last::default() };
        let mut outcomes = Vec::with_capacity(plan.steps.len());
        for step in &plan.steps {
            outcomes.push(if step.conflict.is_some() && mode == OnConflict::Skip {
                StepOutcome::Skipped
            } else {
                match run.step(step) {
                    Ok(()) => StepOutcome::Done,
                    Err(error) => StepOutcome::Failed(error.to_string()),
                }
            });
        }
        let whole = outcomes.iter().all(|outcome| *outcome == StepOutcome::Done);
        if whole {
            store.append(&Entry::Undo { turn, of: plan.turns.clone(), whole: true })?;
        }
        store.flush()?;
        Ok(UndoReport { turn, outcomes, whole })
    }
}

struct Run<'a> {
    undo: &'a Undo,
    store: &'a UndoStore,
    turn: u32,
    last: Last,
}

impl Run<'_> {
    fn step(&mut self, step: &Step) -> Result<(), UndoError> {
        let at = step.at();
        let failed = |what| move |cause| UndoError::io(what, &step.absolute(), cause);
        let (parent, name) = self.parent(&at)?;
        if let Some(found) = &step.found
            && !look::glance(&parent, name).map_err(failed("look at"))?.untouched(found)
        {
            let cause = io::Error::other("it has changed while this was going on");
            return Err(UndoError::io("restore", &step.absolute(), cause));
        }
        if let Action::MoveBack { root, path } = &step.action {
            return self.move_back(&at, &parent, name, &At::new(root, path));
        }
        let change = Change { root: &at.root, path: &at.path, parent: &parent, name };
        self.store.before_change(self.turn, change)?;
        match &step.action {
            Action::Remove => remove(&parent, name).map_err(failed("remove"))?,
            Action::MakeDirectory { mode } => {
                make_directory(&parent, name, *mode).map_err(failed("make the folder"))?;
            }
            Action::Link { target } => link(&parent, name, target).map_err(failed("link"))?,
            Action::Restore { .. } | Action::Recreate { .. } => {
                if let Some(file) = &step.file {
                    self.put(&parent, name, file).map_err(failed("restore"))?;
                }
            }
            Action::MoveBack { .. } => {}
        }
        if matches!(step.action, Action::Remove | Action::MakeDirectory { .. }) {
            self.last = Last::default();
        }
        self.store.settle(self.turn, at, &mut self.last)
    }

    fn move_back(
        &mut self,
        now: &At,
        parent: &Dir,
        name: &str,
        then: &At,
    ) -> Result<(), UndoError> {
        let failed = |cause| UndoError::io("move back", &now.absolute(), cause);
        let (target, new) = self.parent(then)?;
        if look::glance(&target, new).map_err(failed)? != State::Absent {
            return Err(failed(io::Error::other("something else is where it was")));
        }
        let from = Change { root: &now.root, path: &now.path, parent, name };
        let to = Change { root: &then.root, path: &then.path, parent: &target, name: new };
        self.store.before_rename(self.turn, from, to)?;
        parent.rename(name, &target, new).map_err(failed)?;
        self.last = Last::default();
        Ok(())
    }

    fn parent<'p>(&mut self, at: &'p At) -> Result<(Arc<Dir>, &'p str), UndoError> {
        self.store
            .roots
            .parent(at, &mut self.last)?
            .map_err(|cause| UndoError::io("open the folder of", &at.absolute(), cause))
    }

    /// Writes the kept content beside the entry and renames it over that.
    fn put(&self, parent: &Dir, name: &str, old: &FileState) -> io::Result<()> {
        let (temporary, mut file) = create_beside(parent)?;
        let done = content::restore(&self.undo.folder, old, &mut file)
            .and_then(|()| dress(&file, old))
            .and_then(|()| parent.rename(&temporary, parent, name));
        if done.is_err() {
            // The reason why it failed matters more than the leftover.
            let _ = parent.remove_file(&temporary);
        }
        done
    }
}

/// A new file, private until it has its final name.
fn create_beside(parent: &Dir) -> io::Result<(String, File)> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let mut random = [0; 8];
    loop {
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let name = format!(".claw-undo-{:016x}.tmp", u64::from_le_bytes(random));
        match parent.open_with(&name, &options) {
            Ok(file) => return Ok((name, file.into_std())),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// Gives the file its old permissions, and its old owner as far as this process may.
#[cfg(unix)]
fn dress(file: &File, old: &FileState) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

    let now = file.metadata()?;
    let mut mode = old.mode;
    if (now.uid(), now.gid()) != (old.uid, old.gid)
        && fchown(file, Some(old.uid), Some(old.gid)).is_err()
    {
        // Whose file it is now must not gain the rights of whose it was.
        mode &= 0o777;
    }
    // After the owner, since changing that clears the set-user-id bits.
    file.set_permissions(std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn dress(_file: &File, _old: &FileState) -> io::Result<()> {
    Ok(())
}

fn remove(parent: &Dir, name: &str) -> io::Result<()> {
    if look::glance(parent, name)?.is_dir() {
        parent.remove_dir(name)
    } else {
        parent.remove_file_or_symlink(name)
    }
}

/// Makes the directory, or gives the one that is there its old permissions.
fn make_directory(parent: &Dir, name: &str, mode: u32) -> io::Result<()> {
    match parent.create_dir(name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        other => other?,
    }
    let dir = parent.open_dir_nofollow(name)?;
    set_mode(&dir, mode)
}

#[cfg(unix)]
fn set_mode(dir: &Dir, mode: u32) -> io::Result<()> {
    use cap_std::fs::PermissionsExt;

    dir.set_permissions(".", cap_std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_dir: &Dir, _mode: u32) -> io::Result<()> {
    Ok(())
}

/// Makes the link beside the entry and renames it over that.
fn link(parent: &Dir, name: &str, target: &str) -> io::Result<()> {
    let (temporary, _) = create_beside(parent)?;
    let made = parent.remove_file(&temporary);
    // Not through `symlink`, which refuses targets outside: it was there before, and nothing of
    // ours ever follows it.
    made.and_then(|()| symlink(parent, &temporary, target))
        .and_then(|()| parent.rename(&temporary, parent, name))
}

#[cfg(unix)]
fn symlink(parent: &Dir, name: &str, target: &str) -> io::Result<()> {
    Ok(rustix::fs::symlinkat(target, parent, name)?)
}

#[cfg(not(unix))]
fn symlink(parent: &Dir, name: &str, target: &str) -> io::Result<()> {
    DirExt::symlink_file(parent, target, name)
}
