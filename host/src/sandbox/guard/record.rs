//! What one call touched, for its receipt.

use std::collections::HashSet;

use crate::model::Denial;
use crate::text::escape_line;

use super::{Refusal, Ruling};

/// How many paths a receipt names; the rest is counted.
const CAP: usize = 200;

/// Paths stand in the order of first touch, each once.
#[derive(Debug, Default)]
pub(crate) struct Record {
    seen: HashSet<(bool, String)>,
    pub reads: Vec<String>,
    pub writes: Vec<String>,
    pub created: Vec<String>,
    pub removed: Vec<String>,
    pub denials: Vec<Denial>,
    /// Touches beyond the cap.
    pub omitted: u64,
    /// The last refusal, which explains a call that then fails.
    pub last: Option<(Ruling, String)>,
}

impl Record {
    pub(super) fn read(&mut self, path: &str) {
        self.touch(false, path);
    }

    pub(super) fn write(&mut self, path: &str) {
        self.touch(true, path);
    }

    pub(super) fn create(&mut self, path: &str) {
        self.write(path);
        let path = escape_line(path);
        if let Some(at) = self.removed.iter().position(|p| *p == path) {
            self.removed.swap_remove(at);
        } else if self.created.len() < CAP && !self.created.contains(&path) {
            self.created.push(path);
        }
    }

    pub(super) fn remove(&mut self, path: &str) {
        self.write(path);
        let path = escape_line(path);
        if let Some(at) = self.created.iter().position(|p| *p == path) {
            // Made and taken away within the call: nothing of it remains to be told.
            self.created.swap_remove(at);
            self.writes.retain(|p| *p != path);
        } else if self.removed.len() < CAP && !self.removed.contains(&path) {
            self.removed.push(path);
        }
    }

    pub(super) fn forget_created(&mut self, path: &str) {
        self.remove(path);
    }

    pub(super) fn refuse(&mut self, refusal: &Refusal) {
        let ruling = refusal.ruling();
        let reason = refusal.to_string();
        if ruling == Ruling::Denied && self.denials.len() < CAP {
            let denial = Denial {
                what: refusal.what().to_owned(),
                subject: refusal.subject().to_owned(),
                reason: reason.clone(),
            };
            if !self.denials.contains(&denial) {
                self.denials.push(denial);
            }
        }
        self.last = Some((ruling, reason));
    }

    fn touch(&mut self, write: bool, path: &str) {
        let list = if write { &self.writes } else { &self.reads };
        if list.len() >= CAP {
            self.omitted = self.omitted.saturating_add(1);
            return;
        }
        if self.seen.insert((write, path.to_owned())) {
            let escaped = escape_line(path);
            let list = if write { &mut self.writes } else { &mut self.reads };
            list.push(escaped);
        }
    }
}
