//! `claw tools`.

use super::Invocation;
use crate::app::Host;
use crate::text::escape_line;
use crate::ui::json;

/// Prints what the model is told of each tool: in JSON whole, as text by its first sentence.
pub(super) fn run(invocation: &Invocation) -> anyhow::Result<u8> {
    let host = Host::open(&invocation.settings)?;
    invocation.tell_refused(&host);
    let specs = host.registry().definitions();
    if invocation.json {
        invocation.output.print(&json::to_line(&json::tools(&specs)));
        return Ok(0);
    }
    let paint = invocation.output.out_paint();
    let width = specs.iter().map(|spec| spec.name.len()).max().unwrap_or(0);
    for spec in specs.iter() {
        let sentence = spec.description.split_inclusive(". ").next().unwrap_or_default();
        let effects = spec.effects.names();
        let effects = if effects.is_empty() { "may write".to_owned() } else { effects.join(", ") };
        invocation.output.print(&format!(
            "{}  {} {}\n",
            paint.bold(&format!("{:width$}", escape_line(&spec.name))),
            escape_line(sentence.trim_end()),
            paint.dim(&format!("({effects})")),
        ));
    }
    Ok(0)
}
