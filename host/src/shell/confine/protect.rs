//! The protected places of a workdir around a command: what exists is found before, so that it can
//! be mounted read-only; what came into being is found after, and taken away.

use std::collections::{HashSet, VecDeque};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::policy::{holds_protected, looks_secret, protected};

/// Directory entries that one look goes through, the upper levels first.
const MOST_ENTRIES: usize = 100_000;
/// Mounts that one sandbox gets for single files; more would make each start slow.
const MOST_MOUNTS: usize = 256;
/// Names of directories that are not looked into: large, and nothing in them is acted upon by
/// programs that are run elsewhere.
const PASSED_OVER: [&str; 7] =
    ["node_modules", "target", "objects", "logs", "refs", "lfs", "__pycache__"];
/// The kernel's clock for file times may lag by one of its ticks.
const CLOCK_SLACK: Duration = Duration::from_millis(20);

/// A workdir whose protected places are watched.
#[derive(Debug, Clone)]
pub(in crate::shell) struct Protection {
    workdir: PathBuf,
    /// As in the settings: paths that may be read though they look like secrets; `*` for all.
    secret_files: Vec<String>,
}

/// What there was before a command. Paths are absolute.
#[derive(Debug, Default)]
pub(in crate::shell) struct Survey {
    pub(in crate::shell) protected: Vec<PathBuf>,
    /// The folders just above a protected place, such as `.git`.
    pub(in crate::shell) holders: Vec<PathBuf>,
    /// Files that look like secrets, and sockets of programs outside.
    pub(in crate::shell) masked: Vec<PathBuf>,
    known: HashSet<PathBuf>,
    /// Something was not looked at.
    pub(in crate::shell) incomplete: bool,
    since: Duration,
}

/// A protected place that a command has made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::shell) struct Planted {
    /// Relative to the workdir.
    pub(in crate::shell) path: PathBuf,
    pub(in crate::shell) moved_to: Result<PathBuf, String>,
}

impl Protection {
    pub(in crate::shell) fn new(workdir: PathBuf, secret_files: Vec<String>) -> Self {
        Self { workdir, secret_files }
    }

    /// Looks at the workdir before a command.
    pub(in crate::shell) fn survey(&self) -> Survey {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut survey = Survey { since: now.saturating_sub(CLOCK_SLACK), ..Survey::default() };
        survey.incomplete = !self.walk(|path, relative, meta| {
            if protected(relative).is_some() || (!meta.is_dir() && is_repository_link(relative)) {
                survey.known.insert(path.to_owned());
                // A link is watched instead: a mount would land on what it points to.
                if !meta.is_symlink() {
                    survey.protected.push(path.to_owned());
                }
            } else if meta.is_dir() {
                if holds_protected(relative) {
                    survey.holders.push(path.to_owned());
                }
            } else if meta.file_type().is_socket() || self.is_secret(relative, meta) {
                survey.masked.push(path.to_owned());
            }
        });
        let mounts = survey.protected.len() + survey.holders.len() + survey.masked.len();
        if mounts > MOST_MOUNTS {
            survey.incomplete = true;
            survey.masked.truncate(MOST_MOUNTS / 4);
            survey.holders.truncate(MOST_MOUNTS / 4);
            survey.protected.truncate(MOST_MOUNTS / 2);
        }
        survey
    }

    /// Looks again after it, and moves what is new to `quarantine`, which is made if it is needed.
    pub(in crate::shell) fn clean(
        &self,
        before: &Survey,
        quarantine: impl Fn() -> io::Result<PathBuf>,
    ) -> Vec<Planted> {
        let mut found = Vec::new();
        self.walk(|path, relative, meta| {
            let changed = Duration::new(
                u64::try_from(meta.ctime()).unwrap_or(0),
                u32::try_from(meta.ctime_nsec()).unwrap_or(0),
            );
            let new = !before.known.contains(path) || meta.is_symlink();
            let covered =
                protected(relative).is_some() || (!meta.is_dir() && is_repository_link(relative));
            if covered && new && changed >= before.since && !is_harmless(path, relative) {
                found.push((path.to_owned(), PathBuf::from(relative)));
            }
        });
        let moved = found.into_iter().enumerate().map(|(index, (from, path))| {
            let moved_to = quarantine().and_then(|folder| {
                let name = path.to_string_lossy().replace('/', "_");
                let to = folder.join(format!("{index}-{name}"));
                move_away(&from, &to).map(|()| to)
            });
            Planted { path, moved_to: moved_to.map_err(|error| error.to_string()) }
        });
        moved.collect()
    }

    fn is_secret(&self, relative: &str, meta: &Metadata) -> bool {
        meta.is_file()
            && looks_secret(relative)
            && !self.secret_files.iter().any(|granted| granted == "*" || granted == relative)
    }

    /// Hands every entry to `visit`, level by level, links not followed. Protected places are not
    /// looked into. False if there were too many.
    fn walk(&self, mut visit: impl FnMut(&Path, &str, &Metadata)) -> bool {
        let mut open = VecDeque::from([(self.workdir.clone(), String::new())]);
        let mut left = MOST_ENTRIES;
        while let Some((directory, prefix)) = open.pop_front() {
            for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
                let Some(rest) = left.checked_sub(1) else { return false };
                left = rest;
                let name = entry.file_name();
                let name = name.to_string_lossy();
                let relative = format!("{prefix}{name}");
                // Files with ordinary names are most of all, and need no look.
                let kind = entry.file_type().ok();
                let plain = kind.is_some_and(|kind| kind.is_file())
                    && !is_repository_link(&relative)
                    && !looks_secret(&relative)
                    && protected(&relative).is_none();
                if plain {
                    continue;
                }
                let path = entry.path();
                let Ok(meta) = path.symlink_metadata() else { continue };
                visit(&path, &relative, &meta);
                let enter = meta.is_dir()
                    && !PASSED_OVER.contains(&name.as_ref())
                    && protected(&relative).is_none();
                // A large folder must not use up the look before the repository beside it has its.
                if enter && holds_protected(&relative) {
                    open.push_front((path, relative + "/"));
                } else if enter {
                    open.push_back((path, relative + "/"));
                }
            }
        }
        true
    }
}

/// A file or link in place of a repository's folder: it can name any other folder, with settings
/// of its own, as the repository.
fn is_repository_link(relative: &str) -> bool {
    relative.rsplit('/').next().is_some_and(|name| name.eq_ignore_ascii_case(".git"))
}

/// What `git init` makes is harmless and stays: hooks that are samples, an empty list of
/// exclusions, settings that start nothing.
fn is_harmless(path: &Path, relative: &str) -> bool {
    let only = |fits: fn(&str) -> bool| {
        fs::read_dir(path).is_ok_and(|mut entries| {
            entries.all(|entry| {
                entry.is_ok_and(|e| {
                    e.file_type().is_ok_and(|t| t.is_file())
                        && e.file_name().to_str().is_some_and(fits)
                })
            })
        })
    };
    let Some((_, name)) = relative.rsplit_once(".git/") else { return false };
    match name {
        "hooks" => only(|name| name.ends_with(".sample")),
        "info" => only(|name| name == "exclude"),
        "config" => {
            fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() < 4096)
                && fs::read_to_string(path).is_ok_and(|text| text.lines().all(is_plain_setting))
        }
        _ => false,
    }
}

/// A line of the settings that `git init` writes.
fn is_plain_setting(line: &str) -> bool {
    const KEYS: [&str; 7] = [
        "repositoryformatversion",
        "filemode",
        "bare",
        "logallrefupdates",
        "ignorecase",
        "precomposeunicode",
        "symlinks",
    ];
    let line = line.trim();
    let plain_value =
        |value: &str| !value.is_empty() && value.bytes().all(|b| b.is_ascii_alphanumeric());
    line.is_empty()
        || line == "[core]"
        || line
            .split_once(" = ")
            .is_some_and(|(key, value)| KEYS.contains(&key) && plain_value(value))
}

/// Moves a file, link or folder, also to another file system.
fn move_away(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {}
        other => return other,
    }
    let meta = from.symlink_metadata()?;
    if meta.is_dir() {
        fs::create_dir(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            move_away(&entry.path(), &to.join(entry.file_name()))?;
        }
        return fs::remove_dir(from);
    }
    if meta.is_file() {
        fs::copy(from, to)?;
    } else if let Ok(target) = from.read_link() {
        std::os::unix::fs::symlink(target, to)?;
    }
    // A pipe or a socket has no content to keep.
    fs::remove_file(from)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            put(dir.path(), file);
        }
        dir
    }

    fn put(root: &Path, file: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }

    #[test]
    fn what_exists_is_found_at_any_depth() {
        let dir = tree(&[
            ".git/config",
            ".git/objects/ab/cd",
            ".git/modules/lib/hooks/x",
            "a.txt",
            ".env",
            "deep/down/.envrc",
            "node_modules/x/.envrc",
        ]);
        let root = dir.path();
        let survey = Protection::new(root.into(), Vec::new()).survey();
        let names = |paths: &[PathBuf]| {
            let mut names: Vec<String> = paths
                .iter()
                .map(|p| p.strip_prefix(root).unwrap().to_string_lossy().into_owned())
                .collect();
            names.sort();
            names
        };
        assert_eq!(
            names(&survey.protected),
            [".git/config", ".git/modules/lib/hooks", "deep/down/.envrc"]
        );
        assert_eq!(names(&survey.holders), [".git", ".git/modules", ".git/modules/lib"]);
        assert_eq!(names(&survey.masked), [".env"]);
        assert!(!survey.incomplete);
        let all = Protection::new(root.into(), vec!["*".into()]).survey();
        assert!(all.masked.is_empty(), "the user may grant all of them");
    }

    #[test]
    fn what_is_new_is_moved_and_what_was_there_stays() {
        let dir = tree(&[".git/config", "a.txt"]);
        let away = tempfile::tempdir().unwrap();
        let protection = Protection::new(dir.path().into(), Vec::new());
        std::thread::sleep(CLOCK_SLACK * 2);
        let before = protection.survey();
        for file in [".envrc", "sub/.vscode/tasks.json", "b.txt"] {
            put(dir.path(), file);
        }
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join(".bashrc")).unwrap();
        let mut planted = protection.clean(&before, || Ok(away.path().to_owned()));
        planted.sort_by(|a, b| a.path.cmp(&b.path));
        let names: Vec<_> = planted.iter().map(|p| p.path.to_str().unwrap()).collect();
        assert_eq!(names, [".bashrc", ".envrc", "sub/.vscode"]);
        assert!(planted.iter().all(|p| p.moved_to.as_ref().unwrap().symlink_metadata().is_ok()));
        for (file, there) in
            [(".envrc", false), ("sub/.vscode", false), ("b.txt", true), (".git/config", true)]
        {
            assert_eq!(dir.path().join(file).exists(), there, "{file}");
        }
    }

    #[test]
    fn settings_that_start_nothing_are_told_from_others() {
        let check = |text: &str, harmless| {
            assert_eq!(text.lines().all(is_plain_setting), harmless, "{text:?}");
        };
        check("[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n", true);
        check("[core]\n\tfsmonitor = ./x\n", false);
        check("[core]\n\tbare = false\n[filter \"x\"]\n\tclean = touch PWN\n", false);
        check("[core] fsmonitor = x", false);
        check("[core]\n\tbare = `x`\n", false);
        check("[include]\n\tpath = x\n", false);
    }
}
