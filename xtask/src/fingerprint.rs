//! Whether a guest must be built again: a number over all that its build reads.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::Path;

use crate::failure::Failure;
use crate::guest::Guest;
use crate::{place, tree};

/// What all guests are built from, beside their own sources. The whole of `plugins/` counts, as
/// guests may use any crate in there; cargo, which knows better, then has little to do.
const SHARED: [&str; 2] = ["wit", "plugins"];
const MANIFESTS: [&str; 2] = ["Cargo.toml", "Cargo.lock"];

/// Hashed once for all guests of a run.
#[derive(Debug, Clone)]
pub(crate) struct Shared(DefaultHasher);

impl Shared {
    /// `command` is the line that builds, `compiler` says which compiler it starts.
    pub(crate) fn new(command: &str, compiler: &str) -> Result<Self, Failure> {
        let mut hasher = DefaultHasher::new();
        (command, compiler).hash(&mut hasher);
        let root = place::root();
        for folder in SHARED {
            add_folder(&mut hasher, &root.join(folder))?;
        }
        for file in MANIFESTS {
            tree::read(&root.join(file))?.hash(&mut hasher);
        }
        Ok(Self(hasher))
    }

    pub(crate) fn of(&self, guest: &Guest) -> Result<String, Failure> {
        let mut hasher = self.0.clone();
        add_folder(&mut hasher, &guest.folder)?;
        Ok(format!("{:016x}", hasher.finish()))
    }
}

/// Contents and not times: a checkout, a copy or a cache of `target` changes times at will.
fn add_folder(hasher: &mut DefaultHasher, folder: &Path) -> Result<(), Failure> {
    for file in tree::files(folder)? {
        file.strip_prefix(folder).unwrap_or(&file).hash(hasher);
        tree::read(&file)?.hash(hasher);
    }
    Ok(())
}
