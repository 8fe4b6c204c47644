//! What a user allows one plugin, as `[plugins.NAME]` of config.toml says it.
//!
//! Deny is the default. A plugin for which nothing is written gets the workdir read-only, no
//! network, no environment variable, no setting and no secret, the host's own limits, and all its
//! tools are offered. Only the standard plugin, which is part of the binary, may also write in the
//! workdir. A list that is written replaces its default, so `read = []` takes even the workdir.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use super::Limits;

/// One `[plugins.NAME]` table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Grant {
    /// `false` keeps the plugin's component from being loaded at all.
    pub enabled: bool,
    /// Directories it may read: `.` is the workdir, others are absolute or relative to it. None
    /// where the user said nothing, which is not the same as an empty list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<Vec<String>>,
    /// Directories it may write, and so read too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<Vec<String>>,
    pub http: Vec<HttpGrant>,
    /// Names of environment variables that it may see.
    pub env: Vec<String>,
    /// What its `setting` import answers. Numbers and booleans of the file arrive as text.
    #[serde(deserialize_with = "settings")]
    pub settings: BTreeMap<String, String>,
    pub secrets: BTreeMap<String, SecretGrant>,
    /// The only tools of it to offer; all of them where unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    pub limits: Limits,
}

impl Default for Grant {
    fn default() -> Self {
        Self {
            enabled: true,
            read: None,
            write: None,
            http: Vec::new(),
            env: Vec::new(),
            settings: BTreeMap::new(),
            secrets: BTreeMap::new(),
            tools: None,
            limits: Limits::default(),
        }
    }
}

impl Grant {
    /// The directories to read: the workdir where nothing is written.
    pub fn read_dirs(&self) -> Vec<&str> {
        match &self.read {
            Some(dirs) => dirs.iter().map(String::as_str).collect(),
            None => vec!["."],
        }
    }

    /// The directories to write. Where nothing is written, `standard` decides: the plugin that is
    /// part of the binary may write in the workdir, every other one nowhere.
    pub fn write_dirs(&self, standard: bool) -> Vec<&str> {
        match &self.write {
            Some(dirs) => dirs.iter().map(String::as_str).collect(),
            None if standard => vec!["."],
            None => Vec::new(),
        }
    }

    /// Whether the tool `name` is among those to offer.
    pub fn offers(&self, name: &str) -> bool {
        self.enabled && self.tools.as_ref().is_none_or(|tools| tools.iter().any(|t| t == name))
    }
}

/// A host that a plugin may ask over HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpGrant {
    /// Compared whole, never as a part of another name.
    pub host: String,
    /// Upper case; `GET` alone where unset.
    #[serde(default = "only_get")]
    pub methods: Vec<String>,
    /// Addresses of private networks, or of this machine, to which the host's name may lead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<IpAddr>,
}

pub(super) fn only_get() -> Vec<String> {
    vec!["GET".to_owned()]
}

/// A secret that the host adds to a plugin's requests. The plugin neither names nor sees it, and
/// this table holds only where it comes from, so it may be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretGrant {
    /// `env:NAME` or `file:PATH`.
    pub from: String,
    /// The one host to which it is sent.
    pub host: String,
    /// The header that carries it.
    pub header: String,
    /// The header's value, `{}` standing for the secret.
    #[serde(default = "bare_secret")]
    pub format: String,
}

fn bare_secret() -> String {
    "{}".to_owned()
}

fn settings<'de, D: Deserializer<'de>>(input: D) -> Result<BTreeMap<String, String>, D::Error> {
    BTreeMap::<String, toml::Value>::deserialize(input)?
        .into_iter()
        .map(|(name, value)| match value {
            toml::Value::String(text) => Ok((name, text)),
            toml::Value::Integer(_) | toml::Value::Float(_) | toml::Value::Boolean(_) => {
                Ok((name, value.to_string()))
            }
            _ => Err(D::Error::custom(format!(
                "the setting `{name}` is a {}, where only text, a number or true and false fit",
                value.type_str()
            ))),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn nothing_written_means_the_workdir_read_only() {
        let grant: Grant = toml::from_str("").unwrap();
        assert_eq!(grant, Grant::default());
        assert_eq!(grant.read_dirs(), ["."]);
        assert!(grant.write_dirs(false).is_empty());
        assert_eq!(grant.write_dirs(true), ["."]);
        assert!(grant.http.is_empty() && grant.env.is_empty() && grant.secrets.is_empty());
    }

    #[test]
    fn a_written_list_replaces_its_default() {
        let grant: Grant = toml::from_str("read = []\nwrite = []\ntools = [\"a\"]").unwrap();
        assert!(grant.read_dirs().is_empty());
        assert!(grant.write_dirs(true).is_empty());
        assert!(grant.offers("a") && !grant.offers("b"));
    }

    #[test]
    fn a_disabled_plugin_offers_nothing() {
        let grant: Grant = toml::from_str("enabled = false").unwrap();
        assert!(!grant.offers("a"));
    }

    #[test]
    fn settings_are_text_whatever_they_were() {
        let grant: Grant = toml::from_str("settings = { a = \"x\", b = 3, c = true }").unwrap();
        let values: Vec<_> = grant.settings.into_iter().collect();
        let expect = [("a", "x"), ("b", "3"), ("c", "true")];
        assert_eq!(values, expect.map(|(k, v)| (k.to_owned(), v.to_owned())));
        assert!(toml::from_str::<Grant>("settings = { a = [1] }").is_err());
    }

    #[test]
    fn a_misspelt_key_is_an_error_never_a_silent_default() {
        for text in ["wirte = []", "http = [{ host = \"a\", method = [\"GET\"] }]"] {
            assert!(toml::from_str::<Grant>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn http_is_get_alone_unless_it_says_more() {
        let grant: Grant = toml::from_str("http = [{ host = \"a.example\" }]").unwrap();
        assert_eq!(grant.http[0].methods, ["GET"]);
    }
}
