//! `claw doctor`.

use serde_json::{Value, json};

use super::Invocation;
use crate::app::{self, CheckState};
use crate::text::escape_line;
use crate::ui;

/// Prints every check. The exit code is 1 if something that the main job needs is broken.
pub(super) fn run(invocation: &Invocation) -> u8 {
    let checks = app::doctor(&invocation.settings);
    let broken = checks.iter().any(|check| check.state == CheckState::Broken);
    let output = &invocation.output;
    if invocation.json {
        let list = checks.iter().map(|check| {
            json!({
                "name": check.name,
                "state": word(check.state),
                "detail": check.detail,
                "fix": check.fix,
            })
        });
        output.print(&ui::json::to_line(&Value::Array(list.collect())));
        return broken.into();
    }
    let paint = output.out_paint();
    for check in &checks {
        let padded = format!("{:6}", word(check.state));
        let state = match check.state {
            CheckState::Ok => paint.green(&padded),
            CheckState::Weaker => paint.yellow(&padded),
            CheckState::Broken => paint.red(&padded),
        };
        output.print(&format!("{state}  {}: {}\n", check.name, escape_line(&check.detail)));
        if let Some(fix) = &check.fix {
            output.print(&format!("        {}\n", escape_line(fix)));
        }
    }
    broken.into()
}

fn word(state: CheckState) -> &'static str {
    match state {
        CheckState::Ok => "ok",
        CheckState::Weaker => "weaker",
        CheckState::Broken => "broken",
    }
}
