//! Redirects, which the guest follows by itself.

use clawhold::model::FailureCode;
use clawhold::policy::SecretHeader;
use serde_json::json;

use super::web::{Web, answer, redirect};
use super::{CANARY, access, at, call, denied, done, failed, granted, hello, just, rule};

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
    assert_eq!(
        reply.receipt.hosts,
        [format!("GET {} 301", web.place()), format!("GET {} 200", web.place())]
    );
    // A guest that does not follow sees the redirect.
    let (said, _) =
        done(access(just(&web)), &json!([{ "authority": web.place(), "path": "/other" }]));
    assert_eq!(said[0]["headers"]["location"], "http://evil.example/");
}

#[test]
fn n31_an_endless_redirect_ends() {
    let web = Web::start(|asked| {
        redirect(302, &format!("http://{}/again", asked.header("host").unwrap()))
    });
    denied(
        access(just(&web)),
        &json!([{ "authority": web.place(), "follow": 50 }]),
        "kept redirecting",
    );
    assert_eq!(web.asked().len(), 4, "one request and three redirects");
}

#[test]
fn n31_from_https_no_redirect_leads_to_http() {
    let plain = hello();
    let (to, ca) = (plain.place(), include_bytes!("../provider_support/tls/ca.pem").to_vec());
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
