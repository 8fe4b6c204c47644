//! A shell over a workdir of its own, in the tier that a test wants.

#![allow(dead_code, reason = "each test file uses its share")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so and why")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clawhold::model::{Outcome, ToolCall, ToolReply};
use clawhold::shell::{Approval, Outside, RuleSettings, Shell, ShellSettings, Tier, TierReport};
use clawhold::text::OutputEncoding;
use clawhold::tool::{CallContext, DenyAll, Registry};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A workdir, a home and a folder of the session, beside each other.
pub(crate) struct Lab {
    dir: TempDir,
    pub(crate) shell: Arc<Shell>,
    registry: Registry,
}

/// The full tier, or None after saying that the test is skipped and why.
pub(crate) fn full() -> Option<TierReport> {
    let report = TierReport::probe();
    if report.tier.is_full() {
        return Some(report);
    }
    eprintln!("skipped: there is no full sandbox here: {}", report.why_not.unwrap_or_default());
    None
}

/// The weaker tier, or None after saying that the test is skipped and why.
pub(crate) fn landlock() -> Option<TierReport> {
    let report = TierReport::without_bubblewrap();
    if report.tier == Tier::Landlock {
        return Some(report);
    }
    eprintln!("skipped: there is no Landlock here: {}", report.why_not.unwrap_or_default());
    None
}

/// A shell that runs everything it is given, which only the sandbox holds.
pub(crate) fn confining(tier: TierReport, dir: &Path) -> ShellSettings {
    let approval = Approval::Safe;
    let rules = RuleSettings {
        outside: tier.tier.is_full().then_some(Outside::Confine),
        ..RuleSettings::default()
    };
    ShellSettings {
        rules,
        network: false,
        read: Vec::new(),
        write: Vec::new(),
        timeout: Duration::from_secs(20),
        max_timeout: Duration::from_mins(2),
        output: 8 * 1024,
        encoding: OutputEncoding::Auto,
        approval,
        approver: Arc::new(DenyAll),
        remember: None,
        workdir: dir.join("work"),
        home: Some(dir.join("user")),
        hidden: vec![dir.join("ours")],
        secret_files: Vec::new(),
        scratch: dir.join("scratch"),
        runner: PathBuf::from(env!("CARGO_BIN_EXE_claw")),
        tier,
        without_sandbox: false,
        places: Vec::new(),
    }
}

/// Says yes to everything: what then holds is the sandbox alone.
#[derive(Debug)]
pub(crate) struct Yes;

#[async_trait::async_trait]
impl clawhold::tool::Approver for Yes {
    async fn ask(&self, _: &clawhold::tool::Question) -> clawhold::tool::Answer {
        clawhold::tool::Answer::Once
    }
}

impl Lab {
    pub(crate) fn new(tier: TierReport) -> Self {
        Self::with(tier, |_| {})
    }

    pub(crate) fn with(tier: TierReport, change: impl FnOnce(&mut ShellSettings)) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for name in ["work", "user", "ours", "sibling"] {
            std::fs::create_dir(dir.path().join(name)).expect("a fresh directory");
        }
        let root = dir.path().canonicalize().expect("it exists");
        let mut settings = confining(tier, &root);
        if settings.tier.tier == Tier::Landlock {
            settings.approval = Approval::Ask;
            settings.approver = Arc::new(Yes);
        }
        change(&mut settings);
        let shell = Shell::new(settings).expect("the shell is made");
        let registry = Registry::new();
        for tool in shell.tools() {
            registry.register(tool).expect("its name is free");
        }
        Self { dir, shell, registry }
    }

    /// The tier of this shell, for another one.
    pub(crate) fn shell_tier(&self) -> TierReport {
        let report = TierReport::probe();
        if self.shell.tier() == Tier::Landlock { TierReport::without_bubblewrap() } else { report }
    }

    /// Ends the session and gives its directory, so that one can look at what is left.
    pub(crate) fn end(self) -> TempDir {
        let Self { dir, shell, registry } = self;
        drop(registry);
        drop(shell);
        dir
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().expect("it exists")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.root().join("work")
    }

    pub(crate) fn file(self, path: &str, text: impl AsRef<[u8]>) -> Self {
        self.put(path, text);
        self
    }

    pub(crate) fn put(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.work().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("it is made");
        std::fs::write(path, text).expect("it is written");
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> ToolReply {
        self.call_in(tool, arguments, &CallContext::detached("c1")).await
    }

    pub(crate) async fn call_in(
        &self,
        tool: &str,
        arguments: Value,
        context: &CallContext,
    ) -> ToolReply {
        let call =
            ToolCall { id: "c1".into(), name: tool.into(), arguments: arguments.to_string() };
        self.registry.execute(&call, context).await
    }

    /// Runs one line and gives what the model would read.
    pub(crate) async fn bash(&self, command: &str) -> String {
        let reply = self.call("bash", json!({ "command": command })).await;
        assert_eq!(reply.outcome, Outcome::Done, "{command}: {}", reply.observation());
        reply.observation()
    }
}

/// Waits until `fits` holds, for at most `limit`.
pub(crate) fn within(limit: Duration, mut fits: impl FnMut() -> bool) -> bool {
    let deadline = std::time::Instant::now() + limit;
    while std::time::Instant::now() < deadline {
        if fits() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    fits()
}

/// Processes of this machine whose command line holds `word`, which should be one of a kind.
pub(crate) fn processes_with(word: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("there is /proc").flatten() {
        let path = entry.path();
        if !entry.file_name().to_string_lossy().bytes().all(|b| b.is_ascii_digit()) {
            continue;
        }
        let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(word) && !path.ends_with(std::process::id().to_string()) {
            found.push(line);
        }
    }
    found
}
