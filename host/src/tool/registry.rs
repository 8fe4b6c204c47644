//! The tools by name: what the model is offered, and how one of its calls becomes a result.

use std::collections::HashMap;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Instant;

use futures_util::FutureExt as _;
use serde_json::Value;
use thiserror::Error;

use super::check::{Checker, usage};
use super::nearest::nearest;
use super::{CallContext, PathScope, Tool, arguments, coerce};
use crate::model::{Failure, FailureCode, Outcome, ToolCall, ToolReply, ToolSpec};
use crate::text::{clip_end, escape_line};

/// A map from name to tool that may change while calls run: a call finishes on the tool that it
/// began with.
#[derive(Default)]
pub struct Registry {
    paths: Option<PathScope>,
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    tools: HashMap<String, Arc<Entry>>,
    /// What the last question for definitions was answered with; none after a change.
    definitions: Option<Arc<[ToolSpec]>>,
}

struct Entry {
    spec: ToolSpec,
    tool: Arc<dyn Tool>,
    checker: Checker,
}

/// Why a tool cannot be offered.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RegisterError {
    #[error("a tool named `{name}` is registered already; rename one or leave it out")]
    NameTaken { name: String },
    #[error("`{name}` cannot be a tool's name: use 1 to 64 letters, digits, `_` and `-`")]
    BadName { name: String },
}

impl Registry {
    /// An empty registry that leaves path arguments as they are.
    pub fn new() -> Self {
        Self::default()
    }

    /// Rewrites and judges arguments marked `x-path` by `scope`.
    #[must_use]
    pub fn with_paths(mut self, scope: PathScope) -> Self {
        self.paths = Some(scope);
        self
    }

    /// Adds a tool; its spec is read once, now.
    pub fn register(&self, tool: Arc<dyn Tool>) -> Result<(), RegisterError> {
        self.insert(tool, false)
    }

    /// Adds a tool in place of the one of its name, if there is one.
    pub fn replace(&self, tool: Arc<dyn Tool>) -> Result<(), RegisterError> {
        self.insert(tool, true)
    }

    fn insert(&self, tool: Arc<dyn Tool>, over: bool) -> Result<(), RegisterError> {
        let spec = tool.spec().clone();
        let name = spec.name.clone();
        // What every model service accepts.
        let letters = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        if !letters || name.is_empty() || name.len() > 64 {
            return Err(RegisterError::BadName { name: clip_end(&escape_line(&name), 80) });
        }
        let mut state = self.write();
        if !over && state.tools.contains_key(&name) {
            return Err(RegisterError::NameTaken { name });
        }
        state.tools.insert(name, Arc::new(Entry { spec, tool, checker: Checker::default() }));
        state.definitions = None;
        Ok(())
    }

    /// Takes a tool out; whether there was one. Calls under way go on.
    pub fn remove(&self, name: &str) -> bool {
        let mut state = self.write();
        let found = state.tools.remove(name).is_some();
        if found {
            state.definitions = None;
        }
        found
    }

    /// Every tool, sorted by name, so that the same tools are the same bytes in each request.
    /// Cheap to ask: the list is made again only after a change.
    pub fn definitions(&self) -> Arc<[ToolSpec]> {
        if let Some(definitions) = &self.read().definitions {
            return Arc::clone(definitions);
        }
        let mut state = self.write();
        let mut specs: Vec<ToolSpec> = state.tools.values().map(|e| e.spec.clone()).collect();
        specs.sort_by(|a, b| a.name.cmp(&b.name));
        let definitions: Arc<[ToolSpec]> = specs.into();
        state.definitions = Some(Arc::clone(&definitions));
        definitions
    }

    /// Runs one call to its result. Never an error and never a panic: an unknown tool, arguments
    /// that do not fit and a tool that panics are results of their own kind.
    pub async fn execute(&self, call: &ToolCall, context: &CallContext) -> ToolReply {
        self.prepare(call).run(context).await
    }

    /// Everything about a call that can be settled before it begins.
    pub fn prepare(&self, call: &ToolCall) -> Prepared {
        let Some(entry) = self.read().tools.get(&call.name).cloned() else {
            return Prepared::refused(None, Value::Null, self.unknown(&call.name));
        };
        let schema = &entry.spec.input_schema;
        let mut arguments = match read_arguments(&call.arguments, schema) {
            Ok(arguments) => arguments,
            Err(failure) => return Prepared::refused(Some(entry), Value::Null, failed(*failure)),
        };
        coerce::coerce(&mut arguments, schema);
        if let Err(failure) = entry.checker.check(&arguments, schema) {
            return Prepared::refused(Some(entry), arguments, failed(*failure));
        }
        if let Some(scope) = &self.paths
            && let Err(refusal) = scope.rewrite(&mut arguments, schema)
        {
            return Prepared::refused(Some(entry), arguments, refusal.into_reply());
        }
        Prepared { entry: Some(entry), arguments, refusal: None }
    }

    /// For conflict checks: the path behind `path`'s symlinks, where the scope knows.
    pub(super) fn real_path(&self, path: &str) -> String {
        self.paths.as_ref().map_or_else(|| path.to_owned(), |scope| scope.real(path))
    }

    /// Only ever names other tools: running a close one would be acting on a guess.
    fn unknown(&self, name: &str) -> ToolReply {
        let state = self.read();
        let shown = clip_end(&escape_line(name), 80);
        let mut failure =
            Failure::new(FailureCode::NotFound, format!("there is no tool named `{shown}`"));
        let close = nearest(name, state.tools.keys().map(String::as_str));
        let quoted =
            |names: &[&str]| names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
        if !close.is_empty() {
            failure = failure.hint(format!("close names: {}", quoted(&close)));
        } else if state.tools.is_empty() {
            failure = failure.hint("no tools are available; answer without them");
        } else {
            let mut names: Vec<&str> = state.tools.keys().map(String::as_str).collect();
            names.sort_unstable();
            names.truncate(20);
            failure = failure.hint(format!("the tools are: {}", quoted(&names)));
        }
        failed(failure)
    }

    // A panic while the lock is held leaves a map that is still whole, so poison means nothing.
    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.read();
        let mut names: Vec<&str> = state.tools.keys().map(String::as_str).collect();
        names.sort_unstable();
        write!(f, "Registry[{}: {}]", names.len(), names.join(", "))
    }
}

/// A call that is ready to begin, or refused already.
pub struct Prepared {
    entry: Option<Arc<Entry>>,
    arguments: Value,
    refusal: Option<ToolReply>,
}

impl Prepared {
    fn refused(entry: Option<Arc<Entry>>, arguments: Value, reply: ToolReply) -> Self {
        Self { entry, arguments, refusal: Some(reply) }
    }

    /// The tool's own description; none where there is no such tool.
    pub fn spec(&self) -> Option<&ToolSpec> {
        self.entry.as_ref().map(|entry| &entry.spec)
    }

    /// The arguments as the tool would get them; null where they are not JSON.
    pub fn arguments(&self) -> &Value {
        &self.arguments
    }

    /// The result, where the call will not begin.
    pub fn refusal(&self) -> Option<&ToolReply> {
        self.refusal.as_ref()
    }

    /// Runs the call, or gives the refusal.
    pub async fn run(self, context: &CallContext) -> ToolReply {
        let entry = match (self.refusal, self.entry) {
            (Some(reply), _) => return reply,
            (None, Some(entry)) => entry,
            (None, None) => {
                return failed(Failure::new(FailureCode::NotFound, "there is no such tool"));
            }
        };
        let begun = Instant::now();
        // Nothing of ours is shared with the tool but its own state, which is its own to keep.
        let work = AssertUnwindSafe(async { entry.tool.call(&self.arguments, context).await });
        let mut reply = work.catch_unwind().await.unwrap_or_else(|panic| {
            let text = panic
                .downcast_ref::<&str>()
                .copied()
                .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
                .unwrap_or("no message");
            let text = clip_end(&escape_line(text), 300);
            let message = format!("the tool `{}` panicked: {text}", entry.spec.name);
            failed(Failure::new(FailureCode::Internal, message))
        });
        if reply.receipt.execute_us == 0 {
            reply.receipt.execute_us = begun.elapsed().as_micros() as u64;
        }
        reply
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared")
            .field("tool", &self.spec().map(|spec| &spec.name))
            .field("arguments", &self.arguments)
            .field("refusal", &self.refusal)
            .finish_non_exhaustive()
    }
}

/// The arguments as a value. Empty text stands for no arguments where none are required; text
/// that was cut off is an error like any other and never becomes `{}`.
fn read_arguments(text: &str, schema: &Value) -> Result<Value, Box<Failure>> {
    if text.trim().is_empty() {
        let required = schema.get("required").and_then(Value::as_array);
        if required.is_none_or(Vec::is_empty) {
            return Ok(Value::Object(serde_json::Map::new()));
        }
        let failure = Failure::new(FailureCode::InvalidArguments, "the arguments are empty");
        return Err(Box::new(failure.hint(usage(schema))));
    }
    arguments::parse(text).map_err(|error| {
        let message = format!("invalid JSON in the arguments: {error}");
        let hint = "send the call again with one complete JSON object as its arguments";
        Box::new(Failure::new(FailureCode::InvalidArguments, message).hint(hint))
    })
}

fn failed(failure: Failure) -> ToolReply {
    ToolReply::failed(Outcome::Failed, failure)
}
