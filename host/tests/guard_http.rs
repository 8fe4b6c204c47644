//! `wasi:http` under the guard, from inside a guest: each refusal beside the same request where it
//! is granted. All servers are on this machine.

#![allow(clippy::unwrap_used)]

#[path = "guard_http/bodies.rs"]
mod bodies;
#[path = "guard_http/grants.rs"]
mod grants;
#[path = "guard_http/redirects.rs"]
mod redirects;
#[path = "guard_http/secrets.rs"]
mod secrets;

#[path = "support/lab.rs"]
mod lab;
#[path = "support/web.rs"]
mod web;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use clawhold::model::{FailureCode, Outcome, ToolReply};
use clawhold::policy::{HttpGrantRules, HttpRule, SecretHeader};
use clawhold::sandbox::{self, Access, HttpAccess, Limits, Lookup, Plugin, Proxies, Rules, Source};
use clawhold::tool::{CallContext, Tool};
use serde_json::{Value, json};
use web::{Web, answer};

const CANARY: &str = "sk-CANARY/0123+456789";

fn probe() -> &'static Arc<Plugin> {
    static PROBE: OnceLock<Arc<Plugin>> = OnceLock::new();
    PROBE.get_or_init(|| {
        Arc::new(
            Plugin::load(lab::runtime(), "docs", Source::File(lab::guest("http_probe"))).unwrap(),
        )
    })
}

fn rule(host: &str, methods: &[&str]) -> HttpRule {
    let methods: Vec<String> = methods.iter().map(ToString::to_string).collect();
    HttpRule::new(host, &methods).unwrap()
}

fn granted(rules: Vec<HttpRule>) -> HttpGrantRules {
    HttpGrantRules { rules, ..HttpGrantRules::default() }
}

/// `GET` on a server by its address.
fn just(web: &Web) -> HttpGrantRules {
    granted(vec![rule(&web.place(), &["GET"])])
}

fn with_secret(web: &Web) -> HttpGrantRules {
    let mut rules = just(web);
    rules.secrets =
        vec![SecretHeader::new(&web.place(), "Authorization", CANARY, "Bearer {}").unwrap()];
    rules
}

fn access(rules: HttpGrantRules) -> HttpAccess {
    HttpAccess::new("docs", rules).with_proxies(Proxies::all("", ""))
}

fn tool(http: Option<HttpAccess>, limits: Limits) -> Arc<dyn Tool> {
    let access = Access {
        rules: Arc::new(Rules::nothing()),
        http: http.map(Arc::new),
        limits,
        environment: Vec::new(),
        settings: BTreeMap::new(),
    };
    sandbox::tools(probe(), &access, |_| true).remove(0)
}

fn call_within(http: Option<HttpAccess>, limits: Limits, asks: &Value) -> ToolReply {
    let tool = tool(http, limits);
    let reply =
        lab::executor().block_on(tool.call(&json!({ "asks": asks }), &CallContext::detached("c1")));
    // Whatever a test is about: no text and no receipt ever holds the secret.
    assert!(!format!("{reply:?}").contains("CANARY"), "{reply:?}");
    reply
}

fn call(http: HttpAccess, asks: &Value) -> ToolReply {
    call_within(Some(http), Limits::default(), asks)
}

/// What the requests of a call gave.
fn done(http: HttpAccess, asks: &Value) -> (Value, ToolReply) {
    let reply = call(http, asks);
    assert_eq!(reply.outcome, Outcome::Done, "{asks}: {reply:?}");
    (serde_json::from_str(&reply.observation()).unwrap(), reply)
}

/// A call that is denied, with a reason that holds `word` and is told first.
fn denied(http: HttpAccess, asks: &Value, word: &str) -> ToolReply {
    let reply = call(http, asks);
    assert_eq!(reply.outcome, Outcome::Denied, "{asks}: {reply:?}");
    let failure = reply.failure.as_ref().unwrap();
    assert_eq!(failure.code, FailureCode::Denied);
    let at = failure.message.find(word);
    assert!(at < failure.message.find("(the tool said"), "{asks}: {}", failure.message);
    assert!(
        reply
            .receipt
            .denials
            .iter()
            .any(|denial| denial.what == "connect" && denial.reason.contains(word)),
        "{reply:?}"
    );
    reply
}

fn failed(reply: &ToolReply, code: &FailureCode, word: &str) {
    assert_eq!(reply.outcome, Outcome::Failed, "{reply:?}");
    let failure = reply.failure.as_ref().unwrap();
    assert_eq!(&failure.code, code, "{failure:?}");
    assert!(failure.message.contains(word), "{failure:?}");
    assert!(reply.receipt.denials.is_empty(), "{reply:?}");
}

fn at(place: &str) -> Value {
    json!([{ "authority": place }])
}

fn hello() -> Web {
    Web::start(|_| answer(200, &[("x-mark", "1")], b"hello"))
}

/// Answers every name with these addresses.
struct Says(Vec<IpAddr>);

impl Lookup for Says {
    fn lookup(
        &self,
        _: String,
    ) -> Pin<Box<dyn Future<Output = std::io::Result<Vec<IpAddr>>> + Send>> {
        let addresses = self.0.clone();
        Box::pin(async move { Ok(addresses) })
    }
}

fn says(addresses: &[&str]) -> Arc<dyn Lookup> {
    Arc::new(Says(addresses.iter().map(|address| address.parse().unwrap()).collect()))
}
