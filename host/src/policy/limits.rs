//! Ceilings on what one call may use, written as people write them: `64MiB`, `20s`.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Unset means the host's own ceiling. What is set is never zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Bytes of linear memory, all memories of the instance together.
    #[serde(deserialize_with = "optional_size", skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Wall-clock time of one call.
    #[serde(
        deserialize_with = "duration",
        serialize_with = "as_milliseconds",
        skip_serializing_if = "Option::is_none"
    )]
    pub timeout: Option<Duration>,
    /// Bytes of a call's result.
    #[serde(deserialize_with = "optional_size", skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
}

/// Bytes: a whole number, alone or with `B`, `KiB`, `MiB`, `GiB` (powers of 1024) or `kB`, `MB`,
/// `GB` (powers of 1000). Zero is refused, since nothing runs within it.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let factor: u64 = match unit {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return Err(format!("`{text}` is not a size: write it like `64MiB`")),
    };
    let number: u64 =
        number.parse().map_err(|_| format!("`{text}` is not a size: write it like `64MiB`"))?;
    match number.checked_mul(factor) {
        None => Err(format!("`{text}` is more bytes than any machine has")),
        Some(0) => {
            Err(format!("`{text}` is no limit to run within: leave the key out, or raise it"))
        }
        Some(bytes) => Ok(bytes),
    }
}

/// A time with its unit: `ms`, `s`, `m` or `h`. A bare number is refused, because it could be
/// read as seconds or milliseconds, and so is zero.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split(text);
    let factor: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "" => return Err(format!("`{text}` has no unit: write it like `20s`")),
        _ => return Err(format!("`{text}` is not a time: write it like `20s`")),
    };
    let number: u64 =
        number.parse().map_err(|_| format!("`{text}` is not a time: write it like `20s`"))?;
    match number.checked_mul(factor) {
        None => Err(format!("`{text}` is longer than can be counted")),
        Some(0) => {
            Err(format!("`{text}` is no time to run within: leave the key out, or raise it"))
        }
        Some(milliseconds) => Ok(Duration::from_millis(milliseconds)),
    }
}

/// The digits at the beginning, and the unit behind them.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// A file may say `memory = 1048576` as well as `memory = "1MiB"`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Number(u64),
    Text(String),
}

/// For serde: a size as [`parse_size`] reads it, or a bare number of bytes.
pub fn optional_size<'de, D: Deserializer<'de>>(input: D) -> Result<Option<u64>, D::Error> {
    let text = match Written::deserialize(input)? {
        Written::Number(number) => number.to_string(),
        Written::Text(text) => text,
    };
    parse_size(&text).map(Some).map_err(D::Error::custom)
}

fn duration<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Duration>, D::Error> {
    let text = match Written::deserialize(input)? {
        Written::Number(number) => number.to_string(),
        Written::Text(text) => text,
    };
    parse_duration(&text).map(Some).map_err(D::Error::custom)
}

#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
fn as_milliseconds<S: Serializer>(time: &Option<Duration>, output: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => output.serialize_str(&format!("{}ms", time.as_millis())),
        None => output.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn sizes() {
        let check = |text: &str, expect: Option<u64>| {
            assert_eq!(parse_size(text).ok(), expect, "{text}");
        };
        check("64MiB", Some(64 << 20));
        check("1 GiB", Some(1 << 30));
        check("512", Some(512));
        check("2MB", Some(2_000_000));
        check("0", None);
        check("0MiB", None);
        check("-1", None);
        check("1.5MiB", None);
        check("64Mb", None);
        check("", None);
        check("99999999999GiB", None);
    }

    #[test]
    fn times() {
        let check = |text: &str, expect: Option<u64>| {
            assert_eq!(parse_duration(text).ok(), expect.map(Duration::from_millis), "{text}");
        };
        check("20s", Some(20_000));
        check("500ms", Some(500));
        check("2 m", Some(120_000));
        check("1h", Some(3_600_000));
        check("20", None);
        check("0s", None);
        check("-1s", None);
        check("fast", None);
    }

    #[test]
    fn a_table_reads_and_writes_back() {
        let limits: Limits =
            toml::from_str("memory = \"64MiB\"\ntimeout = \"20s\"\noutput = 1024").unwrap();
        assert_eq!(limits.memory, Some(64 << 20));
        assert_eq!(limits.timeout, Some(Duration::from_secs(20)));
        assert_eq!(limits.output, Some(1024));
        let again: Limits = toml::from_str(&toml::to_string(&limits).unwrap()).unwrap();
        assert_eq!(again, limits);
    }

    #[test]
    fn zero_in_a_table_is_refused_with_the_reason() {
        let error = toml::from_str::<Limits>("memory = 0").unwrap_err();
        assert!(error.message().contains("no limit to run within"), "{}", error.message());
    }
}
