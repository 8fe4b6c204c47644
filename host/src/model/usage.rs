//! Tokens, as the service counts them.

use serde::{Deserialize, Serialize};

/// Sums saturate: a service that reports nonsense must not stop a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the requests, the cached ones included.
    #[serde(default)]
    pub input: u64,
    #[serde(default)]
    pub output: u64,
    /// Those of `input` that the service had cached.
    #[serde(default)]
    pub cached: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached = self.cached.saturating_add(other.cached);
    }
}
