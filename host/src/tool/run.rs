//! Running the calls of one reply by their plan, to exactly one truthful result each.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{CallContext, Footprint, Plan, Prepared, Progress, Registry, plan};
use crate::model::{Effects, Failure, FailureCode, Outcome, ToolCall, ToolReply};

/// How long a call that was told to stop may take to say what it has done. The rest of the
/// second that a user waits after Ctrl-C is for the loop.
const GRACE: Duration = Duration::from_millis(300);

/// Bounds on the calls of one reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Calls that run at the same time.
    pub parallel: usize,
    /// Calls of one reply that are run at all.
    pub calls: usize,
    /// How long one call may take; none leaves it to the tool.
    pub timeout: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { parallel: 8, calls: 64, timeout: None }
    }
}

/// Who hears of the calls as they run, in the order of what happens. An `Err` from here begins
/// no further call: what cannot be logged must not be done.
pub trait Watch: Send {
    /// The call begins as soon as this returns. Not heard of calls that never begin.
    fn starting(&mut self, call: &ToolCall, effects: Effects) -> Result<(), String>;

    /// Where the call's own reports go.
    fn progress(&mut self, call: &ToolCall) -> Arc<dyn Fn(Progress) + Send + Sync>;

    /// The call has its result, begun or not; `ms` is how long it ran.
    fn finished(&mut self, call: &ToolCall, reply: &ToolReply, ms: u64) -> Result<(), String>;
}

/// Runs `calls` and gives one result for each, in their order. Cancelling ends it within the
/// grace of 300 ms: calls under way become interrupted, the others were not started.
pub async fn run_calls(
    registry: &Registry,
    calls: &[ToolCall],
    turn: u32,
    limits: Limits,
    cancel: &CancellationToken,
    watch: &mut dyn Watch,
) -> Vec<ToolReply> {
    let prepared: Vec<Option<Prepared>> =
        calls.iter().take(limits.calls).map(|call| Some(registry.prepare(call))).collect();
    let mut batch = Batch {
        calls,
        turn,
        limits,
        cancel,
        watch,
        plan: plan_of(registry, &prepared),
        prepared,
        slots: (0..calls.len()).map(|_| Slot::Waiting).collect(),
        running: JoinSet::new(),
        asked: Instant::now(),
        stopped: None,
    };
    batch.run().await
}

fn plan_of(registry: &Registry, prepared: &[Option<Prepared>]) -> Plan {
    let footprints: Vec<Footprint> = prepared
        .iter()
        .map(|call| {
            // A refused call counts with the paths it asked for: a later edit of the file that a
            // refused one was to create must not run on something else.
            let call = call
                .as_ref()
                .filter(|call| call.refusal().is_none() || call.arguments().is_object());
            call.and_then(|call| Some((call.spec()?, call))).map_or_else(
                Footprint::nothing,
                |(spec, call)| {
                    Footprint::of(spec, call.arguments(), |path| registry.real_path(path))
                },
            )
        })
        .collect();
    plan(&footprints)
}

#[expect(
    clippy::large_enum_variant,
    reason = "there are at most a few hundred, and most end up large"
)]
enum Slot {
    Waiting,
    Running(Instant),
    Ended(ToolReply),
}

struct Batch<'a> {
    calls: &'a [ToolCall],
    turn: u32,
    limits: Limits,
    cancel: &'a CancellationToken,
    watch: &'a mut dyn Watch,
    plan: Plan,
    prepared: Vec<Option<Prepared>>,
    slots: Vec<Slot>,
    running: JoinSet<(usize, ToolReply)>,
    asked: Instant,
    /// Why nothing more begins.
    stopped: Option<String>,
}

impl Batch<'_> {
    async fn run(&mut self) -> Vec<ToolReply> {
        loop {
            self.begin_what_can();
            if self.running.is_empty() {
                break;
            }
            tokio::select! {
                joined = self.running.join_next() => self.join(joined),
                () = self.cancel.cancelled() => {
                    self.drain().await;
                    break;
                }
            }
        }
        self.close()
    }

    fn join(&mut self, joined: Option<Result<(usize, ToolReply), tokio::task::JoinError>>) {
        // A task that failed by itself leaves its slot running, which `close` answers for.
        if let Some(Ok((index, mut reply))) = joined {
            let mut ms = 0;
            if let Slot::Running(begun) = self.slots[index] {
                ms = begun.elapsed().as_millis() as u64;
                reply.receipt.queue_us += (begun - self.asked).as_micros() as u64;
            }
            self.end(index, reply, ms);
        }
    }

    /// One pass is enough: waits point backwards, so what ends here is seen by what follows.
    fn begin_what_can(&mut self) {
        for index in 0..self.calls.len() {
            if self.cancel.is_cancelled() || self.stopped.is_some() {
                return;
            }
            if !matches!(self.slots[index], Slot::Waiting) || !self.is_ready(index) {
                continue;
            }
            if let Some(reply) = self.settled(index) {
                self.end(index, reply, 0);
            } else if self.running.len() < self.limits.parallel.max(1) {
                self.begin(index);
            }
        }
    }

    fn is_ready(&self, index: usize) -> bool {
        let waits = self.plan.waits.get(index).into_iter().flatten();
        waits.into_iter().all(|wait| matches!(self.slots[wait.on], Slot::Ended(_)))
    }

    /// The result of a call that does not run though nothing holds it up.
    fn settled(&self, index: usize) -> Option<ToolReply> {
        let Some(prepared) = self.prepared.get(index) else {
            let message = format!(
                "not run: a reply may hold at most {} calls and this is number {}",
                self.limits.calls,
                index + 1
            );
            let failure =
                Failure::new(FailureCode::TooLarge, message).hint("ask again in the next reply");
            return Some(ToolReply::failed(Outcome::NotStarted, failure));
        };
        if let Some(refusal) = prepared.as_ref().and_then(Prepared::refusal) {
            return Some(refusal.clone());
        }
        let failed = self.plan.waits[index].iter().find(|wait| {
            wait.needs_success
                && matches!(&self.slots[wait.on], Slot::Ended(reply) if !reply.outcome.is_done())
        })?;
        let earlier = &self.calls[failed.on];
        let message = format!(
            "not started: the earlier call `{}` ({}) on the same path did not succeed",
            earlier.name, earlier.id
        );
        let failure = Failure::new(FailureCode::Conflict, message)
            .hint("look at that error first, then send this call again");
        Some(ToolReply::failed(Outcome::NotStarted, failure))
    }

    fn begin(&mut self, index: usize) {
        let call = &self.calls[index];
        let Some(prepared) = self.prepared[index].take() else { return };
        let effects = prepared.spec().map(|spec| spec.effects).unwrap_or_default();
        if let Err(why) = self.watch.starting(call, effects) {
            self.stopped = Some(why);
            return;
        }
        let context = CallContext {
            call_id: call.id.clone(),
            turn: self.turn,
            cancel: self.cancel.child_token(),
            own_task: true,
            progress: self.watch.progress(call),
        };
        let timeout = self.limits.timeout;
        self.slots[index] = Slot::Running(Instant::now());
        // A task of its own, since a tool may block its thread and cannot be made to let go.
        self.running.spawn(async move { (index, bounded(prepared, &context, timeout).await) });
    }

    /// After a cancel: a moment for calls to say what they did, then the rest are cut off.
    async fn drain(&mut self) {
        let deadline = tokio::time::sleep(GRACE);
        tokio::pin!(deadline);
        while !self.running.is_empty() {
            tokio::select! {
                joined = self.running.join_next() => self.join(joined),
                () = &mut deadline => break,
            }
        }
        self.running.abort_all();
    }

    fn end(&mut self, index: usize, reply: ToolReply, ms: u64) {
        if let Err(why) = self.watch.finished(&self.calls[index], &reply, ms) {
            self.stopped.get_or_insert(why);
        }
        self.slots[index] = Slot::Ended(reply);
    }

    fn close(&mut self) -> Vec<ToolReply> {
        for index in 0..self.slots.len() {
            match self.slots[index] {
                Slot::Ended(_) => {}
                Slot::Running(begun) => {
                    let ms = begun.elapsed().as_millis() as u64;
                    self.end(index, interrupted(ms), ms);
                }
                Slot::Waiting => {
                    let why = self.stopped.as_deref().unwrap_or("the run was stopped first");
                    let failure =
                        Failure::new(FailureCode::Unavailable, format!("not started: {why}"));
                    self.end(index, ToolReply::failed(Outcome::NotStarted, failure), 0);
                }
            }
        }
        let slots = std::mem::take(&mut self.slots).into_iter();
        slots
            .map(|slot| match slot {
                Slot::Ended(reply) => reply,
                Slot::Waiting | Slot::Running(_) => interrupted(0),
            })
            .collect()
    }
}

/// Runs a call, for at most `timeout`.
async fn bounded(call: Prepared, context: &CallContext, timeout: Option<Duration>) -> ToolReply {
    let Some(timeout) = timeout else { return call.run(context).await };
    let work = call.run(context);
    tokio::pin!(work);
    if let Ok(reply) = tokio::time::timeout(timeout, &mut work).await {
        return reply;
    }
    context.cancel.cancel();
    let late = tokio::time::timeout(GRACE, &mut work).await;
    let ms = timeout.as_millis();
    let failure = Failure::new(FailureCode::TimedOut, format!("stopped at its limit of {ms} ms"));
    match late {
        Ok(reply) if reply.outcome.is_done() => reply,
        // What it had done by then is in its receipt, which stays.
        Ok(reply) => ToolReply { outcome: Outcome::TimedOut, failure: Some(failure), ..reply },
        Err(_) => ToolReply::failed(Outcome::TimedOut, failure),
    }
}

fn interrupted(ms: u64) -> ToolReply {
    let message = format!("interrupted after {ms} ms; what it had done by then stands");
    let failure = Failure::new(FailureCode::Unavailable, message);
    ToolReply::failed(Outcome::Interrupted { after_ms: ms }, failure)
}
