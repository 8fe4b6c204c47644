//! One granted host.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use thiserror::Error;

use super::address::reserved_range;
use super::host::{self, Host};

/// A host, or a family of hosts, with what may be asked of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRule {
    pattern: Pattern,
    /// Without one the ports 80 and 443 are meant.
    port: Option<u16>,
    methods: Vec<String>,
    addresses: Vec<IpAddr>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    Exact(Host),
    /// `*.example.com`: the part with its leading dot.
    Below(String),
    /// `*`: every name, and no address.
    Every,
}

/// Why a rule means nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadHttpRule {
    #[error("`{host}` is no host to grant: {why}")]
    Host { host: String, why: &'static str },
    #[error(
        "`{host}` would grant a whole top-level domain; name at least one label more, or write `*` for every host"
    )]
    TooWide { host: String },
    #[error("`{method}` is no method to grant; write it in capital letters, such as `GET`")]
    Method { method: String },
    #[error(
        "the grant for `{host}` names no method; write `methods = [\"GET\"]`, or leave the entry out"
    )]
    NoMethod { host: String },
}

impl HttpRule {
    /// `host` is `NAME`, `*.NAME`, `ADDRESS`, each with `:PORT` or without, or `*`.
    pub fn new(host: &str, methods: &[String]) -> Result<Self, BadHttpRule> {
        let bad = |why| BadHttpRule::Host { host: host.escape_default().to_string(), why };
        let (pattern, port) = if host == "*" {
            (Pattern::Every, None)
        } else if let Some(rest) = host.strip_prefix("*.") {
            match host::parse(rest).map_err(bad)? {
                (Host::Name(name), port) if name.contains('.') => {
                    (Pattern::Below(format!(".{name}")), port)
                }
                (Host::Name(_), _) => return Err(BadHttpRule::TooWide { host: host.to_owned() }),
                (Host::Address(_), _) => return Err(bad("an address has nothing below it")),
            }
        } else {
            let (exact, port) = host::parse(host).map_err(bad)?;
            (Pattern::Exact(exact), port)
        };
        if methods.is_empty() {
            return Err(BadHttpRule::NoMethod { host: host.to_owned() });
        }
        for method in methods {
            if !can_be_granted(method) {
                return Err(BadHttpRule::Method { method: method.escape_default().to_string() });
            }
        }
        let addresses = match &pattern {
            Pattern::Exact(Host::Address(address)) => vec![*address],
            // This name means this machine and nothing else (RFC 6761, section 6.3).
            Pattern::Exact(Host::Name(name)) if name == "localhost" => {
                vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)]
            }
            _ => Vec::new(),
        };
        Ok(Self { pattern, port, methods: methods.to_vec(), addresses })
    }

    /// Lets the rule's names lead to these addresses although they are not of the public internet.
    #[must_use]
    pub fn with_addresses(mut self, addresses: impl IntoIterator<Item = IpAddr>) -> Self {
        self.addresses.extend(addresses);
        self
    }

    /// What a user should hear about a rule that grants more than it seems to.
    pub fn warning(&self) -> Option<String> {
        (self.pattern == Pattern::Every).then(|| {
            "`host = \"*\"` lets the plugin send what it reads to any host of the internet; name the hosts it needs".to_owned()
        })
    }

    /// Why a name of this rule may not lead to `address`, if it may not.
    pub fn bars(&self, address: IpAddr) -> Option<&'static str> {
        if self.addresses.contains(&address) {
            None
        } else if matches!(&self.pattern, Pattern::Exact(host) if host.is_loopback()) {
            // What is said to this machine may be secret, so it leads nowhere else.
            Some("not this machine")
        } else {
            reserved_range(address)
        }
    }

    pub(super) fn covers(&self, host: &Host, port: u16) -> bool {
        let fits = match (&self.pattern, host) {
            (Pattern::Exact(own), asked) => own == asked,
            (Pattern::Below(end), Host::Name(name)) => {
                name.len() > end.len() && name.ends_with(end.as_str())
            }
            (Pattern::Every, Host::Name(name)) => name != "localhost",
            (Pattern::Below(_) | Pattern::Every, Host::Address(_)) => false,
        };
        fits && self.port.map_or(matches!(port, 80 | 443), |own| own == port)
    }

    /// Methods are compared with their case, as servers do (RFC 9110, section 9.1).
    pub(super) fn allows(&self, method: &str) -> bool {
        self.methods.iter().any(|own| own == method)
    }

    pub(super) fn with_method(mut self, method: &str) -> Self {
        self.methods.push(method.to_owned());
        self
    }

    /// The entry of `http` that means this rule, with `addresses` for those granted to a name.
    pub fn to_toml(&self) -> String {
        let mut host = match &self.pattern {
            Pattern::Exact(host) => host.to_string(),
            Pattern::Below(end) => format!("*{end}"),
            Pattern::Every => "*".to_owned(),
        };
        if let Some(port) = self.port {
            host = format!("{host}:{port}");
        }
        let quote = |items: Vec<String>| {
            items
                .iter()
                .map(|item| format!("\"{}\"", item.escape_default()))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let methods = quote(self.methods.clone());
        let named = !matches!(&self.pattern, Pattern::Exact(host) if host.is_loopback() || matches!(host, Host::Address(_)));
        if named && !self.addresses.is_empty() {
            let addresses = quote(self.addresses.iter().map(ToString::to_string).collect());
            return format!(
                "{{ host = \"{host}\", methods = [{methods}], addresses = [{addresses}] }}"
            );
        }
        format!("{{ host = \"{host}\", methods = [{methods}] }}")
    }
}

/// The entry of `http` that would allow `method` on `place`.
pub(super) fn line(place: &str, method: &str) -> String {
    format!("{{ host = \"{place}\", methods = [\"{}\"] }}", method.escape_default())
}

/// Whether it is a method that a plugin may ever use. A tunnel would lead anywhere, and an echo of
/// the request would show what was added to it.
pub(super) fn can_be_granted(method: &str) -> bool {
    !method.is_empty()
        && method.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-')
        && !matches!(method, "CONNECT" | "TRACE")
}
