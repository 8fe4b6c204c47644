//! Settings: read from flags, environment and config.toml, each value with where it came from.
//!
//! A flag wins over the environment, the environment over the file, the file over the default.
//! What is wrong is an error that names the place; nothing falls back to something wider.

mod bash;
mod builtin;
mod edit;
mod env;
mod error;
mod file;
mod key;
mod model;
mod paths;
mod project;
mod remember;
mod settings;
mod show;
mod store;

pub use crate::text::nearest;
pub use bash::BashEntry;
pub use builtin::BUILTIN;
pub use edit::{GrantEdit, add_grant, take_grant};
pub use env::Env;
pub use error::ConfigError;
pub use file::{Api, Price, ProviderEntry};
pub use model::{ModelChoice, Service};
pub use paths::Paths;
pub use project::{
    Denying, Narrowing, PROJECT_FILE, Project, ProjectLimits, ProjectState, distrust_project,
    trust_project,
};
pub use remember::remember_rules;
pub use settings::{Approve, Flags, Origin, RunLimits, Settings, Valued};
pub use show::{as_json, as_lines};
pub use store::{read as read_stored, update as update_stored};
