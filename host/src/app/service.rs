//! From settings to a model service.

use std::sync::Arc;

use crate::config::{Api, ModelChoice, Settings};
use crate::provider::{
    Anthropic, Ollama, OpenAi, OpenAiResponses, Provider, ScriptProvider, ServiceSettings,
};

/// The service that the settings name.
pub fn provider(settings: &Settings) -> anyhow::Result<Arc<dyn Provider>> {
    Ok(match settings.choose_model()? {
        ModelChoice::Script(path) => Arc::new(ScriptProvider::open(&path)?),
        ModelChoice::Service(service) => {
            let mut wire = ServiceSettings::new(service.provider, service.model, service.base_url);
            wire.key = service.key;
            wire.headers = service.headers;
            wire.context = service.context;
            match service.api {
                Api::Openai => Arc::new(OpenAi::new(wire)?),
                Api::OpenaiResponses => Arc::new(OpenAiResponses::new(wire)?),
                Api::Anthropic => Arc::new(Anthropic::new(wire)?),
                Api::Ollama => Arc::new(Ollama::new(wire)?),
            }
        }
    })
}
