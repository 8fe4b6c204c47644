//! The plugin directory while a session runs: what is dropped into it, replaced or removed takes
//! effect with the next request to the model. Calls under way finish on what they began with.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant, SystemTime};

use notify::{RecursiveMode, Watcher};

use crate::sandbox;
use crate::text::escape_line;

use super::PluginState;
use super::plugins::Loader;

/// A file that has not changed for so long is taken to be whole.
const STABLE: Duration = Duration::from_millis(300);
/// The beginning of a run belongs to the run.
const HEAD_START: Duration = Duration::from_millis(200);
/// How often the directory is looked at where the system tells nothing of changes.
const POLL: Duration = Duration::from_secs(2);

/// Watches until it is dropped.
#[derive(Debug)]
pub struct Watch {
    stop: Option<Sender<Event>>,
}

enum Event {
    Changed,
    Stop,
}

impl Drop for Watch {
    fn drop(&mut self) {
        // The thread is told and not waited for: it may be compiling.
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(Event::Stop);
        }
    }
}

/// A file as it was seen: while these stay, so does its content.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    path: PathBuf,
    wasm: Mark,
    /// Of the side-car, where there is one.
    side_car: Option<Mark>,
}

type Mark = (u64, Option<SystemTime>);

/// Starts watching in a thread of its own. `before` is what the directory held when it was
/// loaded; `tell` is called with lines for the user.
pub(super) fn start(
    loader: Arc<Loader>,
    before: Snapshot,
    tell: Box<dyn Fn(&str) + Send>,
) -> Watch {
    let (sender, receiver) = channel();
    let stop = sender.clone();
    let spawned = std::thread::Builder::new().name("plugins".into()).spawn(move || {
        // Nothing of this is to be paid for before the first request is on its way.
        if let Err(RecvTimeoutError::Timeout) = receiver.recv_timeout(HEAD_START) {
            run(&loader, before, &*tell, sender, &receiver);
        }
    });
    // Without a thread nothing is watched, and the session works as it would have.
    Watch { stop: spawned.is_ok().then_some(stop) }
}

fn run(
    loader: &Loader,
    before: Snapshot,
    tell: &dyn Fn(&str),
    sender: Sender<Event>,
    events: &Receiver<Event>,
) {
    let watcher = notify::recommended_watcher(move |_| {
        // Whoever listened may have gone.
        let _ = sender.send(Event::Changed);
    });
    let watched = watcher.and_then(|mut watcher| {
        watcher.watch(loader.directory(), RecursiveMode::NonRecursive)?;
        Ok(watcher)
    });
    // A directory that does not exist cannot be watched, and neither can one too many.
    let wait = if watched.is_ok() { Duration::from_hours(1) } else { POLL };
    let mut known = before.0;
    loop {
        // Looked at before the first wait as well: something may have changed since the start.
        match stable(loader, &known, events) {
            None => return,
            Some(now) => {
                apply(loader, &known, &now, tell);
                known = now;
            }
        }
        match events.recv_timeout(wait) {
            Ok(Event::Changed) | Err(RecvTimeoutError::Timeout) => {}
            Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// What the directory held at one moment.
#[derive(Debug, Default)]
pub(super) struct Snapshot(BTreeMap<String, Seen>);

impl Snapshot {
    pub(super) fn take(loader: &Loader) -> Self {
        Self(look(loader).unwrap_or_default())
    }
}

fn look(loader: &Loader) -> Option<BTreeMap<String, Seen>> {
    let mark = |path: &std::path::Path| -> Option<Mark> {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.len(), metadata.modified().ok()))
    };
    let files = sandbox::files(loader.directory()).ok()?;
    Some(
        files
            .into_iter()
            .filter_map(|(name, path)| {
                let side_car = mark(&sandbox::side_car(&path));
                let wasm = mark(&path)?;
                Some((name, Seen { path, wasm, side_car }))
            })
            .collect(),
    )
}

/// The directory once it has come to rest. None means that nobody watches any more.
fn stable(
    loader: &Loader,
    known: &BTreeMap<String, Seen>,
    events: &Receiver<Event>,
) -> Option<BTreeMap<String, Seen>> {
    // A directory that cannot be read for the moment takes nothing away.
    let mut now = look(loader).unwrap_or_else(|| known.clone());
    if now == *known {
        return Some(now);
    }
    let mut since = Instant::now();
    while since.elapsed() < STABLE {
        match events.recv_timeout(STABLE / 6) {
            Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => return None,
            Ok(Event::Changed) | Err(RecvTimeoutError::Timeout) => {}
        }
        let later = look(loader).unwrap_or_else(|| now.clone());
        if later != now {
            now = later;
            since = Instant::now();
        }
    }
    Some(now)
}

fn apply(
    loader: &Loader,
    before: &BTreeMap<String, Seen>,
    now: &BTreeMap<String, Seen>,
    tell: &dyn Fn(&str),
) {
    for name in before.keys().filter(|name| !now.contains_key(*name)) {
        if loader.unload(name) > 0 {
            tell(&format!("plugin `{}` is gone, and its tools with it", escape_line(name)));
        }
    }
    for (name, seen) in now.iter().filter(|(name, seen)| before.get(*name) != Some(*seen)) {
        let served = loader.serves(name);
        let (status, notices) = loader.reload(name, &seen.path);
        let shown = escape_line(name);
        for notice in notices {
            tell(&format!("plugin `{shown}`: {notice}"));
        }
        let old = if served { "; the version that was loaded before goes on" } else { "" };
        match &status.state {
            PluginState::Loaded => tell(&format!(
                "plugin `{shown}` is loaded: {}",
                escape_line(&status.tools.join(", "))
            )),
            PluginState::Disabled => {}
            PluginState::Off(off) => tell(&format!("plugin `{shown}` {}{old}", off.line())),
            PluginState::Refused(chain) => tell(&format!(
                "plugin `{shown}` is not loaded: {}{old}",
                escape_line(&chain.join(": "))
            )),
        }
    }
}
