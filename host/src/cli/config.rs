//! `claw config`.

use super::Invocation;
use crate::config::{as_json, as_lines};
use crate::ui::json;

/// Prints each setting in force with where it comes from. No key is printed.
pub(super) fn run(invocation: &Invocation) -> u8 {
    let output = &invocation.output;
    if invocation.json {
        output.print(&json::to_line(&as_json(&invocation.settings)));
        return 0;
    }
    let lines = as_lines(&invocation.settings);
    let width = lines.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0);
    for (name, value, origin) in lines {
        let origin = output.out_paint().dim(&format!("({})", crate::text::escape_line(&origin)));
        output.print(&format!("{name:width$}  {value}  {origin}\n"));
    }
    0
}
