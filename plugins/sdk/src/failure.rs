//! Makers of failures: a code to branch on, what was wrong and where, and what to do next.

use crate::bindings::clawhold::tool::types::{Failure, FailureCode};

/// A failure without a hint that the same call would meet again.
pub fn failure(code: FailureCode, message: impl Into<String>) -> Failure {
    Failure { code, message: message.into(), hint: None, retryable: false, meta: None }
}

/// The arguments do not make sense.
pub fn invalid(message: impl Into<String>) -> Failure {
    failure(FailureCode::InvalidArguments, message)
}

impl Failure {
    /// Adds what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says that the same call may succeed later.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }
}
