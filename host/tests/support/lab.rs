//! A workdir in a temporary folder and the standard plugin's tools over it, in the real sandbox.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]
#![allow(
    clippy::needless_pass_by_value,
    reason = "`json!` makes a value, and a test reads better so"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use clawhold::journal::UndoStore;
use clawhold::model::{Outcome, ToolReply};
use clawhold::sandbox::{self, Access, Limits, Plugin, Root, Rules, Runtime};
use clawhold::tool::{CallContext, Tool};
use serde_json::Value;

/// One runtime serves all tests of a binary, as it serves all calls of a process.
pub fn runtime() -> &'static Arc<Runtime> {
    static RUNTIME: OnceLock<Arc<Runtime>> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        // Kept between test programs: compiling the standard plugin takes seconds.
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sandbox-cache");
        Runtime::new(sandbox::Settings { cache: Some(cache), ..Default::default() }).unwrap()
    })
}

pub fn standard() -> &'static Arc<Plugin> {
    static PLUGIN: OnceLock<Arc<Plugin>> = OnceLock::new();
    PLUGIN.get_or_init(|| Arc::new(sandbox::standard_plugin(runtime()).unwrap()))
}

pub fn executor() -> &'static tokio::runtime::Runtime {
    static EXECUTOR: OnceLock<tokio::runtime::Runtime> = OnceLock::new();
    EXECUTOR
        .get_or_init(|| tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap())
}

pub struct Lab {
    pub temp: tempfile::TempDir,
    tools: BTreeMap<String, Arc<dyn Tool>>,
}

impl Lab {
    pub fn new() -> Self {
        Self::with(standard(), true, Limits::default())
    }

    /// The tools of `plugin` over a fresh workdir.
    pub fn with(plugin: &Arc<Plugin>, writable: bool, limits: Limits) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let workdir = temp.path().join("work");
        std::fs::create_dir(&workdir).unwrap();
        let tools = tools_over(plugin, &workdir, writable, limits, 64 << 20);
        Self { temp, tools }
    }

    pub fn with_quota_of(plugin: &Arc<Plugin>, quota: u64) -> Self {
        let mut lab = Self::with(plugin, true, Limits::default());
        lab.tools = tools_over(plugin, &lab.workdir(), true, Limits::default(), quota);
        lab
    }

    pub fn workdir(&self) -> PathBuf {
        self.temp.path().join("work")
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.workdir().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    pub fn call(&self, tool: &str, arguments: Value) -> ToolReply {
        let tool = self.tools.get(tool).unwrap_or_else(|| panic!("no tool {tool}"));
        executor().block_on(tool.call(&arguments, &CallContext::detached("c1")))
    }

    pub fn tool(&self, name: &str) -> &Arc<dyn Tool> {
        &self.tools[name]
    }

    /// Calls and expects it to be done; gives the text.
    pub fn done(&self, tool: &str, arguments: Value) -> String {
        let reply = self.call(tool, arguments.clone());
        assert_eq!(reply.outcome, Outcome::Done, "{tool} {arguments}: {:?}", reply.failure);
        reply.observation()
    }

    /// Calls and expects `outcome`; gives what the model reads.
    pub fn refused(&self, outcome: &Outcome, tool: &str, arguments: Value) -> String {
        let reply = self.call(tool, arguments.clone());
        assert_eq!(&reply.outcome, outcome, "{tool} {arguments}: {reply:?}");
        reply.observation()
    }

    /// No temporary file is left anywhere in the workdir.
    pub fn no_leftovers(&self) {
        let mut folders = vec![self.workdir()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                let name = entry.file_name().to_string_lossy().into_owned();
                assert!(
                    Path::new(&name).extension().is_none_or(|extension| extension != "tmp"),
                    "{name} was left behind"
                );
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                }
            }
        }
    }
}

pub fn rules_over(workdir: &Path, writable: bool, quota: u64) -> Arc<Rules> {
    let dir = Dir::open_ambient_dir(workdir, ambient_authority()).unwrap();
    Arc::new(Rules {
        roots: vec![Root {
            dir: Arc::new(dir),
            real: workdir.canonicalize().unwrap(),
            guest_name: ".".into(),
            writable,
        }],
        off_limits: Vec::new(),
        quota,
        max_open: 128,
        umask: 0o022,
        secret_files: Vec::new(),
        seen: Arc::default(),
        undo: Arc::new(UndoStore::new(0)),
    })
}

pub fn tools_over(
    plugin: &Arc<Plugin>,
    workdir: &Path,
    writable: bool,
    limits: Limits,
    quota: u64,
) -> BTreeMap<String, Arc<dyn Tool>> {
    let access = Access {
        rules: rules_over(workdir, writable, quota),
        http: None,
        limits,
        environment: Vec::new(),
        settings: BTreeMap::new(),
    };
    sandbox::tools(plugin, &access, |_| true)
        .into_iter()
        .map(|tool| (tool.spec().name.clone(), tool))
        .collect()
}

/// A guest that `cargo xtask plugins` has built from `tests/guests/`.
pub fn guest(name: &str) -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/plugins");
    let folder = std::env::var_os("CLAWHOLD_GUESTS").map_or(own, PathBuf::from);
    let path = folder.join(format!("{name}.wasm"));
    assert!(path.is_file(), "{} is not built: run `cargo xtask plugins`", path.display());
    path
}
