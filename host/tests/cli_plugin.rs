//! `claw plugin`: what a file is, what it wants, what it is given and how that is taken back.

#[path = "support/cli.rs"]
mod cli;
#[path = "support/plugins.rs"]
mod plugins;

use std::path::PathBuf;

use cli::{Claw, Ended};
use plugins::{declaring, guest};
use serde_json::Value;

/// Without the standard plugin, which takes long to compile and is not what is looked at.
const BARE: &str = "[plugins.workspace]\nenabled = false\n";

fn bare() -> Claw {
    Claw::new().config(BARE)
}

fn file(claw: &Claw, name: &str, bytes: &[u8]) -> String {
    let path = claw.work().join(name);
    std::fs::write(&path, bytes).expect("the file is written");
    path.display().to_string()
}

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

fn call(claw: &Claw, tool: &str, arguments: &str) -> Ended {
    claw.run(&["call", tool, arguments, "--json", "--no-session"])
}

#[test]
fn p30_every_kind_of_file_is_told_apart_with_what_mends_it() {
    let claw = bare();
    let component = wat::parse_str("(component)").expect("wat");
    let probe = guest("probe");
    let check = |name: &str, bytes: &[u8], kind: &str, part: &str, code: i32| {
        let path = file(&claw, name, bytes);
        let shown = claw.run(&["plugin", "check", &path, "--json"]).code(code).json();
        assert_eq!(shown["kind"], kind, "{shown}");
        assert_eq!(shown["loads"], code == 0);
        if code != 0 {
            let faults = shown["faults"].to_string();
            assert!(faults.contains(part), "{name}: {faults}");
            assert!(shown["faults"][0]["mend"].as_str().is_some_and(|mend| !mend.is_empty()));
        }
        let text = claw.run(&["plugin", "check", &path]).code(code).out;
        assert!(text.contains(kind) && (code == 0 || text.contains("mend: ")), "{text}");
    };
    check("standard.wasm", &guest("workspace"), "component", "", 0);
    check("probe.wasm", &probe, "component", "", 0);
    check("core.wasm", b"\0asm\x01\0\0\0", "core module", "wasm-tools component new", 1);
    check("empty.wasm", b"", "empty file", "again", 1);
    check("text.wasm", b"(component)", "WebAssembly text", "wasm-tools parse", 1);
    check("elf.wasm", b"\x7fELF\x02\x01", "native program", "wasm32-wasip2", 1);
    check("zip.wasm", b"PK\x03\x04", "zip archive", "unzip", 1);
    check("rubbish.wasm", b"rubbish", "not WebAssembly", "again", 1);
    check("one.wasm", b"\0", "not WebAssembly", "again", 1);
    check("cut.wasm", &probe[..probe.len() / 2], "component", "cut off", 1);
    check("nothing.wasm", &component, "component", "clawhold:tool/tools@0.1.0", 1);
    // The compiler's own child makes the artefact that must never be loaded from outside.
    let made = std::process::Command::new(env!("CARGO_BIN_EXE_claw"))
        .arg("__compile")
        .stdin(std::process::Stdio::from(
            std::fs::File::open(file(&claw, "in.wasm", &component)).expect("a file"),
        ))
        .output()
        .expect("the compiler runs");
    check("made.cwasm", &made.stdout, "compiled artefact", "the .wasm that it was made from", 1);
    claw.run(&["plugin", "check", "gone.wasm"]).code(1);
}

#[test]
fn imports_are_judged_one_by_one() {
    let claw = bare();
    let check = |text: &str, import: &str, state: &str, part: &str| {
        let path = file(&claw, "plugin.wasm", &wat::parse_str(text).expect("wat"));
        let shown = claw.run(&["plugin", "check", &path, "--json"]).code(1).json();
        let imports = shown["imports"].as_array().expect("imports");
        let found = imports.iter().find(|i| i["name"] == import).expect("the import");
        assert_eq!(found["state"], state, "{found}");
        assert!(shown["faults"].to_string().contains(part), "{shown}");
    };
    check("(component (import \"evil:host/x\" (instance)))", "evil:host/x", "unknown", "not known");
    check(
        "(component (import \"wasi:cli/stdout@0.1.0\" (instance)))",
        "wasi:cli/stdout@0.1.0",
        "wrong-version",
        "version 0.2",
    );
    check(
        "(component (import \"clawhold:tool/host@0.9.0\" (instance)))",
        "clawhold:tool/host@0.9.0",
        "wrong-version",
        "0.1.0",
    );
    check(
        "(component (import \"wasi:cli/stderr@0.2.0\" (instance)))",
        "wasi:cli/stderr@0.2.0",
        "satisfied",
        "tools",
    );
    // A program for `wasi:cli/command`.
    let program = "(component (core module $m (func (export \"run\") (result i32) (i32.const 0))) (core instance $i (instantiate $m)) \
        (func $run (result (result)) (canon lift (core func $i \"run\"))) (instance $e (export \"run\" (func $run))) \
        (export \"wasi:cli/run@0.2.0\" (instance $e)))";
    let path = file(&claw, "program.wasm", &wat::parse_str(program).expect("wat"));
    let ended = claw.run(&["plugin", "check", &path]).code(1);
    assert!(
        ended.out.contains("a program of its own") && ended.out.contains("cdylib"),
        "{}",
        ended.out
    );
}

#[test]
fn check_says_what_a_plugin_declares_and_would_get() {
    let claw = bare();
    let manifest = r#"{"version":"2.0","needs":{"read":["."],"http":[{"host":"api.example.com","why":"asks \u001b[31mthere"}],"env":["LANG"]}}"#;
    let path = file(&claw, "docs.wasm", &declaring(guest("probe"), manifest));
    let shown = claw.run(&["plugin", "check", &path, "--run", "--json"]).code(0).json();
    assert_eq!(shown["effective"]["read"], serde_json::json!(["."]));
    assert_eq!(shown["grant"], "claw plugin grant docs --http api.example.com --env LANG");
    assert_eq!(shown["tools"].as_array().map(Vec::len), Some(3));
    let text = claw.run(&["plugin", "check", &path]).code(0).out;
    assert!(
        text.contains("http = [{ host = \"api.example.com\", methods = [\"GET\"] }]"),
        "{text}"
    );
    assert!(!text.contains('\u{1b}') && !text.contains("tool hostile"), "{text}");

    let path = file(&claw, "typo.wasm", &declaring(guest("probe"), r#"{"needs":{"raed":["."]}}"#));
    let ended = claw.run(&["plugin", "check", &path]).code(1);
    assert!(ended.out.contains("did you mean `read`"), "{}", ended.out);

    // The standard plugin's tools under another name would take reserved names.
    let mut other = guest("workspace");
    other = declaring(other, "{}");
    let path = file(&claw, "files.wasm", &other);
    let ended = claw.run(&["plugin", "check", &path, "--run"]).code(1);
    assert!(ended.out.contains("reserved"), "{}", ended.out);
}

#[test]
fn a_plugin_that_asks_for_more_is_off_until_it_is_granted_and_again_after() {
    let claw = bare().env("GREETING", "hello");
    install(
        &claw,
        "docs",
        &declaring(
            guest("probe"),
            r#"{"needs":{"read":["."],"env":["GREETING"],"settings":["language"]}}"#,
        ),
    );
    let environment = r#"{"op":"environment"}"#;
    // Not granted: off, with the command and the lines that change it.
    let ended = call(&claw, "hostile", environment).code(2);
    assert!(ended.err.contains("`claw plugin grant docs --env GREETING`"), "{}", ended.err);
    let plugin = listed(&claw, "docs");
    assert_eq!(plugin["state"], "off");
    assert_eq!(plugin["mend"]["toml"], "[plugins.docs]\nenv = [\"GREETING\"]");
    assert!(!claw.home().join("state/plugins.lock").exists(), "nothing is approved");

    // The very command that was shown.
    let ended = claw.run(&["plugin", "grant", "docs", "--env", "GREETING"]).code(0);
    assert!(ended.out.contains("GREETING") && ended.out.contains("language"), "{}", ended.out);
    let config = std::fs::read_to_string(claw.home().join("config.toml")).expect("config");
    assert_eq!(config, format!("{BARE}\n[plugins.docs]\nenv = [\"GREETING\"]\n"));
    let ended = call(&claw, "hostile", environment).code(0);
    assert!(ended.out.contains("1 variables: GREETING=hello"), "{}", ended.out);
    assert_eq!(ended.err, "");

    let again = claw.run(&["plugin", "revoke", "docs"]).code(0);
    assert!(again.out.contains("not granted, and declared"), "{}", again.out);
    assert_eq!(std::fs::read_to_string(claw.home().join("config.toml")).expect("config"), BARE);
    assert_eq!(listed(&claw, "docs")["state"], "off");
    claw.run(&["plugin", "grant", "dcos"]).code(1).says(&["did you mean `docs`?"]);
    claw.run(&["plugin", "grant", "docs", "--http", "https://x/y"]).code(2).says(&["not a host"]);
    claw.run(&["plugin", "grant", "docs", "--read", "../x"]).code(2).says(&["leads upwards"]);
}

#[test]
fn a_table_in_the_config_is_the_users_word_and_undeclared_is_denied() {
    let claw = Claw::new()
        .config(&format!("{BARE}[plugins.docs]\nenv = [\"GREETING\", \"SECRET\"]\nsettings = {{ language = \"en\", other = \"x\" }}\n"))
        .env("GREETING", "hello")
        .env("SECRET", "x");
    install(
        &claw,
        "docs",
        &declaring(
            guest("probe"),
            r#"{"needs":{"env":["GREETING","MORE"],"settings":["language"],"write":["out"]}}"#,
        ),
    );
    std::fs::create_dir(claw.work().join("out")).expect("a folder");
    let ended = call(&claw, "hostile", r#"{"op":"environment"}"#).code(0);
    assert!(ended.out.contains("1 variables: GREETING=hello"), "{}", ended.out);
    // One line that it is new, one for each grant without effect.
    assert!(ended.err.contains("is new here"), "{}", ended.err);
    assert!(ended.err.contains("`env` of `SECRET` is granted and has no effect"), "{}", ended.err);
    assert!(
        ended.err.contains("`settings` of `other` is granted and has no effect"),
        "{}",
        ended.err
    );
    let setting = |name: &str| {
        call(&claw, "hostile", &format!(r#"{{"op":"setting","name":"{name}"}}"#)).code(0).out
    };
    assert!(setting("language").contains("Some(\\\"en\\\")"));
    assert!(setting("other").contains("None"));
    // Declared, and left out by the table: the workdir is lent to read only where declared.
    call(&claw, "files", r#"{"op":"write","path":"out/x"}"#).code(4);
    claw.run(&["plugin", "grant", "docs", "--write", "out"]).code(0);
    call(&claw, "files", r#"{"op":"write","path":"out/x"}"#).code(0);
    call(&claw, "files", r#"{"op":"write","path":"x"}"#).code(1);
}

#[test]
fn a_side_car_declares_for_a_component_of_others() {
    let claw = Claw::new()
        .config(&format!("{BARE}[plugins.docs]\nenv = [\"GREETING\"]\n"))
        .env("GREETING", "hello");
    let wasm = install(&claw, "docs", &guest("probe"));
    let environment = || call(&claw, "hostile", r#"{"op":"environment"}"#).code(0);
    let ended = environment();
    assert!(ended.out.contains("0 variables"), "{}", ended.out);
    assert!(
        ended.err.contains("no manifest") && ended.err.contains("`env = [\"GREETING\"]`"),
        "{}",
        ended.err
    );
    std::fs::write(wasm.with_extension("toml"), "[needs]\nenv = [\"GREETING\"]\n")
        .expect("a side-car");
    // The side-car makes it wider than what was approved at first sight.
    let refused = call(&claw, "hostile", r#"{"op":"environment"}"#).code(2);
    assert!(refused.err.contains("more: env `GREETING`"), "{}", refused.err);
    claw.run(&["plugin", "grant", "docs"]).code(0);
    assert!(environment().out.contains("GREETING=hello"));
    std::fs::write(wasm.with_extension("toml"), "[need]\nenv = []\n").expect("a side-car");
    let plugin = listed(&claw, "docs");
    assert_eq!(plugin["state"], "refused");
    assert!(plugin["reason"].to_string().contains("did you mean `needs`?"), "{plugin}");
}

#[test]
fn try_prints_what_a_plugin_wanted_as_a_grant() {
    let claw = bare().env("GREETING", "hello").file("a.txt", "not to be read");
    let path = file(&claw, "docs.wasm", &guest("probe"));
    let tried = |tool: &str, arguments: &str| {
        claw.run(&["plugin", "try", &path, tool, arguments, "--json"]).code(0).json()
    };
    let shown = tried("files", r#"{"op":"read","path":"a.txt"}"#);
    assert_eq!(shown["reads"], serde_json::json!(["a.txt"]), "{shown}");
    assert!(!shown.to_string().contains("not to be read"));
    let shown = tried("files", r#"{"op":"read","path":"/etc/passwd"}"#);
    assert_eq!(shown["reads"], serde_json::json!(["/etc/passwd"]), "{shown}");
    assert_eq!(shown["grant"], "[plugins.docs]\nread = [\".\", \"/etc\"]");
    let shown = tried("files", r#"{"op":"write","path":"out.txt"}"#);
    assert_eq!(shown["writes"], serde_json::json!(["out.txt"]), "{shown}");
    assert_eq!(shown["manifest"], "[needs]\nwrite = [\".\"]");
    let shown = tried("hostile", r#"{"op":"setting","name":"language"}"#);
    assert_eq!(shown["settings"], serde_json::json!(["language"]), "{shown}");
    assert!(tried("hostile", r#"{"op":"environment"}"#)["environment"].as_bool().expect("a bool"));
    let text =
        claw.run(&["plugin", "try", &path, "hostile", r#"{"op":"environment"}"#]).code(0).out;
    assert!(text.contains("no names are known"), "{text}");
    claw.run(&["plugin", "try", &path, "gone", "{}"]).code(1).says(&["`hostile`"]);
    assert!(!claw.home().join("state/plugins.lock").exists(), "trying approves nothing");
}
