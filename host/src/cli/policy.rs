//! `claw policy check`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use super::Invocation;
use crate::app;
use crate::config::Approve;
use crate::shell::{Decision, RealTree, SearchPath, Surroundings, usual_directories};
use crate::text::escape_line;
use crate::ui::json;
use crate::workspace::Workdir;

/// Says what the rules make of `command` in the workdir. Nothing is run.
pub(super) fn check(invocation: &Invocation, command: &OsStr) -> anyhow::Result<u8> {
    let settings = &invocation.settings;
    let workdir = Workdir::open(&settings.workdir.value, &settings.wide_rule())?;
    let tree = RealTree::open(workdir.path())?;
    let directories = usual_directories(settings.paths.home.as_deref());
    let search = SearchPath::new(directories, workdir.path())?;
    let verdict = app::allowlist(settings)?.judge(
        command.as_bytes(),
        Surroundings {
            tree: &tree,
            search: Some(&search),
            terminal: settings.approve.value != Approve::Deny,
        },
    );
    let output = &invocation.output;
    if invocation.json {
        output.print(&json::to_line(&verdict.to_json()));
        return Ok(verdict.decision.exit_code());
    }
    let paint = output.out_paint();
    let word = match verdict.decision {
        Decision::Allow => paint.green("allow"),
        Decision::Ask => paint.yellow("ask"),
        Decision::Deny => paint.red("deny"),
    };
    output.print(&format!("{word}: {}\n", escape_line(&verdict.reason)));
    for planned in &verdict.commands {
        let program = planned.program.as_ref().map(|program| program.path.to_string_lossy());
        output.print(&format!(
            "  {} {}\n",
            escape_line(program.as_deref().unwrap_or("(not installed)")),
            escape_line(&format!("{:?}", planned.argv))
        ));
    }
    if verdict.needs_sandbox && verdict.decision == Decision::Allow {
        output.print("  only in the full sandbox\n");
    }
    Ok(verdict.decision.exit_code())
}
