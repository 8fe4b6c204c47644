//! From settings to a model service.

use std::sync::Arc;

use crate::config::{ModelChoice, Settings};
use crate::provider::{OpenAi, Provider, ScriptProvider, ServiceSettings};

/// The service that the settings name.
pub fn provider(settings: &Settings) -> anyhow::Result<Arc<dyn Provider>> {
    Ok(match settings.choose_model()? {
        ModelChoice::Script(path) => Arc::new(ScriptProvider::open(&path)?),
        ModelChoice::Service(service) => {
            let mut wire = ServiceSettings::new(service.provider, service.model, service.base_url);
            wire.key = service.key;
            wire.headers = service.headers;
            wire.context = service.context;
            Arc::new(OpenAi::new(wire)?)
        }
    })
}
