//! Which hosts, methods and addresses are asked.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use clawhold::model::Outcome;
use clawhold::policy::{Grant, HttpGrantRules};
use clawhold::sandbox::{HttpAccess, Limits, Lookup, Proxies};
use serde_json::json;

use super::web::{Web, answer};
use super::{access, at, call, call_within, denied, done, granted, hello, just, rule, says};

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
    let grant: Grant = toml::from_str(&line).unwrap();
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
        denied(
            access(just(&web)),
            &json!([{ "authority": web.place(), "method": method }]),
            "never use",
        );
    }
    assert!(web.asked().is_empty() && other.asked().is_empty());
    let both = granted(vec![rule(&web.place(), &["GET", "POST"]), rule(&other.place(), &["GET"])]);
    done(
        access(both),
        &json!([{ "authority": other.place() }, { "authority": web.place(), "method": "POST", "body": 5 }]),
    );
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
    let wide = || {
        granted(vec![rule(&web.place(), &["GET"]), rule("*", &["GET"]), rule("ok.com", &["GET"])])
    };
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
    struct Rebinds(AtomicUsize);
    impl Lookup for Rebinds {
        fn lookup(
            &self,
            _: String,
        ) -> Pin<Box<dyn Future<Output = std::io::Result<Vec<IpAddr>>> + Send>> {
            let before = self.0.fetch_add(1, Ordering::SeqCst);
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
    denied(
        http,
        &json!([{ "authority": place, "soft": true }, { "authority": place }]),
        "127.0.0.1",
    );
    assert!(web.asked().is_empty());
}

#[test]
fn headers_of_the_connection_are_not_the_guests() {
    let web = hello();
    for name in [
        "host",
        "connection",
        "transfer-encoding",
        "proxy-authorization",
        "upgrade",
        "te",
        "expect",
    ] {
        let reply = call(
            access(just(&web)),
            &json!([{ "authority": web.place(), "headers": { name: "x" } }]),
        );
        assert_eq!(reply.outcome, Outcome::Failed, "{name}");
    }
    assert!(web.asked().is_empty());
    done(
        access(just(&web)),
        &json!([{ "authority": web.place(), "headers": { "accept-encoding": "gzip", "x-mine": "y" } }]),
    );
    let asked = web.asked().remove(0);
    assert_eq!(asked.header("accept-encoding"), Some("identity"));
    assert_eq!(asked.header("x-mine"), Some("y"));
}

#[test]
fn behind_a_proxy_hosts_are_asked_by_name() {
    let proxy = Web::start(|asked| answer(200, &[], asked.target.as_bytes()));
    let through = |rules| {
        HttpAccess::new("docs", rules)
            .with_proxies(Proxies::all(&format!("http://{}", proxy.place()), ""))
    };
    let rules =
        || granted(vec![rule("granted.example", &["GET"]), rule("93.184.216.34", &["GET"])]);
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
