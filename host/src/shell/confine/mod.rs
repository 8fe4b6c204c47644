//! What holds a command, whatever it is: the operating system's own means, in three tiers.
//!
//! Bubblewrap builds namespaces around the runner ([`bubblewrap`]); the runner puts the rest on
//! each command just before it starts ([`Confined`]): a filter on system calls, and Landlock where
//! there is no bubblewrap.

mod bubblewrap;
#[cfg(target_os = "linux")]
mod filter;
mod inner;
#[cfg(target_os = "linux")]
mod landlock;
mod layout;
mod protect;
mod tier;

pub(super) use bubblewrap::{RUNNER_PLACE, Wrap, arguments};
pub(super) use inner::{Confined, Inner};
pub(super) use layout::{Layout, environment, proc_of_landlock};
pub(super) use protect::{Planted, Protection, Survey};
pub use tier::{Tier, TierReport};
