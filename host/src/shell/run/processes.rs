//! The processes of one session, by id. They end with it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::collect::Collector;
use super::launch::Running;
use crate::shell::confine::Survey;
use crate::shell::session::Scratch;

/// One line that was started in this session.
#[derive(Debug)]
pub(in crate::shell) struct Process {
    pub(in crate::shell) running: Running,
    pub(in crate::shell) output: Arc<Collector>,
    /// The workdir before it began, for the look after it; taken by whoever looks.
    pub(in crate::shell) survey: Mutex<Option<Survey>>,
    /// Its temporary directory, where the sandbox has none of its own. Declared last, so that
    /// everything has ended when it is removed.
    pub(in crate::shell) _scratch: Option<Scratch>,
}

/// How many ended ones are remembered, for reading their output.
const MOST_ENDED: usize = 32;
/// How many may run at the same time.
const MOST_RUNNING: usize = 16;

/// What this session has started. Dropping it ends all of them.
#[derive(Debug, Default)]
pub(in crate::shell) struct Processes {
    by_pid: Mutex<BTreeMap<u32, Arc<Process>>>,
}

impl Processes {
    /// Whether one more may be left running.
    pub(in crate::shell) fn has_room(&self) -> bool {
        let all = self.by_pid.lock().unwrap_or_else(PoisonError::into_inner);
        all.values().filter(|p| p.running.ended_by_now().is_none()).count() < MOST_RUNNING
    }

    pub(in crate::shell) fn add(&self, process: Arc<Process>) {
        let mut all = self.by_pid.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ended: Vec<u32> = all
            .iter()
            .filter(|(_, p)| p.running.ended_by_now().is_some())
            .map(|(id, _)| *id)
            .collect();
        if ended.len() >= MOST_ENDED {
            ended.truncate(ended.len() + 1 - MOST_ENDED);
            all.retain(|pid, _| !ended.contains(pid));
        }
        all.insert(process.running.pid(), process);
    }

    pub(in crate::shell) fn get(&self, pid: u32) -> Option<Arc<Process>> {
        self.by_pid.lock().unwrap_or_else(PoisonError::into_inner).get(&pid).cloned()
    }

    /// All of them, ended or not.
    pub(in crate::shell) fn all(&self) -> Vec<Arc<Process>> {
        let all = self.by_pid.lock().unwrap_or_else(PoisonError::into_inner);
        all.values().cloned().collect()
    }

    /// The ids of those that still run.
    pub(in crate::shell) fn running(&self) -> Vec<u32> {
        let all = self.by_pid.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter(|(_, p)| p.running.ended_by_now().is_none()).map(|(id, _)| *id).collect()
    }
}
