//! Commands: what a verdict costs, and what a sandbox adds to starting a program.

use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use clawhold::model::ToolCall;
use clawhold::shell::{
    Allowlist, Approval, RealTree, RuleSettings, Shell, ShellSettings, Surroundings, Tier,
    TierReport,
};
use clawhold::text::OutputEncoding;
use clawhold::tool::{CallContext, DenyAll, Registry};

use crate::measure::Times;

pub fn run() {
    let dir = tempfile::tempdir().unwrap();
    let workdir = dir.path().canonicalize().unwrap().join("work");
    std::fs::create_dir(&workdir).unwrap();
    std::fs::write(workdir.join("a.txt"), "0123456789abcde\n".repeat(64)).unwrap();

    let list = Allowlist::new(&RuleSettings::default()).unwrap();
    let tree = RealTree::open(&workdir).unwrap();
    let around = Surroundings { tree: &tree, search: None, terminal: false };
    for line in ["git status --short", "cat a.txt | grep -n 5", "echo $(touch x)"] {
        Times::of(2000, || {
            black_box(list.judge(line.as_bytes(), around));
        })
        .report(&format!("verdict on `{line}`"), "bound 20 µs");
    }

    Times::of(100, || {
        let output = Command::new("/usr/bin/cat")
            .arg("a.txt")
            .current_dir(&workdir)
            .stdin(Stdio::null())
            .output();
        assert!(output.unwrap().status.success());
    })
    .report("cat, started bare", "");
    let report = TierReport::probe();
    let tiers = [report, TierReport::without_bubblewrap()];
    for (tier, bound) in tiers.into_iter().zip(["bound 6 ms over bare", "bound 2 ms over bare"]) {
        if tier.tier == Tier::None {
            println!("no such sandbox here: {}", tier.why_not.unwrap_or_default());
            continue;
        }
        let name = format!("cat by the tool, sandbox `{}`", tier.tier.word());
        in_tier(&workdir, dir.path(), tier).report(&name, bound);
    }
}

fn in_tier(workdir: &Path, beside: &Path, tier: TierReport) -> Times {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let shell = Shell::new(ShellSettings {
        rules: RuleSettings::default(),
        network: false,
        read: Vec::new(),
        write: Vec::new(),
        timeout: Duration::from_secs(30),
        max_timeout: Duration::from_secs(30),
        output: 8192,
        encoding: OutputEncoding::Auto,
        approval: Approval::Deny,
        approver: Arc::new(DenyAll),
        remember: None,
        workdir: workdir.to_owned(),
        home: None,
        hidden: Vec::new(),
        secret_files: Vec::new(),
        scratch: beside.join("scratch"),
        runner: env!("CARGO_BIN_EXE_claw").into(),
        tier,
        without_sandbox: false,
        places: Vec::new(),
    })
    .unwrap();
    let registry = Registry::new();
    for tool in shell.tools() {
        registry.register(tool).unwrap();
    }
    let call = ToolCall {
        id: "c".into(),
        name: "bash".into(),
        arguments: r#"{"command":"cat a.txt"}"#.into(),
    };
    Times::of(100, || {
        let reply = runtime.block_on(registry.execute(&call, &CallContext::detached("c")));
        assert!(reply.outcome.is_done(), "{}", reply.observation());
    })
}
