//! Where a service is: its base URL, checked once.

use reqwest::Url;

/// A base URL with `http` or `https`, a host, and neither user name nor fragment. A query, as
/// some gateways ask for, stays on every request.
#[derive(Clone)]
pub(in crate::provider) struct Endpoint(Url);

impl Endpoint {
    /// The error says what is wrong without repeating the URL, which may hold a password.
    pub(in crate::provider) fn parse(base_url: &str) -> Result<Self, String> {
        let url = Url::parse(base_url.trim())
            .map_err(|cause| format!("it is no URL ({cause}); write `https://HOST/PATH`"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err("only `http` and `https` are spoken".into());
        }
        if !url.has_host() {
            return Err("it names no host".into());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("it holds a user name or password; set `key` or `headers` instead".into());
        }
        if url.fragment().is_some() {
            return Err("it has a part after `#`, which no server sees".into());
        }
        Ok(Self(url))
    }

    /// The URL of `path` below the base. What of `path` the base already ends with is not said
    /// twice: people write bases with and without the version, and whole URLs too.
    pub(super) fn join(&self, path: &str) -> Url {
        let mut url = self.0.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        let cuts = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        let said =
            cuts.filter(|&at| base.ends_with(&format!("/{}", &path[..at]))).max().unwrap_or(0);
        let rest = path[said..].trim_start_matches('/');
        url.set_path(format!("{base}/{rest}").trim_end_matches('/'));
        url
    }

    /// Whether the host is exactly `host`. What belongs to one service goes by this, never by a
    /// part of the URL's text.
    pub(in crate::provider) fn is_host(&self, host: &str) -> bool {
        self.0.host_str().is_some_and(|own| own.eq_ignore_ascii_case(host))
    }

    /// Whether nothing is encrypted, so no certificates are needed.
    pub(super) fn is_plain(&self) -> bool {
        self.0.scheme() == "http"
    }

    /// Whether it is this machine, which no proxy can reach for us.
    pub(super) fn is_loopback(&self) -> bool {
        let host = self.0.host_str().unwrap_or_default().trim_matches(['[', ']']);
        host.eq_ignore_ascii_case("localhost")
            || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// For messages: the URL without its query.
    pub(super) fn shown(&self) -> String {
        let mut url = self.0.clone();
        url.set_query(None);
        url.to_string()
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_once_and_queries_stay() {
        let join = |base: &str, path: &str| Endpoint::parse(base).unwrap().join(path).to_string();
        let check = |base: &str, want: &str| assert_eq!(join(base, "chat/completions"), want);
        check("https://a.example/v1", "https://a.example/v1/chat/completions");
        check("https://a.example/v1/", "https://a.example/v1/chat/completions");
        check("https://a.example", "https://a.example/chat/completions");
        check("http://a.example/v1/chat/completions", "http://a.example/v1/chat/completions");
        check("https://a.example/d?v=1", "https://a.example/d/chat/completions?v=1");
        for base in ["https://a.example", "https://a.example/v1/", "https://a.example/v1/messages"]
        {
            assert_eq!(join(base, "v1/messages"), "https://a.example/v1/messages");
        }
        assert_eq!(
            join("https://a.example/xv1", "v1/messages"),
            "https://a.example/xv1/v1/messages"
        );
    }

    #[test]
    fn n34_a_host_is_compared_whole() {
        for base in [
            "https://evil.example/api.openai.com",
            "https://api.openai.com.evil.example/v1",
            "https://evil-api.openai.com/v1",
            "https://evil.example/?api.openai.com",
        ] {
            assert!(!Endpoint::parse(base).unwrap().is_host("api.openai.com"), "{base}");
        }
        assert!(Endpoint::parse("https://API.openai.com/v1").unwrap().is_host("api.openai.com"));
    }

    #[test]
    fn bad_urls_are_refused_without_being_repeated() {
        for base in [
            "",
            "api.example",
            "ftp://a.example",
            "https://u:CANARY@a.example",
            "http://a.example/#x",
        ] {
            let cause = Endpoint::parse(base).unwrap_err();
            assert!(!cause.contains("CANARY"), "{cause}");
        }
    }

    #[test]
    fn this_machine_is_known() {
        let check =
            |base: &str, want| assert_eq!(Endpoint::parse(base).unwrap().is_loopback(), want);
        check("http://127.0.0.1:1/v1", true);
        check("http://[::1]:1/v1", true);
        check("http://localhost:1", true);
        check("http://localhost.example", false);
        check("http://10.0.0.1", false);
    }
}
