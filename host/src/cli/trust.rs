//! `claw trust`.

use std::path::Path;

use serde_json::json;

use super::Invocation;
use crate::config::{self, PROJECT_FILE};
use crate::text::escape_line;
use crate::ui;

/// Trusts the settings that lie in `dir`, exactly as they are now, or takes that back.
pub(super) fn run(invocation: &Invocation, dir: Option<&Path>, revoke: bool) -> anyhow::Result<u8> {
    let settings = &invocation.settings;
    let dir = dir.unwrap_or(&settings.workdir.value);
    let shown = escape_line(&dir.join(PROJECT_FILE).display().to_string());
    let output = &invocation.output;
    if revoke {
        let was = config::distrust_project(dir, &settings.paths.trust_file)?;
        if invocation.json {
            output
                .print(&ui::json::to_line(&json!({ "file": shown, "trusted": false, "was": was })));
        } else {
            let said = if was { "is no longer trusted" } else { "was not trusted" };
            output.print(&format!("`{shown}` {said}\n"));
        }
        return Ok(0);
    }
    let project = config::trust_project(dir, &settings.paths.trust_file)?;
    let lines = project.lines();
    if invocation.json {
        output.print(&ui::json::to_line(
            &json!({ "file": shown, "trusted": true, "narrows": lines }),
        ));
        return Ok(0);
    }
    output.print(&format!("`{shown}` is trusted as it is now; any change to it ends that. It\n"));
    for line in &lines {
        output.print(&format!("  {line}\n"));
    }
    if lines.is_empty() {
        output.print("  changes nothing\n");
    }
    Ok(0)
}
