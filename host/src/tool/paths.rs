//! Paths among a call's arguments: which place they mean, spelled relative to the workdir.
//!
//! This is help for the model and the first refusal, in words. The enforcement is the sandbox's:
//! a path that passes here is still opened against a preopened folder only.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use crate::model::{Denial, Failure, FailureCode, Outcome, PathUse, Receipt, ToolReply, x_paths};
use crate::text::{clip_end, escape_line};

/// From a workdir-relative path to the one behind its symlinks.
type Resolve = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Where paths of a session may lead.
#[derive(Clone)]
pub struct PathScope {
    workdir: PathBuf,
    /// Other absolute spellings of the workdir, such as the one through a symlink.
    spellings: Vec<PathBuf>,
    /// Folders outside that were granted by absolute path.
    extra: Vec<PathBuf>,
    resolve: Option<Arc<Resolve>>,
}

impl fmt::Debug for PathScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PathScope")
            .field("workdir", &self.workdir)
            .field("spellings", &self.spellings)
            .field("extra", &self.extra)
            .finish_non_exhaustive()
    }
}

/// Why a path was not let through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It leads outside: the host says no.
    Outside(Denial),
    /// It is no path at all.
    Malformed(String),
}

impl PathScope {
    /// `workdir` is absolute. `spellings` are further names of the same folder, say the canonical
    /// one and the one the user typed; `extra` are absolute folders granted besides it.
    pub fn new(workdir: PathBuf, spellings: Vec<PathBuf>, extra: Vec<PathBuf>) -> Self {
        Self { workdir, spellings, extra, resolve: None }
    }

    /// Adds knowledge of the real file system for conflict checks: from a workdir-relative path
    /// to the one behind its symlinks. Without it, two names of one file are two files.
    #[must_use]
    pub fn resolving(
        mut self,
        resolve: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.resolve = Some(Arc::new(resolve));
        self
    }

    /// The path behind `path`'s symlinks, or `path` itself where nobody can tell.
    pub(super) fn real(&self, path: &str) -> String {
        self.resolve.as_ref().and_then(|resolve| resolve(path)).unwrap_or_else(|| path.to_owned())
    }

    /// Rewrites every path among `arguments` in place, or says which one is refused.
    pub(super) fn rewrite(&self, arguments: &mut Value, schema: &Value) -> Result<(), Refusal> {
        for (name, usage) in x_paths(schema) {
            let given = arguments.get_mut(name);
            let paths = match given {
                Some(Value::Array(paths)) => paths.as_mut_slice(),
                Some(path) => std::slice::from_mut(path),
                None => &mut [],
            };
            for path in paths {
                let Value::String(text) = path else { continue };
                if let Some(better) = self.judge(name, text, usage)? {
                    *text = better;
                }
            }
        }
        Ok(())
    }

    /// The better spelling of `path`, none where it is fine as it is.
    fn judge(&self, name: &str, path: &str, usage: PathUse) -> Result<Option<String>, Refusal> {
        if path.contains('\0') {
            return Err(Refusal::Malformed(format!(
                "`{name}` holds a NUL character, which no path can"
            )));
        }
        if cfg!(windows)
            && let Some(why) = windows_objection_of_rest(self, path)
        {
            return Err(Refusal::Malformed(format!("`{name}`: {}", escape_line(&why))));
        }
        let absolute = Path::new(path);
        if !absolute.has_root() && !absolute.is_absolute() {
            // One step above the workdir is outside, wherever a symlink before it may lead.
            return match lexical(absolute) {
                Some(_) => Ok(None),
                None => Err(self.outside(path, usage)),
            };
        }
        let normal = lexical(absolute);
        let roots = || std::iter::once(&self.workdir).chain(&self.spellings);
        // As written first: `..` behind a symlink is for the guard to judge, not for us to guess.
        let candidates = [Some(absolute.to_path_buf()), normal.clone()];
        for candidate in candidates.iter().flatten() {
            if let Some(rest) = roots().find_map(|root| candidate.strip_prefix(root).ok()) {
                if lexical(rest).is_none() {
                    return Err(self.outside(path, usage));
                }
                let rest = rest.to_string_lossy();
                return Ok(Some(if rest.is_empty() { ".".into() } else { rest.into_owned() }));
            }
        }
        match normal {
            Some(place) if self.extra.iter().any(|root| place.starts_with(root)) => {
                Ok(Some(place.to_string_lossy().into_owned()))
            }
            _ => Err(self.outside(path, usage)),
        }
    }

    fn outside(&self, path: &str, usage: PathUse) -> Refusal {
        Refusal::Outside(Denial {
            what: match usage {
                PathUse::Read => "read".into(),
                PathUse::Write => "write".into(),
            },
            subject: clip_end(&escape_line(path), 300),
            reason: format!(
                "it leads outside the working directory `{}`",
                clip_end(&escape_line(&self.workdir.to_string_lossy()), 300)
            ),
        })
    }
}

/// An absolute path inside the workdir is judged without the workdir's own part, whose drive
/// letter is no objection.
fn windows_objection_of_rest(scope: &PathScope, path: &str) -> Option<String> {
    let rest = Path::new(path).strip_prefix(&scope.workdir).ok().and_then(Path::to_str);
    super::windows_objection(rest.unwrap_or(path))
}

/// `path` without `.` and `..`, by its letters alone; none when `..` climbs above its start.
fn lexical(path: &Path) -> Option<PathBuf> {
    let mut out = PathBuf::new();
    let mut depth = 0_usize;
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                // The parent of `/` is `/` (POSIX, pathname resolution).
                if depth == 0 && out.has_root() {
                    continue;
                }
                depth = depth.checked_sub(1)?;
                out.pop();
            }
            Component::Normal(name) => {
                depth += 1;
                out.push(name);
            }
            Component::RootDir | Component::Prefix(_) => out.push(component),
        }
    }
    Some(out)
}

impl Refusal {
    /// The call's result, in words that a model can act on.
    pub(super) fn into_reply(self) -> ToolReply {
        match self {
            Self::Outside(denial) => {
                let message =
                    format!("cannot {} `{}`: {}", denial.what, denial.subject, denial.reason);
                let hint = "use a path relative to the working directory, such as `src/main.rs`; \
                            nothing outside it can be reached";
                let mut reply = ToolReply::failed(
                    Outcome::Denied,
                    Failure::new(FailureCode::Denied, message).hint(hint),
                );
                reply.receipt = Receipt { denials: vec![denial], ..Receipt::default() };
                reply
            }
            Self::Malformed(message) => ToolReply::failed(
                Outcome::Failed,
                Failure::new(FailureCode::InvalidArguments, message),
            ),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use serde_json::json;

    fn scope() -> PathScope {
        PathScope::new(
            "/home/u/proj".into(),
            vec!["/data/real/proj".into()],
            vec!["/opt/docs".into()],
        )
    }

    fn rewritten(path: &str) -> Result<String, Refusal> {
        let schema = json!({"properties": {"path": {"type": "string", "x-path": "read"}}});
        let mut arguments = json!({ "path": path });
        scope().rewrite(&mut arguments, &schema)?;
        Ok(arguments["path"].as_str().unwrap_or_default().to_owned())
    }

    #[test]
    fn req_090_an_absolute_path_inside_becomes_relative() {
        for (path, expect) in [
            ("/home/u/proj/a/b.txt", "a/b.txt"),
            ("/home/u/proj", "."),
            ("/home/u/proj/", "."),
            ("/home/u//proj/./a", "a"),
            ("/home/u/x/../proj/a", "a"),
            ("/data/real/proj/a", "a"),
            ("/home/u/proj/a/../b", "a/../b"),
            ("/opt/docs/x.md", "/opt/docs/x.md"),
            ("a/b", "a/b"),
            ("./a/../b", "./a/../b"),
            ("", ""),
        ] {
            assert_eq!(rewritten(path), Ok(expect.to_owned()), "{path}");
        }
    }

    #[test]
    fn req_044_what_leads_outside_is_denied_in_words() {
        for path in [
            "/etc/passwd",
            "/home/u/project2/a",
            "/home/u",
            "/",
            "../x",
            "a/../../x",
            "..",
            "/home/u/proj/../x",
            "/home/u/proj/a/../../x",
            "/opt/docs/../secret",
        ] {
            let Err(refusal) = rewritten(path) else { panic!("{path} was let through") };
            let reply = refusal.into_reply();
            assert_eq!(reply.outcome, Outcome::Denied, "{path}");
            assert_eq!(reply.receipt.denials[0].subject, path);
            assert!(reply.observation().contains("outside the working directory"), "{path}");
        }
    }

    #[test]
    fn a_nul_is_no_path() {
        assert!(matches!(rewritten("a\0b"), Err(Refusal::Malformed(_))));
    }

    #[test]
    fn lists_of_paths_are_rewritten_too() {
        let schema = json!({"properties": {"paths": {"x-path": "write"}}});
        let mut arguments = json!({"paths": ["/home/u/proj/a", "b"]});
        assert_eq!(scope().rewrite(&mut arguments, &schema), Ok(()));
        assert_eq!(arguments, json!({"paths": ["a", "b"]}));
    }
}
