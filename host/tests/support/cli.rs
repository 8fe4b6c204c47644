//! A small harness around the `claw` binary: each test has a workdir and a home of its own, and
//! nothing of the environment that the tests run in.

#![allow(dead_code, reason = "each test file uses its share")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;

/// One user on one machine.
pub(crate) struct Claw {
    dir: TempDir,
    env: Vec<(String, String)>,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Claw {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for name in ["work", "home", "user"] {
            std::fs::create_dir(dir.path().join(name)).expect("a fresh directory");
        }
        let home = dir.path().join("home");
        warm(&home);
        let home = home.display().to_string();
        Self { dir, env: vec![("CLAWHOLD_HOME".to_owned(), home)] }
    }

    /// Like [`Self::new`], but nothing has ever run in this home: the first command compiles the
    /// standard plugin, which takes a moment.
    pub(crate) fn untouched() -> Self {
        let claw = Self::new();
        std::fs::remove_dir_all(claw.home().join("state")).expect("the cache of the harness");
        claw
    }

    /// Sets a variable of the commands to come.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Leaves a variable out again.
    pub(crate) fn without_env(mut self, name: &str) -> Self {
        self.env.retain(|(known, _)| known != name);
        self
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// Writes a file below the workdir.
    pub(crate) fn file(self, path: &str, text: &str) -> Self {
        write(&self.work().join(path), text);
        self
    }

    pub(crate) fn config(self, text: &str) -> Self {
        write(&self.home().join("config.toml"), text);
        self
    }

    /// Writes a script for the model, outside the workdir, and gives the word for `--model`.
    pub(crate) fn script(&self, lines: &[&str]) -> String {
        let path = self.dir.path().join("script.jsonl");
        write(&path, &lines.join("\n"));
        format!("script:{}", path.display())
    }

    /// Runs `claw` in the workdir with nothing on standard input.
    pub(crate) fn run(&self, args: &[&str]) -> Ended {
        ended(&self.command(args).stdin(Stdio::null()).output().expect("claw runs"))
    }

    /// The same with `input` piped in.
    pub(crate) fn run_with(&self, args: &[&str], input: &str) -> Ended {
        let mut child = self.spawn(args, Stdio::piped());
        let mut stdin = child.stdin.take().expect("standard input is piped");
        // A command that does not read its input may have ended already.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        ended(&child.wait_with_output().expect("claw ends"))
    }

    /// The same with nothing on standard input, and standard output going elsewhere.
    pub(crate) fn run_into(&self, args: &[&str], out: Stdio) -> Ended {
        let mut command = self.command(args);
        let child = command.stdin(Stdio::null()).stdout(out).stderr(Stdio::piped()).spawn();
        ended(&child.expect("claw starts").wait_with_output().expect("claw ends"))
    }

    /// Starts `claw` and leaves it running.
    pub(crate) fn spawn(&self, args: &[&str], stdin: Stdio) -> Child {
        self.command(args)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("claw starts")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_claw"));
        command.args(args).current_dir(self.work()).env_clear();
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// Gives `home` the compiled standard plugin, which all tests share: each would otherwise spend
/// seconds on compiling it anew.
fn warm(home: &Path) {
    static SHARED: OnceLock<PathBuf> = OnceLock::new();
    let shared = SHARED.get_or_init(|| {
        let shared = Path::new(env!("CARGO_TARGET_TMPDIR")).join("claw-home");
        std::fs::create_dir_all(&shared).expect("the tests' own folder");
        let mut command = Command::new(env!("CARGO_BIN_EXE_claw"));
        command.arg("tools").env_clear().env("CLAWHOLD_HOME", &shared);
        command.current_dir(env!("CARGO_TARGET_TMPDIR"));
        let made = command.arg("--allow-wide-workdir").stdin(Stdio::null()).output();
        assert!(made.as_ref().is_ok_and(|made| made.status.success()), "{made:?}");
        shared.join("state/cache")
    });
    let cache = home.join("state/cache");
    private(&home.join("state"));
    private(&cache);
    for entry in std::fs::read_dir(shared).expect("the shared cache") {
        let entry = entry.expect("an entry of the shared cache");
        std::fs::copy(entry.path(), cache.join(entry.file_name())).expect("a copy of the cache");
    }
}

fn private(folder: &Path) {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().mode(0o700).create(folder).expect("a fresh folder");
}

impl Ended {
    /// Checks the exit code, and shows everything where it is another.
    #[track_caller]
    pub(crate) fn code(self, expect: i32) -> Self {
        assert_eq!(self.code, expect, "\nstdout: {}\nstderr: {}", self.out, self.err);
        self
    }

    /// The one JSON document on standard output.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|e| panic!("{e}\nstdout: {}\nstderr: {}", self.out, self.err))
    }

    /// Checks that standard error is one line with each of `parts`.
    #[track_caller]
    pub(crate) fn says(self, parts: &[&str]) -> Self {
        assert_eq!(self.err.trim_end().lines().count(), 1, "one paragraph: {}", self.err);
        for part in parts {
            assert!(self.err.contains(part), "`{part}` is missing: {}", self.err);
        }
        self
    }
}

pub(crate) fn ended(output: &Output) -> Ended {
    Ended {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn write(path: &Path, text: &str) {
    let parent = path.parent().expect("a file lies in a directory");
    std::fs::create_dir_all(parent).expect("the directory is made");
    std::fs::write(path, text).expect("the file is written");
}
