//! A call in the sandbox: what it gives back and what its receipt says.

#[path = "support/lab.rs"]
mod lab;

use clawhold::model::Outcome;
use lab::Lab;
use serde_json::json;

#[test]
fn a_read_gives_the_text_and_a_receipt() {
    let lab = Lab::new();
    lab.write("a.txt", "one\ntwo\n");
    let reply = lab.call("read_file", json!({"path": "a.txt"}));
    assert_eq!(reply.outcome, Outcome::Done, "{:?}", reply.failure);
    assert!(reply.observation().contains("two"));
    assert_eq!(reply.receipt.reads, ["a.txt"]);
    assert!(reply.receipt.writes.is_empty());
    assert_eq!(reply.receipt.plugin.as_deref(), Some("workspace"));
    assert_eq!(reply.receipt.sha256.as_ref().map(String::len), Some(64));
    assert!(reply.receipt.peak_memory > 0);
}

#[test]
fn a_write_says_what_it_made() {
    let lab = Lab::new();
    let reply = lab.call("write_file", json!({"path": "sub/new.txt", "content": "目录\n"}));
    assert_eq!(reply.outcome, Outcome::Done, "{:?}", reply.failure);
    assert_eq!(lab.read("sub/new.txt"), "目录\n".as_bytes());
    assert_eq!(reply.receipt.created, ["sub", "sub/new.txt"]);
    lab.no_leftovers();
}

#[test]
fn what_leads_outside_is_denied_and_explained() {
    let lab = Lab::new();
    std::fs::write(lab.temp.path().join("secret"), "SECRET").expect("a file outside");
    let text = lab.refused(&Outcome::Denied, "read_file", json!({"path": "../secret"}));
    assert!(text.contains("outside"), "{text}");
    let reply = lab.call("read_file", json!({"path": "../secret"}));
    assert_eq!(reply.receipt.denials.len(), 1, "{:?}", reply.receipt);
}
