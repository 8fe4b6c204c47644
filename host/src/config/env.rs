//! The environment as one value, so that everything which depends on it can be tested.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;

/// Variables by name. What holds keys must not be printed, so `Debug` shows only how many.
#[derive(Clone, Default)]
pub struct Env {
    vars: BTreeMap<OsString, OsString>,
}

impl Env {
    pub fn of_process() -> Self {
        Self { vars: std::env::vars_os().collect() }
    }

    pub fn of(pairs: &[(&str, &str)]) -> Self {
        Self { vars: pairs.iter().map(|(name, value)| (name.into(), value.into())).collect() }
    }

    /// The value of `name`. An empty one counts as unset, as shells make it hard to tell.
    pub fn os(&self, name: &str) -> Option<&OsString> {
        self.vars.get(std::ffi::OsStr::new(name)).filter(|value| !value.is_empty())
    }

    /// The value of `name` where it is UTF-8.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.os(name).and_then(|value| value.to_str())
    }
}

impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Env({} variables)", self.vars.len())
    }
}
