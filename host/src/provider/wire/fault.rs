//! What can go wrong with one request, and whether another may go better.

use std::time::Duration;

use crate::provider::ProviderError;

/// One failed request. Its texts are already scrubbed and escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::provider) enum Fault {
    /// No request was sent. `permanent` where trying again cannot help: a bad certificate.
    Connect { cause: String, permanent: bool },
    /// An error status, or an error within a stream with the status that it stands for. `again`
    /// where the service may do better later.
    Refused { status: u16, body: String, asked: Option<Duration>, again: bool },
    /// The request is larger than the model's context.
    ContextTooLong { body: String },
    /// The connection ended before the reply did.
    Cut { cause: String },
    /// The reply is not what the protocol says. `again` where it may be an accident.
    Malformed { cause: String, again: bool },
    /// Nothing came for too long.
    Silent { seconds: u64 },
    /// It came, but not to its end in the time for all of it.
    Overdue { seconds: u64 },
}

/// How often a request with this fault is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    Never,
    Once,
    Few,
    Full,
}

impl Fault {
    pub(in crate::provider) fn malformed(cause: impl Into<String>) -> Self {
        Self::Malformed { cause: cause.into(), again: true }
    }

    pub(in crate::provider) fn cut(cause: impl Into<String>) -> Self {
        Self::Cut { cause: cause.into() }
    }

    pub(super) fn patience(&self) -> Patience {
        match self {
            Self::Refused { again: true, .. } => Patience::Full,
            Self::Connect { permanent: false, .. } | Self::Cut { .. } => Patience::Few,
            Self::Malformed { again: true, .. } | Self::Silent { .. } => Patience::Once,
            Self::Refused { .. }
            | Self::Connect { .. }
            | Self::ContextTooLong { .. }
            | Self::Malformed { .. }
            | Self::Overdue { .. } => Patience::Never,
        }
    }

    pub(super) fn asked_wait(&self) -> Option<Duration> {
        match self {
            Self::Refused { asked, .. } if self.patience() == Patience::Full => *asked,
            _ => None,
        }
    }

    /// In a few words, for the line that announces the retry.
    pub(super) fn gist(&self) -> String {
        match self {
            Self::Connect { cause, .. } => format!("no connection: {cause}"),
            Self::Refused { status: 429, .. } => "rate limited (429)".into(),
            Self::Refused { status, .. } => format!("the service is unwell ({status})"),
            Self::ContextTooLong { .. } => "too long".into(),
            Self::Cut { .. } => "the reply broke off".into(),
            Self::Malformed { .. } => "the reply was not whole".into(),
            Self::Silent { seconds } | Self::Overdue { seconds } => {
                format!("no answer within {seconds} s")
            }
        }
    }

    /// The error of the whole request, after `attempts` of them.
    pub(super) fn into_error(self, url: String, model: &str, attempts: u32) -> ProviderError {
        let retried = self.patience() == Patience::Full;
        match self {
            Self::Connect { cause, .. } => ProviderError::Unreachable { url, cause },
            Self::ContextTooLong { body } => ProviderError::ContextTooLong { body },
            Self::Refused { status, body, .. } => match status {
                401 | 403 => ProviderError::Unauthorized { status, body },
                404 => ProviderError::UnknownModel { model: model.to_owned(), body },
                _ if retried => ProviderError::Unavailable { status, attempts, body },
                _ => ProviderError::Rejected { status, body },
            },
            Self::Cut { cause } => ProviderError::Cut { cause },
            Self::Malformed { cause, .. } => ProviderError::Malformed { cause },
            Self::Silent { seconds } | Self::Overdue { seconds } => {
                ProviderError::TimedOut { seconds }
            }
        }
    }
}
