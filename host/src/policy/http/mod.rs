//! Which requests over HTTP a plugin may make: hosts, methods and ports as the user granted them.
//! Pure: names are resolved and connections are made elsewhere, and judged by what stands here.
//!
//! Deny is the default: without a rule no request is made at all.

mod address;
mod host;
mod refusal;
mod rule;
mod secret;

use super::HttpGrant;

pub use address::reserved_range;
pub use host::Host;
pub use refusal::HttpRefusal;
pub use rule::{BadHttpRule, HttpRule};
pub use secret::{BadSecretHeader, SecretHeader};

/// What a plugin may do over HTTP, and what the host adds to its requests.
#[derive(Debug, Clone, Default)]
pub struct HttpGrantRules {
    pub rules: Vec<HttpRule>,
    pub secrets: Vec<SecretHeader>,
    pub limits: HttpLimits,
}

/// What one call may send and receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpLimits {
    /// Bytes of one request's body.
    pub request_body: u64,
    /// Bytes of one response's body, as they come over the wire.
    pub response_body: u64,
    /// Requests of one call, and how many of them may be under way together.
    pub requests: u32,
    pub at_once: u32,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self { request_body: 8 << 20, response_body: 32 << 20, requests: 100, at_once: 8 }
    }
}

/// Where an allowed request goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub host: Host,
    pub port: u16,
    /// `https`.
    pub encrypted: bool,
    /// The place of the rule that allows it, in [`HttpGrantRules::rules`].
    pub rule: usize,
}

impl Target {
    /// `HOST:PORT`.
    pub fn place(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// `SCHEME://HOST:PORT`: requests with the same one go to the same party.
    pub fn origin(&self) -> String {
        format!("{}://{}:{}", scheme(self.encrypted), self.host, self.port)
    }
}

fn scheme(encrypted: bool) -> &'static str {
    if encrypted { "https" } else { "http" }
}

impl HttpGrantRules {
    /// The rules of `[plugins.NAME]`, with the host's own limits. Reading the values of secrets is
    /// the caller's work, see [`SecretHeader::new`].
    pub fn granted(
        http: &[HttpGrant],
        secrets: impl IntoIterator<Item = SecretHeader>,
    ) -> Result<Self, BadHttpRule> {
        let rules = http
            .iter()
            .map(|grant| {
                Ok(HttpRule::new(&grant.host, &grant.methods)?
                    .with_addresses(grant.addresses.iter().copied()))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { rules, secrets: secrets.into_iter().collect(), limits: HttpLimits::default() })
    }

    /// Judges a request by the parts of its URL before anything is resolved. `plugin` is the name
    /// under which the user writes grants, for the words of a refusal.
    pub fn judge(
        &self,
        plugin: &str,
        method: &str,
        scheme: &str,
        authority: &str,
    ) -> Result<Target, HttpRefusal> {
        let encrypted = match scheme {
            "https" => true,
            "http" => false,
            other => return Err(HttpRefusal::Scheme { scheme: other.to_owned() }),
        };
        let (host, port) = host::parse(authority)
            .map_err(|why| HttpRefusal::Odd { authority: authority.to_owned(), why })?;
        let port = port.unwrap_or(if encrypted { 443 } else { 80 });
        if !rule::can_be_granted(method) {
            return Err(HttpRefusal::NeverMethod { method: method.to_owned() });
        }
        let mut of_host =
            self.rules.iter().enumerate().filter(|(_, rule)| rule.covers(&host, port)).peekable();
        let known = of_host.peek().map(|(_, rule)| (*rule).clone());
        if let Some((rule, _)) = of_host.find(|(_, rule)| rule.allows(method)) {
            return Ok(Target { host, port, encrypted, rule });
        }
        let standard = matches!(port, 80 | 443);
        let place = if standard { host.to_string() } else { format!("{host}:{port}") };
        Err(match known {
            Some(rule) => HttpRefusal::Method {
                method: method.to_owned(),
                place,
                toml: rule.with_method(method).to_toml(),
                plugin: plugin.to_owned(),
            },
            None => HttpRefusal::Host {
                range: match &host {
                    Host::Address(address) => reserved_range(*address),
                    Host::Name(_) => None,
                },
                toml: rule::line(&place, method),
                place,
                alone: self.rules.is_empty(),
                plugin: plugin.to_owned(),
            },
        })
    }

    /// The headers that the host adds to a request to `target`: only over an encrypted connection,
    /// or to this machine itself.
    pub fn headers_for<'a>(&'a self, target: &'a Target) -> impl Iterator<Item = &'a SecretHeader> {
        let private = target.encrypted || target.host.is_loopback();
        self.secrets.iter().filter(move |secret| private && secret.is_for(target))
    }
}

#[cfg(test)]
mod tests;
