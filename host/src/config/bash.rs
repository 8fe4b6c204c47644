//! `[bash]` of config.toml: the rules of commands, and what their sandbox lets through.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::ConfigError;
use crate::policy::{parse_duration, parse_size};
use crate::shell::{Allowlist, RuleSettings};
use crate::text::OutputEncoding;

/// The section. An unknown key is an error.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BashEntry {
    /// False leaves the tools out.
    pub enabled: Option<bool>,
    #[serde(flatten)]
    pub rules: RuleSettings,
    pub network: bool,
    /// Directories outside the workdir that commands may see, absolute.
    pub read: Vec<PathBuf>,
    /// Those that they may also change.
    pub write: Vec<PathBuf>,
    /// How long a call may take that does not say so, such as `"30s"`.
    #[serde(deserialize_with = "duration", serialize_with = "seconds")]
    pub timeout: Option<Duration>,
    /// The most that a call may ask for.
    #[serde(deserialize_with = "duration", serialize_with = "seconds")]
    pub max_timeout: Option<Duration>,
    /// Bytes of output that the model is shown at once, such as `"8KiB"`.
    #[serde(deserialize_with = "size")]
    pub output: Option<u64>,
    /// `auto`, or a label of the Encoding Standard, such as `gbk`.
    #[serde(deserialize_with = "encoding")]
    pub encoding: Option<String>,
}

impl BashEntry {
    /// What cannot be judged key by key: the rules with their self-tests, paths, and bounds.
    pub(super) fn check(&self, file: &Path) -> Result<(), ConfigError> {
        let bad = |message: String| ConfigError::BadValue {
            origin: format!("`[bash]` in `{}`", file.display()),
            message,
        };
        if !self.rules.allow.is_empty() || !self.rules.deny.is_empty() {
            Allowlist::new(&self.rules).map_err(|error| bad(error.to_string()))?;
        }
        if let Some(path) = self.read.iter().chain(&self.write).find(|path| !path.is_absolute()) {
            return Err(bad(format!("`{}` has to be an absolute path", path.display())));
        }
        match (self.timeout, self.max_timeout) {
            (Some(timeout), Some(most)) if timeout > most => {
                Err(bad("`timeout` is more than `max_timeout`".into()))
            }
            _ => Ok(()),
        }
    }
}

fn duration<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Duration>, D::Error> {
    parse_duration(&String::deserialize(input)?).map(Some).map_err(D::Error::custom)
}

#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
fn seconds<S: Serializer>(value: &Option<Duration>, output: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => output.serialize_some(&format!("{}ms", value.as_millis())),
        None => output.serialize_none(),
    }
}

fn size<'de, D: Deserializer<'de>>(input: D) -> Result<Option<u64>, D::Error> {
    parse_size(&String::deserialize(input)?).map(Some).map_err(D::Error::custom)
}

fn encoding<'de, D: Deserializer<'de>>(input: D) -> Result<Option<String>, D::Error> {
    let label = String::deserialize(input)?;
    if OutputEncoding::named(&label).is_none() {
        return Err(D::Error::custom(format!(
            "`{label}` names no encoding; write `auto`, `utf-8`, `gbk` or another label"
        )));
    }
    Ok(Some(label))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn read(text: &str) -> Result<BashEntry, String> {
        let entry: BashEntry = toml::from_str(text).map_err(|e| e.message().to_owned())?;
        entry.check(Path::new("/c/config.toml")).map_err(|e| e.to_string())?;
        Ok(entry)
    }

    #[test]
    fn rules_and_grants_stand_in_one_section() {
        let entry = read("outside = \"confine\"\nnetwork = true\nread = [\"/srv\"]\ntimeout = \"5s\"\noutput = \"4KiB\"\nencoding = \"gbk\"").unwrap();
        assert!(entry.rules.shipped_rules && entry.network);
        assert_eq!((entry.timeout, entry.output), (Some(Duration::from_secs(5)), Some(4096)));
        assert_eq!(read("").unwrap(), BashEntry::default());
    }

    #[test]
    fn what_is_wrong_is_named() {
        let check = |text: &str, part: &str| {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        };
        check("netwrok = true", "netwrok");
        check("read = [\"../x\"]", "absolute");
        check("encoding = \"klingon\"", "klingon");
        check("timeout = \"0s\"", "no time");
        check("timeout = \"5m\"\nmax_timeout = \"1m\"", "max_timeout");
        check("[[allow]]\nprogram = \"ls\"\nnot_match = [\"ls\"]", "bash.allow 1 `ls`");
        check("[[allow]]\nprogram = \"ls\"\nnotmatch = []", "notmatch");
    }
}
