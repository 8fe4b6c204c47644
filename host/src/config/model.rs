//! Which model to ask, and how to reach it.

use std::path::{Path, PathBuf};

use super::builtin::{self, BUILTIN, Builtin};
use super::file::{Api, Price, ProviderEntry};
use super::{ConfigError, Origin, Settings, Valued, key, nearest};
use crate::provider::Secret;

/// What `--model` stands for.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelChoice {
    /// Replies played from this file; no network.
    Script(PathBuf),
    Service(Service),
}

/// A model service, ready to be asked.
#[derive(Clone, PartialEq)]
pub struct Service {
    pub provider: String,
    pub model: String,
    pub api: Api,
    /// Without a slash at the end.
    pub base_url: String,
    /// None where the service needs none.
    pub key: Option<Secret>,
    pub headers: Vec<(String, String)>,
    pub context: Option<u64>,
    pub price: Option<Price>,
}

/// Headers may hold secrets, so only their names show.
impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service")
            .field("provider", &self.provider)
            .field("model", &self.model)
            .field("base_url", &self.base_url)
            .field("key", &self.key)
            .field("headers", &self.headers.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl Settings {
    /// The model as named, else the default one of the first built-in service whose key is in
    /// the environment.
    pub fn choose_model(&self) -> Result<ModelChoice, ConfigError> {
        let spec = self.model_or_default()?;
        if let Some(path) = spec.value.strip_prefix("script:") {
            return Ok(ModelChoice::Script(PathBuf::from(path)));
        }
        let origin = || spec.origin.to_string();
        let (provider, model) = match spec.value.split_once('/') {
            Some((provider, model)) if !provider.is_empty() && !model.is_empty() => {
                (provider, model)
            }
            _ => {
                let spec = crate::text::escape_line(spec.value.trim_matches('/'));
                return Err(ConfigError::NoProvider { origin: origin(), spec });
            }
        };
        let known = builtin::builtin(provider);
        let entry = self.providers.get(provider);
        if known.is_none() && entry.is_none() {
            let names = self.providers.keys().map(String::as_str);
            return Err(ConfigError::UnknownProvider {
                origin: origin(),
                name: crate::text::escape_line(provider),
                nearest: nearest(provider, names.chain(BUILTIN.iter().map(|b| b.name)))
                    .map(str::to_owned),
                file: self.paths.config_file.clone(),
            });
        }
        let entry = entry.cloned().unwrap_or_default();
        let (base_url, of_env) = self.base_url(provider, known, &entry)?;
        Ok(ModelChoice::Service(Service {
            key: self.key(provider, known, &entry, &base_url, of_env)?,
            provider: provider.to_owned(),
            model: model.to_owned(),
            api: entry.api.or(known.map(|b| b.api)).unwrap_or_default(),
            base_url,
            headers: entry.headers.into_iter().collect(),
            context: entry.context,
            price: entry.price,
        }))
    }

    /// Every key that these settings lead to, to be kept out of logs and screens. A key that
    /// cannot be read cannot leak.
    pub fn secrets(&self) -> Vec<String> {
        let base = self.paths.config_file.parent().unwrap_or(Path::new(""));
        let of_vendors = BUILTIN.iter().filter_map(|b| b.key).map(|name| format!("env:{name}"));
        let of_entries = self.providers.values().filter_map(|entry| entry.key.clone());
        let of_plugins = self.plugins.values().flat_map(|grant| grant.secrets.values());
        of_vendors
            .chain(of_entries)
            .chain(of_plugins.map(|secret| secret.from.clone()))
            .filter_map(|source| key::resolve("", &source, &self.env, base).ok().flatten())
            .map(|key| key.expose().to_owned())
            .chain(self.providers.values().flat_map(|entry| entry.headers.values().cloned()))
            .collect()
    }

    /// The secret behind `source` (`env:NAME` or `file:PATH`), for the plugin `name`; none where
    /// the variable is unset.
    pub fn secret(&self, name: &str, source: &str) -> Result<Option<Secret>, ConfigError> {
        let base = self.paths.config_file.parent().unwrap_or(Path::new(""));
        key::resolve(name, source, &self.env, base)
    }

    fn model_or_default(&self) -> Result<Valued<String>, ConfigError> {
        if let Some(model) = &self.model {
            return Ok(model.clone());
        }
        BUILTIN
            .iter()
            .find_map(|b| {
                let variable = b.key.filter(|name| self.env.os(name).is_some())?;
                let value = format!("{}/{}", b.name, b.model?);
                Some(Valued { value, origin: Origin::Env(variable) })
            })
            .ok_or_else(|| ConfigError::NoModel { file: self.paths.config_file.clone() })
    }

    /// The file's URL, else the environment's, else the built-in one; and whether it was the
    /// environment's.
    fn base_url(
        &self,
        provider: &str,
        known: Option<&Builtin>,
        entry: &ProviderEntry,
    ) -> Result<(String, bool), ConfigError> {
        let from_env = match provider {
            "openai" => self
                .env
                .text("OPENAI_BASE_URL")
                .map(|url| builtin::checked_url(url, "environment OPENAI_BASE_URL"))
                .transpose()?,
            "anthropic" => self
                .env
                .text("ANTHROPIC_BASE_URL")
                .map(|url| builtin::checked_url(url, "environment ANTHROPIC_BASE_URL"))
                .transpose()?,
            "ollama" => builtin::ollama_url(&self.env)?,
            _ => None,
        };
        if let Some(url) = from_env {
            return Ok((url, true));
        }
        if let Some(url) = &entry.base_url {
            return Ok((url.clone(), false));
        }
        known.map(|b| (b.base_url.to_owned(), false)).ok_or_else(|| ConfigError::BadValue {
            origin: format!("[providers.{provider}] in {}", self.paths.config_file.display()),
            message: "`base_url` is missing: write it like `http://localhost:8080/v1`".into(),
        })
    }

    /// The key that the entry names. Where it names none, a vendor's own key goes to the
    /// vendor's own host and nowhere else, unless the environment that holds the key has also
    /// named the place to send it.
    fn key(
        &self,
        provider: &str,
        known: Option<&Builtin>,
        entry: &ProviderEntry,
        base_url: &str,
        of_env: bool,
    ) -> Result<Option<Secret>, ConfigError> {
        let base = self.paths.config_file.parent().unwrap_or(Path::new(""));
        let missing = |variable: &str| ConfigError::NoKey {
            provider: provider.to_owned(),
            variable: variable.to_owned(),
        };
        if let Some(source) = &entry.key {
            let key = key::resolve(provider, source, &self.env, base)?;
            let variable = source.strip_prefix("env:").unwrap_or(source);
            return key.map(Some).ok_or_else(|| missing(variable));
        }
        let own = builtin::key_for(base_url);
        let Some(variable) = own.or(known.and_then(|b| b.key).filter(|_| of_env)) else {
            return Ok(None);
        };
        let key = key::resolve(provider, &format!("env:{variable}"), &self.env, base)?;
        // A server of one's own may want no key; the vendor's always does.
        if key.is_none() && own.is_some() { Err(missing(variable)) } else { Ok(key) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::{Env, Flags};
    use super::*;

    const KEYS: [(&str, &str); 2] =
        [("OPENAI_API_KEY", "sk-CANARY-openai"), ("GROQ_API_KEY", "sk-CANARY-groq\n")];

    fn choose(
        model: Option<&str>,
        config: &str,
        vars: &[(&str, &str)],
    ) -> Result<ModelChoice, ConfigError> {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("config.toml"), config).unwrap();
        let mut vars = vars.to_vec();
        vars.push(("CLAWHOLD_HOME", home.path().to_str().unwrap()));
        let flags = Flags { model: model.map(str::to_owned), ..Flags::default() };
        Settings::load(&flags, Env::of(&vars))?.choose_model()
    }

    fn service(model: Option<&str>, config: &str, vars: &[(&str, &str)]) -> Service {
        match choose(model, config, vars).unwrap() {
            ModelChoice::Service(service) => service,
            ModelChoice::Script(path) => panic!("a script: {path:?}"),
        }
    }

    #[test]
    fn req_102_names_are_split_at_the_first_slash() {
        let check = |spec: &str, provider: &str, model: &str| {
            let vars = [KEYS[0], KEYS[1], ("OPENROUTER_API_KEY", "k")];
            let service = service(Some(spec), "", &vars);
            assert_eq!((service.provider.as_str(), service.model.as_str()), (provider, model));
        };
        check("groq/openai/gpt-oss-120b", "groq", "openai/gpt-oss-120b");
        check("openrouter/a/b:free", "openrouter", "a/b:free");
        check("ollama/glm-4.7-flash:q4_K_M", "ollama", "glm-4.7-flash:q4_K_M");
        let script = choose(Some("script:dir/a.jsonl"), "", &[]).unwrap();
        assert_eq!(script, ModelChoice::Script("dir/a.jsonl".into()));
    }

    #[test]
    fn with_nothing_named_the_first_key_decides() {
        assert_eq!(service(None, "", &KEYS).provider, "openai");
        assert_eq!(service(None, "", &KEYS[1..]).provider, "groq");
        let error = choose(None, "", &[]).unwrap_err().to_string();
        for part in ["OPENAI_API_KEY", "--model", "config.toml", "script:FILE"] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn names_that_do_not_do_are_explained() {
        let check = |spec: &str, parts: &[&str]| {
            let error = choose(Some(spec), "", &KEYS).unwrap_err().to_string();
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
            assert!(error.contains("flag --model") && !error.contains('\n'), "{error}");
        };
        check("gpt-x", &["`openai/gpt-x`"]);
        check("openai/", &["names no provider"]);
        check("opnai/gpt-x", &["did you mean `openai`?", "[providers.opnai]"]);
    }

    #[test]
    fn n34_a_vendors_key_goes_to_the_vendors_host_alone() {
        let key = |config: &str, vars: &[(&str, &str)], model: &str| {
            service(Some(model), config, vars).key.map(|key| key.expose().to_owned())
        };
        let openai = Some("sk-CANARY-openai".to_owned());
        assert_eq!(key("", &KEYS, "openai/x"), openai);
        // An entry that turns the name to another host does not take the key along.
        let evil = "[providers.openai]\nbase_url = \"https://evil.example/api.openai.com/v1\"";
        assert_eq!(key(evil, &KEYS, "openai/x"), None);
        let asked = format!("{evil}\nkey = \"env:OPENAI_API_KEY\"");
        assert_eq!(key(&asked, &KEYS, "openai/x"), openai);
        // Another name for the vendor's own host does.
        let alias = "[providers.mine]\nbase_url = \"https://api.openai.com/v1\"";
        assert_eq!(key(alias, &KEYS, "mine/x"), openai);
        // The environment may send its own key elsewhere, as everywhere.
        let vars = [KEYS[0], ("OPENAI_BASE_URL", "http://localhost:1234/v1")];
        assert_eq!(key("", &vars, "openai/x"), openai);
        assert_eq!(key("", &vars[1..], "openai/x"), None);
    }

    #[test]
    fn n41_a_key_is_trimmed_and_its_absence_named() {
        let service = service(Some("groq/x"), "", &KEYS);
        assert_eq!(service.key.as_ref().unwrap().expose(), "sk-CANARY-groq");
        assert!(!format!("{service:?}").contains("CANARY"));
        let error = choose(Some("groq/x"), "", &[]).unwrap_err().to_string();
        assert!(error.contains("set GROQ_API_KEY"), "{error}");
    }

    #[test]
    fn req_101_ollama_needs_no_key_and_obeys_its_own_variable() {
        assert_eq!(service(Some("ollama/x"), "", &[]).base_url, "http://localhost:11434");
        let vars = [("OLLAMA_HOST", "box:9")];
        assert_eq!(service(Some("ollama/x"), "", &vars).base_url, "http://box:9");
    }

    #[test]
    fn n44_every_known_key_is_known_as_a_secret() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("key"), "sk-CANARY-file\n").unwrap();
        std::fs::write(
            home.path().join("config.toml"),
            "[providers.lab]\nkey = \"file:key\"\nheaders = { x = \"sk-CANARY-header\" }\n\
             [plugins.docs.secrets]\nt = { from = \"env:DOCS\", host = \"a\", header = \"b\" }",
        )
        .unwrap();
        let vars =
            [KEYS[0], ("DOCS", "sk-CANARY-docs"), ("CLAWHOLD_HOME", home.path().to_str().unwrap())];
        let mut secrets = Settings::load(&Flags::default(), Env::of(&vars)).unwrap().secrets();
        secrets.sort();
        assert_eq!(
            secrets,
            ["sk-CANARY-docs", "sk-CANARY-file", "sk-CANARY-header", "sk-CANARY-openai"]
        );
    }

    #[test]
    fn an_entry_of_ones_own() {
        let config = "[providers.lab]\nbase_url = \"http://lab:8000/v1/\"\ncontext = 8192\n\
                      headers = { x-team = \"sk-CANARY\" }\nprice = { input = 1, output = 2.5 }";
        let service = service(Some("lab/m"), config, &[]);
        assert_eq!(service.base_url, "http://lab:8000/v1");
        assert_eq!(service.context, Some(8192));
        let price = Price { input: 1.0, cached: None, output: 2.5 };
        assert_eq!(service.price, Some(price));
        assert!(!format!("{service:?}").contains("CANARY"));
        let error = choose(Some("lab/m"), "[providers.lab]", &[]).unwrap_err().to_string();
        assert!(error.contains("`base_url` is missing"), "{error}");
    }
}
