//! Headers that the host adds, and what comes back of them.

use std::time::Duration;

use base64::Engine as _;
use clawhold::model::FailureCode;
use clawhold::policy::SecretHeader;
use serde_json::json;

use super::web::{Step, Web, answer};
use super::{
    CANARY, access, at, call, done, failed, granted, hello, just, rule, says, with_secret,
};

#[test]
fn n29_what_comes_encoded_is_not_decoded() {
    // Decoding this would fail; passed on as it is, it arrives byte for byte, and a bomb would be
    // no larger than it is on the wire.
    let bomb = Web::start(|_| {
        answer(200, &[("content-encoding", "gzip")], b"\x1f\x8b\x08\0\0\0\0\0\0\x03 not really")
    });
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
    let (quoted, body) =
        ("sk-CANARY%2F0123%2B456789", format!("you sent {CANARY} as {encoded}, bye"));
    let head = format!(
        "HTTP/1.1 200 OK\r\nx-echo: Bearer {CANARY}\r\nx-quoted: {quoted}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
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
        assert!(
            !text.contains("Q0FOQVJZ") && !text.contains("NBTkFSW") && text.ends_with(", bye"),
            "{text}"
        );
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
