//! The calls of one reply, as the agent sees them: named, logged, counted, told of.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Event, Reporter, RunReport};
use crate::journal::{Entry, Journal};
use crate::model::{Effects, ToolCall, ToolReply};
use crate::tool::{Progress, Watch};

/// Gives every call of a reply an id of its own. A service that sends none, or one twice, or one
/// of an earlier turn, would otherwise have results that belong to two calls.
pub(super) fn name_calls(calls: &mut [ToolCall], turn: u32, used: &mut HashSet<String>) {
    for (index, call) in calls.iter_mut().enumerate() {
        let mut attempt = 0;
        while call.id.is_empty() || used.contains(&call.id) {
            call.id = match attempt {
                0 => format!("call_{turn}_{}", index + 1),
                n => format!("call_{turn}_{}_{n}", index + 1),
            };
            attempt += 1;
        }
        used.insert(call.id.clone());
    }
}

/// Hears of the calls as they run.
pub(super) struct Watcher<'a> {
    pub(super) turn: u32,
    pub(super) journal: Option<&'a Journal>,
    pub(super) reporter: &'a Arc<dyn Reporter>,
    pub(super) report: &'a mut RunReport,
    /// Why the log could not be written, if so.
    pub(super) failed: Option<String>,
}

impl Watcher<'_> {
    fn log(&mut self, entry: impl FnOnce() -> Entry) -> Result<(), String> {
        let Some(journal) = self.journal else { return Ok(()) };
        journal.append(&entry()).map(drop).map_err(|error| {
            let cause = error.to_string();
            self.failed.get_or_insert_with(|| cause.clone());
            cause
        })
    }
}

impl Watch for Watcher<'_> {
    fn starting(&mut self, call: &ToolCall, effects: Effects) -> Result<(), String> {
        let turn = self.turn;
        self.log(|| Entry::Call {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            turn,
            effects,
        })?;
        self.reporter.event(&Event::CallStarted { turn, call });
        Ok(())
    }

    fn progress(&mut self, call: &ToolCall) -> Arc<dyn Fn(Progress) + Send + Sync> {
        let (reporter, id, name) = (Arc::clone(self.reporter), call.id.clone(), call.name.clone());
        Arc::new(move |progress| {
            reporter.event(&Event::CallProgress { id: &id, name: &name, progress: &progress });
        })
    }

    fn finished(&mut self, call: &ToolCall, reply: &ToolReply, ms: u64) -> Result<(), String> {
        self.report.count(&call.name, reply, ms);
        let written = self.log(|| Entry::Result {
            id: call.id.clone(),
            name: call.name.clone(),
            ms,
            reply: reply.clone(),
        });
        self.reporter.event(&Event::CallFinished { turn: self.turn, call, reply, ms });
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n20_every_call_gets_an_id_of_its_own() {
        let mut used = HashSet::from(["old".to_owned(), "call_2_3".to_owned()]);
        let call = |id: &str| ToolCall { id: id.into(), name: "t".into(), arguments: "{}".into() };
        let mut calls = [call("a"), call("a"), call(""), call("old"), call("")];
        name_calls(&mut calls, 2, &mut used);
        let ids: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["a", "call_2_2", "call_2_3_1", "call_2_4", "call_2_5"]);
    }
}
