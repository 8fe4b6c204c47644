//! Where this call was redirected to. The guest follows redirects by itself, so what must not
//! happen on the way is held when it asks for a place that an earlier answer named.

use std::collections::HashMap;

use http::HeaderMap;
use http::header::{AUTHORIZATION, COOKIE};
use reqwest::Url;

use crate::policy::{HttpRefusal, Target};

/// Redirects in a row.
const MOST: u8 = 3;

/// What came before a request for a URL that was a redirect's target.
#[derive(Debug, Clone, Default)]
pub(super) struct Hop {
    /// Redirects so far.
    depth: u8,
    /// Somewhere on the way the origin changed, so what the guest sends was not meant for this one.
    foreign: bool,
    /// The encrypted place that redirected to a plain one.
    downgraded: Option<String>,
}

impl Hop {
    /// Whether a request that comes this way may be made.
    pub(super) fn judge(&self, target: &Target) -> Result<(), HttpRefusal> {
        match &self.downgraded {
            Some(from) => Err(HttpRefusal::Downgrade { from: from.clone(), to: target.origin() }),
            None => Ok(()),
        }
    }

    /// Takes away what the guest meant for the origin where it began.
    pub(super) fn strip(&self, headers: &mut HeaderMap) {
        if self.foreign {
            headers.remove(AUTHORIZATION);
            headers.remove(COOKIE);
        }
    }
}

/// One call's redirects, by the URL that they lead to.
#[derive(Debug, Default)]
pub(super) struct Redirects(HashMap<String, Hop>);

impl Redirects {
    pub(super) fn hop(&self, url: &Url) -> Hop {
        self.0.get(url.as_str()).cloned().unwrap_or_default()
    }

    /// Remembers the answer to a request for `url`, which came by `hop`. An error means that this
    /// is one redirect too many, and the answer is not to be passed on.
    pub(super) fn note(&mut self, url: &Url, hop: &Hop, location: &str) -> Result<(), HttpRefusal> {
        let depth = hop.depth.saturating_add(1);
        if depth > MOST {
            let place = format!(
                "{}:{}",
                url.host_str().unwrap_or_default(),
                url.port_or_known_default().unwrap_or_default()
            );
            return Err(HttpRefusal::Redirects { place, limit: MOST });
        }
        // A target that is no URL leads nowhere.
        let Ok(mut next) = url.join(location) else { return Ok(()) };
        next.set_fragment(None);
        let downgraded = (url.scheme() == "https" && next.scheme() == "http")
            .then(|| url.origin().ascii_serialization());
        let foreign = hop.foreign || url.origin() != next.origin();
        self.0.insert(next.into(), Hop { depth, foreign, downgraded });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn n31_a_way_back_to_the_origin_does_not_bring_the_credentials_back() {
        let mut redirects = Redirects::default();
        let (a, b) =
            (Url::parse("https://a.example/").unwrap(), Url::parse("https://b.example/x").unwrap());
        redirects.note(&a, &Hop::default(), "//b.example/x#top").unwrap();
        let hop = redirects.hop(&b);
        assert!(hop.foreign && hop.depth == 1 && hop.downgraded.is_none(), "{hop:?}");
        redirects.note(&b, &hop, "/y").unwrap();
        let hop = redirects.hop(&Url::parse("https://b.example/y").unwrap());
        assert!(hop.foreign, "{hop:?}");
        assert!(!redirects.hop(&a).foreign);
    }

    #[test]
    fn n31_the_fourth_redirect_in_a_row_is_refused() {
        let mut redirects = Redirects::default();
        let url = Url::parse("https://a.example/").unwrap();
        for _ in 0..MOST {
            let hop = redirects.hop(&url);
            redirects.note(&url, &hop, "/").unwrap();
        }
        let hop = redirects.hop(&url);
        assert!(matches!(redirects.note(&url, &hop, "/"), Err(HttpRefusal::Redirects { .. })));
    }
}
