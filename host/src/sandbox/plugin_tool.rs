//! A plugin's tool as the registry sees it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::model::{Failure, FailureCode, Outcome, ToolReply, ToolSpec};
use crate::tool::{CallContext, Tool};

use super::guard::Rules;
use super::http::HttpAccess;
use super::run::{self, Surroundings};
use super::{Limits, Plugin, failure};

/// What a plugin was granted in a workdir.
#[derive(Debug, Clone)]
pub struct Access {
    pub rules: Arc<Rules>,
    /// Without it every request is refused.
    pub http: Option<Arc<HttpAccess>>,
    pub limits: Limits,
    pub environment: Vec<(String, String)>,
    pub settings: BTreeMap<String, String>,
}

/// The tools of `plugin` under `access`, those that `offers` lets through.
pub fn tools(
    plugin: &Arc<Plugin>,
    access: &Access,
    offers: impl Fn(&str) -> bool,
) -> Vec<Arc<dyn Tool>> {
    let environment: Arc<[(String, String)]> = access.environment.clone().into();
    let settings = Arc::new(access.settings.clone());
    let http = access.http.clone().unwrap_or_else(|| Arc::new(HttpAccess::nothing(&plugin.name)));
    plugin
        .tools
        .iter()
        .filter(|spec| offers(&spec.name))
        .map(|spec| {
            Arc::new(PluginTool {
                plugin: Arc::clone(plugin),
                spec: spec.clone(),
                rules: Arc::clone(&access.rules),
                http: Arc::clone(&http),
                limits: access.limits,
                environment: Arc::clone(&environment),
                settings: Arc::clone(&settings),
            }) as Arc<dyn Tool>
        })
        .collect()
}

struct PluginTool {
    plugin: Arc<Plugin>,
    spec: ToolSpec,
    rules: Arc<Rules>,
    http: Arc<HttpAccess>,
    limits: Limits,
    environment: Arc<[(String, String)]>,
    settings: Arc<BTreeMap<String, String>>,
}

#[async_trait::async_trait]
impl Tool for PluginTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: &Value, context: &CallContext) -> ToolReply {
        let asked = Instant::now();
        let runtime = self.plugin.runtime();
        let Ok(slot) = Arc::clone(&runtime.slots).acquire_owned().await else {
            return not_started("the sandbox is shutting down");
        };
        let around = Surroundings {
            rules: Arc::clone(&self.rules),
            http: Some(Arc::clone(&self.http)),
            read_only: self.spec.effects.read_only,
            turn: context.turn,
            limits: self.limits,
            environment: Arc::clone(&self.environment),
            settings: Arc::clone(&self.settings),
            asked: None,
            progress: Arc::clone(&context.progress),
        };
        let (plugin, name) = (Arc::clone(&self.plugin), self.spec.name.clone());
        let arguments = arguments.to_string();
        let cancel = context.cancel.child_token();
        // When nobody waits for the call any more, it is stopped.
        let _stop = cancel.clone().drop_guard();
        // Clocks and HTTP of the guest need the runtime's timers.
        let handle = Handle::try_current().ok();
        let shared = |handle: &Handle| handle.runtime_flavor() != RuntimeFlavor::MultiThread;
        if context.own_task && !handle.as_ref().is_none_or(shared) {
            // Nobody else is held up here, so the two hops to a thread of the pool are saved.
            let reply = || call(&plugin, &around, &name, &arguments, asked, &cancel);
            let reply = tokio::task::block_in_place(reply);
            drop(slot);
            return reply;
        }
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let job = move || {
            let _context = handle.as_ref().map(Handle::enter);
            let reply = call(&plugin, &around, &name, &arguments, asked, &cancel);
            drop(slot);
            // The caller may have left; then the reply has no reader.
            let _ = sender.send(reply);
        };
        if let Err(error) = runtime.workers.run(job) {
            return not_started(&format!("the system gives no thread to run it on: {error}"));
        }
        receiver.await.unwrap_or_else(|_| {
            let failure = Failure::new(FailureCode::Internal, "the call ended without a result");
            ToolReply::failed(Outcome::Failed, failure)
        })
    }
}

pub(super) fn call(
    plugin: &Plugin,
    around: &Surroundings,
    name: &str,
    arguments: &str,
    asked: Instant,
    cancel: &tokio_util::sync::CancellationToken,
) -> ToolReply {
    let prepared = match plugin.prepared() {
        Ok(prepared) => prepared,
        Err(error) => return not_started(&format!("the plugin cannot be loaded: {error}")),
    };
    let begun = Instant::now();
    let deadline = begun + around.limits.timeout;
    let ran =
        run::call_tool(plugin.runtime(), &prepared, around, name, arguments, deadline, cancel);
    let elapsed = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let mut reply = failure::reply(ran, &around.limits, elapsed);
    reply.receipt.plugin = Some(plugin.name.clone());
    reply.receipt.sha256 = Some(plugin.sha256.clone());
    reply.receipt.queue_us = u64::try_from((begun - asked).as_micros()).unwrap_or(u64::MAX);
    reply
}

fn not_started(why: &str) -> ToolReply {
    ToolReply::failed(Outcome::NotStarted, Failure::new(FailureCode::Unavailable, why))
}
