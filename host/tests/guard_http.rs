//! `wasi:http` under the guard, from inside a guest: each refusal beside the same request where it
//! is granted. All servers are on this machine.

#![allow(clippy::unwrap_used)]

#[path = "support/lab.rs"]
mod lab;
#[path = "support/web.rs"]
mod web;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use base64::Engine as _;
use clawhold::model::{FailureCode, Outcome, ToolReply};
use clawhold::policy::{HttpGrantRules, HttpLimits, HttpRule, SecretHeader};
use clawhold::sandbox::{self, Access, HttpAccess, Limits, Lookup, Plugin, Proxies, Source};
use clawhold::tool::{CallContext, Tool};
use serde_json::{Value, json};
use web::{Asked, Step, Web, answer, redirect};

const CANARY: &str = "sk-CANARY/0123+456789";

fn probe() -> &'static Arc<Plugin> {
    static PROBE: OnceLock<Arc<Plugin>> = OnceLock::new();
    PROBE.get_or_init(|| {
        Arc::new(Plugin::load(lab::runtime(), "docs", Source::File(lab::guest("http_probe"))).unwrap())
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
    rules.secrets = vec![SecretHeader::new(&web.place(), "Authorization", CANARY, "Bearer {}").unwrap()];
    rules
}

fn access(rules: HttpGrantRules) -> HttpAccess {
    HttpAccess::new("docs", rules).with_proxies(Proxies::all("", ""))
}

fn tool(http: Option<HttpAccess>, limits: Limits) -> Arc<dyn Tool> {
    let access = Access {
        rules: Arc::new(clawhold::sandbox::Rules::nothing()),
        http: http.map(Arc::new),
        limits,
        environment: Vec::new(),
        settings: BTreeMap::new(),
    };
    sandbox::tools(probe(), &access, |_| true).remove(0)
}

fn call_within(http: Option<HttpAccess>, limits: Limits, asks: &Value) -> ToolReply {
    let tool = tool(http, limits);
    let reply = lab::executor().block_on(tool.call(&json!({ "asks": asks }), &CallContext::detached("c1")));
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
    assert!(reply.receipt.denials.iter().any(|denial| denial.what == "connect" && denial.reason.contains(word)), "{reply:?}");
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
    fn lookup(&self, _: String) -> Pin<Box<dyn Future<Output = std::io::Result<Vec<IpAddr>>> + Send>> {
        let addresses = self.0.clone();
        Box::pin(async move { Ok(addresses) })
    }
}

fn says(addresses: &[&str]) -> Arc<dyn Lookup> {
    Arc::new(Says(addresses.iter().map(|address| address.parse().unwrap()).collect()))
}

#[test]
fn p22_a_granted_host_is_asked_and_stands_in_the_receipt() {
    let web = hello();
    let (said, reply) = done(access(just(&web)), &at(&web.place()));
    assert_eq!(said[0]["body"], "hello");
    assert_eq!(said[0]["headers"]["x-mark"], "1");
    assert_eq!(reply.receipt.hosts, [format!("GET {} 200", web.place())]);
    assert!(reply.receipt.denials.is_empty());
    let asked = web.asked().remove(0);
    assert_eq!(asked.header("accept-encoding"), Some("identity"));
    assert_eq!(asked.header("host"), Some(web.place().as_str()));
}

#[test]
fn p22_without_a_grant_the_line_to_paste_is_told() {
    let web = hello();
    let line = format!("http = [{{ host = \"{}\", methods = [\"GET\"] }}]", web.place());
    for http in [None, Some(access(HttpGrantRules::default()))] {
        let reply = call_within(http, Limits::default(), &at(&web.place()));
        assert_eq!(reply.outcome, Outcome::Denied);
        let text = reply.observation();
        assert!(text.contains(&line) && text.contains("[plugins.docs]"), "{text}");
        assert!(text.contains("loopback"), "{text}");
        assert!(reply.receipt.hosts.is_empty());
    }
    assert!(web.asked().is_empty());
    // The very line is a grant that lets the request through.
    let grant: clawhold::policy::Grant = toml::from_str(&line).unwrap();
    let rules = HttpGrantRules::granted(&grant.http, []).unwrap();
    done(access(rules), &at(&web.place()));
}

#[test]
fn p22_another_host_port_or_method_is_denied() {
    let (web, other) = (hello(), hello());
    denied(access(just(&web)), &at(&other.place()), "may not ask");
    denied(access(just(&web)), &json!([{ "authority": web.place(), "method": "POST" }]), "POST");
    denied(access(just(&web)), &json!([{ "authority": web.place(), "method": "get" }]), "get");
    for method in ["CONNECT", "TRACE"] {
        denied(access(just(&web)), &json!([{ "authority": web.place(), "method": method }]), "never use");
    }
    assert!(web.asked().is_empty() && other.asked().is_empty());
    let both = granted(vec![rule(&web.place(), &["GET", "POST"]), rule(&other.place(), &["GET"])]);
    done(access(both), &json!([{ "authority": other.place() }, { "authority": web.place(), "method": "POST", "body": 5 }]));
    assert_eq!(web.asked()[0].method, "POST");
}

#[test]
fn p22_a_denial_that_the_tool_got_over_is_recorded_and_no_more() {
    let web = hello();
    let (said, reply) = done(
        access(just(&web)),
        &json!([{ "authority": "evil.example", "soft": true }, { "authority": web.place() }]),
    );
    assert_eq!(said[1]["body"], "hello");
    assert_eq!(reply.receipt.denials.len(), 1);
    assert_eq!(reply.receipt.denials[0].subject, "evil.example");
}

#[test]
fn p22_hosts_in_disguise_are_refused() {
    let web = hello();
    let port = web.port();
    let wide = || granted(vec![rule(&web.place(), &["GET"]), rule("*", &["GET"]), rule("ok.com", &["GET"])]);
    for (authority, word) in [
        (format!("ok.com@127.0.0.1:{port}"), "user name"),
        (format!("127.0.0.1:{port}@evil.example"), "user name"),
        (format!("2130706433:{port}"), "spelling"),
        (format!("0177.0.0.1:{port}"), "spelling"),
        (format!("0x7f.0.0.1:{port}"), "spelling"),
        (format!("127.1:{port}"), "spelling"),
        (format!("[::ffff:127.0.0.1]:{port}"), "dressed"),
        (format!("[::1]:{port}"), "loopback"),
        (format!("localhost:{port}"), "may not ask"),
        ("169.254.169.254".to_owned(), "link-local"),
        ("ok.com.".to_owned(), "plain name"),
    ] {
        denied(access(wide()), &at(&authority), word);
    }
    // What is no authority at all, the interface itself refuses to take.
    for authority in ["ok.com\0.evil.example", "ok.com\r\nx: y", "ok.com/evil", ""] {
        let reply = call(access(wide()), &at(authority));
        assert_ne!(reply.outcome, Outcome::Done, "{authority:?}");
    }
    assert!(web.asked().is_empty());
    done(access(wide()), &at(&web.place()));
    let local = granted(vec![rule(&format!("localhost:{port}"), &["GET"])]);
    done(access(local), &at(&format!("LOCALHOST:{port}")));
}

#[test]
fn p22_a_name_that_leads_to_this_machine_is_not_followed() {
    let web = hello();
    let place = format!("granted.example:{}", web.port());
    let by_name = || granted(vec![rule(&place, &["GET"])]);
    for (addresses, word) in [
        (&["127.0.0.1"][..], "loopback"),
        (&["::ffff:127.0.0.1"], "loopback"),
        (&["169.254.169.254"], "link-local"),
        (&["10.0.0.1", "fd00::1"], "private"),
        (&["100.64.0.1"], "carrier"),
        (&["0.0.0.0"], "unspecified"),
    ] {
        let reply = denied(access(by_name()).with_lookup(says(addresses)), &at(&place), word);
        let text = reply.observation();
        assert!(text.contains("granted.example") && text.contains("addresses = ["), "{text}");
    }
    assert!(web.asked().is_empty());
    let address = "127.0.0.1".parse().unwrap();
    let by_address = granted(vec![rule(&place, &["GET"]).with_addresses([address])]);
    done(access(by_address).with_lookup(says(&["127.0.0.1"])), &at(&place));
    assert_eq!(web.asked()[0].header("host"), Some(place.as_str()));
}

#[test]
fn p22_an_address_is_judged_when_it_is_connected_to() {
    /// Honest when first asked, and not after that.
    struct Rebinds(std::sync::atomic::AtomicUsize);
    impl Lookup for Rebinds {
        fn lookup(&self, _: String) -> Pin<Box<dyn Future<Output = std::io::Result<Vec<IpAddr>>> + Send>> {
            let before = self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            // The first is of a network that is handed out to nobody who answers.
            let address = if before == 0 { "240.0.0.1" } else { "127.0.0.1" };
            Box::pin(async move { Ok(vec![address.parse().unwrap()]) })
        }
    }
    let web = hello();
    let place = format!("granted.example:{}", web.port());
    let first = "240.0.0.1".parse().unwrap();
    let rules = granted(vec![rule(&place, &["GET"]).with_addresses([first])]);
    let http = access(rules).with_lookup(Arc::new(Rebinds(0.into())));
    denied(http, &json!([{ "authority": place, "soft": true }, { "authority": place }]), "127.0.0.1");
    assert!(web.asked().is_empty());
}

#[test]
fn n31_a_redirect_is_a_request_like_any_other() {
    let web = Web::start(|asked| match asked.target.as_str() {
        "/metadata" => redirect(302, "http://169.254.169.254/latest/"),
        "/other" => redirect(307, "http://evil.example/"),
        "/here" => redirect(301, &format!("http://{}/there", asked.header("host").unwrap())),
        _ => answer(200, &[], b"arrived"),
    });
    let follow = |path: &str| json!([{ "authority": web.place(), "path": path, "follow": 5 }]);
    denied(access(just(&web)), &follow("/metadata"), "link-local");
    denied(access(just(&web)), &follow("/other"), "evil.example");
    let (said, reply) = done(access(just(&web)), &follow("/here"));
    assert_eq!(said[0]["body"], "arrived");
    assert_eq!(reply.receipt.hosts, [format!("GET {} 301", web.place()), format!("GET {} 200", web.place())]);
    // A guest that does not follow sees the redirect.
    let (said, _) = done(access(just(&web)), &json!([{ "authority": web.place(), "path": "/other" }]));
    assert_eq!(said[0]["headers"]["location"], "http://evil.example/");
}

#[test]
fn n31_an_endless_redirect_ends() {
    let web = Web::start(|asked| redirect(302, &format!("http://{}/again", asked.header("host").unwrap())));
    denied(access(just(&web)), &json!([{ "authority": web.place(), "follow": 50 }]), "kept redirecting");
    assert_eq!(web.asked().len(), 4, "one request and three redirects");
}

#[test]
fn n31_from_https_no_redirect_leads_to_http() {
    let plain = hello();
    let (to, ca) = (plain.place(), include_bytes!("provider_support/tls/ca.pem").to_vec());
    let secure = Web::encrypted(move |asked| match asked.target.as_str() {
        "/down" => redirect(302, &format!("http://{to}/")),
        _ => answer(200, &[], b"secure"),
    });
    let rules = || granted(vec![rule(&secure.place(), &["GET"]), rule(&plain.place(), &["GET"])]);
    let ask = |path: &str| json!([{ "scheme": "https", "authority": secure.place(), "path": path, "follow": 3 }]);
    let (said, _) = done(access(rules()).with_extra_roots(ca.clone()), &ask("/"));
    assert_eq!(said[0]["body"], "secure");
    denied(access(rules()).with_extra_roots(ca), &ask("/down"), "encrypted");
    assert!(plain.asked().is_empty());
    // The plain place is granted, so asking it of one's own accord is fine.
    done(access(rules()), &at(&plain.place()));
    // Without trust in the certificate's authority there is no connection.
    let untrusted = call(access(rules()), &ask("/"));
    failed(&untrusted, &FailureCode::Unavailable, "could not be reached");
    assert_eq!(secure.asked().len(), 2);
}

#[test]
fn n31_credentials_do_not_cross_origins() {
    let second = Web::start(|asked| match asked.target.as_str() {
        "/first" => redirect(302, &format!("http://{}/second", asked.header("host").unwrap())),
        _ => answer(200, &[], b"ok"),
    });
    let to = second.place();
    let first = Web::start(move |asked| match asked.target.as_str() {
        "/away" => redirect(302, &format!("http://{to}/first")),
        "/stay" => redirect(302, &format!("http://{}/", asked.header("host").unwrap())),
        _ => answer(200, &[], b"ok"),
    });
    let mut rules = granted(vec![rule(&first.place(), &["GET"]), rule(&second.place(), &["GET"])]);
    rules.secrets = vec![SecretHeader::new(&first.place(), "x-key", CANARY, "{}").unwrap()];
    let ask = |path: &str| {
        json!([{ "authority": first.place(), "path": path, "follow": 3,
            "headers": { "authorization": "of the guest", "cookie": "a=b", "x-key": "forged", "x-other": "kept" } }])
    };
    done(access(rules.clone()), &ask("/away"));
    done(access(rules), &ask("/stay"));
    let at_first = first.asked();
    assert_eq!(at_first.len(), 3);
    for asked in at_first {
        assert_eq!(asked.header("authorization"), Some("of the guest"));
        assert_eq!(asked.header("x-key"), Some(CANARY));
        assert_eq!(asked.headers.iter().filter(|(name, _)| name == "x-key").count(), 1);
    }
    assert_eq!(second.asked().len(), 2);
    for asked in second.asked() {
        assert_eq!(asked.header("authorization"), None, "{asked:?}");
        assert_eq!(asked.header("cookie"), None);
        assert_ne!(asked.header("x-key"), Some(CANARY));
        assert_eq!(asked.header("x-other"), Some("kept"));
    }
}

#[test]
fn headers_of_the_connection_are_not_the_guests() {
    let web = hello();
    for name in ["host", "connection", "transfer-encoding", "proxy-authorization", "upgrade", "te", "expect"] {
        let reply = call(access(just(&web)), &json!([{ "authority": web.place(), "headers": { name: "x" } }]));
        assert_eq!(reply.outcome, Outcome::Failed, "{name}");
    }
    assert!(web.asked().is_empty());
    done(access(just(&web)), &json!([{ "authority": web.place(), "headers": { "accept-encoding": "gzip", "x-mine": "y" } }]));
    let asked = web.asked().remove(0);
    assert_eq!(asked.header("accept-encoding"), Some("identity"));
    assert_eq!(asked.header("x-mine"), Some("y"));
}

#[test]
fn a_server_that_trickles_does_not_hold_a_call() {
    let slow = |step: &'static [u8]| {
        move |_: &Asked| {
            let mut steps = vec![Step::Send(b"HTTP/1.1 200 OK\r\n".to_vec()), Step::Send(step.to_vec())];
            for _ in 0..300 {
                steps.push(Step::Pause(Duration::from_millis(50)));
                steps.push(Step::Send(b"x".to_vec()));
            }
            steps
        }
    };
    for web in [Web::start(slow(b"x-slow: ")), Web::start(slow(b"content-length: 1000\r\n\r\n"))] {
        let limits = Limits { timeout: Duration::from_millis(500), ..Limits::default() };
        let begun = Instant::now();
        let reply = call_within(Some(access(just(&web))), limits, &at(&web.place()));
        assert_eq!(reply.outcome, Outcome::TimedOut, "{reply:?}");
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    }
}

#[test]
fn a_call_that_is_cancelled_leaves_its_request() {
    let web = Web::start(|_| vec![Step::Pause(Duration::from_secs(20))]);
    let tool = tool(Some(access(just(&web))), Limits::default());
    let context = CallContext::detached("c1");
    let cancel = context.cancel.clone();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        cancel.cancel();
    });
    let begun = Instant::now();
    let reply = lab::executor().block_on(tool.call(&json!({ "asks": at(&web.place()) }), &context));
    assert!(matches!(reply.outcome, Outcome::Interrupted { .. }), "{reply:?}");
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

#[test]
fn bodies_end_at_their_caps() {
    let endless = Web::start(|_| {
        vec![Step::Send(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_vec()), Step::Flood(b'x', usize::MAX)]
    });
    let announced = Web::start(|_| answer(200, &[], &[b'x'; 2000]));
    let capped = |web: &Web, most: u64| {
        let mut rules = granted(vec![rule(&web.place(), &["GET", "POST"])]);
        rules.limits = HttpLimits { response_body: most, request_body: most, ..HttpLimits::default() };
        access(rules)
    };
    for (web, most) in [(&endless, 1 << 20), (&announced, 1999)] {
        let reply = call(capped(web, most), &at(&web.place()));
        failed(&reply, &FailureCode::TooLarge, &format!("larger than {most} bytes"));
    }
    let (said, _) = done(capped(&announced, 2000), &at(&announced.place()));
    assert_eq!(said[0]["size"], 2000);

    let post = |size: u64| json!([{ "authority": announced.place(), "method": "POST", "body": size }]);
    let reply = call(capped(&announced, 10_000), &post(10_001));
    failed(&reply, &FailureCode::TooLarge, "more than 10000 bytes");
    let before = announced.asked().len();
    done(capped(&announced, 10_000), &post(10_000));
    assert_eq!(announced.asked().len(), before + 1);
    assert!(announced.asked()[before].body >= 10_000);
}

#[test]
fn requests_of_a_call_are_counted() {
    let web = hello();
    let limited = |requests, at_once| {
        let mut rules = just(&web);
        rules.limits = HttpLimits { requests, at_once, ..HttpLimits::default() };
        access(rules)
    };
    let three = json!([{ "authority": web.place() }, { "authority": web.place() }, { "authority": web.place() }]);
    failed(&call(limited(2, 8), &three), &FailureCode::TooLarge, "2 requests");
    let (_, reply) = done(limited(3, 1), &three);
    assert_eq!(reply.receipt.hosts.len(), 3);
    let together = json!([{ "authority": web.place(), "at_once": 3 }]);
    failed(&call(limited(9, 2), &together), &FailureCode::TooLarge, "at once");
    done(limited(9, 3), &together);
}

#[test]
fn n30_half_an_answer_is_none() {
    let cut = |head: &'static str, body: &'static str| {
        Web::start(move |_| vec![Step::Send(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}").into_bytes()), Step::Close])
    };
    for web in [
        cut("content-length: 100", "only this"),
        cut("transfer-encoding: chunked", "5\r\nhello\r\n"),
        cut("transfer-encoding: chunked", "zz\r\nhello\r\n"),
    ] {
        let reply = call(access(just(&web)), &at(&web.place()));
        failed(&reply, &FailureCode::Unavailable, "broke off");
    }
    let whole = cut("content-length: 9", "only this");
    let (said, _) = done(access(just(&whole)), &at(&whole.place()));
    assert_eq!(said[0]["body"], "only this");
    let gone = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().to_string();
    let reply = call(access(granted(vec![rule(&gone, &["GET"])])), &at(&gone));
    failed(&reply, &FailureCode::Unavailable, "could not be reached");
    assert_eq!(reply.receipt.hosts, [format!("GET {gone} no answer")]);
}

#[test]
fn n29_what_comes_encoded_is_not_decoded() {
    // A megabyte of zeroes in a few bytes, were it decoded.
    let bomb = Web::start(|_| answer(200, &[("content-encoding", "gzip")], b"\x1f\x8b\x08\0\0\0\0\0\0\x03 not really"));
    let (said, _) = done(access(just(&bomb)), &at(&bomb.place()));
    assert_eq!(said[0]["size"], 21);
    assert_eq!(said[0]["headers"]["content-encoding"], "gzip");
    // In what is encoded a secret could come back unseen.
    let reply = call(access(with_secret(&bomb)), &at(&bomb.place()));
    failed(&reply, &FailureCode::Unsupported, "encoded (`gzip`)");
    let plain = Web::start(|_| answer(200, &[("content-encoding", "identity")], b"plain"));
    done(access(with_secret(&plain)), &at(&plain.place()));
}

#[test]
fn a_secret_is_sent_and_never_comes_back() {
    let encoded = base64::engine::general_purpose::STANDARD.encode(format!("Bearer {CANARY}"));
    let (quoted, body) = ("sk-CANARY%2F0123%2B456789", format!("you sent {CANARY} as {encoded}, bye"));
    let head = format!("HTTP/1.1 200 OK\r\nx-echo: Bearer {CANARY}\r\nx-quoted: {quoted}\r\ncontent-length: {}\r\n\r\n", body.len());
    // One cut at every byte, in the middle of either spelling too.
    for cut in 0..body.len() {
        let (head, size, body) = (head.clone(), body.len(), body.clone());
        let web = Web::start(move |_| {
            let (first, second) = body.split_at(cut);
            vec![
                Step::Send(format!("{head}{first}").into_bytes()),
                Step::Pause(Duration::from_millis(3)),
                Step::Send(second.as_bytes().to_vec()),
            ]
        });
        let ask = json!([{ "authority": web.place(), "headers": { "Authorization": "forged", "range": "bytes=0-3" } }]);
        let (said, _) = done(access(with_secret(&web)), &ask);
        let text = said[0]["body"].as_str().unwrap();
        assert_eq!(text.len(), size, "cut at {cut}");
        assert!(text.starts_with("you sent *********************"), "{text}");
        assert!(!text.contains("Q0FOQVJZ") && !text.contains("NBTkFSW") && text.ends_with(", bye"), "{text}");
        assert!(!said.to_string().contains("0123"), "{said}");
        let asked = web.asked().remove(0);
        assert_eq!(asked.header("authorization"), Some(format!("Bearer {CANARY}").as_str()));
        assert_eq!(asked.header("range"), None);
    }
}

#[test]
fn a_secret_goes_over_no_plain_connection_to_another_machine() {
    let web = hello();
    let place = format!("granted.example:{}", web.port());
    let address = "127.0.0.1".parse().unwrap();
    let mut rules = granted(vec![rule(&place, &["GET"]).with_addresses([address])]);
    rules.secrets = vec![SecretHeader::new(&place, "x-key", CANARY, "{}").unwrap()];
    done(access(rules).with_lookup(says(&["127.0.0.1"])), &at(&place));
    assert_eq!(web.asked()[0].header("x-key"), None);
}

#[test]
fn behind_a_proxy_hosts_are_asked_by_name() {
    let proxy = Web::start(|asked| answer(200, &[], asked.target.as_bytes()));
    let through = |rules| HttpAccess::new("docs", rules).with_proxies(Proxies::all(&format!("http://{}", proxy.place()), ""));
    let rules = || granted(vec![rule("granted.example", &["GET"]), rule("93.184.216.34", &["GET"])]);
    // The proxy resolves the name, so what it leads to is the proxy's business.
    let (said, reply) = done(through(rules()), &at("granted.example"));
    assert_eq!(said[0]["body"], "http://granted.example/");
    assert_eq!(reply.receipt.hosts, ["GET granted.example:80 200 by proxy"]);
    denied(through(rules()), &at("93.184.216.34"), "proxy");
    denied(through(rules()), &at("other.example"), "may not ask");
    assert_eq!(proxy.asked().len(), 1);
    // This machine is spoken to directly.
    let web = hello();
    let (_, reply) = done(through(just(&web)), &at(&web.place()));
    assert_eq!(reply.receipt.hosts, [format!("GET {} 200", web.place())]);
    assert_eq!(proxy.asked().len(), 1);
}
