//! The command line as it is written. Nothing is judged here beyond its form.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

/// The whole line.
#[derive(Debug, Parser)]
#[command(name = "claw", version, disable_help_subcommand = true)]
#[command(
    about = "Runs an agent on the files of one directory, with tools that are WebAssembly in sandboxes"
)]
#[command(after_help = "The answer goes to standard output, everything else to standard error.")]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) global: Global,
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

#[derive(Debug, ClapArgs)]
pub(super) struct Global {
    /// Work in DIR instead of the current directory
    #[arg(short = 'C', long, global = true, value_name = "DIR")]
    pub(super) workdir: Option<PathBuf>,
    #[arg(long, global = true, value_name = "PROVIDER/MODEL")]
    #[arg(help = "Ask PROVIDER/MODEL, or play replies from script:FILE [env: CLAWHOLD_MODEL]")]
    pub(super) model: Option<String>,
    /// Read FILE instead of the user's config.toml
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    #[arg(long, global = true, value_name = "DIR")]
    #[arg(help = "Keep session logs in DIR [env: CLAWHOLD_SESSIONS]")]
    pub(super) sessions: Option<PathBuf>,
    /// How to print the answer
    #[arg(long, global = true, value_name = "FORM", default_value = "text")]
    pub(super) output: Form,
    /// The same as --output json
    #[arg(long, global = true, conflicts_with = "output")]
    pub(super) json: bool,
    /// What to do where a policy says to ask
    #[arg(long, global = true, value_name = "MODE")]
    pub(super) approve: Option<ApproveArg>,
    /// Say more about what happens
    #[arg(short, long, global = true)]
    pub(super) verbose: bool,
    /// Accept the home directory, /, or one that holds Clawhold's own files as the workdir
    #[arg(long, global = true)]
    pub(super) allow_wide_workdir: bool,
    /// Let bash run commands with nothing to confine them
    #[arg(long, global = true)]
    pub(super) bash_without_sandbox: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Form {
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum ApproveArg {
    /// Ask on the terminal
    Ask,
    /// Refuse
    Deny,
    /// Allow what the sandbox confines and undo covers, refuse the rest
    Safe,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Do one task and print the answer
    Run(Run),
    /// Run one tool without a model
    Call(Call),
    /// Show the tools as the model sees them
    Tools,
    /// Show, check and grant what is installed
    Plugin {
        #[command(subcommand)]
        command: Plugin,
    },
    /// Try the rules of bash
    Policy {
        #[command(subcommand)]
        command: Policy,
    },
    /// Look at past sessions
    Session {
        #[command(subcommand)]
        command: Session,
    },
    /// Trust the settings that lie in a directory's .claw/config.toml; they can only narrow
    Trust {
        /// The directory; the workdir where none is given
        #[arg(value_name = "DIR")]
        dir: Option<PathBuf>,
        /// Trust them no longer
        #[arg(long)]
        revoke: bool,
    },
    /// Show the settings in force, each with where it comes from
    Config,
    /// Check what the machine offers and what is missing
    Doctor,
}

#[derive(Debug, ClapArgs)]
pub(super) struct Run {
    /// The task; - reads it from standard input. Piped input is otherwise added as context
    #[arg(value_name = "PROMPT")]
    pub(super) prompt: Option<String>,
    /// Stop after N requests to the model; 0 for no limit
    #[arg(long, value_name = "N")]
    pub(super) max_turns: Option<u32>,
    /// Stop when N tokens are used up; 0 for no limit
    #[arg(long, value_name = "N")]
    pub(super) max_tokens: Option<u64>,
    /// Stop when the run has cost this much by the configured prices; 0 for no limit
    #[arg(long, value_name = "AMOUNT")]
    pub(super) max_cost: Option<f64>,
    /// Stop after N seconds; 0 for no limit
    #[arg(long, value_name = "N")]
    pub(super) max_seconds: Option<u64>,
    /// Write no session log
    #[arg(long)]
    pub(super) no_session: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct Call {
    /// The tool's name, as "claw tools" shows it
    pub(super) tool: String,
    /// Its arguments, a JSON object; - reads them from standard input, none is {}
    #[arg(value_name = "JSON")]
    pub(super) arguments: Option<String>,
    /// Write no session log
    #[arg(long)]
    pub(super) no_session: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum Plugin {
    /// List all plugins, also those that were refused, with the reason
    List,
    /// Show what an installed plugin, or a file, is and may do
    Inspect {
        /// The plugin's name, or a file
        #[arg(value_name = "NAME|FILE")]
        what: PathBuf,
    },
    /// Say whether a file would load, and if not, what mends it
    Check {
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Also ask it for its tools, in a sandbox that has nothing
        #[arg(long)]
        run: bool,
    },
    /// Run an unknown plugin once with everything denied, and print what it wanted
    Try {
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The tool to call; its first one where none is given
        #[arg(value_name = "TOOL")]
        tool: Option<String>,
        /// Its arguments, a JSON object
        #[arg(value_name = "JSON", default_value = "{}")]
        arguments: String,
    },
    /// Grant capabilities in config.toml and approve the plugin as it is now; without any, all
    /// that it declares
    Grant {
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        grants: Grants,
    },
    /// Take capabilities back; without any, all that were granted, and the approval
    Revoke {
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        grants: Grants,
    },
}

#[derive(Debug, ClapArgs)]
pub(super) struct Grants {
    /// A directory to read: relative to the workdir, or absolute
    #[arg(long, value_name = "DIR")]
    pub(super) read: Vec<String>,
    /// A directory to read and write
    #[arg(long, value_name = "DIR")]
    pub(super) write: Vec<String>,
    /// A host to ask, such as api.example.com or api.example.com=GET,POST
    #[arg(long, value_name = "HOST[=METHODS]")]
    pub(super) http: Vec<String>,
    /// An environment variable to see, by its name
    #[arg(long, value_name = "NAME")]
    pub(super) env: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Policy {
    /// Say what the rules make of a command line: exit 0 allow, 10 ask, 11 deny
    Check {
        /// The command line, as one argument
        #[arg(last = true, required = true, num_args = 1, value_name = "COMMAND")]
        command: std::ffi::OsString,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum Session {
    /// List the sessions, newest first
    List,
    /// Show one session record by record
    Show {
        /// Its id, or the beginning of it; the newest where none is given
        id: Option<String>,
    },
    /// Take back what a session's tools changed
    Undo(Undoing),
    /// Show what a session changed, as one diff
    Diff {
        /// Its id, or the beginning of it; the newest that changed this workdir where none is given
        id: Option<String>,
    },
}

#[derive(Debug, ClapArgs)]
pub(super) struct Undoing {
    /// Its id, or the beginning of it; the newest that changed this workdir where none is given
    pub(super) id: Option<String>,
    /// Only this turn; an undo is a turn too, and undoing that brings the changes back
    #[arg(long, value_name = "N")]
    pub(super) turn: Option<u32>,
    /// Show what would be done
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Leave files that somebody has changed since, and undo the rest
    #[arg(long, conflicts_with = "overwrite")]
    pub(super) skip: bool,
    /// Replace files that somebody has changed since; what is replaced is kept for undo
    #[arg(long)]
    pub(super) overwrite: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_holds_together() {
        <Args as clap::CommandFactory>::command().debug_assert();
    }
}
