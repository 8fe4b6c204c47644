//! Why a request is not made, in words that a model can act on and a user can paste from.

use thiserror::Error;

use crate::text::escape_line;

/// One refusal. Texts of the guest stand escaped in it; no secret and no path or query does.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HttpRefusal {
    #[error("this plugin may not ask `{place}`{}; the user allows it in config.toml, under `[plugins.{plugin}]`, {}", in_range(*range), how(*alone, toml))]
    Host { place: String, range: Option<&'static str>, toml: String, alone: bool, plugin: String },
    #[error(
        "this plugin may not use {} on `{place}`; the user allows it in config.toml, under `[plugins.{plugin}]`, by this entry of `http`: `{toml}`",
        escape_line(method)
    )]
    Method { method: String, place: String, toml: String, plugin: String },
    #[error(
        "plugins never use `{}` as a method; ask with another, such as `GET`",
        escape_line(method)
    )]
    NeverMethod { method: String },
    #[error("`{}` is not asked: {why}", escape_line(authority))]
    Odd { authority: String, why: &'static str },
    #[error("`{}` is not spoken here; use `https`", escape_line(scheme))]
    Scheme { scheme: String },
    #[error(
        "`{place}` resolves to {address} ({range}), where no name may lead; the user allows it in config.toml, under `[plugins.{plugin}]`, by this entry of `http`: `{toml}`"
    )]
    Resolved {
        place: String,
        address: std::net::IpAddr,
        range: &'static str,
        toml: String,
        plugin: String,
    },
    #[error(
        "`{place}` is an address, and requests go through the proxy of the environment, which is asked for hosts by name only; use the host's name, or ask the user to list the address in `NO_PROXY`"
    )]
    AddressByProxy { place: String },
    #[error(
        "`{from}` redirected to `{to}`, from an encrypted connection to a plain one, which is not followed; ask for the `https` address"
    )]
    Downgrade { from: String, to: String },
    #[error(
        "`{place}` kept redirecting: more than {limit} redirects in a row are not followed; ask for the final address"
    )]
    Redirects { place: String, limit: u8 },
}

impl HttpRefusal {
    /// What was asked, for the receipt. Escaped.
    pub fn subject(&self) -> String {
        match self {
            Self::Host { place, .. }
            | Self::Resolved { place, .. }
            | Self::AddressByProxy { place }
            | Self::Redirects { place, .. } => place.clone(),
            Self::Method { method, place, .. } => format!("{} {place}", escape_line(method)),
            Self::NeverMethod { method } => escape_line(method),
            Self::Odd { authority, .. } => escape_line(authority),
            Self::Scheme { scheme } => escape_line(scheme),
            Self::Downgrade { to, .. } => to.clone(),
        }
    }
}

fn in_range(range: Option<&'static str>) -> String {
    range.map_or_else(String::new, |range| format!(" ({range})"))
}

/// A list that is there already is added to: a second line of the same key would be an error.
fn how(alone: bool, toml: &str) -> String {
    if alone {
        format!("by the line `http = [{toml}]`")
    } else {
        format!("by adding `{toml}` to `http`")
    }
}
