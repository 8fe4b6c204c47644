//! Decisions: what plugins may do, as the user wrote it, and what nobody may. No enforcement, and
//! nothing of wasmtime.

mod ask;
mod effective;
mod grant;
mod http;
mod limits;
mod lock;
mod manifest;
mod protected;
mod secret;

pub use ask::{Ask, grant_command, toml_lines};
pub use effective::{Ceiling, DirectoryRule, Effective, SecretRule, effective};
pub use grant::{Grant, HttpGrant, SecretGrant};
pub use http::{
    BadHttpRule, BadSecretHeader, Host, HttpGrantRules, HttpLimits, HttpRefusal, HttpRule,
    SecretHeader, Target, reserved_range,
};
pub use limits::{Limits, optional_size, parse_duration, parse_size};
pub use lock::{Pin, PinnedTool, Standing, compare, sha256_hex};
pub use manifest::{
    BadManifest, HttpNeed, MAX_MANIFEST, Manifest, Needs, plain_directory, plain_host,
};
pub use protected::{holds_protected, protected};
pub use secret::looks_secret;
