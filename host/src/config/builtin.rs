//! The providers that need no entry in the file, and which key belongs to which host.

use reqwest::Url;

use super::{Api, ConfigError, Env};

/// A service known by name.
#[derive(Debug, Clone, Copy)]
pub struct Builtin {
    pub name: &'static str,
    pub api: Api,
    pub base_url: &'static str,
    /// The variable that holds its key; none for a local service.
    pub key: Option<&'static str>,
    /// The model to ask where the user named none.
    pub model: Option<&'static str>,
}

/// In the order in which keys are looked for.
pub const BUILTIN: &[Builtin] = &[
    Builtin {
        name: "openai",
        api: Api::Openai,
        base_url: "https://api.openai.com/v1",
        key: Some("OPENAI_API_KEY"),
        model: Some("gpt-5-mini"),
    },
    Builtin {
        name: "anthropic",
        api: Api::Anthropic,
        base_url: "https://api.anthropic.com",
        key: Some("ANTHROPIC_API_KEY"),
        model: Some("claude-sonnet-4-5"),
    },
    Builtin {
        name: "deepseek",
        api: Api::Openai,
        base_url: "https://api.deepseek.com/v1",
        key: Some("DEEPSEEK_API_KEY"),
        model: Some("deepseek-chat"),
    },
    Builtin {
        name: "openrouter",
        api: Api::Openai,
        base_url: "https://openrouter.ai/api/v1",
        key: Some("OPENROUTER_API_KEY"),
        model: Some("openrouter/auto"),
    },
    Builtin {
        name: "groq",
        api: Api::Openai,
        base_url: "https://api.groq.com/openai/v1",
        key: Some("GROQ_API_KEY"),
        model: Some("openai/gpt-oss-120b"),
    },
    Builtin {
        name: "mistral",
        api: Api::Openai,
        base_url: "https://api.mistral.ai/v1",
        key: Some("MISTRAL_API_KEY"),
        model: Some("mistral-medium-latest"),
    },
    Builtin {
        name: "gemini",
        api: Api::Openai,
        base_url: "https://generativelanguage.googleapis.com/v1beta/openai",
        key: Some("GEMINI_API_KEY"),
        model: Some("gemini-flash-latest"),
    },
    Builtin {
        name: "ollama",
        api: Api::Ollama,
        base_url: "http://localhost:11434",
        key: None,
        model: None,
    },
];

/// The built-in service `name`.
pub(super) fn builtin(name: &str) -> Option<&'static Builtin> {
    BUILTIN.iter().find(|b| b.name == name)
}

/// The variable whose key belongs to `url`: that of the built-in service with exactly this
/// scheme, host and port. A host that only contains such a name gets no key.
pub(super) fn key_for(url: &str) -> Option<&'static str> {
    let place = |url: &str| Url::parse(url).ok().map(|url| url.origin());
    let wanted = place(url)?;
    BUILTIN.iter().find(|b| place(b.base_url).as_ref() == Some(&wanted)).and_then(|b| b.key)
}

/// A base URL, checked, without a slash at the end of its path. `origin` says where it was set.
/// What is refused is not repeated, since it may hold a password. A query stays: some gateways
/// ask for one.
pub(super) fn checked_url(text: &str, origin: &str) -> Result<String, ConfigError> {
    let bad = |message: &str| ConfigError::BadValue {
        origin: origin.to_owned(),
        message: message.to_owned(),
    };
    let mut url = Url::parse(text.trim())
        .map_err(|_| bad("the base URL is not one: write it like `http://localhost:8080/v1`"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(bad("the base URL must begin with `http://` or `https://` and name a host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("the base URL holds credentials: give them as `key` or `headers`"));
    }
    if url.fragment().is_some() {
        return Err(bad("the base URL has a part after `#`, which no server sees"));
    }
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    let text = url.as_str();
    // The path of a URL without one is a slash, which a caller would double.
    Ok(if url.query().is_some() { text } else { text.trim_end_matches('/') }.to_owned())
}

/// Where Ollama is by `OLLAMA_HOST`, which may be a host, a port, both, or
/// a URL. A server told to listen everywhere is reached on this machine.
pub(super) fn ollama_url(env: &Env) -> Result<Option<String>, ConfigError> {
    let origin = "environment OLLAMA_HOST";
    let Some(text) = env.text("OLLAMA_HOST").map(str::trim).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let has_scheme = text.contains("://");
    let address = if text.starts_with(':') { format!("localhost{text}") } else { text.to_owned() };
    let text = if has_scheme { address } else { format!("http://{address}") };
    let mut url = Url::parse(&text).map_err(|_| ConfigError::BadValue {
        origin: origin.into(),
        message: "it is no host to reach: write it like `localhost:11434`".into(),
    })?;
    if !has_scheme && url.port().is_none() {
        // Cannot fail: an `http` URL has a host.
        let _ = url.set_port(Some(11434));
    }
    if matches!(url.host_str(), Some("0.0.0.0" | "[::]")) {
        let _ = url.set_host(Some("localhost"));
    }
    checked_url(url.as_str(), origin).map(Some)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn n34_a_key_belongs_to_one_host_exactly() {
        let check = |url: &str, expect: Option<&str>| assert_eq!(key_for(url), expect, "{url}");
        check("https://openrouter.ai/api/v1", Some("OPENROUTER_API_KEY"));
        check("https://API.openai.com/v1/", Some("OPENAI_API_KEY"));
        check("https://evil.example/openrouter.ai/", None);
        check("https://openrouter.ai.evil.example/", None);
        check("https://openrouter.ai@evil.example/", None);
        check("https://evil-openrouter.ai/", None);
        check("http://openrouter.ai/api/v1", None);
        check("https://openrouter.ai:8443/api/v1", None);
        check("not a url", None);
    }

    #[test]
    fn ollama_hosts() {
        let check = |value: &str, expect: &str| {
            let url = ollama_url(&Env::of(&[("OLLAMA_HOST", value)])).unwrap();
            assert_eq!(url.as_deref(), Some(expect), "{value}");
        };
        check("localhost", "http://localhost:11434");
        check("box:8080", "http://box:8080");
        check(":9000", "http://localhost:9000");
        check("0.0.0.0", "http://localhost:11434");
        check("https://box.example/llm/", "https://box.example/llm");
        check("http://127.0.0.1:11434", "http://127.0.0.1:11434");
        assert!(ollama_url(&Env::default()).unwrap().is_none());
        assert!(ollama_url(&Env::of(&[("OLLAMA_HOST", "http://[")])).is_err());
    }

    #[test]
    fn urls_with_credentials_are_refused_and_not_repeated() {
        for text in ["https://user:CANARY@host/v1", "https://host/v1#CANARY", "ftp://CANARY", "x"] {
            let error = checked_url(text, "here").unwrap_err().to_string();
            assert!(!error.contains("CANARY"), "{error}");
        }
        assert_eq!(checked_url("https://host/v1/", "here").unwrap(), "https://host/v1");
        assert_eq!(checked_url("https://host/", "here").unwrap(), "https://host");
        assert_eq!(checked_url("https://host/d/?v=1", "here").unwrap(), "https://host/d?v=1");
    }

    #[test]
    fn every_built_in_service_has_a_sound_url() {
        for b in BUILTIN {
            assert_eq!(checked_url(b.base_url, b.name).unwrap(), b.base_url);
        }
    }
}
