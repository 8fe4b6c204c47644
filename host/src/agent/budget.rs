//! What a run may spend.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::model::{StopReason, Usage};

/// Bounds of one run, each with its own [`StopReason`]; 0 is no bound.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// Requests to the model.
    pub turns: u32,
    /// Tokens, those of requests and replies together.
    pub tokens: u64,
    /// Wall-clock time from the prompt on.
    pub seconds: u64,
    /// Money, in the currency of the [`Price`].
    pub cost: f64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { turns: 100, tokens: 0, seconds: 7200, cost: 0.0 }
    }
}

impl Budget {
    /// Why no further request may be made, if so. Time is not asked for here: it also runs out
    /// in the middle of things, see [`Budget::deadline`].
    pub(super) fn exhausted(
        &self,
        turns: u32,
        usage: Usage,
        cost: Option<f64>,
    ) -> Option<StopReason> {
        let tokens = usage.input.saturating_add(usage.output);
        if self.turns > 0 && turns >= self.turns {
            return Some(StopReason::TurnsExhausted);
        }
        if self.tokens > 0 && tokens >= self.tokens {
            return Some(StopReason::TokensExhausted);
        }
        if self.cost > 0.0 && cost.is_some_and(|cost| cost >= self.cost) {
            return Some(StopReason::CostExhausted);
        }
        None
    }

    /// When a run that begins now is out of time. By the monotonic clock, so that setting the
    /// other one changes nothing.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let seconds = (self.seconds > 0).then_some(self.seconds)?;
        // So far away that the clock cannot say it is as good as never.
        Instant::now().checked_add(Duration::from_secs(seconds))
    }
}

/// Prices for a million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Price {
    pub input: f64,
    /// For the part of the input that the service had cached.
    pub cached: f64,
    pub output: f64,
}

impl Price {
    /// What `usage` costs.
    pub fn of(&self, usage: Usage) -> f64 {
        let cached = usage.cached.min(usage.input);
        let fresh = usage.input - cached;
        (fresh as f64 * self.input
            + cached as f64 * self.cached
            + usage.output as f64 * self.output)
            / 1_000_000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn req_084_each_bound_has_its_name_and_zero_is_none() {
        let used = Usage { input: 60, output: 40, cached: 0 };
        let none = Budget { turns: 0, tokens: 0, seconds: 0, cost: 0.0 };
        for (budget, turns, expect) in [
            (none, u32::MAX, None),
            (Budget { turns: 2, ..none }, 1, None),
            (Budget { turns: 2, ..none }, 2, Some(StopReason::TurnsExhausted)),
            (Budget { tokens: 101, ..none }, 1, None),
            (Budget { tokens: 100, ..none }, 1, Some(StopReason::TokensExhausted)),
            (Budget { cost: 0.5, ..none }, 1, Some(StopReason::CostExhausted)),
            (Budget { cost: 0.6, ..none }, 1, None),
        ] {
            assert_eq!(budget.exhausted(turns, used, Some(0.5)), expect, "{budget:?}");
        }
        assert_eq!(none.deadline(), None);
    }

    #[test]
    fn n37_a_service_that_reports_nonsense_costs_no_panic() {
        let used = Usage { input: u64::MAX, output: u64::MAX, cached: u64::MAX };
        let budget = Budget { tokens: 5, ..Budget::default() };
        assert_eq!(budget.exhausted(1, used, None), Some(StopReason::TokensExhausted));
        assert!(Price { input: 1.0, cached: 0.1, output: 2.0 }.of(used).is_finite());
    }

    #[test]
    fn cached_tokens_have_their_own_price() {
        let price = Price { input: 10.0, cached: 1.0, output: 100.0 };
        let used = Usage { input: 1_000_000, output: 10_000, cached: 500_000 };
        assert!((price.of(used) - 6.5).abs() < 1e-9);
    }
}
