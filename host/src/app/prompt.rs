//! The system prompt of a workdir: surroundings and the project's own instructions.

use std::io::Read;
use std::time::SystemTime;

use crate::agent::{Environment, system_prompt as assemble};
use crate::journal::timestamp;
use crate::text::clip_end;
use crate::workspace::Workdir;

/// Bytes of AGENTS.md that are passed on; the rest is said to be left out.
const MAX_INSTRUCTIONS: usize = 32 << 10;

pub(super) fn system_prompt(workdir: &Workdir, commands: Option<&str>) -> String {
    let now = timestamp(SystemTime::now());
    let instructions = instructions(workdir);
    assemble(&Environment {
        workdir: workdir.path(),
        os: std::env::consts::OS,
        // The day is enough, and with the time of day no two prompts would share a cache.
        date: now.get(..10).unwrap_or(&now),
        commands,
        instructions: instructions.as_deref(),
    })
}

/// The workdir's AGENTS.md. Not being there is the common case; being unreadable or something
/// else than a file is treated the same, since it can only be the project's own fault.
fn instructions(workdir: &Workdir) -> Option<String> {
    if !workdir.dir().metadata("AGENTS.md").ok()?.is_file() {
        return None;
    }
    let file = workdir.dir().open("AGENTS.md").ok()?;
    let mut bytes = Vec::new();
    file.take(2 * MAX_INSTRUCTIONS as u64).read_to_end(&mut bytes).ok()?;
    Some(clip_end(&String::from_utf8_lossy(&bytes), MAX_INSTRUCTIONS))
}
