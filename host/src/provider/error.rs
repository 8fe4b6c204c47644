//! How a model service can fail us.

use thiserror::Error;

/// Texts from the service are scrubbed of keys, escaped and at most 2 KiB long.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProviderError {
    /// The settings cannot work, whatever the service says.
    #[error("`{setting}` of the provider `{provider}` cannot be used: {cause}")]
    Misconfigured { provider: String, setting: &'static str, cause: String },
    #[error("the model service refused the key (HTTP {status}): {body}")]
    Unauthorized { status: u16, body: String },
    #[error("the model service does not know `{model}` (HTTP 404): {body}")]
    UnknownModel { model: String, body: String },
    #[error("the model service rejected the request (HTTP {status}): {body}")]
    Rejected { status: u16, body: String },
    #[error("the conversation is too long for the model: {body}")]
    ContextTooLong { body: String },
    #[error("the model service asks to wait {seconds} s, longer than this run waits")]
    RateLimited { seconds: u64 },
    #[error("the model service failed (HTTP {status}), in {attempts} attempts: {body}")]
    Unavailable { status: u16, attempts: u32, body: String },
    #[error("cannot reach the model service at {url}: {cause}")]
    Unreachable { url: String, cause: String },
    #[error("the reply broke off before its end: {cause}")]
    Cut { cause: String },
    #[error("the model service sent something that is not a reply: {cause}")]
    Malformed { cause: String },
    #[error("the model service did not answer within {seconds} s")]
    TimedOut { seconds: u64 },
    #[error("cannot read the script `{file}`: {cause}")]
    ScriptUnreadable { file: String, cause: String },
    #[error("script `{file}`, line {line}: {cause}")]
    Script { file: String, line: usize, cause: String },
    #[error("script exhausted: it has {lines} lines and was asked for one more reply")]
    ScriptExhausted { lines: usize },
    #[error("cancelled")]
    Cancelled,
}

impl ProviderError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Misconfigured { .. } => {
                "correct it under `[providers]` in config.toml or in the environment"
            }
            Self::Unauthorized { .. } => {
                "check the key in the environment or under `[providers]` in config.toml"
            }
            Self::UnknownModel { .. } => {
                "name a model that the service offers: `--model PROVIDER/MODEL`; if it does, check `base_url`"
            }
            Self::ContextTooLong { .. } => "start a new session, or a smaller task",
            Self::RateLimited { .. } => "wait, then continue the session with `--continue`",
            Self::Unavailable { .. } | Self::Cut { .. } | Self::TimedOut { .. } => {
                "try again later with `--continue`, or use another provider: `--model PROVIDER/MODEL`"
            }
            Self::Unreachable { .. } => "check that the service runs and that `base_url` is right",
            Self::Malformed { .. } => {
                "check that `base_url` points at the API, not at a web page or a proxy's sign-in"
            }
            Self::ScriptUnreadable { .. } => "name an existing file: `--model script:FILE`",
            Self::Script { .. } => "correct that line of the script file",
            Self::ScriptExhausted { .. } => "add the missing line to the script file",
            Self::Rejected { .. } | Self::Cancelled => return None,
        })
    }
}
