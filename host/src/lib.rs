//! Clawhold: an agent host that lends a language model sandboxed tools.
//!
//! The library is what the `claw` binary is made of. A program of one's own needs three things:
//! a [`provider::Provider`] to ask, a [`tool::Registry`] of what can be called, and an
//! [`agent::Agent`] that brings them together. `examples/embed.rs` is the whole of it.
//!
//! Modules lie on floors, and a module uses only floors below its own; ARCHITECTURE.md says which
//! and why, and `tests/architecture.rs` holds it.

pub mod agent;
pub mod app;
pub mod cli;
pub mod config;
pub mod journal;
pub mod model;
pub mod policy;
pub mod provider;
pub mod sandbox;
pub mod shell;
pub mod text;
pub mod tool;
pub mod ui;
pub mod workspace;
