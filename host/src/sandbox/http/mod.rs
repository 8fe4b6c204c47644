//! `wasi:http` for guests: every request is judged by the user's grant, made by a client of our
//! own, and recorded.
//!
//! Redirects are left to the guest. The interface hands it the answer as it came, it asks again if
//! it wants to, and that request is judged like any other; so no request is ever made that was not
//! judged, and a guest that wants to see a redirect sees it. What only the host can hold across a
//! redirect (no way down from `https`, no credentials to another origin, no endless chain) is held
//! by a memory of where this call was redirected to, see [`redirects`].
//!
//! A plugin without `wasi:http` pays for none of this: the state of a call is made at its first use.

mod answer;
mod clients;
mod exchange;
mod fault;
mod forms;
mod hooks;
mod record;
mod redirects;
mod request;
mod resolve;
mod scrub;

use std::sync::Arc;
use std::time::Instant;

use http::HeaderValue;
use wasmtime::component::Linker;
use wasmtime_wasi_http::p2::bindings::{LinkOptions, http as wasi_http};
use wasmtime_wasi_http::{WasiHttp, WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use crate::policy::{HttpGrantRules, Target};

use super::state::CallState;

use clients::Clients;
pub use clients::Proxies;
use hooks::Hooks;
pub(super) use record::HttpRecord;
pub use resolve::Lookup;
use scrub::Scrub;

/// What a plugin may do over HTTP, with the connections that its calls share.
pub struct HttpAccess {
    plugin: String,
    rules: HttpGrantRules,
    scrub: Arc<Scrub>,
    clients: Clients,
}

impl HttpAccess {
    /// `plugin` is the name under which the user grants, for the words of refusals.
    pub fn new(plugin: &str, rules: HttpGrantRules) -> Self {
        let scrub = Arc::new(Scrub::new(&rules.secrets));
        let clients = Clients::new(&rules.rules);
        Self { plugin: plugin.to_owned(), rules, scrub, clients }
    }

    /// No request at all; each is refused with the line that would allow it.
    pub fn nothing(plugin: &str) -> Self {
        Self::new(plugin, HttpGrantRules::default())
    }

    /// Resolves names by `lookup` in place of the system. What it answers is judged all the same.
    #[must_use]
    pub fn with_lookup(mut self, lookup: Arc<dyn Lookup>) -> Self {
        self.clients.lookup = lookup;
        self
    }

    /// Trusts the certificates of this PEM file as well as the system's.
    #[must_use]
    pub fn with_extra_roots(mut self, pem: Vec<u8>) -> Self {
        self.clients.extra_roots = Some(pem);
        self
    }

    /// Uses these proxies in place of the environment's.
    #[must_use]
    pub fn with_proxies(mut self, proxies: Proxies) -> Self {
        self.clients.set_proxies(proxies);
        self
    }

    /// The headers of the host's own for a request to `target`, by name.
    fn secret_headers(&self, target: &Target) -> Vec<(http::HeaderName, HeaderValue)> {
        self.rules
            .headers_for(target)
            .filter_map(|secret| {
                let name = http::HeaderName::from_bytes(secret.header().as_bytes()).ok()?;
                let mut value = HeaderValue::from_str(&secret.value()).ok()?;
                value.set_sensitive(true);
                Some((name, value))
            })
            .collect()
    }
}

impl std::fmt::Debug for HttpAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpAccess")
            .field("plugin", &self.plugin)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

/// HTTP of one call.
pub(super) struct HttpState {
    hooks: Hooks,
    context: WasiHttpCtx,
}

impl HttpState {
    /// Allocates nothing. Without an access everything is refused.
    pub(super) fn new(access: Option<Arc<HttpAccess>>, deadline: Instant) -> Self {
        Self { hooks: Hooks::new(access, deadline), context: WasiHttpCtx::new() }
    }

    /// What was asked and refused.
    pub(super) fn finish(self) -> HttpRecord {
        self.hooks.finish()
    }
}

impl WasiHttpView for CallState {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView {
            hooks: &mut self.http.hooks,
            table: &mut self.table,
            ctx: &mut self.http.context,
        }
    }
}

/// Links the interfaces for asking; those for serving are not there.
pub(super) fn add_to_linker(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    let options = LinkOptions::default();
    wasi_http::outgoing_handler::add_to_linker::<_, WasiHttp>(linker, CallState::http)?;
    wasi_http::types::add_to_linker::<_, WasiHttp>(linker, &(&options).into(), CallState::http)?;
    Ok(())
}
