//! What of the machine a command sees: the system, the toolchains without their credentials, and a
//! short environment.

use std::path::{Path, PathBuf};

/// The directories and files that are shown.
#[derive(Debug, Clone)]
pub(in crate::shell) struct Layout {
    /// Of the system: directories at their own place, and links such as `/bin`.
    pub(in crate::shell) system: Vec<PathBuf>,
    pub(in crate::shell) links: Vec<(PathBuf, PathBuf)>,
    /// Of the user's toolchains, below the home directory.
    pub(in crate::shell) toolchains: Vec<PathBuf>,
    pub(in crate::shell) home: Option<PathBuf>,
    /// Granted beyond that.
    pub(in crate::shell) read: Vec<PathBuf>,
    pub(in crate::shell) write: Vec<PathBuf>,
    /// Our own directories, hidden wherever something above them is shown.
    pub(in crate::shell) hidden: Vec<PathBuf>,
}

const SYSTEM: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/// Of /etc only what programs need to run at all: each is a mount, and each costs some time.
const ETC: [&str; 5] =
    ["/etc/alternatives", "/etc/group", "/etc/hosts", "/etc/ld.so.cache", "/etc/passwd"];

/// For whom the network is granted.
const ETC_NETWORK: [&str; 4] =
    ["/etc/ca-certificates", "/etc/nsswitch.conf", "/etc/resolv.conf", "/etc/ssl/certs"];

/// Below the home directory: programs, libraries and what was downloaded, and none of the places
/// where these tools keep passwords and tokens.
const TOOLCHAINS: [&str; 16] = [
    ".cargo/bin",
    ".cargo/git",
    ".cargo/registry",
    ".rustup",
    ".pyenv",
    ".local/bin",
    ".local/lib",
    ".local/share/uv",
    ".nvm/versions",
    ".volta",
    ".bun/bin",
    ".deno/bin",
    "go/bin",
    "go/pkg/mod",
    ".m2/repository",
    ".sdkman/candidates",
];

/// Settings of toolchains that are shown only when nothing in them looks like a secret.
const TOOLCHAIN_SETTINGS: [&str; 2] = [".cargo/config.toml", ".cargo/config"];

impl Layout {
    /// What exists on this machine.
    pub(in crate::shell) fn of(home: Option<&Path>, network: bool) -> Self {
        let mut layout = Self {
            system: Vec::new(),
            links: Vec::new(),
            toolchains: Vec::new(),
            home: home.map(Path::to_owned),
            read: Vec::new(),
            write: Vec::new(),
            hidden: Vec::new(),
        };
        for path in SYSTEM.map(PathBuf::from) {
            match path.read_link() {
                Ok(target) => layout.links.push((target, path)),
                Err(_) if path.is_dir() => layout.system.push(path),
                Err(_) => {}
            }
        }
        let etc = ETC.iter().chain(if network { &ETC_NETWORK[..] } else { &[] });
        layout.system.extend(etc.map(PathBuf::from).filter(|path| path.exists()));
        if let Some(home) = home {
            let shown =
                TOOLCHAINS.iter().map(|below| home.join(below)).filter(|path| path.exists());
            let settings = TOOLCHAIN_SETTINGS.iter().map(|below| home.join(below));
            layout.toolchains =
                shown.chain(settings.filter(|path| holds_no_secret(path))).collect();
        }
        layout
    }

    /// Every path that is shown for reading only.
    pub(in crate::shell) fn readable(&self) -> impl Iterator<Item = &PathBuf> {
        self.system.iter().chain(&self.toolchains).chain(&self.read)
    }
}

/// What of /proc the Landlock tier shows. Landlock keeps other processes' environments closed, but
/// root was seen to read them all the same (Linux 6.18), so a process with any capability is shown
/// only the files that speak of the machine.
pub(in crate::shell) fn proc_of_landlock() -> Vec<PathBuf> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let capabilities = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    if capabilities.is_some_and(|set| set.trim().bytes().all(|b| b == b'0')) {
        return vec!["/proc".into()];
    }
    ["cpuinfo", "filesystems", "loadavg", "meminfo", "stat", "sys", "uptime", "version"]
        .map(|name| Path::new("/proc").join(name))
        .into()
}

fn holds_no_secret(path: &Path) -> bool {
    std::fs::read_to_string(path).is_ok_and(|text| {
        let text = text.to_lowercase();
        !["token", "password", "secret", "credential"].iter().any(|word| text.contains(word))
    })
}

/// The environment of every command. Nothing of the host's own is passed on but the names of
/// places, so no key can leak through it.
pub(in crate::shell) fn environment(
    directories: &[PathBuf],
    home: &Path,
    own: impl Fn(&str) -> Option<String>,
) -> Vec<(String, String)> {
    let path: Vec<_> = directories.iter().map(|d| d.to_string_lossy()).collect();
    let mut all: Vec<(String, String)> = vec![
        ("PATH".into(), path.join(":")),
        ("HOME".into(), home.to_string_lossy().into_owned()),
        ("TMPDIR".into(), "/tmp".into()),
    ];
    let fixed = [
        ("USER", "user"),
        ("LOGNAME", "user"),
        ("SHELL", "/bin/bash"),
        // English messages in UTF-8, whatever the machine speaks.
        ("LANG", "C.UTF-8"),
        ("LC_ALL", "C.UTF-8"),
        // Nobody turns pages and nobody answers.
        ("TERM", "dumb"),
        ("NO_COLOR", "1"),
        ("PAGER", "cat"),
        ("MANPAGER", "cat"),
        ("GIT_PAGER", "cat"),
        ("SYSTEMD_PAGER", "cat"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_EDITOR", "true"),
        ("EDITOR", "true"),
        ("GH_PROMPT_DISABLED", "1"),
        ("DEBIAN_FRONTEND", "noninteractive"),
        ("PIP_NO_INPUT", "1"),
        ("CARGO_TERM_COLOR", "never"),
        // A second wall: what a repository's own settings would start at `git status`.
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "core.fsmonitor"),
        ("GIT_CONFIG_VALUE_0", "false"),
    ];
    all.extend(fixed.map(|(name, value)| (name.to_owned(), value.to_owned())));
    // Where toolchains were put elsewhere. Paths and the time zone are no secrets.
    for name in ["CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "PYENV_ROOT", "GOPATH"] {
        all.extend(own(name).map(|value| (name.to_owned(), value)));
    }
    all.extend(own("TZ").or_else(time_zone).map(|value| ("TZ".to_owned(), value)));
    all
}

/// The machine's time zone by the name of its file, which is below /usr.
fn time_zone() -> Option<String> {
    let file = Path::new("/etc/localtime").canonicalize().ok()?;
    let name = file.strip_prefix("/usr/share/zoneinfo").ok()?;
    name.to_str().map(str::to_owned)
}
