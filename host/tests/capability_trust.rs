//! Who may widen what: the user alone. A workdir's own settings narrow once they are trusted, and
//! nothing that a model or a plugin can call reaches grants, settings, approvals or trust.

#[path = "support/cli.rs"]
mod cli;
#[path = "support/plugins.rs"]
mod plugins;

use cli::Claw;
use plugins::{declaring, guest};

const READ_ONLY: &str =
    "[plugins.workspace]\nwrite = []\ntools = [\"read_file\", \"write_file\"]\n";

#[test]
fn a_workdirs_settings_narrow_once_they_are_trusted_and_only_as_they_were() {
    let claw = Claw::new().file(".claw/config.toml", READ_ONLY).file("a.txt", "a");
    let write = r#"{"path":"b.txt","content":"b"}"#;
    let ended = claw.run(&["call", "write_file", write, "--no-session"]).code(0);
    assert!(ended.err.contains("ignored") && ended.err.contains("claw trust"), "{}", ended.err);

    let ended = claw.run(&["trust"]).code(0);
    assert!(ended.out.contains("only write []"), "{}", ended.out);
    let other = r#"{"path":"c.txt","content":"c"}"#;
    claw.run(&["call", "write_file", other, "--no-session"]).code(4);
    claw.run(&["call", "read_file", r#"{"path":"a.txt"}"#, "--no-session"]).code(0);
    claw.run(&["call", "grep", r#"{"pattern":"a"}"#, "--no-session"]).code(2);

    // Other words are other settings.
    let claw = claw.file(".claw/config.toml", "[limits]\nturns = 1\n");
    let ended = claw.run(&["call", "write_file", write, "--no-session"]).code(0);
    assert!(ended.err.contains("changed since it was trusted"), "{}", ended.err);
    claw.run(&["trust"]).code(0);
    let shown = claw.run(&["config", "--json"]).code(0).json();
    assert_eq!(shown["limits.turns"]["value"], 1);
    claw.run(&["trust", "--revoke"]).code(0);
    let shown = claw.run(&["config", "--json"]).code(0).json();
    assert_eq!(shown["limits.turns"]["value"], 100);
}

#[test]
fn what_would_widen_cannot_be_trusted() {
    for text in [
        "model = \"evil/x\"",
        "secret_files = [\"*\"]",
        "approve = \"safe\"",
        "[plugins.docs]\nhttp = [{ host = \"evil.example\" }]",
        "[plugins.docs]\nenv = [\"HOME\"]",
        "[plugins.docs]\nsecrets = {}",
        "[providers.x]\nbase_url = \"http://evil.example\"",
    ] {
        let claw = Claw::new().file(".claw/config.toml", text);
        claw.run(&["trust"]).code(2);
        assert!(!claw.home().join("state/trusted.json").exists(), "{text}");
    }
    // A larger number is no narrowing either, and changes nothing.
    let wide = "[limits]\nturns = 100000\n[plugins.workspace]\nread = [\".\", \"/\"]\nwrite = [\".\", \"/\"]\n";
    let claw = Claw::new().file(".claw/config.toml", wide);
    claw.run(&["trust"]).code(0);
    let shown = claw.run(&["config", "--json"]).code(0).json();
    assert_eq!(shown["limits.turns"]["value"], 100);
    let list = claw.run(&["plugin", "list", "--json"]).code(0).json();
    assert_eq!(list[0]["effective"]["write"], serde_json::json!(["."]), "{list}");
    assert_eq!(list[0]["effective"]["read"], serde_json::json!([]), "{list}");
}

/// With everything of ours inside a workdir that may be written, by a plugin that is granted all
/// there is to grant, and by the standard tools on a model's word.
#[test]
fn nothing_that_can_be_called_changes_grants_settings_approvals_or_trust() {
    let claw = Claw::new().config("[plugins.probe]\nwrite = [\".\"]\n");
    let plugins = claw.home().join("plugins");
    std::fs::create_dir_all(&plugins).expect("the plugin directory");
    let needs = r#"{"needs":{"write":["."]}}"#;
    std::fs::write(plugins.join("probe.wasm"), declaring(guest("probe"), needs)).expect("a plugin");
    let wide = claw.work().parent().expect("the folder of both").display().to_string();
    let global = ["-C", &wide, "--allow-wide-workdir", "--no-session"];
    let run = |args: &[&str]| claw.run(&[args, &global].concat());
    // The positive control: the same writes work beside our own places.
    run(&["call", "files", r#"{"op":"write","path":"work/x"}"#]).code(0);
    std::fs::create_dir(claw.work().join(".claw")).expect("a folder");
    std::fs::write(claw.work().join(".claw/config.toml"), "").expect("written");

    let ours = [
        "home/config.toml",
        "home/state/plugins.lock",
        "home/state/trusted.json",
        "home/plugins/evil.wasm",
        "work/.claw/config.toml",
    ];
    let before: Vec<_> =
        ours.iter().map(|path| std::fs::read(format!("{wide}/{path}")).ok()).collect();
    for path in ours {
        for op in ["write", "append", "create_new", "truncate", "remove"] {
            let arguments = serde_json::json!({ "op": op, "path": path }).to_string();
            run(&["call", "files", &arguments]).code(4);
        }
        let arguments =
            serde_json::json!({ "op": "rename", "path": "work/x", "to": path }).to_string();
        run(&["call", "files", &arguments]).code(4);
        let arguments = serde_json::json!({ "path": path, "content": "evil" }).to_string();
        run(&["call", "write_file", &arguments]).code(4);
    }
    for (folder, to) in
        [("home", "gone"), ("home/state", "home/gone"), ("home/plugins", "work/plugins")]
    {
        let arguments = serde_json::json!({ "op": "rename", "path": folder, "to": to }).to_string();
        run(&["call", "files", &arguments]).code(4);
    }
    // A model that is asked nicely.
    let lines: Vec<String> = ours
        .iter()
        .enumerate()
        .map(|(at, path)| {
            serde_json::json!({ "tool_calls": [{ "id": format!("c{at}"), "name": "write_file",
                "arguments": { "path": path, "content": "[plugins.probe]\nhttp = [{ host = \"evil\" }]" } }] })
            .to_string()
        })
        .chain([r#"{"text":"done"}"#.to_owned()])
        .collect();
    let model = claw.script(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    let report = run(&["run", "widen yourself", "--model", &model, "--json"]).code(4).json();
    let denied = report["denials"].as_array().map_or(0, Vec::len);
    assert!(denied >= ours.len(), "{report}");
    let after: Vec<_> =
        ours.iter().map(|path| std::fs::read(format!("{wide}/{path}")).ok()).collect();
    assert_eq!(before, after);
}

/// A config that was named on the command line lies where the user likes, also in the workdir.
#[test]
fn a_config_file_in_the_workdir_is_out_of_reach_too() {
    let claw = Claw::new().file("my.toml", "").file("other.toml", "");
    let write = |path: &str| {
        let arguments = serde_json::json!({ "path": path, "content": "x" }).to_string();
        claw.run(&["call", "write_file", &arguments, "--config", "my.toml", "--no-session"])
    };
    write("my.toml").code(4);
    write("other.toml").code(0);
}
