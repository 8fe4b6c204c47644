//! What a plugin says that it needs: its manifest, read strictly.
//!
//! It stands in the component as the custom section `clawhold:manifest` (JSON), or beside
//! `NAME.wasm` as `NAME.toml`. It grants nothing: it is the ceiling of what can be granted, so a
//! plugin that was tricked cannot use what its author never meant it to have.

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use thiserror::Error;

use super::Limits;
use crate::text::{clip_end, escape_line, nearest};

/// Bytes of the longest manifest that is read.
pub const MAX_MANIFEST: usize = 64 << 10;
/// Entries of one list; more is no need but a dragnet.
const MAX_ENTRIES: usize = 64;
/// Bytes of one entry or text.
const MAX_TEXT: usize = 1024;

/// The whole manifest. Every key is optional, an unknown one is an error.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Manifest {
    /// For readers only: grants go by the name of the file.
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub needs: Needs,
    /// What it can do with; less than the host's own is held, more is not given.
    pub limits: Limits,
}

/// The capabilities that a plugin asks for. Nothing written is nothing asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Needs {
    /// Directories in their plain spelling: `.` is the workdir, others lie below it or are
    /// absolute. `*` stands for whichever else the user grants, for tools that serve any folder.
    #[serde(deserialize_with = "directories")]
    pub read: Vec<String>,
    /// The same; what may be written may be read too.
    #[serde(deserialize_with = "directories")]
    pub write: Vec<String>,
    #[serde(deserialize_with = "bounded")]
    pub http: Vec<HttpNeed>,
    /// Names of environment variables.
    #[serde(deserialize_with = "names")]
    pub env: Vec<String>,
    /// Names that it asks the `setting` import for.
    #[serde(deserialize_with = "names")]
    pub settings: Vec<String>,
    /// Names of secrets that the host adds to its requests.
    #[serde(deserialize_with = "names")]
    pub secrets: Vec<String>,
}

/// One host that the plugin talks to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpNeed {
    /// In lower case, with its port where it has one; `*.NAME` is every host below, `*` any that
    /// the user grants.
    #[serde(deserialize_with = "host")]
    pub host: String,
    /// In upper case; `GET` alone where unset.
    #[serde(default = "super::grant::only_get", deserialize_with = "methods")]
    pub methods: Vec<String>,
    /// What for, in the author's words.
    #[serde(default, deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Why a manifest is not accepted. Where it stands is said by whoever read it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadManifest {
    #[error("the manifest is {size} bytes long; at most {MAX_MANIFEST} are read")]
    TooLong { size: usize },
    #[error("the manifest is not UTF-8")]
    NotText,
    #[error("the manifest says what this host does not understand: {why}")]
    Wrong { why: String },
}

impl Manifest {
    /// From the custom section of a component.
    pub fn from_json(bytes: &[u8]) -> Result<Self, BadManifest> {
        let text = checked(bytes)?;
        let failed = |error: serde_json::Error| wrong(&error.to_string());
        // A list would pass for a table with its keys left out.
        let value: serde_json::Value = serde_json::from_str(text).map_err(failed)?;
        let tables = [Some(&value), value.get("needs"), value.get("limits")];
        if !tables.into_iter().flatten().all(serde_json::Value::is_object) {
            return Err(wrong("the manifest, its `needs` and its `limits` are JSON objects"));
        }
        serde_json::from_str(text).map_err(failed)
    }

    /// From the file beside a component.
    pub fn from_toml(bytes: &[u8]) -> Result<Self, BadManifest> {
        let text = checked(bytes)?;
        toml::from_str(text).map_err(|error| wrong(error.message()))
    }

    /// What holds for a plugin that says nothing: it may read the workdir.
    pub fn unsaid() -> Self {
        let needs = Needs { read: vec![".".into()], ..Needs::default() };
        Self { needs, ..Self::default() }
    }

    /// Of the plugin that is part of the binary. Its tools serve any folder that the user names.
    pub fn standard() -> Self {
        let any: Vec<String> = vec![".".into(), "*".into()];
        let needs = Needs { read: any.clone(), write: any, ..Needs::default() };
        Self { needs, ..Self::default() }
    }
}

/// A directory in its plain spelling, the one by which directories are compared.
pub fn plain_directory(text: &str) -> Result<String, String> {
    let shown = || escape_line(&clip_end(text, 80));
    if text.is_empty() {
        return Err("a directory has a name; the workdir is `.`".into());
    }
    if text.len() > MAX_TEXT || text.chars().any(char::is_control) {
        return Err(format!("`{}` is no directory's name", shown()));
    }
    if text.starts_with('~') {
        return Err(format!("`{}` is not expanded: write the absolute path", shown()));
    }
    let parts: Vec<&str> = text.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if parts.contains(&"..") {
        return Err(format!("`{}` leads upwards: write the absolute path", shown()));
    }
    let joined = parts.join("/");
    Ok(match (text.starts_with('/'), joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    })
}

/// A host as it is compared: lower case, nothing but the host and perhaps its port; `*` and
/// `*.NAME` stand for many.
pub fn plain_host(text: &str) -> Result<String, String> {
    let ok = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
    let rest = if text == "*" { "any" } else { text.strip_prefix("*.").unwrap_or(text) };
    if rest.is_empty() || text.len() > 260 || !rest.chars().all(ok) {
        let shown = escape_line(&clip_end(text, 80));
        return Err(format!(
            "`{shown}` is not a host: write it like `api.example.com` or `*.example.com`, without scheme and path"
        ));
    }
    Ok(text.to_ascii_lowercase())
}

fn checked(bytes: &[u8]) -> Result<&str, BadManifest> {
    if bytes.len() > MAX_MANIFEST {
        return Err(BadManifest::TooLong { size: bytes.len() });
    }
    std::str::from_utf8(bytes).map_err(|_| BadManifest::NotText)
}

/// The parser's message on one line, with the key that was probably meant.
fn wrong(message: &str) -> BadManifest {
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let meant = match names.split_first() {
        Some((word, known)) if message.starts_with("unknown field") => {
            nearest(word, known.iter().copied())
        }
        _ => None,
    };
    let meant = meant.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
    BadManifest::Wrong { why: escape_line(&clip_end(&message, 500)) + &meant }
}

fn text<'de, D: Deserializer<'de>>(input: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(input)?;
    Ok(text.map(|text| clip_end(&text, MAX_TEXT)))
}

fn bounded<'de, D: Deserializer<'de>, T: Deserialize<'de>>(input: D) -> Result<Vec<T>, D::Error> {
    let list = Vec::<T>::deserialize(input)?;
    if list.len() > MAX_ENTRIES {
        let count = list.len();
        return Err(D::Error::custom(format!("a list has {count} entries; at most {MAX_ENTRIES}")));
    }
    Ok(list)
}

fn directories<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<String>, D::Error> {
    let list: Vec<String> = bounded(input)?;
    let plain = |text: &String| if text == "*" { Ok(text.clone()) } else { plain_directory(text) };
    list.iter().map(plain).collect::<Result<_, _>>().map_err(D::Error::custom)
}

fn names<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<String>, D::Error> {
    let list: Vec<String> = bounded(input)?;
    let bad = |name: &&String| {
        name.is_empty()
            || name.len() > 128
            || !name.chars().all(|c| c.is_ascii_graphic() && c != '=')
    };
    match list.iter().find(bad) {
        None => Ok(list),
        Some(name) => {
            let name = escape_line(&clip_end(name, 80));
            Err(D::Error::custom(format!("`{name}` is not a name: no spaces, no `=`")))
        }
    }
}

fn host<'de, D: Deserializer<'de>>(input: D) -> Result<String, D::Error> {
    plain_host(&String::deserialize(input)?).map_err(D::Error::custom)
}

fn methods<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<String>, D::Error> {
    let list: Vec<String> = bounded(input)?;
    let bad = |name: &&String| name.is_empty() || !name.chars().all(|c| c.is_ascii_alphabetic());
    match list.iter().find(bad) {
        None => Ok(list.iter().map(|name| name.to_ascii_uppercase()).collect()),
        Some(name) => {
            let name = escape_line(&clip_end(name, 80));
            Err(D::Error::custom(format!("`{name}` is not an HTTP method such as `GET`")))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn both_forms_say_the_same() {
        let json = br#"{"name":"docs","needs":{"read":["./a/"],"http":[{"host":"API.example.com","methods":["get"],"why":"reads"}],
            "settings":["language"]},"limits":{"memory":"64MiB","timeout":"20s"}}"#;
        let toml = b"name = \"docs\"\n[needs]\nread = [\"a\"]\nhttp = [{ host = \"api.example.com\", why = \"reads\" }]\n\
            settings = [\"language\"]\n[limits]\nmemory = \"64MiB\"\ntimeout = \"20s\"";
        assert_eq!(Manifest::from_json(json).unwrap(), Manifest::from_toml(toml).unwrap());
    }

    #[test]
    fn an_unknown_key_is_an_error_that_names_the_right_one() {
        let check = |json: &str, parts: &[&str]| {
            let said = Manifest::from_json(json.as_bytes()).unwrap_err().to_string();
            assert!(parts.iter().all(|part| said.contains(part)), "{said}");
            assert!(!said.contains('\n'), "{said}");
        };
        check(r#"{"need":{}}"#, &["`need`", "did you mean `needs`?"]);
        check(r#"{"needs":{"raed":[]}}"#, &["did you mean `read`?"]);
        check(r#"{"needs":{"http":[{"host":"a","method":[]}]}}"#, &["did you mean `methods`?"]);
        check(r#"{"limits":{"memory":"0"}}"#, &["no limit to run within"]);
        check(r#"{"limits":{"timeout":"0s"}}"#, &["no time to run within"]);
        check(r#"{"needs":{"read":["../x"]}}"#, &["leads upwards"]);
        check(r#"{"needs":{"read":["~/x"]}}"#, &["absolute path"]);
        check(r#"{"needs":{"http":[{"host":"https://a/x"}]}}"#, &["not a host"]);
        check(r#"{"needs":{"http":[{"host":"a*.a"}]}}"#, &["not a host"]);
        check(r#"{"needs":{"env":["A=B"]}}"#, &["not a name"]);
        check("[]", &["does not understand"]);
        check("{", &["does not understand"]);
    }

    #[test]
    fn size_and_text_are_bounded() {
        let long = vec![b' '; MAX_MANIFEST + 1];
        assert!(matches!(Manifest::from_json(&long), Err(BadManifest::TooLong { .. })));
        assert_eq!(Manifest::from_json(&[0xff]), Err(BadManifest::NotText));
        let many = format!(r#"{{"needs":{{"env":[{}"A"]}}}}"#, "\"A\",".repeat(MAX_ENTRIES));
        assert!(Manifest::from_json(many.as_bytes()).is_err());
    }

    #[test]
    fn directories_have_one_spelling() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(plain_directory(text).ok().as_deref(), expect, "{text}");
        };
        check(".", Some("."));
        check("./", Some("."));
        check("a//b/./c/", Some("a/b/c"));
        check("/", Some("/"));
        check("/usr/share/", Some("/usr/share"));
        check("", None);
        check("a/../b", None);
        check("~/x", None);
        check("a\nb", None);
    }
}
