//! When a failed request is made again.

use std::time::Duration;

use super::fault::{Fault, Patience};

/// How often a request is made, and how long is waited in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Requests for one reply, the first included, while the service is busy. 1 means no retry.
    pub attempts: u32,
    /// The same where no connection comes about or a reply breaks off.
    pub connect_attempts: u32,
    /// The wait before the second request; it doubles each time, half of it by chance.
    pub first_wait: Duration,
    /// The longest wait that grows this way.
    pub most_wait: Duration,
    /// The longest wait that a service may ask for; if it asks for more, the run stops.
    pub longest_asked: Duration,
    /// All waits for one reply together.
    pub budget: Duration,
}

impl Default for RetryPolicy {
    /// 5 and 3 requests, waits from 0.5 s to 30 s, up to 60 s if asked, 3 min in all.
    fn default() -> Self {
        Self {
            attempts: 5,
            connect_attempts: 3,
            first_wait: Duration::from_millis(500),
            most_wait: Duration::from_secs(30),
            longest_asked: Duration::from_mins(1),
            budget: Duration::from_mins(3),
        }
    }
}

/// What follows a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    After(Duration),
    GiveUp,
    /// The service asks for a wait that is longer than the policy allows.
    AskedTooLong(Duration),
}

/// The requests made for one reply so far.
#[derive(Debug)]
pub(super) struct Attempts<'p> {
    policy: &'p RetryPolicy,
    made: u32,
    waited: Duration,
}

impl<'p> Attempts<'p> {
    pub(super) fn new(policy: &'p RetryPolicy) -> Self {
        Self { policy, made: 0, waited: Duration::ZERO }
    }

    pub(super) fn made(&self) -> u32 {
        self.made
    }

    /// Counts a request that ended with `fault`, and decides. `chance` lies between 0 and 1.
    pub(super) fn failed(&mut self, fault: &Fault, chance: f64) -> Next {
        self.made += 1;
        let most = match fault.patience() {
            Patience::Never => 1,
            Patience::Once => self.policy.attempts.min(2),
            Patience::Few => self.policy.attempts.min(self.policy.connect_attempts),
            Patience::Full => self.policy.attempts,
        };
        let asked = fault.asked_wait();
        if let Some(asked) = asked.filter(|asked| *asked > self.policy.longest_asked) {
            return Next::AskedTooLong(asked);
        }
        let wait = match asked.filter(|asked| !asked.is_zero()) {
            // Not before the time asked for, and not all clients in the same instant.
            Some(asked) => asked + asked.mul_f64(0.1 * chance),
            None => self.backoff(chance),
        };
        if self.made >= most || self.waited + wait > self.policy.budget {
            return Next::GiveUp;
        }
        self.waited += wait;
        Next::After(wait)
    }

    fn backoff(&self, chance: f64) -> Duration {
        let doublings = self.made.saturating_sub(1).min(20);
        let full = self.policy.first_wait.saturating_mul(1 << doublings).min(self.policy.most_wait);
        full.mul_f64(0.5 + 0.5 * chance)
    }
}

/// A number between 0 and 1 from the operating system. If it has none, the middle: only the
/// spreading of waits depends on it.
pub(super) fn chance() -> f64 {
    getrandom::u32().map_or(0.5, |random| f64::from(random) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: RetryPolicy = RetryPolicy {
        attempts: 5,
        connect_attempts: 3,
        first_wait: Duration::from_millis(100),
        most_wait: Duration::from_millis(300),
        longest_asked: Duration::from_mins(1),
        budget: Duration::from_secs(100),
    };

    fn busy(asked: Option<u64>) -> Fault {
        Fault::Refused {
            status: 503,
            body: String::new(),
            asked: asked.map(Duration::from_secs),
            again: true,
        }
    }

    fn plan(policy: &RetryPolicy, fault: &Fault, chance: f64) -> (Vec<u128>, Next) {
        let mut attempts = Attempts::new(policy);
        let mut waits = Vec::new();
        loop {
            match attempts.failed(fault, chance) {
                Next::After(wait) => waits.push(wait.as_millis()),
                end => return (waits, end),
            }
        }
    }

    #[test]
    fn n04_waits_double_up_to_the_cap_and_end() {
        assert_eq!(plan(&POLICY, &busy(None), 1.0), (vec![100, 200, 300, 300], Next::GiveUp));
        assert_eq!(plan(&POLICY, &busy(None), 0.0), (vec![50, 100, 150, 150], Next::GiveUp));
    }

    #[test]
    fn n01_a_wait_that_is_asked_for_is_kept_at_least() {
        assert_eq!(plan(&POLICY, &busy(Some(2)), 0.0).0, [2000; 4]);
        assert_eq!(plan(&POLICY, &busy(Some(2)), 1.0).0, [2200; 4]);
        assert_eq!(plan(&POLICY, &busy(Some(0)), 1.0).0, [100, 200, 300, 300]);
    }

    #[test]
    fn n02_a_wait_beyond_a_minute_ends_the_run() {
        let day = Duration::from_hours(24);
        assert_eq!(plan(&POLICY, &busy(Some(86_400)), 0.0), (vec![], Next::AskedTooLong(day)));
        assert_eq!(plan(&POLICY, &busy(Some(60)), 0.0).0, [60_000]);
    }

    #[test]
    fn the_budget_bounds_all_waits_together() {
        let tight = RetryPolicy { budget: Duration::from_millis(350), ..POLICY };
        assert_eq!(plan(&tight, &busy(None), 1.0), (vec![100, 200], Next::GiveUp));
    }

    #[test]
    fn each_kind_of_fault_has_its_patience() {
        let check = |fault: Fault, retries: usize| {
            assert_eq!(plan(&POLICY, &fault, 0.5).0.len(), retries, "{fault:?}");
        };
        check(busy(None), 4);
        check(Fault::Refused { status: 400, body: String::new(), asked: None, again: false }, 0);
        check(Fault::Connect { cause: String::new(), permanent: false }, 2);
        check(Fault::Connect { cause: String::new(), permanent: true }, 0);
        check(Fault::Cut { cause: String::new() }, 2);
        check(Fault::Malformed { cause: String::new(), again: true }, 1);
        check(Fault::Malformed { cause: String::new(), again: false }, 0);
        check(Fault::Silent { seconds: 1 }, 1);
        check(Fault::Overdue { seconds: 1 }, 0);
        let single = RetryPolicy { attempts: 1, ..POLICY };
        assert_eq!(plan(&single, &busy(None), 0.5).0.len(), 0);
    }
}
