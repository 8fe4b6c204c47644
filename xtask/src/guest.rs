//! The guests of the workspace: crates that become components, found by where they lie.

use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::{place, tree};

/// A crate that becomes `NAME.wasm`.
#[derive(Debug)]
pub(crate) struct Guest {
    /// The name of its folder.
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    /// The name of its library.
    pub(crate) library: String,
}

/// All guests: the crates in `plugins/` that are dynamic libraries (the others serve these), and
/// all in `host/tests/guests/`.
///
/// A test guest may be a `.wat` file instead; tests read that as it is, and nothing is built.
pub(crate) fn all() -> Result<Vec<Guest>, Failure> {
    let root = place::root();
    let mut guests = Vec::new();
    for home in ["plugins", "host/tests/guests"] {
        for folder in tree::entries(&root.join(home))? {
            guests.extend(in_folder(&folder)?);
        }
    }
    for (at, guest) in guests.iter().enumerate() {
        if let Some(twin) = guests[..at].iter().find(|twin| twin.name == guest.name) {
            return Err(Failure::new(
                format!(
                    "`{}` and `{}` would both become `{}.wasm`",
                    place::shown(&twin.folder),
                    place::shown(&guest.folder),
                    guest.name
                ),
                "rename one of the folders",
            ));
        }
    }
    Ok(guests)
}

fn in_folder(folder: &Path) -> Result<Option<Guest>, Failure> {
    let manifest = folder.join("Cargo.toml");
    if !manifest.is_file() {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&tree::read(&manifest)?).into_owned();
    if !is_dynamic(&text) {
        return Ok(None);
    }
    let Some(library) = value(&text, "lib", "name").or_else(|| value(&text, "package", "name"))
    else {
        return Err(Failure::new(
            format!("`{}` names no package", place::shown(&manifest)),
            "add `name = \"…\"` under `[package]`",
        ));
    };
    Ok(Some(Guest {
        name: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        folder: folder.to_path_buf(),
        library,
    }))
}

fn is_dynamic(manifest: &str) -> bool {
    raw(manifest, "lib", "crate-type").is_some_and(|types| types.contains("\"cdylib\""))
}

/// The string at `key` of `[section]`. Enough of TOML for manifests as we write them: one entry a
/// line.
fn value(manifest: &str, section: &str, key: &str) -> Option<String> {
    let value = raw(manifest, section, key)?;
    Some(value.split('"').nth(1)?.to_owned())
}

fn raw<'a>(manifest: &'a str, section: &str, key: &str) -> Option<&'a str> {
    let header = format!("[{section}]");
    manifest
        .lines()
        .map(str::trim)
        .skip_while(|line| *line != header)
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split_once('='))
        .find(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[package]\nname = \"clawhold-x\"\n\n[lib]\ncrate-type = [\"cdylib\", \"rlib\"]\n\n[dependencies]\nname = \"no\"\n";

    #[test]
    fn manifests_are_read_by_section() {
        let check = |section, key, expect: Option<&str>| {
            assert_eq!(value(MANIFEST, section, key).as_deref(), expect);
        };
        check("package", "name", Some("clawhold-x"));
        check("lib", "name", None);
        check("bin", "name", None);
    }

    #[test]
    fn only_dynamic_libraries_become_components() {
        assert!(is_dynamic(MANIFEST));
        assert!(!is_dynamic("[package]\nname = \"sdk\"\n[lib]\n"));
        // The key of another section does not count.
        assert!(!is_dynamic("[lib]\n[x]\ncrate-type = [\"cdylib\"]\n"));
    }
}
