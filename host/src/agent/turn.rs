//! Turns: one request to the model and the calls of its reply, again and again.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::calls::{Watcher, name_calls};
use super::{Agent, AgentError, Event, RunReport};
use crate::journal::{Entry, JournalError};
use crate::model::{Failure, FailureCode, Message, Outcome, StopReason, ToolCall, ToolReply};
use crate::provider::{Delta, ProviderError, Reply, ReplyStop, Request};
use crate::tool::{Watch as _, run_calls};

/// How long a request that was told to stop may take to do so before it is dropped.
const GRACE: Duration = Duration::from_millis(200);

/// Runs turns until there is a reason to stop.
pub(super) async fn run(
    agent: &mut Agent,
    report: &mut RunReport,
) -> Result<StopReason, AgentError> {
    let stopping = Stopping {
        deadline: agent.budget.deadline(),
        cancel: agent.cancel.clone(),
        terminate: agent.terminate.clone(),
        now: agent.cancel.child_token(),
    };
    // The watch never ends by itself: it only makes whatever runs hear of the end.
    tokio::select! {
        stop = turns(agent, report, &stopping) => stop,
        never = stopping.watch() => match never {},
    }
}

/// Everything that ends a run from outside, in one place.
struct Stopping {
    deadline: Option<Instant>,
    cancel: CancellationToken,
    terminate: CancellationToken,
    /// Cancelled when any of them holds; this is what requests and calls are given.
    now: CancellationToken,
}

impl Stopping {
    async fn watch(&self) -> Infallible {
        let out_of_time = async {
            match self.deadline {
                Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = out_of_time => {}
            () = self.terminate.cancelled() => {}
        }
        self.now.cancel();
        std::future::pending().await
    }

    fn reason(&self) -> Option<StopReason> {
        if self.terminate.is_cancelled() {
            return Some(StopReason::Terminated);
        }
        if self.cancel.is_cancelled() {
            return Some(StopReason::Interrupted);
        }
        let late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        late.then_some(StopReason::SecondsExhausted)
    }
}

async fn turns(
    agent: &mut Agent,
    report: &mut RunReport,
    stopping: &Stopping,
) -> Result<StopReason, AgentError> {
    // Whether the newest calls met a refusal of the host, with no success after it.
    let mut refused = false;
    loop {
        let spent = agent.budget.exhausted(report.turns, report.usage, report.cost);
        if let Some(stop) = stopping.reason().or(spent) {
            return Ok(stop);
        }
        report.turns += 1;
        let turn = agent.turns_before + report.turns;
        let begun = Instant::now();
        let reply = match ask(agent, turn, stopping).await {
            Ok(reply) => reply,
            Err(error) => {
                if let (ProviderError::Cancelled, Some(stop)) = (&error, stopping.reason()) {
                    return Ok(stop);
                }
                report.error = Some(error);
                return Ok(StopReason::ProviderFailed);
            }
        };
        let end = reply.stop.clone();
        accept(agent, report, reply, begun)?;
        // The one branch of the loop: did the reply ask for calls?
        let calls = agent.messages.last().map_or(Vec::new(), |m| m.tool_calls.clone());
        if calls.is_empty() {
            return Ok(finish(agent, &end, refused));
        }
        let replies = match end {
            ReplyStop::Complete | ReplyStop::Other(_) => {
                execute(agent, report, &calls, stopping).await?
            }
            ReplyStop::Length => {
                let why = "the reply was cut off at the service's limit of length, so none of its \
                           calls was run";
                decline(agent, report, &calls, why)?
            }
            ReplyStop::Refusal => {
                decline(agent, report, &calls, "the model service declined this reply")?
            }
        };
        if replies.iter().any(|reply| reply.outcome == Outcome::Denied) {
            refused = true;
        } else if replies.iter().any(|reply| reply.outcome.is_done()) {
            refused = false;
        }
        if end == ReplyStop::Refusal {
            return Ok(StopReason::Declined);
        }
    }
}

/// Makes one request. A service that does not hear of the end is left behind.
async fn ask(agent: &Agent, turn: u32, stopping: &Stopping) -> Result<Reply, ProviderError> {
    let tools = agent.registry.definitions();
    let (messages, reporter) = (agent.messages.as_slice(), &agent.reporter);
    reporter.event(&Event::TurnStarted { turn, messages: messages.len(), tools: tools.len() });
    let hear = |delta: Delta<'_>| {
        reporter.event(&match delta {
            Delta::Text(text) => Event::Text { text },
            Delta::Reasoning(text) => Event::Reasoning { text },
            Delta::Retry { attempt, after_ms, why } => Event::Retry { attempt, after_ms, why },
        });
    };
    let request = Request { messages, tools: &tools };
    let cut_off = async {
        stopping.now.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        reply = agent.provider.generate(request, &hear, &stopping.now) => reply,
        () = cut_off => Err(ProviderError::Cancelled),
    }
}

/// Takes a reply into the conversation, whole, before any of its calls runs.
fn accept(
    agent: &mut Agent,
    report: &mut RunReport,
    reply: Reply,
    begun: Instant,
) -> Result<(), JournalError> {
    let Reply { mut message, usage, .. } = reply;
    let (turn, ms) = (agent.turns_before + report.turns, begun.elapsed().as_millis() as u64);
    name_calls(&mut message.tool_calls, turn, &mut agent.call_ids);
    report.usage += usage;
    let cost = agent.price.map(|price| price.of(usage));
    if let Some(cost) = cost {
        report.cost = Some(report.cost.unwrap_or(0.0) + cost);
    }
    if !message.content.is_empty() || message.tool_calls.is_empty() {
        report.answer.clone_from(&message.content);
    }
    if let Some(journal) = &agent.journal {
        journal.append(&Entry::Usage { turn, ms, usage, cost })?;
        journal.append(&Entry::assistant(&message))?;
    }
    agent.reporter.event(&Event::Assistant { turn, message: &message, usage, ms });
    agent.messages.push(message);
    Ok(())
}

/// Why the run ends with a reply that asks for nothing.
fn finish(agent: &Agent, end: &ReplyStop, refused: bool) -> StopReason {
    match end {
        ReplyStop::Refusal => return StopReason::Declined,
        ReplyStop::Length => {
            let text = "the answer was cut off at the service's limit of length";
            agent.reporter.event(&Event::Note { text });
        }
        ReplyStop::Complete | ReplyStop::Other(_) => {}
    }
    if refused { StopReason::Refused } else { StopReason::Answered }
}

fn watcher<'a>(agent: &'a Agent, report: &'a mut RunReport) -> Watcher<'a> {
    Watcher {
        turn: agent.turns_before + report.turns,
        journal: agent.journal.as_deref(),
        reporter: &agent.reporter,
        report,
        failed: None,
    }
}

/// Runs the calls of a reply.
async fn execute(
    agent: &mut Agent,
    report: &mut RunReport,
    calls: &[ToolCall],
    stopping: &Stopping,
) -> Result<Vec<ToolReply>, AgentError> {
    let mut watcher = watcher(agent, report);
    let turn = watcher.turn;
    let (limits, now) = (agent.limits, &stopping.now);
    let replies = run_calls(&agent.registry, calls, turn, limits, now, &mut watcher).await;
    let failed = watcher.failed.take();
    append(agent, calls, replies, failed)
}

/// Answers every call with why none was run.
fn decline(
    agent: &mut Agent,
    report: &mut RunReport,
    calls: &[ToolCall],
    why: &str,
) -> Result<Vec<ToolReply>, AgentError> {
    let failure = Failure::new(FailureCode::Unavailable, format!("not started: {why}"))
        .hint("send shorter replies: fewer calls at a time, and large texts in parts");
    let reply = ToolReply::failed(Outcome::NotStarted, failure);
    let mut watcher = watcher(agent, report);
    for call in calls {
        // A failure is kept in the watcher; every call still gets its answer.
        let _ = watcher.finished(call, &reply, 0);
    }
    let failed = watcher.failed.take();
    append(agent, calls, vec![reply; calls.len()], failed)
}

/// Adds the results to the conversation, in call order, then says whether the log has them too.
fn append(
    agent: &mut Agent,
    calls: &[ToolCall],
    replies: Vec<ToolReply>,
    failed: Option<String>,
) -> Result<Vec<ToolReply>, AgentError> {
    let messages = calls.iter().zip(&replies);
    agent.messages.extend(messages.map(|(call, reply)| Message::tool_reply(&call.id, reply)));
    if let Some(cause) = failed {
        return Err(AgentError::LogFailed { cause });
    }
    Ok(replies)
}
