//! Keys of model services: where they come from.

use std::io::Read as _;
use std::path::Path;

use super::{ConfigError, Env};
use crate::provider::Secret;

/// No key is longer; a file that is was named by mistake.
const LONGEST: u64 = 16 * 1024;

/// The key that `source` stands for: `env:NAME` or `file:PATH`, a relative path seen from
/// `base`. None where the variable is unset.
pub(super) fn resolve(
    provider: &str,
    source: &str,
    env: &Env,
    base: &Path,
) -> Result<Option<Secret>, ConfigError> {
    let bad = |why: String| ConfigError::BadKey {
        provider: provider.to_owned(),
        source_name: source.to_owned(),
        why,
    };
    let raw = match source.split_once(':') {
        Some(("env", name)) => match env.os(name) {
            None => return Ok(None),
            Some(value) => value.to_str().ok_or_else(|| bad("it is not text".into()))?.to_owned(),
        },
        Some(("file", path)) => {
            let path = base.join(path);
            let mut text = String::new();
            std::fs::File::open(&path)
                .and_then(|file| file.take(LONGEST + 1).read_to_string(&mut text))
                .map_err(|cause| bad(format!("{}: {cause}", path.display())))?;
            text
        }
        // `check_source` has refused everything else while the file was read.
        _ => return Err(bad("it is neither `env:NAME` nor `file:PATH`".into())),
    };
    if raw.len() as u64 > LONGEST {
        return Err(bad("it is longer than any key; does it name another file?".into()));
    }
    // Editors on Windows begin files with a byte order mark; all other white space is trimmed there.
    Secret::new(raw.trim_start_matches('\u{feff}')).map(Some).map_err(|why| bad(why.to_string()))
}

/// Refuses what is not a source of keys. The text is not repeated: a key pasted in its place
/// must not end up on a screen.
pub(super) fn check_source(source: &str) -> Result<(), &'static str> {
    match source.split_once(':') {
        Some(("env" | "file", rest)) if !rest.is_empty() => Ok(()),
        Some(("cmd", _)) => Err(
            "keys from a command are not supported by this version: use `env:NAME` or `file:PATH`",
        ),
        _ => Err("a key is given as `env:NAME` or `file:PATH`, never as the key itself"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const CANARY: &str = "sk-CANARY0123";

    #[test]
    fn n41_white_space_around_a_key_is_dropped() {
        for raw in [CANARY.to_owned(), format!("{CANARY}\r\n"), format!("\u{feff}{CANARY} \n")] {
            let env = Env::of(&[("KEY", &raw)]);
            let key = resolve("openai", "env:KEY", &env, Path::new("/")).unwrap().unwrap();
            assert_eq!(key.expose(), CANARY, "{raw:?}");
        }
    }

    #[test]
    fn n41_a_broken_key_is_refused_without_showing_it() {
        for raw in [format!("{CANARY}\n{CANARY}"), format!("ключ{CANARY}"), " \n".to_owned()] {
            let env = Env::of(&[("KEY", &raw)]);
            let error = resolve("openai", "env:KEY", &env, Path::new("/")).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("CANARY"), "{error}");
            assert!(error.to_string().contains("env:KEY"), "{error}");
        }
    }

    #[test]
    fn n42_debug_shows_no_key() {
        let env = Env::of(&[("KEY", CANARY)]);
        let key = resolve("x", "env:KEY", &env, Path::new("/")).unwrap();
        assert!(!format!("{env:?} {key:?}").contains("CANARY"));
    }

    #[test]
    fn sources() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("key"), format!("{CANARY}\n")).unwrap();
        let key = resolve("x", "file:key", &Env::default(), dir.path()).unwrap().unwrap();
        assert_eq!(key.expose(), CANARY);
        assert!(resolve("x", "file:gone", &Env::default(), dir.path()).is_err());
        assert!(resolve("x", "env:GONE", &Env::default(), dir.path()).unwrap().is_none());

        for source in [CANARY, "env:", "file:", "keyring:x", "cmd:pass show x", ""] {
            let why = check_source(source).unwrap_err();
            assert!(!why.contains("CANARY"));
        }
        assert_eq!(check_source("env:A"), Ok(()));
    }
}
