//! Fake tools, a fake model and a listener, for tests that need no sandbox and no network.

// Each test program is a crate of its own and uses a part of this.
#![allow(dead_code, unreachable_pub, missing_debug_implementations)]

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clawhold::agent::{Event, Reporter};
use clawhold::model::{Effects, Message, Role, ToolCall, ToolReply, ToolSpec, Usage};
use clawhold::provider::{Delta, Events, Provider, ProviderError, Reply, ReplyStop, Request};
use clawhold::tool::{CallContext, Registry, Tool};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

type Behaviour =
    dyn Fn(Value, CallContext) -> futures_util::future::BoxFuture<'static, ToolReply> + Send + Sync;

/// A tool whose behaviour is a closure.
pub struct Fake {
    spec: ToolSpec,
    behaviour: Box<Behaviour>,
}

#[async_trait::async_trait]
impl Tool for Fake {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: &Value, context: &CallContext) -> ToolReply {
        (self.behaviour)(arguments.clone(), context.clone()).await
    }
}

/// A tool named `name` that reads (`r`) or writes (`w`) an optional `path`.
pub fn fake<F, R>(name: &str, kind: &str, behaviour: F) -> Arc<dyn Tool>
where
    F: Fn(Value, CallContext) -> R + Send + Sync + 'static,
    R: Future<Output = ToolReply> + Send + 'static,
{
    let usage = if kind == "r" { "read" } else { "write" };
    let schema = json!({"type": "object", "additionalProperties": false, "properties": {
        "path": {"type": "string", "x-path": usage},
        "limit": {"type": "integer", "minimum": 1}}});
    fake_with(name, kind, schema, behaviour)
}

/// The same, with a schema of the test's own.
pub fn fake_with<F, R>(name: &str, kind: &str, schema: Value, behaviour: F) -> Arc<dyn Tool>
where
    F: Fn(Value, CallContext) -> R + Send + Sync + 'static,
    R: Future<Output = ToolReply> + Send + 'static,
{
    Arc::new(Fake {
        spec: ToolSpec {
            name: name.into(),
            title: None,
            description: format!("the fake tool {name}"),
            input_schema: schema,
            output_schema: None,
            effects: if kind == "r" { Effects::READ_ONLY } else { Effects::default() },
            plugin: None,
        },
        behaviour: Box::new(move |arguments, context| Box::pin(behaviour(arguments, context))),
    })
}

/// A reader that answers with the arguments it was given.
pub fn echo(name: &str) -> Arc<dyn Tool> {
    fake(name, "r", |arguments, _| async move { ToolReply::text(arguments.to_string()) })
}

pub fn registry(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Arc<Registry> {
    let registry = Registry::new();
    for tool in tools {
        registry.register(tool).expect("names differ");
    }
    Arc::new(registry)
}

pub fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() }
}

/// What the fake model does when it is asked.
pub enum Step {
    Reply(Box<Reply>),
    Fail(ProviderError),
    /// Streams some text and then never ends, deaf to being cancelled.
    Hang,
}

pub fn says(text: &str) -> Step {
    reply(text, Vec::new(), ReplyStop::Complete)
}

pub fn asks(text: &str, calls: Vec<ToolCall>) -> Step {
    reply(text, calls, ReplyStop::Complete)
}

pub fn reply(text: &str, calls: Vec<ToolCall>, stop: ReplyStop) -> Step {
    let mut message = Message::assistant(text);
    message.tool_calls = calls;
    let usage = Usage { input: 100, output: 10, cached: 50 };
    Step::Reply(Box::new(Reply { message, usage, stop }))
}

/// A model that follows a list, and keeps what it was asked.
pub struct FakeModel {
    steps: Mutex<VecDeque<Step>>,
    pub requests: Mutex<Vec<(Vec<Message>, Vec<String>)>>,
}

impl FakeModel {
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Arc<Self> {
        Arc::new(Self {
            steps: Mutex::new(steps.into_iter().collect()),
            requests: Mutex::new(Vec::new()),
        })
    }

    /// The messages of request `index`, from 0.
    pub fn request(&self, index: usize) -> Vec<Message> {
        self.requests.lock().expect("no panic")[index].0.clone()
    }

    pub fn asked(&self) -> usize {
        self.requests.lock().expect("no panic").len()
    }
}

#[async_trait::async_trait]
impl Provider for FakeModel {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn model(&self) -> &'static str {
        "list"
    }

    async fn generate(
        &self,
        request: Request<'_>,
        events: Events<'_>,
        _: &CancellationToken,
    ) -> Result<Reply, ProviderError> {
        let tools = request.tools.iter().map(|tool| tool.name.clone()).collect();
        self.requests.lock().expect("no panic").push((request.messages.to_vec(), tools));
        let step = self.steps.lock().expect("no panic").pop_front();
        match step {
            Some(Step::Reply(reply)) => {
                events(Delta::Text(&reply.message.content));
                Ok(*reply)
            }
            Some(Step::Fail(error)) => Err(error),
            Some(Step::Hang) => {
                events(Delta::Text("and then"));
                std::future::pending().await
            }
            None => Err(ProviderError::ScriptExhausted { lines: 0 }),
        }
    }
}

/// Writes down every event in one line.
#[derive(Default)]
pub struct Listener(Mutex<Vec<String>>);

impl Listener {
    pub fn lines(&self) -> Vec<String> {
        self.0.lock().expect("no panic").clone()
    }
}

impl Reporter for Listener {
    fn event(&self, event: &Event<'_>) {
        let line = match event {
            Event::RunStarted { workdir, model, .. } => {
                format!("run {} {model}", workdir.display())
            }
            Event::TurnStarted { turn, messages, tools } => {
                format!("turn {turn} {messages}m {tools}t")
            }
            Event::Text { text } => format!("text {text}"),
            Event::Reasoning { text } => format!("reasoning {text}"),
            Event::Retry { why, .. } => format!("retry {why}"),
            Event::Assistant { message, .. } => format!("assistant {}", message.content),
            Event::CallStarted { call, .. } => format!("start {}", call.id),
            Event::CallProgress { id, progress, .. } => format!("progress {id} {}", progress.done),
            Event::CallFinished { call, reply, .. } => {
                format!("end {} {}", call.id, reply.outcome.word())
            }
            Event::Note { text } => format!("note {text}"),
            Event::Stopped { report } => format!("stopped {:?}", report.stop),
        };
        self.0.lock().expect("no panic").push(line);
    }
}

/// Fails unless every call has exactly one result, right after the message that asked for it and
/// in the order of the calls.
pub fn assert_paired(messages: &[Message]) {
    let mut at = 0;
    while at < messages.len() {
        assert_ne!(messages[at].role, Role::Tool, "message {at} is an orphan result");
        let calls = &messages[at].tool_calls;
        at += 1;
        for call in calls {
            let result = messages.get(at).unwrap_or_else(|| panic!("no result for {}", call.id));
            assert_eq!(result.tool_call_id.as_deref(), Some(call.id.as_str()), "message {at}");
            at += 1;
        }
    }
}

/// The records of a log as JSON.
pub fn log_of(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("a log");
    text.lines().map(|line| serde_json::from_str(line).expect("a record")).collect()
}

pub async fn sleep(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}
