//! The clients that requests go through, made when first needed and kept for the plugin's next
//! calls. Each rule has its own: which addresses a name may lead to depends on the rule, and a
//! connection that one rule allowed is never used under another.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use http::Uri;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use reqwest::{Certificate, Client, ClientBuilder, Proxy, redirect};

use crate::policy::{HttpRule, Target};

use super::resolve::{Checked, Lookup, System};

/// How long a connection may take to come about, encryption included.
const CONNECT: Duration = Duration::from_secs(10);
/// Connections that wait for the next request.
const IDLE: usize = 2;
const IDLE_TIME: Duration = Duration::from_secs(30);

/// Which requests go through a proxy.
#[derive(Debug)]
pub struct Proxies(Matcher);

impl Proxies {
    /// Those of `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, or of the system.
    pub fn of_environment() -> Self {
        Self(Matcher::from_system())
    }

    /// `proxy` for everything but the hosts in `except`, which are separated by commas.
    pub fn all(proxy: &str, except: &str) -> Self {
        Self(Matcher::builder().all(proxy.to_owned()).no(except.to_owned()).build())
    }
}

/// The way to a target.
#[derive(Debug)]
pub(super) enum Way {
    Direct,
    Proxy(Intercept),
}

impl Way {
    pub(super) fn is_proxy(&self) -> bool {
        matches!(self, Self::Proxy(_))
    }
}

/// The clients of one plugin.
pub(super) struct Clients {
    pub(super) lookup: Arc<dyn Lookup>,
    pub(super) extra_roots: Option<Vec<u8>>,
    proxies: OnceLock<Proxies>,
    /// For each rule one for plain connections and one for encrypted ones.
    direct: Vec<[OnceLock<Client>; 2]>,
    /// By the proxy's address. The proxy resolves names, so these know no rule.
    proxied: Mutex<Vec<(Uri, Client)>>,
}

impl Clients {
    pub(super) fn new(rules: &[HttpRule]) -> Self {
        Self {
            lookup: Arc::new(System),
            extra_roots: None,
            proxies: OnceLock::new(),
            direct: rules.iter().map(|_| Default::default()).collect(),
            proxied: Mutex::default(),
        }
    }

    pub(super) fn set_proxies(&mut self, proxies: Proxies) {
        self.proxies = proxies.into();
    }

    /// Decided here alone: a client is told to use exactly this proxy or none. This machine is
    /// always spoken to directly, because a proxy would speak to itself.
    pub(super) fn way(&self, target: &Target, url: &reqwest::Url) -> Way {
        if target.host.is_loopback() {
            return Way::Direct;
        }
        let proxies = self.proxies.get_or_init(Proxies::of_environment);
        let intercept = url.as_str().parse().ok().and_then(|uri: Uri| proxies.0.intercept(&uri));
        intercept.map_or(Way::Direct, Way::Proxy)
    }

    /// The client for a request that `rule` allows.
    pub(super) fn client(
        &self,
        target: &Target,
        rule: &HttpRule,
        way: &Way,
    ) -> Result<Client, String> {
        let failed = |error: reqwest::Error| error.without_url().to_string();
        match way {
            Way::Direct => {
                let slot = self
                    .direct
                    .get(target.rule)
                    .map(|slots| &slots[usize::from(target.encrypted)])
                    .ok_or("the rule is gone")?;
                if let Some(client) = slot.get() {
                    return Ok(client.clone());
                }
                let resolver = Checked { lookup: Arc::clone(&self.lookup), rule: rule.clone() };
                let builder =
                    self.builder(target.encrypted)?.no_proxy().dns_resolver(Arc::new(resolver));
                let client = builder.build().map_err(failed)?;
                Ok(slot.get_or_init(|| client).clone())
            }
            Way::Proxy(intercept) => {
                let mut proxied = self.proxied.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some((_, client)) = proxied.iter().find(|(uri, _)| uri == intercept.uri()) {
                    return Ok(client.clone());
                }
                let mut proxy = Proxy::all(intercept.uri().to_string()).map_err(failed)?;
                if let Some(credentials) = intercept.basic_auth() {
                    proxy = proxy.custom_http_auth(credentials.clone());
                }
                let client = self.builder(true)?.proxy(proxy).build().map_err(failed)?;
                proxied.push((intercept.uri().clone(), client.clone()));
                Ok(client)
            }
        }
    }

    /// What all have in common: no redirect is followed, no cookie kept, nothing decoded.
    fn builder(&self, encrypted: bool) -> Result<ClientBuilder, String> {
        // The client wants a cryptography provider even where nothing is encrypted. Installing one
        // a second time fails, and then there is one already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = Client::builder()
            .redirect(redirect::Policy::none())
            .referer(false)
            .connect_timeout(CONNECT)
            .pool_max_idle_per_host(IDLE)
            .pool_idle_timeout(IDLE_TIME)
            .user_agent(concat!("clawhold/", env!("CARGO_PKG_VERSION")));
        if !encrypted {
            // Reading the system's certificates takes longer than a request.
            return Ok(builder.tls_certs_only([]));
        }
        let Some(pem) = &self.extra_roots else { return Ok(builder) };
        let roots = Certificate::from_pem_bundle(pem).map_err(|error| error.to_string())?;
        Ok(builder.tls_certs_merge(roots))
    }
}
