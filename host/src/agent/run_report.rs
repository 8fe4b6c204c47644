//! What a run came to.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::model::{Denial, Receipt, StopReason, ToolReply, Usage};
use crate::provider::ProviderError;
use crate::text::{clip_end, escape_line};

/// How many denials a report lists; more are only counted among the failures.
const DENIALS: usize = 1_000;

/// The end of a run. As JSON it is what `claw run --output json` prints.
#[derive(Debug, Clone, Serialize)]
pub struct RunReport {
    /// The session's name; none without a log.
    pub session: Option<String>,
    pub stop: StopReason,
    /// The text of the final message; of the newest one that had any when there was no final one.
    pub answer: String,
    /// Requests to the model.
    pub turns: u32,
    pub usage: Usage,
    /// None where no price is known.
    pub cost: Option<f64>,
    pub tools: BTreeMap<String, ToolTally>,
    pub denials: Vec<Denial>,
    pub files: Files,
    /// How the model service failed, where that ended the run.
    #[serde(skip)]
    pub error: Option<ProviderError>,
}

/// The calls of one tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ToolTally {
    pub calls: u64,
    /// Those that ended in any other way than done.
    pub failures: u64,
    /// How long they ran, together.
    pub ms: u64,
}

impl RunReport {
    pub(super) fn new(session: Option<String>) -> Self {
        Self {
            session,
            stop: StopReason::Failed,
            answer: String::new(),
            turns: 0,
            usage: Usage::default(),
            cost: None,
            tools: BTreeMap::new(),
            denials: Vec::new(),
            files: Files::default(),
            error: None,
        }
    }

    /// Adds one call's result.
    pub(super) fn count(&mut self, name: &str, reply: &ToolReply, ms: u64) {
        // A name may be the model's invention; a registered one is never changed by this.
        let name = clip_end(&escape_line(name), 64);
        let tally = self.tools.entry(name).or_default();
        tally.calls += 1;
        tally.failures += u64::from(!reply.outcome.is_done());
        tally.ms += ms;
        let room = DENIALS.saturating_sub(self.denials.len());
        self.denials.extend(reply.receipt.denials.iter().take(room).cloned());
        self.files.add(&reply.receipt);
    }
}

/// What became of files, from before the run to after it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    fates: BTreeMap<String, Fate>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Changed,
    Created,
    Removed,
}

impl Files {
    /// Workdir-relative paths of files that were there before and are different now.
    pub fn changed(&self) -> Vec<&str> {
        self.with(Fate::Changed)
    }

    pub fn created(&self) -> Vec<&str> {
        self.with(Fate::Created)
    }

    pub fn removed(&self) -> Vec<&str> {
        self.with(Fate::Removed)
    }

    fn with(&self, fate: Fate) -> Vec<&str> {
        self.fates.iter().filter(|(_, f)| **f == fate).map(|(path, _)| path.as_str()).collect()
    }

    /// Adds what one call did to what earlier ones did.
    fn add(&mut self, receipt: &Receipt) {
        for path in &receipt.writes {
            let created = receipt.created.contains(path);
            let removed = receipt.removed.contains(path);
            let before = self.fates.get(path).copied();
            let now = match (before, created, removed) {
                // Made and taken away again, within one call or across several: nothing is left.
                (_, true, true) | (Some(Fate::Created), false, true) => None,
                (_, false, true) => Some(Fate::Removed),
                (Some(Fate::Removed), true, false) | (None, false, false) => Some(Fate::Changed),
                (_, true, false) => Some(Fate::Created),
                (Some(fate), false, false) => Some(fate),
            };
            match now {
                Some(fate) => self.fates.insert(path.clone(), fate),
                None => self.fates.remove(path),
            };
        }
    }
}

impl Serialize for Files {
    fn serialize<S: Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Lists<'a> {
            changed: Vec<&'a str>,
            created: Vec<&'a str>,
            removed: Vec<&'a str>,
        }
        Lists { changed: self.changed(), created: self.created(), removed: self.removed() }
            .serialize(output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_files_fate_is_told_from_before_the_run_to_after_it() {
        let mut files = Files::default();
        // Each step: the path, and what the call did to it.
        for (path, did) in [
            ("a", "change"),
            ("b", "create"),
            ("b", "change"),
            ("c", "create"),
            ("c", "remove"),
            ("d", "remove"),
            ("e", "remove"),
            ("e", "create"),
            ("f", "change"),
            ("f", "remove"),
        ] {
            let one = |yes: bool| if yes { vec![path.to_owned()] } else { Vec::new() };
            files.add(&Receipt {
                writes: one(true),
                created: one(did == "create"),
                removed: one(did == "remove"),
                ..Receipt::default()
            });
        }
        assert_eq!(files.changed(), ["a", "e"]);
        assert_eq!(files.created(), ["b"]);
        assert_eq!(files.removed(), ["d", "f"]);
    }
}
