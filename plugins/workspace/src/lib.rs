//! The standard file tools of Clawhold: `read_file`, `write_file`, `edit_file`, `list_dir`,
//! `glob` and `grep`, built as one component.
//!
//! The host around a call judges every open, rewrites absolute paths inside the working
//! directory and checks the arguments against the schemas of [`specs`]; none of that is done
//! again here. Files are those of `std::fs`, but for the calls of [`disk`] that a component makes
//! often, so the same code runs, and is tested, natively.

// Replies are built once a call; reading well matters more than one allocation.
#![allow(clippy::format_push_string)]

use clawhold_sdk::{Args, Failure, FailureCode, Plugin, Reply, Tool, failure::failure};

pub mod decode;
pub mod diff;
pub mod disk;
pub mod edit;
pub mod fault;
pub mod glob;
pub mod grep;
pub mod kind;
pub mod links;
pub mod list;
pub mod names;
pub mod pattern;
pub mod read;
pub mod replace;
pub mod specs;
pub mod walk;
pub mod write;

/// The plugin.
#[derive(Debug)]
pub struct Workspace;

impl Plugin for Workspace {
    fn tools() -> Vec<Tool> {
        specs::tools()
    }

    fn call(tool: &str, args: Args) -> Result<Reply, Failure> {
        match tool {
            "read_file" => read::call(args),
            "write_file" => write::call(args),
            "edit_file" => edit::call(args),
            "list_dir" => list::call(args),
            "glob" => glob::call(args),
            "grep" => grep::call(args),
            other => {
                Err(failure(FailureCode::NotFound, format!("this plugin has no tool `{other}`")))
            }
        }
    }
}

clawhold_sdk::export!(Workspace);
