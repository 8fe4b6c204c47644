//! A header that the host adds to a plugin's requests, and that the plugin never sees.

use thiserror::Error;

use super::Target;
use super::host::{self, Host};

/// Shorter ones cannot be told from ordinary text, so an answer that repeats one could not be
/// cleaned of it.
const SHORTEST: usize = 8;

/// A secret for one host. Printing it never shows the secret.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretHeader {
    host: Host,
    port: Option<u16>,
    header: String,
    secret: String,
    format: String,
}

/// Why a secret cannot be sent. The secret is never part of the message.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadSecretHeader {
    #[error("a secret goes to exactly one host, and `{host}` is none: {why}")]
    Host { host: String, why: &'static str },
    #[error("`{header}` is no header that can carry a secret")]
    Header { header: String },
    #[error("the format of `{header}` has no `{{}}` where the secret is to stand")]
    Format { header: String },
    #[error("the secret for `{header}` has a character that cannot stand in a header")]
    Character { header: String },
    #[error(
        "the secret for `{header}` is shorter than {SHORTEST} characters, too short to be found in an answer that repeats it"
    )]
    Short { header: String },
}

impl SecretHeader {
    /// `host` is `NAME`, `NAME:PORT` or an address with or without port; `format` holds `{}` where
    /// `secret` goes.
    pub fn new(
        host: &str,
        header: &str,
        secret: &str,
        format: &str,
    ) -> Result<Self, BadSecretHeader> {
        let (parsed, port) = host::parse(host).map_err(|why| BadSecretHeader::Host {
            host: host.escape_default().to_string(),
            why,
        })?;
        let header = header.to_ascii_lowercase();
        // The characters of a token (RFC 9110, section 5.6.2).
        let token = !header.is_empty()
            && header
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte));
        let framing = matches!(
            header.as_str(),
            "host" | "content-length" | "transfer-encoding" | "connection"
        );
        if !token || framing || header.starts_with("proxy-") {
            return Err(BadSecretHeader::Header { header: header.escape_default().to_string() });
        }
        if !format.contains("{}") {
            return Err(BadSecretHeader::Format { header });
        }
        if !secret.bytes().chain(format.bytes()).all(|byte| (b' '..=b'~').contains(&byte)) {
            return Err(BadSecretHeader::Character { header });
        }
        if secret.len() < SHORTEST {
            return Err(BadSecretHeader::Short { header });
        }
        Ok(Self {
            host: parsed,
            port,
            header,
            secret: secret.to_owned(),
            format: format.to_owned(),
        })
    }

    /// The header's name, in lower case.
    pub fn header(&self) -> &str {
        &self.header
    }

    /// The header's whole value, for the one request that carries it.
    pub fn value(&self) -> String {
        self.format.replace("{}", &self.secret)
    }

    /// The secret itself, for looking for it in answers.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    pub(super) fn is_for(&self, target: &Target) -> bool {
        let port = self.port.unwrap_or(if target.encrypted { 443 } else { 80 });
        self.host == target.host && port == target.port
    }
}

impl std::fmt::Debug for SecretHeader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SecretHeader({} for {})", self.header, self.host)
    }
}
