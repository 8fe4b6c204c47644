//! The architecture as tables.

/// The floors of `host/src`. A module imports only from lower ones; modules on the same floor do
/// not know each other.
pub(crate) const FLOORS: &[(u8, &[&str])] = &[
    (8, &["cli"]),
    (7, &["app"]),
    (6, &["config"]),
    (5, &["ui", "serve"]),
    (4, &["agent"]),
    (3, &["sandbox", "shell", "context"]),
    (2, &["tool", "provider"]),
    (1, &["policy", "workspace", "journal", "observe"]),
    (0, &["model", "text"]),
];

/// What the floors would allow and the design does not: the loop must not know what a tool is made
/// of, or it could treat one kind unlike another.
pub(crate) const STRANGERS: &[(&str, &str)] = &[("agent", "sandbox"), ("agent", "shell")];

/// What only some places may do, so that a reader knows where to look for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// `std::fs` and `tokio::fs`. Handles of capabilities (`cap_std`) are free to use.
    Files,
    /// Starting programs.
    Programs,
    /// Printing macros, stdout and stderr.
    Printing,
    Unsafe,
}

/// A module, or with a slash one file (without `.rs`) or folder in it, that may have an effect.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) effect: Effect,
    pub(crate) place: &'static str,
    #[allow(dead_code, reason = "written for who reads the table")]
    pub(crate) why: &'static str,
}

const fn home(effect: Effect, place: &'static str, why: &'static str) -> Home {
    Home { effect, place, why }
}

/// All places with effects. What is compiled for tests only may do anything.
pub(crate) const HOMES: &[Home] = &[
    home(Effect::Files, "workspace", "opens the working directory"),
    home(Effect::Files, "journal", "is the session log"),
    home(Effect::Files, "config", "reads the user's configuration and key files"),
    home(Effect::Files, "sandbox/cache", "keeps compiled components"),
    home(Effect::Files, "sandbox/discover", "lists the plugins in the user's folder"),
    home(Effect::Files, "sandbox/load", "reads a plugin's component"),
    home(Effect::Files, "sandbox/manifest", "reads the manifest beside a plugin"),
    home(Effect::Files, "sandbox/try_out", "makes the empty folders in which a plugin is tried"),
    home(Effect::Files, "sandbox/guard", "stands between guests and the file system"),
    home(Effect::Files, "provider/script", "reads its script"),
    home(Effect::Files, "shell/resolve", "remembers which file a program's name led to"),
    home(Effect::Files, "shell/session", "removes temporary directories of commands"),
    home(Effect::Files, "shell/confine", "finds what a sandbox shows, hides and protects"),
    home(Effect::Files, "shell/run", "keeps long output, and finds processes in /proc"),
    home(Effect::Files, "app/doctor", "tries whether a session could be written"),
    home(Effect::Files, "app/access", "asks the kernel for the mask of new files"),
    home(Effect::Files, "app/watch", "looks at the plugins in the user's folder"),
    home(Effect::Programs, "shell", "is the tool that starts programs"),
    home(Effect::Programs, "sandbox/compile", "compiles in a child that can be killed"),
    home(Effect::Printing, "main", "says why the program could not start"),
    home(Effect::Printing, "cli", "answers the user"),
    home(Effect::Printing, "ui", "is what the user sees"),
    home(Effect::Printing, "shell/run", "its runner hands output and report over on its streams"),
    home(Effect::Printing, "sandbox/compile", "its child hands the machine code over on stdout"),
    home(Effect::Unsafe, "sandbox/load", "loads machine code that this host has made"),
];

/// The floor of a module, if it is on one.
pub(crate) fn floor(module: &str) -> Option<u8> {
    FLOORS.iter().find(|(_, modules)| modules.contains(&module)).map(|(floor, _)| *floor)
}

/// Whether the file at `path` (`sandbox/cache.rs`) belongs to `place` (`sandbox`,
/// `sandbox/cache`).
pub(crate) fn is_in(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}
