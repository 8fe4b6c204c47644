//! Decisions: what plugins may do, as the user wrote it, and what nobody may. No enforcement, and
//! nothing of wasmtime.

mod grant;
mod http;
mod limits;
mod protected;
mod secret;

pub use grant::{Grant, HttpGrant, SecretGrant};
pub use http::{
    BadHttpRule, BadSecretHeader, Host, HttpGrantRules, HttpLimits, HttpRefusal, HttpRule, SecretHeader, Target,
    reserved_range,
};
pub use limits::{Limits, optional_size, parse_duration, parse_size};
pub use protected::{holds_protected, protected};
pub use secret::looks_secret;
