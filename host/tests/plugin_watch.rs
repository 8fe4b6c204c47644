//! Files that come, change and go in the plugin directory while a session runs.

#![allow(clippy::unwrap_used)]

#[path = "support/plugins.rs"]
mod plugins;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use clawhold::app::{Host, Watch};
use clawhold::config::{Env, Flags, Settings};
use clawhold::model::{Outcome, ToolCall};
use clawhold::tool::CallContext;
use plugins::{declaring, guest};

struct Session {
    dir: tempfile::TempDir,
    host: Host,
    told: Arc<Mutex<Vec<String>>>,
    _watch: Watch,
}

impl Session {
    /// With a plugin directory that exists already, or not yet.
    fn start(exists: bool) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("work")).unwrap();
        let home = dir.path().join("home");
        std::fs::create_dir(&home).unwrap();
        if exists {
            std::fs::create_dir(home.join("plugins")).unwrap();
        }
        std::fs::write(home.join("config.toml"), "[plugins.workspace]\nenabled = false\n").unwrap();
        let flags = Flags { workdir: Some(dir.path().join("work")), ..Flags::default() };
        let settings =
            Settings::load(&flags, Env::of(&[("CLAWHOLD_HOME", home.to_str().unwrap())])).unwrap();
        let mut host = Host::open(&settings).unwrap();
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let lines = Arc::clone(&told);
        let watch = host.watch(move |line| lines.lock().unwrap().push(line.to_owned()));
        Self { dir, host, told, _watch: watch }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("home/plugins").join(name)
    }

    fn tools(&self) -> usize {
        self.host.registry().definitions().len()
    }

    fn hears(&self, part: &str) {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_mins(1) {
            if self.told.lock().unwrap().iter().any(|line| line.contains(part)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("`{part}` was not told, only {:?}", self.told.lock().unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_comes_is_replaced_and_goes_while_calls_run() {
    let session = Session::start(true);
    assert_eq!(session.tools(), 0);
    std::fs::write(session.path("probe.wasm"), guest("probe")).unwrap();
    session.hears("plugin `probe` is loaded: hostile, files, look");
    assert_eq!(session.tools(), 3);

    // A call that is under way when the file is replaced and then removed ends as it would have.
    let registry = Arc::clone(session.host.registry());
    let call = ToolCall {
        id: "c1".into(),
        name: "hostile".into(),
        arguments: r#"{"op":"sleep","n":4000}"#.into(),
    };
    let running =
        tokio::spawn(async move { registry.execute(&call, &CallContext::detached("c1")).await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    std::fs::write(session.path("probe.wasm"), declaring(guest("probe"), r#"{"version":"2"}"#))
        .unwrap();
    session.hears("has been replaced and can do no more");
    std::fs::remove_file(session.path("probe.wasm")).unwrap();
    session.hears("plugin `probe` is gone");
    assert_eq!(session.tools(), 0);
    assert_eq!(running.await.unwrap().outcome, Outcome::Done);
}

#[test]
fn a_half_copied_file_is_no_error_and_a_bad_one_leaves_the_old_one_serving() {
    let session = Session::start(true);
    let whole = guest("probe");
    // Copied in pieces with pauses, as over a slow line.
    let mut file = std::fs::File::create(session.path("probe.wasm")).unwrap();
    for piece in whole.chunks(whole.len() / 5 + 1) {
        use std::io::Write as _;
        file.write_all(piece).unwrap();
        file.sync_all().unwrap();
        std::thread::sleep(Duration::from_millis(150));
    }
    drop(file);
    session.hears("plugin `probe` is loaded");
    assert_eq!(
        session.told.lock().unwrap().iter().filter(|line| line.contains("not loaded")).count(),
        0
    );

    std::fs::write(session.path("probe.wasm"), "rubbish").unwrap();
    session.hears("this is not WebAssembly; the version that was loaded before goes on");
    assert_eq!(session.tools(), 3);
    std::fs::write(session.path("probe.wasm"), declaring(whole, r#"{"needs":{"write":["."]}}"#))
        .unwrap();
    session.hears("more: write `.`; ");
    assert_eq!(session.tools(), 3);
}

#[test]
fn a_directory_that_comes_later_is_found() {
    let session = Session::start(false);
    std::thread::sleep(Duration::from_millis(500));
    std::fs::create_dir(session.dir.path().join("home/plugins")).unwrap();
    std::fs::write(session.path("probe.wasm"), guest("probe")).unwrap();
    session.hears("plugin `probe` is loaded");
}

#[test]
fn watching_costs_the_start_nothing() {
    let mut session = Session::start(true);
    let begun = Instant::now();
    let watch = session.host.watch(|_| {});
    let started = begun.elapsed();
    drop(watch);
    assert!(started < Duration::from_millis(10), "{started:?}");
    assert!(begun.elapsed() < Duration::from_millis(20), "dropping waits for nothing");
}
