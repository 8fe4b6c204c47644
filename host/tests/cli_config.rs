//! `claw config` and what every command shares: settings, usage errors, listings.

#[path = "support/cli.rs"]
mod cli;

use cli::Claw;

#[test]
fn req_104_each_value_says_where_it_came_from() {
    let claw = Claw::new()
        .config("model = \"ollama/file\"\n[limits]\nturns = 7\n")
        .env("CLAWHOLD_SESSIONS", "/elsewhere");
    let shown = claw.run(&["config", "--json"]).code(0).json();
    assert_eq!(shown["model"]["value"], "ollama/file");
    assert!(shown["model"]["origin"].as_str().expect("text").starts_with("file "));
    assert_eq!(shown["limits.turns"]["value"], 7);
    assert_eq!(shown["limits.seconds"]["origin"], "default");
    assert_eq!(shown["sessions"]["value"], "/elsewhere");
    assert_eq!(shown["sessions"]["origin"], "environment CLAWHOLD_SESSIONS");
    let shown = claw.run(&["config", "--json", "--model", "ollama/flag"]).code(0).json();
    assert_eq!(shown["model"]["origin"], "flag --model");
}

#[test]
fn c21_a_broken_file_stops_every_command_with_its_place() {
    let claw = Claw::new().config("[plugins.docs]\nwirte = [\".\"]\n");
    for args in [&["config"][..], &["tools"], &["run", "x"], &["call", "read_file"], &["doctor"]] {
        claw.run(args).code(2).says(&["config.toml, line 2, column 1", "did you mean `write`?"]);
    }
    let claw = Claw::new();
    claw.run(&["config", "--config", "gone.toml"]).code(2).says(&["gone.toml"]);
}

#[test]
fn n42_no_command_shows_a_key() {
    let canary = "sk-CANARY0123456";
    let claw = Claw::new().env("OPENAI_API_KEY", canary).config(
        "[providers.lab]\nbase_url = \"http://127.0.0.1:9/v1\"\nkey = \"env:OPENAI_API_KEY\"\n\
         headers = { x-key = \"sk-CANARY0123456\" }\n",
    );
    for args in [
        &["config"][..],
        &["config", "--json"],
        &["doctor"],
        &["doctor", "--json"],
        &["plugin", "list", "--json"],
        &["tools", "-v"],
        &["run", "x", "--model", "lab/m", "-v", "--max-seconds", "1"],
    ] {
        let ended = claw.run(args);
        assert!(!(ended.out + &ended.err).contains("CANARY"), "{args:?}");
    }
}

#[test]
fn usage_errors_are_one_paragraph_with_a_guess() {
    let claw = Claw::new();
    claw.run(&["rum"]).code(2).says(&["'run'"]);
    claw.run(&["--modle", "x", "tools"]).code(2).says(&["'--model'"]);
    claw.run(&["run", "--max-turns", "many", "x"]).code(2).says(&["'many'"]);
    claw.run(&["tools", "--output", "xml"]).code(2).says(&["json"]);
    claw.run(&["tools", "--json", "--output", "text"]).code(2).says(&["--json"]);
}

#[test]
fn help_and_version_are_answers() {
    // Neither needs a home, a config that parses, or a workdir.
    let claw = Claw::new().config("broken").without_env("CLAWHOLD_HOME");
    let version = claw.run(&["--version"]).code(0);
    assert_eq!(version.out, format!("claw {}\n", env!("CARGO_PKG_VERSION")));
    assert!(claw.run(&["--help"]).code(0).out.contains("Usage: claw"));
    assert!(claw.run(&["run", "--help"]).code(0).out.contains("--max-turns"));
}

#[test]
fn the_tools_are_listed_with_every_key() {
    let claw = Claw::new();
    let tools = claw.run(&["tools", "--json"]).code(0).json();
    let tools = tools.as_array().expect("a list");
    let read = tools.iter().find(|tool| tool["name"] == "read_file").expect("read_file");
    let keys: Vec<&str> = read.as_object().expect("an object").keys().map(String::as_str).collect();
    let expect =
        ["name", "title", "description", "input_schema", "output_schema", "effects", "plugin"];
    assert_eq!(keys, expect);
    assert_eq!(read["input_schema"]["type"], "object");
    assert!(read["effects"].as_array().expect("a list").contains(&"read-only".into()));
    assert!(claw.run(&["tools"]).code(0).out.contains("read_file"));
}

#[test]
fn the_standard_plugin_is_listed() {
    let claw = Claw::new();
    let plugins = claw.run(&["plugin", "list", "--json"]).code(0).json();
    let standard = &plugins[0];
    assert_eq!(standard["source"], "embedded", "{plugins}");
    assert_eq!(standard["state"], "loaded", "{plugins}");
    assert!(standard["tools"].as_array().expect("a list").contains(&"read_file".into()));
    assert!(standard["sha256"].is_string());
}

#[test]
fn a_bad_plugin_is_named_and_stops_nothing() {
    let claw = Claw::new().file("a.txt", "hello\n");
    let plugins = claw.home().join("plugins");
    std::fs::create_dir(&plugins).expect("a fresh directory");
    std::fs::write(plugins.join("broken.wasm"), "this is no component").expect("written");
    let list = claw.run(&["plugin", "list", "--json"]).code(0).json();
    let list = list.as_array().expect("a list");
    let broken = list.iter().find(|plugin| plugin["name"] == "broken").expect("it is named");
    assert_eq!(broken["state"], "refused");
    assert!(!broken["reason"].as_array().expect("a chain of causes").is_empty());
    let ended = claw.run(&["call", "read_file", r#"{"path":"a.txt"}"#]).code(0);
    assert!(ended.out.contains("hello") && ended.err.contains("`broken` is not loaded"));
}

#[test]
fn the_doctor_finds_a_working_machine() {
    let claw = Claw::new();
    let checks = claw.run(&["doctor", "--json"]).code(0).json();
    for check in checks.as_array().expect("a list") {
        assert!(check["name"].is_string() && check["detail"].is_string(), "{check}");
        assert!(["ok", "weaker"].contains(&check["state"].as_str().expect("text")), "{check}");
    }
    assert!(!claw.run(&["doctor"]).code(0).out.is_empty());
}
