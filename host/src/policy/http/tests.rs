//! The rules as tables.

#![allow(clippy::unwrap_used)]

use super::{BadHttpRule, BadSecretHeader, HttpGrantRules, HttpRule, SecretHeader};

fn rule(host: &str, methods: &[&str]) -> HttpRule {
    let methods: Vec<String> = methods.iter().map(ToString::to_string).collect();
    HttpRule::new(host, &methods).unwrap()
}

fn rules(rules: Vec<HttpRule>) -> HttpGrantRules {
    HttpGrantRules { rules, ..HttpGrantRules::default() }
}

fn judge(rules: &HttpGrantRules, asked: &str) -> Result<String, String> {
    let (method, url) = asked.split_once(' ').unwrap();
    let (scheme, authority) = url.split_once("://").unwrap();
    rules
        .judge("docs", method, scheme, authority)
        .map(|target| format!("{} {}", target.rule, target.origin()))
        .map_err(|refusal| refusal.to_string())
}

#[test]
fn p22_only_what_is_granted_is_asked() {
    let rules = rules(vec![
        rule("api.example.com", &["GET"]),
        rule("*.example.org", &["GET", "POST"]),
        rule("api.example.com", &["PUT"]),
        rule("127.0.0.1:8080", &["GET"]),
        rule("db.example.net:5000", &["GET"]),
    ]);
    let check = |asked: &str, expect: Option<&str>| {
        let got = judge(&rules, asked);
        match expect {
            Some(expect) => assert_eq!(got.as_deref(), Ok(expect), "{asked}"),
            None => assert!(got.is_err(), "{asked}: {got:?}"),
        }
    };
    check("GET https://api.example.com", Some("0 https://api.example.com:443"));
    check("GET https://API.EXAMPLE.com:443", Some("0 https://api.example.com:443"));
    check("GET http://api.example.com", Some("0 http://api.example.com:80"));
    check("PUT https://api.example.com", Some("2 https://api.example.com:443"));
    check("POST https://a.example.org", Some("1 https://a.example.org:443"));
    check("POST https://a.b.example.org", Some("1 https://a.b.example.org:443"));
    check("GET http://127.0.0.1:8080", Some("3 http://127.0.0.1:8080"));
    check("GET http://db.example.net:5000", Some("4 http://db.example.net:5000"));

    check("get https://api.example.com", None);
    check("POST https://api.example.com", None);
    check("GET https://api.example.com:8443", None);
    check("GET https://api.example.com.evil.example", None);
    check("GET https://evil-api.example.com", None);
    check("GET https://evil.example", None);
    check("GET https://example.org", None);
    check("GET https://evilexample.org", None);
    check("GET https://.example.org", None);
    check("GET http://127.0.0.1", None);
    check("GET http://127.0.0.2:8080", None);
    check("GET http://localhost:8080", None);
    check("GET http://[::ffff:127.0.0.1]:8080", None);
    check("GET http://2130706433:8080", None);
    check("GET http://0177.0.0.1:8080", None);
    check("GET https://db.example.net", None);
    check("GET ftp://api.example.com", None);
    check("GET https://user@api.example.com", None);
    check("GET https://api.example.com\0.evil.example", None);
    check("CONNECT https://api.example.com", None);
    check("TRACE https://api.example.com", None);
}

#[test]
fn every_name_is_no_address() {
    let rules = rules(vec![rule("*", &["GET"])]);
    assert!(rules.rules[0].warning().is_some_and(|warning| warning.contains("any host")));
    assert!(judge(&rules, "GET https://anything.example").is_ok());
    for asked in
        ["GET http://1.1.1.1", "GET http://127.0.0.1", "GET http://[::1]", "GET http://localhost"]
    {
        assert!(judge(&rules, asked).is_err(), "{asked}");
    }
    assert!(judge(&rules, "GET https://anything.example:8443").is_err(), "other ports are named");
    assert_eq!(rule("*.example.org", &["GET"]).warning(), None);
}

#[test]
fn a_refusal_shows_what_would_allow_it_and_that_does() {
    let nothing = HttpGrantRules::default();
    let text = judge(&nothing, "GET https://api.example.com").unwrap_err();
    assert!(text.contains("under `[plugins.docs]`"), "{text}");
    assert!(
        text.contains("`http = [{ host = \"api.example.com\", methods = [\"GET\"] }]`"),
        "{text}"
    );
    let text = judge(&nothing, "GET http://169.254.169.254").unwrap_err();
    assert!(text.contains("link-local"), "{text}");

    let some = rules(vec![rule("api.example.com", &["GET"])]);
    let text = judge(&some, "POST https://api.example.com").unwrap_err();
    assert!(
        text.contains("`{ host = \"api.example.com\", methods = [\"GET\", \"POST\"] }`"),
        "{text}"
    );
    let text = judge(&some, "GET http://b.example:81").unwrap_err();
    assert!(
        text.contains("by adding `{ host = \"b.example:81\", methods = [\"GET\"] }`"),
        "{text}"
    );
    assert!(judge(&rules(vec![rule("b.example:81", &["GET"])]), "GET http://b.example:81").is_ok());
}

#[test]
fn rules_that_mean_nothing_are_refused() {
    let check = |host: &str, methods: &[&str], word: &str| {
        let methods: Vec<String> = methods.iter().map(ToString::to_string).collect();
        let error: BadHttpRule = HttpRule::new(host, &methods).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
    };
    check("", &["GET"], "no host");
    check("https://a.example", &["GET"], "port");
    check("a.example/path", &["GET"], "plain name");
    check("*.com", &["GET"], "top-level");
    check("*.1.2.3.4", &["GET"], "nothing below");
    check("a.*.example", &["GET"], "plain name");
    check("a.example", &[], "no method");
    check("a.example", &["get"], "capital");
    check("a.example", &["CONNECT"], "no method");
}

#[test]
fn a_secret_goes_to_its_host_alone_and_is_not_printed() {
    let mut rules = rules(vec![rule("*.example.com", &["GET"]), rule("127.0.0.1:8080", &["GET"])]);
    let secret =
        |host: &str| SecretHeader::new(host, "Authorization", "CANARY-1234", "Bearer {}").unwrap();
    rules.secrets = vec![secret("api.example.com"), secret("127.0.0.1:8080")];
    let sent = |asked: &str| {
        let (scheme, authority) = asked.split_once("://").unwrap();
        let target = rules.judge("docs", "GET", scheme, authority).unwrap();
        rules.headers_for(&target).map(SecretHeader::value).collect::<Vec<_>>()
    };
    assert_eq!(sent("https://api.example.com"), ["Bearer CANARY-1234"]);
    assert_eq!(sent("http://127.0.0.1:8080"), ["Bearer CANARY-1234"]);
    for elsewhere in
        ["http://api.example.com", "https://b.example.com", "https://x.api.example.com"]
    {
        assert!(sent(elsewhere).is_empty(), "{elsewhere}");
    }
    assert!(!format!("{rules:?}").contains("CANARY"));

    let bad = |host, header, secret, format| -> BadSecretHeader {
        SecretHeader::new(host, header, secret, format).unwrap_err()
    };
    for error in [
        bad("*.example.com", "authorization", "CANARY-1234", "{}"),
        bad("a.example", "a b", "CANARY-1234", "{}"),
        bad("a.example", "host", "CANARY-1234", "{}"),
        bad("a.example", "x-key", "CANARY-1234", "Bearer"),
        bad("a.example", "x-key", "CANARY\r\n1234", "{}"),
        bad("a.example", "x-key", "CANARY", "{}"),
    ] {
        assert!(!error.to_string().contains("CANARY"), "{error}");
    }
}
