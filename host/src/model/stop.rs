//! Why a run ended.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// The model replied without asking for a tool.
    Answered,
    /// It did so right after a refusal, without another call that succeeded.
    Refused,
    /// The model service declined to reply: a refusal of its own, or a content filter.
    Declined,
    /// Budgets, each by its name.
    TurnsExhausted,
    TokensExhausted,
    SecondsExhausted,
    CostExhausted,
    /// The loop guard saw no progress.
    Stuck,
    /// The model service failed for good.
    ProviderFailed,
    Interrupted,
    Terminated,
    /// Anything of ours: a log that cannot be written, say.
    Failed,
}

impl StopReason {
    /// The exit code of `claw run`.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Answered => 0,
            Self::Failed | Self::Stuck => 1,
            Self::TurnsExhausted | Self::TokensExhausted | Self::CostExhausted => 3,
            Self::Refused => 4,
            Self::ProviderFailed | Self::Declined => 5,
            Self::SecondsExhausted => 124,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }
}
