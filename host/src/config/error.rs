//! Everything that can be wrong with settings. Each text is one paragraph that says what to do.

use std::path::PathBuf;

use thiserror::Error;

use super::BUILTIN;

/// A fault of what the user set. Keys never occur in these texts.
#[derive(Debug, Error)]
pub enum ConfigError {
    #[error(
        "cannot tell where config and state belong, since HOME is not set: set HOME, or set \
         CLAWHOLD_HOME to a directory that Clawhold may use"
    )]
    NoHome,
    #[error(
        "cannot read `{}`: {cause}; make it readable, or name another file with `--config` or \
         another directory with CLAWHOLD_HOME",
        .path.display()
    )]
    Unreadable { path: PathBuf, cause: std::io::Error },
    #[error("cannot change `{}`: {cause}", .path.display())]
    Unwritable { path: PathBuf, cause: std::io::Error },
    #[error("{}, line {line}, column {column}: {message}{}", .path.display(), did_you_mean(.nearest.as_ref()))]
    Invalid { path: PathBuf, line: usize, column: usize, message: String, nearest: Option<String> },
    /// A value of a flag, a variable or a key that does not do.
    #[error("{origin}: {message}")]
    BadValue { origin: String, message: String },
    #[error(
        "{origin} says `{spec}`, which names no provider: write it as PROVIDER/MODEL, such as \
         `openai/{spec}` or `ollama/{spec}`"
    )]
    NoProvider { origin: String, spec: String },
    #[error(
        "{origin} names the provider `{name}`, which is unknown{}: the built-in ones are {}, and \
         `[providers.{name}]` in `{}` adds it",
        did_you_mean(.nearest.as_ref()), names(), .file.display()
    )]
    UnknownProvider { origin: String, name: String, nearest: Option<String>, file: PathBuf },
    #[error(
        "no model to ask: set a key such as OPENAI_API_KEY in the environment, or name one with \
         `--model PROVIDER/MODEL` (a local one: `--model ollama/NAME`), or write \
         `model = \"PROVIDER/MODEL\"` in `{}`; without any service, `--model script:FILE` plays \
         replies from a file", .file.display()
    )]
    NoModel { file: PathBuf },
    #[error(
        "the provider `{provider}` has no key: set {variable}, or write `key = \"file:PATH\"` under `[providers.{provider}]`"
    )]
    NoKey { provider: String, variable: String },
    #[error("the key of the provider `{provider}` from {source_name} does not do: {why}")]
    BadKey { provider: String, source_name: String, why: String },
}

fn did_you_mean(nearest: Option<&String>) -> String {
    nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

fn names() -> String {
    BUILTIN.iter().map(|b| b.name).collect::<Vec<_>>().join(", ")
}
