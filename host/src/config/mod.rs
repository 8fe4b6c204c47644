//! Settings: read from flags, environment and config.toml, each value with where it came from.
//!
//! A flag wins over the environment, the environment over the file, the file over the default.
//! What is wrong is an error that names the place; nothing falls back to something wider.

mod bash;
mod builtin;
mod env;
mod error;
mod file;
mod key;
mod model;
mod nearest;
mod paths;
mod remember;
mod settings;
mod show;

pub use bash::BashEntry;
pub use builtin::BUILTIN;
pub use env::Env;
pub use error::ConfigError;
pub use file::{Api, Price, ProviderEntry};
pub use model::{ModelChoice, Service};
pub use nearest::nearest;
pub use paths::Paths;
pub use remember::remember_rules;
pub use settings::{Approve, Flags, Origin, RunLimits, Settings, Valued};
pub use show::{as_json, as_lines};
