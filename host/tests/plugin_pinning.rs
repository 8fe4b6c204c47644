//! What was approved of a plugin holds: a file that can do more is off until it is approved again.

#[path = "support/cli.rs"]
mod cli;
#[path = "support/plugins.rs"]
mod plugins;

use std::path::PathBuf;

use cli::Claw;
use plugins::{declaring, guest};
use serde_json::Value;

const BARE: &str = "[plugins.workspace]\nenabled = false\n";

fn install(claw: &Claw, name: &str, bytes: &[u8]) -> PathBuf {
    let dir = claw.home().join("plugins");
    std::fs::create_dir_all(&dir).expect("the plugin directory");
    let path = dir.join(format!("{name}.wasm"));
    std::fs::write(&path, bytes).expect("the plugin is written");
    path
}

fn listed(claw: &Claw, name: &str) -> Value {
    let list = claw.run(&["plugin", "list", "--json"]).code(0).json();
    let all = list.as_array().expect("a list");
    all.iter().find(|plugin| plugin["name"] == name).expect("the plugin is listed").clone()
}

fn with_needs(needs: &str) -> Vec<u8> {
    declaring(guest("probe"), &format!("{{\"needs\":{{{needs}}}}}"))
}

#[test]
fn p36_a_wider_file_is_off_until_it_is_approved_and_a_narrower_one_is_not() {
    let claw = Claw::new().config(&format!("{BARE}[plugins.docs]\nenv = [\"A\", \"B\"]\n"));
    let tools = || claw.run(&["tools"]).code(0);
    install(&claw, "docs", &with_needs(r#""env":["A"]"#));
    let first = tools();
    assert!(first.err.contains("is new here") && first.out.contains("hostile"), "{}", first.err);
    assert!(!tools().err.contains("is new here"), "told once");

    // More, although the table would grant it: the user approved another plugin than this.
    install(&claw, "docs", &with_needs(r#""env":["A","B"]"#));
    for _ in 0..2 {
        let wider = tools();
        assert!(!wider.out.contains("hostile"), "{}", wider.out);
        assert!(
            wider.err.contains("more: env `B`") && wider.err.contains("`claw plugin grant docs`"),
            "{}",
            wider.err
        );
    }
    claw.run(&["plugin", "grant", "docs"]).code(0);
    assert!(tools().out.contains("hostile"));

    install(&claw, "docs", &with_needs(r#""read":["."]"#));
    let narrower = tools();
    assert!(narrower.out.contains("hostile"), "{}", narrower.err);
    assert!(
        narrower.err.contains("can do no more than before")
            && narrower.err.contains("no longer env `A`"),
        "{}",
        narrower.err
    );
}

#[test]
fn p37_tools_that_change_between_two_listings_switch_the_plugin_off() {
    let claw = Claw::new().config(BARE);
    install(&claw, "drift", &guest("drift"));
    let plugin = listed(&claw, "drift");
    assert_eq!(plugin["state"], "refused");
    assert!(plugin["reason"].to_string().contains("other tools each time"), "{plugin}");
    let path = claw.home().join("plugins/drift.wasm").display().to_string();
    let ended = claw.run(&["plugin", "check", &path, "--run"]).code(1);
    assert!(ended.out.contains("same each time"), "{}", ended.out);
    claw.run(&["plugin", "check", &path]).code(0);
}

#[test]
fn p37_the_same_file_with_other_tools_than_approved_is_off() {
    let claw = Claw::new().config(BARE);
    install(&claw, "docs", &guest("probe"));
    claw.run(&["tools"]).code(0);
    let lock = claw.home().join("state/plugins.lock");
    let mut pins: Value =
        serde_json::from_slice(&std::fs::read(&lock).expect("a lockfile")).expect("JSON");
    for key in ["/plugins/docs/tools_sha256", "/plugins/docs/tools/look/sha256"] {
        *pins.pointer_mut(key).expect("a hash") = "0".repeat(64).into();
    }
    std::fs::write(&lock, pins.to_string()).expect("written");
    let plugin = listed(&claw, "docs");
    assert_eq!(plugin["state"], "off");
    assert!(
        plugin["reason"].to_string().contains("tool `look` describes itself otherwise"),
        "{plugin}"
    );
    claw.run(&["plugin", "grant", "docs"]).code(0);
    assert_eq!(listed(&claw, "docs")["state"], "loaded");
}

#[cfg(unix)]
#[test]
fn a_lockfile_is_private_and_a_damaged_one_approves_nothing() {
    use std::os::unix::fs::PermissionsExt as _;

    let claw = Claw::new().config(BARE);
    install(&claw, "docs", &guest("probe"));
    claw.run(&["tools"]).code(0);
    let lock = claw.home().join("state/plugins.lock");
    assert_eq!(std::fs::metadata(&lock).expect("there").permissions().mode() & 0o777, 0o600);
    std::fs::write(&lock, "{").expect("damaged");
    let plugin = listed(&claw, "docs");
    assert_eq!(plugin["state"], "off");
    assert!(plugin["reason"].to_string().contains("damaged"), "{plugin}");
    assert_eq!(std::fs::read_to_string(&lock).expect("there"), "{");
}

#[test]
fn clashing_and_reserved_names_leave_the_whole_plugin_out() {
    let claw = Claw::new().config(BARE);
    install(&claw, "a", &guest("probe"));
    install(&claw, "b", &guest("probe"));
    install(&claw, "files", &declaring(guest("workspace"), "{}"));
    assert_eq!(listed(&claw, "a")["state"], "loaded");
    let reason = listed(&claw, "b")["reason"].to_string();
    assert!(reason.contains("offered by `a`") && reason.contains("a.wasm"), "{reason}");
    let reason = listed(&claw, "files")["reason"].to_string();
    assert!(reason.contains("reserved") && reason.contains("`read_file`"), "{reason}");
}
