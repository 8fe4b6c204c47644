//! The arguments for bubblewrap: a root of its own, made of what is shown.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::layout::Layout;
use super::protect::Survey;

/// Where the runner's program stands inside.
pub(in crate::shell) const RUNNER_PLACE: &str = "/run/claw";

/// What a private directory may hold: 1 GiB.
const SCRATCH_BYTES: &str = "1073741824";

/// What [`arguments`] is told.
#[derive(Debug)]
pub(in crate::shell) struct Wrap<'a> {
    pub(in crate::shell) layout: &'a Layout,
    pub(in crate::shell) workdir: &'a Path,
    pub(in crate::shell) survey: &'a Survey,
    /// The program that is to be the runner.
    pub(in crate::shell) runner: &'a Path,
    pub(in crate::shell) network: bool,
    /// Whether the kernel lets us mount a /proc; in some containers it does not.
    pub(in crate::shell) proc: bool,
}

/// The words for bubblewrap up to and including `--`.
///
/// Order matters: what comes later covers what came before. First the system, then private empty
/// directories, then what is granted, then the workdir, and last what protects parts of it.
pub(in crate::shell) fn arguments(wrap: &Wrap<'_>) -> Vec<OsString> {
    let mut words = Words(Vec::with_capacity(128));
    for word in [
        "--unshare-user",
        "--disable-userns",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
        "--die-with-parent",
        "--cap-drop",
        "ALL",
        "--hostname",
        "sandbox",
    ] {
        words.word(word);
    }
    if !wrap.network {
        words.word("--unshare-net");
    }
    // The runner sets the commands' environment itself; nothing of ours gets in at all.
    words.word("--clearenv");
    let layout = wrap.layout;
    for path in &layout.system {
        words.pair("--ro-bind", path, path);
    }
    for (target, link) in &layout.links {
        words.pair("--symlink", target, link);
    }
    if wrap.proc {
        words.one("--proc", Path::new("/proc"));
    }
    words.one("--dev", Path::new("/dev"));
    words.scratch(Path::new("/tmp"));
    words.pair("--symlink", Path::new("/tmp"), Path::new("/var/tmp"));
    if let Some(home) = &layout.home
        && !home.starts_with(wrap.workdir)
    {
        words.scratch(home);
    }
    for path in layout.toolchains.iter().chain(&layout.read) {
        words.pair("--ro-bind", path, path);
    }
    for path in &layout.write {
        words.pair("--bind", path, path);
    }
    words.pair("--bind", wrap.workdir, wrap.workdir);
    let survey = wrap.survey;
    // A folder that holds something protected becomes a mount, which cannot be renamed away.
    for path in &survey.holders {
        words.pair("--bind", path, path);
    }
    for path in &survey.protected {
        words.pair("--ro-bind", path, path);
    }
    for path in &survey.masked {
        words.pair("--ro-bind", Path::new("/dev/null"), path);
    }
    let shown = |path: &PathBuf| {
        let roots = layout.readable().chain(&layout.write).map(PathBuf::as_path);
        roots.chain([wrap.workdir]).any(|root| path.starts_with(root))
    };
    for path in layout.hidden.iter().filter(|path| path.is_dir() && shown(path)) {
        words.one("--tmpfs", path);
    }
    words.pair("--ro-bind", wrap.runner, Path::new(RUNNER_PLACE));
    words.word("--remount-ro");
    words.word("/");
    words.one("--chdir", wrap.workdir);
    words.word("--");
    words.0
}

struct Words(Vec<OsString>);

impl Words {
    fn word(&mut self, word: &str) {
        self.0.push(word.into());
    }

    /// An empty private directory, kept in memory and therefore bounded.
    fn scratch(&mut self, path: &Path) {
        self.word("--size");
        self.word(SCRATCH_BYTES);
        self.one("--tmpfs", path);
    }

    fn one(&mut self, option: &str, path: &Path) {
        self.word(option);
        self.0.push(path.into());
    }

    fn pair(&mut self, option: &str, from: &Path, to: &Path) {
        self.one(option, from);
        self.0.push(to.into());
    }
}
