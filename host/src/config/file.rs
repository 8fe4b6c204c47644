//! config.toml: its form, and reading it with errors that point at the place.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use super::bash::BashEntry;
use super::{Approve, ConfigError, builtin, key, nearest};
use crate::policy::Grant;

/// The whole file. Every key is optional; an unknown one is an error, since a misspelt
/// restriction that is skipped would widen what a plugin may do.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct FileConfig {
    pub(super) model: Option<String>,
    /// Relative to the file's own directory.
    pub(super) sessions: Option<PathBuf>,
    pub(super) approve: Option<Approve>,
    /// Files that look like secrets and may be read by tools all the same.
    pub(super) secret_files: Vec<String>,
    /// Bytes of old content that a session keeps for undo.
    #[serde(deserialize_with = "crate::policy::optional_size")]
    pub(super) undo_limit: Option<u64>,
    pub(super) limits: FileLimits,
    pub(super) providers: BTreeMap<String, ProviderEntry>,
    pub(super) plugins: BTreeMap<String, Grant>,
    pub(super) bash: BashEntry,
}

/// `[limits]`: budgets of one run; 0 lifts one.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct FileLimits {
    pub(super) turns: Option<u32>,
    pub(super) tokens: Option<u64>,
    pub(super) seconds: Option<u64>,
    pub(super) cost: Option<f64>,
}

/// One `[providers.NAME]`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderEntry {
    /// What the service speaks; a built-in one knows, another speaks chat completions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api: Option<Api>,
    /// Its query is never shown, since gateways put keys there.
    #[serde(deserialize_with = "base_url", serialize_with = "without_query")]
    pub base_url: Option<String>,
    /// `env:NAME` or `file:PATH`, never the key itself.
    #[serde(deserialize_with = "key_source")]
    pub key: Option<String>,
    /// Sent with every request. Values may be secret and are never shown.
    #[serde(serialize_with = "names_only")]
    pub headers: BTreeMap<String, String>,
    /// Tokens that the model takes in.
    pub context: Option<u64>,
    pub price: Option<Price>,
}

/// The protocol that a service speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Api {
    /// Chat completions, as `OpenAI` defines them and many servers offer them.
    #[default]
    Openai,
    /// The successor of chat completions at `OpenAI` itself.
    OpenaiResponses,
    /// Messages, as Anthropic defines them.
    Anthropic,
    /// Ollama's own chat endpoint.
    Ollama,
}

/// Money per million tokens, in whatever currency the user thinks in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Price {
    pub input: f64,
    /// Of input that the service had cached; like other input where unset.
    pub cached: Option<f64>,
    pub output: f64,
}

impl From<Price> for crate::agent::Price {
    fn from(price: Price) -> Self {
        let Price { input, cached, output } = price;
        Self { input, cached: cached.unwrap_or(input), output }
    }
}

fn base_url<'de, D: Deserializer<'de>>(input: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(input)?;
    builtin::checked_url(&text, "base_url").map(Some).map_err(D::Error::custom)
}

fn key_source<'de, D: Deserializer<'de>>(input: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(input)?;
    key::check_source(&text).map_err(D::Error::custom)?;
    Ok(Some(text))
}

fn names_only<S: serde::Serializer>(
    headers: &BTreeMap<String, String>,
    output: S,
) -> Result<S::Ok, S::Error> {
    output.collect_seq(headers.keys())
}

#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
fn without_query<S: serde::Serializer>(url: &Option<String>, output: S) -> Result<S::Ok, S::Error> {
    match url.as_deref().and_then(|url| url.split('?').next()) {
        Some(url) => output.serialize_some(url),
        None => output.serialize_none(),
    }
}

/// Larger than any config that a person writes.
const LARGEST: u64 = 1024 * 1024;

/// Reads `path`. A file that does not exist is None, and is an error only if `required`; an
/// empty one sets nothing.
pub(super) fn read(path: &Path, required: bool) -> Result<Option<FileConfig>, ConfigError> {
    let unreadable = |cause| ConfigError::Unreadable { path: path.to_owned(), cause };
    let mut bytes = Vec::new();
    match std::fs::File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes))
    {
        Ok(_) if bytes.len() as u64 <= LARGEST => {}
        Ok(_) => return Err(unreadable(std::io::Error::other("it is larger than 1 MiB"))),
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound && !required => return Ok(None),
        Err(cause) => return Err(unreadable(cause)),
    }
    parse(path, &bytes).map(Some)
}

pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<FileConfig, ConfigError> {
    parse_as(path, bytes)
}

/// Any file of ours in TOML, with errors that point at the place.
pub(super) fn parse_as<T: serde::de::DeserializeOwned>(
    path: &Path,
    bytes: &[u8],
) -> Result<T, ConfigError> {
    let invalid = |at: usize, message: String, nearest: Option<String>| {
        let before = String::from_utf8_lossy(&bytes[..at.min(bytes.len())]);
        ConfigError::Invalid {
            path: path.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before.rsplit('\n').next().unwrap_or_default().chars().count() + 1,
            message,
            nearest,
        }
    };
    let text = std::str::from_utf8(bytes)
        .map_err(|e| invalid(e.valid_up_to(), "the file is not UTF-8 from here on".into(), None))?;
    // Editors on Windows begin files with a byte order mark. It is blanked, so places still count.
    let blanked;
    let text = match text.strip_prefix('\u{feff}') {
        Some(rest) => {
            blanked = format!("   {rest}");
            &blanked
        }
        None => text,
    };
    toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(text.len(), |span| span.start);
        let (message, nearest) = explained(error.message());
        invalid(at, message, nearest)
    })
}

/// The parser's message as one line without the file's own text, and the key that was probably
/// meant where it complains of an unknown one.
fn explained(message: &str) -> (String, Option<String>) {
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    // What stands in place of a table may be a secret.
    if let Some((_, expected)) = message
        .strip_prefix("invalid type: string \"")
        .and_then(|rest| rest.rsplit_once("\", expected "))
    {
        return (format!("this is text, where {expected} belongs"), None);
    }
    // The names stand in backticks: first the unknown one, then all that are known.
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let unknown = message.starts_with("unknown field") || message.starts_with("unknown variant");
    match names.split_first() {
        Some((word, known)) if unknown => {
            (message.clone(), nearest(word, known.iter().copied()).map(str::to_owned))
        }
        _ => (message, None),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn error(text: &str) -> String {
        parse(Path::new("/c/config.toml"), text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn c21_errors_name_the_place_and_the_nearest_key() {
        let check = |text: &str, place: &str, parts: &[&str]| {
            let error = error(text);
            assert!(error.starts_with(&format!("/c/config.toml, {place}: ")), "{error}");
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
            assert!(!error.contains('\n'), "{error}");
        };
        check("modle = \"a/b\"", "line 1, column 1", &["modle", "did you mean `model`"]);
        check(
            "model = \"a/b\"\n[plugins.docs]\nwirte = []",
            "line 3, column 1",
            &["wirte", "did you mean `write`"],
        );
        check("[limits]\nturns = \"many\"", "line 2, column 9", &["text"]);
        check("approve = \"allways\"", "line 1, column 11", &["allways"]);
        check("[providers.x]\nkey = \"sk-CANARY\"", "line 2, column 7", &["`env:NAME`"]);
        check("[providers.x]\nkey = \"cmd:pass\"", "line 2, column 7", &["not supported"]);
        check("[providers.x]\napi = \"antropic\"", "line 2, column 7", &["antropic", "openai"]);
        check("[plugins.docs]\nlimits = { memory = \"0\" }", "line 2, column 21", &["no limit"]);
        check("[plugins.docs", "line 1, column 14", &["unclosed"]);
        check("model = \"a", "line 1, column 11", &[]);
    }

    #[test]
    fn c21_what_is_not_text_is_said_with_its_place() {
        let error =
            parse(Path::new("/c"), b"model = \"a/b\"\nx = \"\xff\"").unwrap_err().to_string();
        assert!(error.contains("line 2, column 6") && error.contains("UTF-8"), "{error}");
    }

    #[test]
    fn n42_an_error_never_repeats_what_may_be_a_secret() {
        for text in ["[providers.x]\nkey = \"sk-CANARY\"", "[providers.x]\nheaders = \"sk-CANARY\""]
        {
            assert!(!error(text).contains("CANARY"), "{}", error(text));
        }
    }

    #[test]
    fn an_empty_file_and_a_byte_order_mark_are_fine() {
        let read = |text: &str| parse(Path::new("/c"), text.as_bytes()).unwrap();
        assert_eq!(read(""), FileConfig::default());
        assert_eq!(read("\u{feff}model = \"a/b\"").model.as_deref(), Some("a/b"));
    }

    #[test]
    fn a_missing_file_is_nothing_unless_it_was_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        assert!(read(&path, false).unwrap().is_none());
        assert!(read(&path, true).is_err());
        assert!(read(dir.path(), false).is_err(), "a directory is not a config");
    }
}
