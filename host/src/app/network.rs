//! From what a plugin may do to what it may ask over HTTP, with the secrets that the host adds.

use std::sync::Arc;

use crate::config::Settings;
use crate::policy::{Effective, HttpGrantRules, SecretHeader};
use crate::sandbox::HttpAccess;

/// What `effective` lets the plugin `name` ask; none where it lets it ask no host. A secret that
/// cannot be read or sent keeps the plugin from being offered: without it, it would fail in some odd way.
pub(super) fn access(
    settings: &Settings,
    name: &str,
    effective: &Effective,
) -> Result<Option<Arc<HttpAccess>>, String> {
    if effective.http.is_empty() {
        return Ok(None);
    }
    let mut secrets = Vec::with_capacity(effective.secrets.len());
    for secret in &effective.secrets {
        let place = || format!("the secret `{}` of `[plugins.{name}]`", secret.name);
        let value = settings
            .secret(name, &secret.from)
            .map_err(|error| format!("{}: {error}", place()))?
            .ok_or_else(|| format!("{} is not set: `{}` names nothing", place(), secret.from))?;
        let header =
            SecretHeader::new(&secret.host, &secret.header, value.expose(), &secret.format)
                .map_err(|error| format!("{}: {error}", place()))?;
        secrets.push(header);
    }
    let rules = HttpGrantRules::granted(&effective.http, secrets)
        .map_err(|error| format!("`http` of `[plugins.{name}]`: {error}"))?;
    Ok(Some(Arc::new(HttpAccess::new(name, rules))))
}
