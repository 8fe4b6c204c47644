//! One call of an unknown plugin with everything denied, to learn what it would want.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::model::ToolReply;
use crate::text::clip_end;

use super::guard::{Root, Rules};
use super::run::Surroundings;
use super::{Limits, Plugin, plugin_tool};

/// Entries of each kind that are kept.
const CAP: usize = 200;
/// Absolute folders that are lent empty, so that an ask for something in them leaves its name. The
/// root itself is not among them: C libraries take a relative path for one below it.
const FOLDERS: &[&str] = &[
    "bin", "dev", "etc", "home", "lib", "mnt", "opt", "proc", "root", "run", "srv", "sys", "tmp",
    "usr", "var",
];

/// What a guest asked for that leaves no trace in its receipt.
#[derive(Debug, Default)]
pub struct Asked {
    settings: Mutex<BTreeSet<String>>,
    environment: std::sync::atomic::AtomicBool,
}

/// How the trial went.
#[derive(Debug)]
pub struct Tried {
    pub reply: ToolReply,
    /// Paths that it wanted to read or list, as it named them.
    pub reads: Vec<String>,
    /// Paths that it wanted to write, make or remove.
    pub writes: Vec<String>,
    /// Hosts with the method of each request.
    pub hosts: Vec<(String, String)>,
    pub settings: Vec<String>,
    /// Whether it asked for its environment. WASI hands that over whole, so no names are known.
    pub environment: bool,
}

impl Asked {
    pub(super) fn setting(&self, name: &str) {
        note(&self.settings, clip_end(name, 200));
    }

    pub(super) fn environment(&self) {
        self.environment.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

fn note<T: Ord>(set: &Mutex<BTreeSet<T>>, item: T) {
    let mut set = set.lock().unwrap_or_else(PoisonError::into_inner);
    if set.len() < CAP {
        set.insert(item);
    }
}

fn taken<T: Ord + Clone>(set: &Mutex<BTreeSet<T>>) -> Vec<T> {
    set.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
}

/// Runs `tool` once. It sees an empty workdir and some empty folders, may open nothing in them,
/// has no variable, no setting and no network. An error is one of making these directories.
pub fn try_out(
    plugin: &Arc<Plugin>,
    tool: &str,
    arguments: &Value,
    limits: Limits,
) -> std::io::Result<Tried> {
    let place = Empty::new()?;
    let asked = Arc::new(Asked::default());
    let mut around = Surroundings::bare(Arc::new(place.rules()?));
    // What is refused as a write is known to be one only where the call itself might write.
    around.read_only = false;
    around.limits = limits;
    around.asked = Some(Arc::clone(&asked));
    let cancel = CancellationToken::new();
    let reply =
        plugin_tool::call(plugin, &around, tool, &arguments.to_string(), Instant::now(), &cancel);
    let (mut reads, mut writes, mut hosts) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for denial in reply.receipt.denials.iter().filter(|denial| !denial.subject.is_empty()) {
        let subject = denial.subject.clone();
        match denial.what.as_str() {
            "write" | "link" => _ = writes.insert(subject),
            "connect" => _ = hosts.insert((subject, method(&denial.reason))),
            _ => _ = reads.insert(subject),
        }
    }
    reads.extend(reply.receipt.reads.iter().cloned());
    Ok(Tried {
        reads: reads.into_iter().collect(),
        writes: writes.into_iter().collect(),
        hosts: hosts.into_iter().collect(),
        settings: taken(&asked.settings),
        environment: asked.environment.load(std::sync::atomic::Ordering::Relaxed),
        reply,
    })
}

/// The method of a refused request, out of the line of config.toml that the refusal shows.
fn method(reason: &str) -> String {
    let shown = reason.split_once("methods = [\"").and_then(|(_, rest)| rest.split_once('"'));
    shown.map_or("GET", |(method, _)| method).to_owned()
}

/// Empty directories that are removed again.
struct Empty {
    base: PathBuf,
}

impl Empty {
    fn new() -> std::io::Result<Self> {
        let mut suffix = [0_u8; 8];
        getrandom::fill(&mut suffix).map_err(std::io::Error::other)?;
        let name = format!("clawhold-try-{:016x}", u64::from_le_bytes(suffix));
        let base = std::env::temp_dir().canonicalize()?.join(name);
        // Not `create_dir_all`: a directory that is there already is somebody else's.
        std::fs::create_dir(&base)?;
        let place = Self { base };
        std::fs::create_dir(place.base.join("work"))?;
        for folder in FOLDERS {
            std::fs::create_dir_all(place.base.join("root").join(folder))?;
        }
        Ok(place)
    }

    /// All directories are lent read-only, so a write is refused as such, and all are out of
    /// bounds, so everything else is refused too and leaves its name in the receipt.
    fn rules(&self) -> std::io::Result<Rules> {
        let root = |folder: &str, guest_name: &str| -> std::io::Result<Root> {
            let real: &Path = &self.base.join(folder);
            Ok(Root {
                dir: Arc::new(Dir::open_ambient_dir(real, ambient_authority())?),
                real: real.to_owned(),
                guest_name: guest_name.to_owned(),
                writable: false,
            })
        };
        let mut roots = vec![root("work", ".")?];
        for folder in FOLDERS {
            roots.push(root(&format!("root/{folder}"), &format!("/{folder}"))?);
        }
        Ok(Rules { roots, off_limits: vec![self.base.clone()], max_open: 128, ..Rules::nothing() })
    }
}

impl Drop for Empty {
    fn drop(&mut self) {
        // What stays behind is empty folders.
        let _ = std::fs::remove_dir_all(&self.base);
    }
}
