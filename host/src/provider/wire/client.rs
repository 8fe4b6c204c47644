//! The HTTP client of one service.

use std::error::Error as _;

use reqwest::{Certificate, Client, redirect};

use super::{Endpoint, ServiceSettings};

/// Builds the client. Redirects are not its business, see [`super::exchange`]; proxies are those
/// of the environment (`HTTPS_PROXY`, `NO_PROXY` and so on), except that this machine is always
/// spoken to directly.
pub(super) fn build(settings: &ServiceSettings, endpoint: &Endpoint) -> Result<Client, String> {
    let mut builder = Client::builder()
        .redirect(redirect::Policy::none())
        .connect_timeout(settings.timeouts.connect)
        .referer(false)
        .user_agent(concat!("clawhold/", env!("CARGO_PKG_VERSION")));
    if endpoint.is_loopback() {
        builder = builder.no_proxy();
    }
    // The client wants a cryptography provider even where nothing is encrypted. Installing one
    // a second time fails, and then there is one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    if endpoint.is_plain() {
        // An empty set of certificates: reading those of the system takes longer than all the
        // rest of a start. As redirects never change the origin, none can be needed later.
        builder = builder.tls_certs_only([]);
    } else if let Some(pem) = &settings.extra_roots {
        let roots = Certificate::from_pem_bundle(pem).map_err(|cause| told(&cause))?;
        if roots.is_empty() {
            return Err("the file of extra certificates holds none in PEM".into());
        }
        builder = builder.tls_certs_merge(roots);
    }
    builder.build().map_err(|cause| told(&cause))
}

/// The whole chain of causes, each said once. URLs stay out of it: they may hold keys.
pub(super) fn told(error: &reqwest::Error) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !parts.iter().any(|part| part.contains(&text)) {
            parts.push(text);
        }
        cause = inner.source();
    }
    if parts.is_empty() {
        // Without a cause there is only the error's own kind, which its text begins with.
        let text = error.to_string();
        let end = text.find(" for url").unwrap_or(text.len());
        return text[..end].to_owned();
    }
    parts.join(": ")
}
