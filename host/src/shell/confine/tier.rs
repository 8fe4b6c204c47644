//! Which sandbox this machine gives, found out by trying it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

/// How far commands are confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// Namespaces by bubblewrap, and a filter on system calls. `proc` says whether there is a
    /// /proc inside; some containers do not allow one.
    Full { proc: bool },
    /// Landlock and a filter. Weaker: protected paths inside the workdir can be written.
    Landlock,
    /// Nothing.
    None,
}

/// The tier and how it came about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierReport {
    pub tier: Tier,
    /// The program, in the full tier.
    pub bubblewrap: Option<PathBuf>,
    /// Why no better one works.
    pub why_not: Option<String>,
}

/// Where bubblewrap may be: not the search path, which others may set.
const PLACES: [&str; 2] = ["/usr/bin/bwrap", "/usr/local/bin/bwrap"];

impl Tier {
    /// The word of docs and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Full { .. } => "full",
            Self::Landlock => "landlock",
            Self::None => "none",
        }
    }

    pub fn is_full(self) -> bool {
        matches!(self, Self::Full { .. })
    }

    /// What it does not stop, in a few words.
    pub fn gaps(self) -> &'static str {
        match self {
            Self::Full { .. } => {
                "a command can change anything in the workdir that is not protected, and use up processor, memory and disk until its time is over"
            }
            Self::Landlock => {
                "a command can also plant hooks and settings inside the workdir, see what else runs on the machine, and signal other programs where the kernel is older than 6.12"
            }
            Self::None => "nothing is stopped",
        }
    }
}

impl TierReport {
    /// Tries the tiers from the best on. Takes some 10 ms.
    pub fn probe() -> Self {
        let mut reasons = Vec::new();
        match PLACES.into_iter().map(PathBuf::from).find(|path| path.is_file()) {
            None => reasons.push("bubblewrap is not installed".to_owned()),
            Some(program) => {
                for proc in [true, false] {
                    match try_bubblewrap(&program, proc) {
                        Ok(()) => {
                            return Self {
                                tier: Tier::Full { proc },
                                bubblewrap: Some(program),
                                why_not: None,
                            };
                        }
                        Err(why) => reasons.push(why),
                    }
                }
                reasons.dedup();
            }
        }
        #[cfg(target_os = "linux")]
        let landlock = super::landlock::works();
        #[cfg(not(target_os = "linux"))]
        let landlock = Err("only Linux has one".to_owned());
        let tier = match landlock {
            Ok(()) => Tier::Landlock,
            Err(why) => {
                reasons.push(format!("Landlock: {why}"));
                Tier::None
            }
        };
        Self { tier, bubblewrap: None, why_not: Some(reasons.join("; ")) }
    }

    /// The same, but a machine that gave the full tier once is believed to do so again, as long as
    /// kernel, user and bubblewrap are the same: what was found is kept in `file`. If it is wrong,
    /// commands fail; they never run with less.
    pub fn remembered(file: &Path) -> Self {
        let key = machine();
        let known = std::fs::read(file).ok();
        let known = known.and_then(|bytes| serde_json::from_slice::<(String, Self)>(&bytes).ok());
        if let Some((_, report)) = known.filter(|(known, _)| *known == key) {
            return report;
        }
        let report = Self::probe();
        if report.tier.is_full()
            && let Ok(text) = serde_json::to_vec(&(key, &report))
        {
            // Not being able to keep it costs some time at the next start and nothing else.
            let _ = std::fs::write(file, text);
        }
        report
    }

    /// Only Landlock, if it works: what a machine without bubblewrap has.
    pub fn without_bubblewrap() -> Self {
        let mut report = Self::probe();
        if report.tier.is_full() {
            report.tier = Tier::Landlock;
            report.bubblewrap = None;
            report.why_not = Some("bubblewrap is left out".into());
        }
        report
    }
}

/// What the answer depends on.
fn machine() -> String {
    use std::os::unix::fs::MetadataExt as _;
    let system = std::fs::read_to_string("/proc/version").unwrap_or_default();
    let user = rustix::process::getuid().as_raw();
    let program = PLACES.iter().find_map(|path| Path::new(path).metadata().ok());
    let mark = program.map(|meta| (meta.dev(), meta.ino(), meta.size(), meta.ctime()));
    format!("{system} {user} {mark:?}")
}

/// A small sandbox of the same kind as the real one.
fn try_bubblewrap(program: &Path, proc: bool) -> Result<(), String> {
    let mut command = Command::new(program);
    command.args([
        "--unshare-user",
        "--disable-userns",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-net",
        "--cap-drop",
        "ALL",
        "--new-session",
        "--ro-bind",
        "/usr",
        "/usr",
        "--ro-bind-try",
        "/lib",
        "/lib",
        "--ro-bind-try",
        "/lib64",
        "/lib64",
        "--dev",
        "/dev",
    ]);
    if proc {
        command.args(["--proc", "/proc"]);
    }
    command.args(["--", "/usr/bin/true"]);
    let output = command.env_clear().stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("bubblewrap does not start: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(text.lines().next().unwrap_or("bubblewrap fails without a word").to_owned())
}
