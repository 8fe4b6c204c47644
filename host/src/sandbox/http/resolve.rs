//! Names to addresses, with a check between resolving and connecting: the client connects to the
//! very addresses that were judged, so an answer that changes in between changes nothing.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use thiserror::Error;

use crate::policy::HttpRule;

/// Where the addresses of a name come from.
pub trait Lookup: Send + Sync {
    /// All addresses of `name`.
    fn lookup(&self, name: String)
    -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;
}

/// The system's own way: `/etc/hosts`, name servers and whatever else it is set up with.
#[derive(Debug)]
pub(super) struct System;

impl Lookup for System {
    fn lookup(
        &self,
        name: String,
    ) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// A name leads only to places where it may not lead.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("it resolves to {address} ({range})")]
pub(super) struct Barred {
    pub address: IpAddr,
    pub range: &'static str,
}

/// A name has no address.
#[derive(Debug, Error)]
#[error("the name has no address{}", .0.as_ref().map(|error| format!(": {error}")).unwrap_or_default())]
pub(super) struct Unresolved(Option<io::Error>);

/// The resolver of one rule's connections.
pub(super) struct Checked {
    pub lookup: Arc<dyn Lookup>,
    pub rule: HttpRule,
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let found = self.lookup.lookup(name.as_str().to_owned());
        let rule = self.rule.clone();
        Box::pin(async move {
            let found = found.await.map_err(|error| Unresolved(Some(error)))?;
            let addresses = judge(&rule, &found)?;
            // The port is the URL's; the client fills it in.
            let addresses: Addrs =
                Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}

/// Those of `found` that may be connected to. A name with a public address and a private one is
/// reached at the public one.
fn judge(
    rule: &HttpRule,
    found: &[IpAddr],
) -> Result<Vec<IpAddr>, Box<dyn std::error::Error + Send + Sync>> {
    let free: Vec<IpAddr> =
        found.iter().copied().filter(|address| rule.bars(*address).is_none()).collect();
    if !free.is_empty() {
        return Ok(free);
    }
    match found
        .iter()
        .find_map(|address| Some(Barred { address: *address, range: rule.bars(*address)? }))
    {
        Some(barred) => Err(barred.into()),
        None => Err(Unresolved(None).into()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn p22_a_name_leads_to_public_addresses_and_granted_ones_alone() {
        let rule = HttpRule::new("a.example", &["GET".to_owned()]).unwrap();
        let granted = rule.clone().with_addresses(["10.0.0.5".parse().unwrap()]);
        let check = |rule: &HttpRule, found: &[&str], expect: Result<&[&str], &str>| {
            let parse = |texts: &[&str]| {
                texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<IpAddr>>()
            };
            match (judge(rule, &parse(found)), expect) {
                (Ok(free), Ok(expect)) => assert_eq!(free, parse(expect), "{found:?}"),
                (Err(error), Err(word)) => {
                    assert!(error.to_string().contains(word), "{found:?}: {error}");
                }
                (got, _) => panic!("{found:?}: {got:?}"),
            }
        };
        check(&rule, &["1.1.1.1"], Ok(&["1.1.1.1"]));
        check(&rule, &["127.0.0.1", "1.1.1.1"], Ok(&["1.1.1.1"]));
        check(&rule, &["127.0.0.1"], Err("loopback"));
        check(&rule, &["::ffff:169.254.169.254"], Err("link-local"));
        check(&rule, &["10.0.0.5"], Err("private"));
        check(&rule, &[], Err("no address"));
        check(&granted, &["10.0.0.5"], Ok(&["10.0.0.5"]));
        check(&granted, &["10.0.0.6"], Err("private"));
        let local = HttpRule::new("localhost:1", &["GET".to_owned()]).unwrap();
        check(&local, &["::1", "127.0.0.1", "1.1.1.1"], Ok(&["::1", "127.0.0.1"]));
        check(&local, &["1.1.1.1"], Err("not this machine"));
    }
}
