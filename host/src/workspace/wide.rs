//! Which directories are too much to lend to a model by mistake.

use std::path::{Path, PathBuf};

use thiserror::Error;

/// What a workdir is held against. All paths absolute; they need not exist.
#[derive(Debug, Clone, Default)]
pub struct WideRule {
    /// The user has said that a wide workdir is meant.
    pub allow: bool,
    pub home: Option<PathBuf>,
    /// Our own config, state and cache. No tool may reach them.
    pub ours: Vec<PathBuf>,
    /// Where the session logs are. A user may keep them in the workdir, where tools are kept off
    /// them; a workdir among the logs has nothing left to work on.
    pub sessions: Option<PathBuf>,
}

/// Why a directory was refused as a workdir.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TooWide {
    #[error("it is the root of the whole file system")]
    Root,
    #[error("it is your home directory")]
    Home,
    #[error("it holds your home directory `{}`", .0.display())]
    AboveHome(PathBuf),
    #[error("it holds Clawhold's own files in `{}`", .0.display())]
    AboveOurs(PathBuf),
    /// The flag does not help here: nothing good comes of tools that edit their own log.
    #[error("it lies within Clawhold's own files in `{}`", .0.display())]
    WithinOurs(PathBuf),
}

impl TooWide {
    /// Whether `--allow-wide-workdir` lets it pass.
    pub fn can_be_allowed(&self) -> bool {
        !matches!(self, Self::WithinOurs(_))
    }
}

impl WideRule {
    /// Judges `canonical`, a path without links.
    pub fn judge(&self, canonical: &Path) -> Result<(), TooWide> {
        for ours in self.ours.iter().chain(&self.sessions).map(|path| resolved(path)) {
            if canonical.starts_with(&ours) {
                return Err(TooWide::WithinOurs(ours));
            }
        }
        if self.allow {
            return Ok(());
        }
        if canonical.parent().is_none() {
            return Err(TooWide::Root);
        }
        if let Some(home) = self.home.as_deref().map(resolved) {
            if canonical == home {
                return Err(TooWide::Home);
            }
            if home.starts_with(canonical) {
                return Err(TooWide::AboveHome(home));
            }
        }
        match self.ours.iter().map(|path| resolved(path)).find(|ours| ours.starts_with(canonical)) {
            Some(ours) => Err(TooWide::AboveOurs(ours)),
            None => Ok(()),
        }
    }
}

/// The real place of a path that may not exist yet: that of its nearest existing ancestor, and
/// the rest as written.
fn resolved(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let Ok(real) = ancestor.canonicalize() {
            let rest = path.strip_prefix(ancestor).unwrap_or(Path::new(""));
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn rule(allow: bool) -> WideRule {
        WideRule {
            allow,
            home: Some("/no-such/home/me".into()),
            ours: vec!["/no-such/home/me/.config/clawhold".into(), "/no-such/state".into()],
            sessions: Some("/no-such/home/me/project/conversation".into()),
        }
    }

    #[test]
    fn judged() {
        let check = |path: &str, narrow: Option<&str>, allowed: bool| {
            let said = rule(false).judge(Path::new(path)).err().map(|why| why.to_string());
            match narrow {
                None => assert_eq!(said, None, "{path}"),
                Some(part) => assert!(said.as_ref().unwrap().contains(part), "{path}: {said:?}"),
            }
            assert_eq!(rule(true).judge(Path::new(path)).is_ok(), allowed, "{path} with the flag");
        };
        check("/no-such/home/me/project", None, true);
        check("/", Some("root of the whole"), true);
        check("/no-such/home/me", Some("is your home"), true);
        check("/no-such/home", Some("holds your home"), true);
        check("/no-such/home/me/.config", Some("holds Clawhold's own"), true);
        check("/no-such/home/me/.config/clawhold", Some("lies within"), false);
        check("/no-such/state/sessions", Some("lies within"), false);
        check("/no-such/home/me/project/conversation/x", Some("lies within"), false);
        // A name that merely begins alike is another directory.
        check("/no-such/statement", None, true);
    }

    #[test]
    fn a_link_to_our_files_does_not_hide_them() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().join("real");
        std::fs::create_dir(&real).unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let rule = WideRule { ours: vec![link.join("clawhold")], ..WideRule::default() };
        assert!(matches!(rule.judge(&real.canonicalize().unwrap()), Err(TooWide::AboveOurs(_))));
    }
}
