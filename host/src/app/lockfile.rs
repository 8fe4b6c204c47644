//! `plugins.lock` in the state directory: each plugin as it was when it was approved.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::config::{read_stored, update_stored};
use crate::policy::Pin;

/// Of the file's form.
const VERSION: u32 = 1;

/// The file as it was when it was read, and where it is.
#[derive(Debug)]
pub(super) struct Lockfile {
    path: PathBuf,
    pins: Result<BTreeMap<String, Pin>, String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    version: u32,
    plugins: BTreeMap<String, Pin>,
}

impl Lockfile {
    /// A file that cannot be understood approves nothing: [`Self::find`] then says why.
    pub(super) fn read(path: &Path) -> Self {
        let pins = read_stored(path).and_then(|bytes| parse(bytes.as_deref()));
        let pins = pins.map_err(|error| format!("`{}` cannot be used: {error}", path.display()));
        Self { path: path.to_owned(), pins }
    }

    /// What was approved of the plugin `name`.
    pub(super) fn find(&self, name: &str) -> Result<Option<&Pin>, &str> {
        self.pins.as_ref().map(|pins| pins.get(name)).map_err(String::as_str)
    }

    /// Approves the plugin as `pin` says it is. What other processes have approved meanwhile
    /// stays.
    pub(super) fn pin(&self, name: &str, pin: Pin) -> Result<(), String> {
        self.change(|pins| {
            pins.insert(name.to_owned(), pin);
        })
    }

    /// Forgets what was approved.
    pub(super) fn unpin(&self, name: &str) -> Result<(), String> {
        self.change(|pins| {
            pins.remove(name);
        })
    }

    fn change(&self, alter: impl FnOnce(&mut BTreeMap<String, Pin>)) -> Result<(), String> {
        update_stored(&self.path, |old| {
            let mut plugins = parse(old)?;
            alter(&mut plugins);
            let mut text = serde_json::to_vec_pretty(&Form { version: VERSION, plugins })?;
            text.push(b'\n');
            Ok::<_, io::Error>(Some(text))
        })
        .map_err(|error| format!("`{}`: {error}", self.path.display()))
    }
}

fn parse(bytes: Option<&[u8]>) -> io::Result<BTreeMap<String, Pin>> {
    let Some(bytes) = bytes else { return Ok(BTreeMap::new()) };
    let damaged = |why: String| {
        io::Error::other(format!("{why}; remove it, and approve the plugins again that you trust"))
    };
    let form: Form = serde_json::from_slice(bytes)
        .map_err(|error| damaged(format!("it is damaged ({error})")))?;
    if form.version != VERSION {
        return Err(damaged(format!("it has version {}, and this is {VERSION}", form.version)));
    }
    Ok(form.plugins)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::policy::Needs;

    fn a_pin(sha256: &str) -> Pin {
        Pin::of(sha256, &[], &Needs::default())
    }

    #[test]
    fn c22_approvals_of_two_processes_both_stay() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state/plugins.lock");
        // Both have read the file before either writes.
        let (one, two) = (Lockfile::read(&path), Lockfile::read(&path));
        one.pin("a", a_pin("1")).unwrap();
        two.pin("b", a_pin("2")).unwrap();
        let now = Lockfile::read(&path);
        assert_eq!(now.find("a").unwrap(), Some(&a_pin("1")));
        assert_eq!(now.find("b").unwrap(), Some(&a_pin("2")));
        now.unpin("a").unwrap();
        assert_eq!(Lockfile::read(&path).find("a").unwrap(), None);
    }

    #[test]
    fn what_cannot_be_read_approves_nothing_and_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("plugins.lock");
        for text in ["{", "{\"version\":9,\"plugins\":{}}", "[]"] {
            std::fs::write(&path, text).unwrap();
            let lock = Lockfile::read(&path);
            assert!(lock.find("a").unwrap_err().contains("remove it"), "{text}");
            assert!(lock.pin("a", a_pin("1")).is_err());
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }
}
