//! The plugins of a directory, loaded beside each other; a bad one never stops the rest.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::{LoadError, Plugin, Runtime, Source};

/// One file of the plugin directory and what became of it.
#[derive(Debug)]
pub struct Found {
    pub name: String,
    pub path: PathBuf,
    pub plugin: Result<Arc<Plugin>, LoadError>,
}

/// The `.wasm` files of `dir` by name, without loading them. A directory that does not exist has
/// none.
pub fn files(dir: &Path) -> std::io::Result<Vec<(String, PathBuf)>> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "wasm")
            && let Some(name) = path.file_stem().and_then(|stem| stem.to_str())
            && !name.starts_with('.')
        {
            files.push((name.to_owned(), path));
        }
    }
    files.sort();
    Ok(files)
}

/// Loads each of `files`, as many at a time as there are processors. The order is kept.
pub fn load_all(runtime: &Arc<Runtime>, files: Vec<(String, PathBuf)>) -> Vec<Found> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(files.len());
    let count = files.len();
    let waiting = Mutex::new(files.into_iter().enumerate());
    let done = Mutex::new(Vec::with_capacity(count));
    let work = || {
        loop {
            let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((index, (name, path))) = next else { return };
            let plugin = Plugin::load(runtime, &name, Source::File(path.clone())).map(Arc::new);
            let found = Found { name, path, plugin };
            done.lock().unwrap_or_else(PoisonError::into_inner).push((index, found));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, found)| found).collect()
}
