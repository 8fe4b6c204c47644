//! What one call asked over HTTP, for its receipt.

use std::sync::{Mutex, PoisonError};

use crate::model::Denial;

use super::super::guard::{Record, Ruling};
use super::fault::Fault;

/// How many requests a receipt names; a call makes no more than a bounded number anyway.
const CAP: usize = 200;

/// Requests stand in the order of their answers.
#[derive(Debug, Default)]
pub(in crate::sandbox) struct HttpRecord {
    /// `METHOD HOST:PORT STATUS`.
    pub hosts: Vec<String>,
    pub denials: Vec<Denial>,
    /// The last refusal or failure, which explains a call that then fails.
    pub last: Option<(Ruling, String)>,
    /// Where `last` happened, if trying again there may mend it.
    passing: Option<String>,
}

impl HttpRecord {
    /// Adds its refusals to those of files. A call that met both is told both.
    pub(in crate::sandbox) fn merge_into(self, files: &mut Record) -> Vec<String> {
        files.denials.extend(self.denials);
        files.last = match (files.last.take(), self.last) {
            (None, one) | (one, None) => one,
            (Some((first, why)), Some((second, too))) => {
                let ruling = if first == Ruling::Denied { first } else { second };
                Some((ruling, format!("{too}; also: {why}")))
            }
        };
        self.hosts
    }
}

/// The record while the call runs: its requests are made by several tasks.
#[derive(Debug, Default)]
pub(super) struct Log(Mutex<HttpRecord>);

impl Log {
    /// A request that got an answer, or whose lack of one is said in place of the status.
    pub(super) fn asked(&self, method: &http::Method, place: &str, by_proxy: bool, came: &str) {
        let way = if by_proxy { " by proxy" } else { "" };
        self.with(|record| {
            if record.hosts.len() < CAP {
                record.hosts.push(format!("{method} {place} {came}{way}"));
            }
        });
    }

    /// An answer of `place` that came whole. It takes back what an earlier attempt there failed of.
    pub(super) fn recovered(&self, place: &str) {
        self.with(|record| {
            if record.passing.take_if(|failed| failed == place).is_some() {
                record.last = None;
            }
        });
    }

    pub(super) fn fault(&self, fault: &Fault) {
        let (ruling, reason) = (fault.ruling(), fault.to_string());
        self.with(|record| {
            if let Fault::Refused(refusal) = fault {
                let denial = Denial {
                    what: "connect".into(),
                    subject: refusal.subject(),
                    reason: reason.clone(),
                };
                if record.denials.len() < CAP && !record.denials.contains(&denial) {
                    record.denials.push(denial);
                }
            }
            record.last = Some((ruling, reason));
            record.passing = fault.passing().map(str::to_owned);
        });
    }

    pub(super) fn take(&self) -> HttpRecord {
        self.with(std::mem::take)
    }

    fn with<T>(&self, change: impl FnOnce(&mut HttpRecord) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
