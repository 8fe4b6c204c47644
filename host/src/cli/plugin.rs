//! `claw plugin list`.

use serde_json::{Value, json};

use super::Invocation;
use crate::app::{Host, PluginState, PluginStatus};
use crate::text::escape_line;
use crate::ui::{self, count};

/// Prints every plugin that was found. One that was refused is news, not a failure of this
/// command.
pub(super) fn list(invocation: &Invocation) -> anyhow::Result<u8> {
    let host = Host::open(&invocation.settings)?;
    let output = &invocation.output;
    host.notices().iter().for_each(|notice| invocation.note(notice));
    if invocation.json {
        let list = host.plugins().iter().map(as_json).collect();
        output.print(&ui::json::to_line(&Value::Array(list)));
        return Ok(0);
    }
    let paint = output.out_paint();
    for plugin in host.plugins() {
        let version = plugin.version.as_deref().map(|v| format!(" {v}")).unwrap_or_default();
        let state = match &plugin.state {
            PluginState::Loaded => paint.green("loaded"),
            PluginState::Disabled => paint.yellow("disabled"),
            PluginState::Off(_) => paint.yellow("off"),
            PluginState::Refused(_) => paint.red("refused"),
        };
        let name = paint.bold(&escape_line(&plugin.name));
        let tools = count(plugin.tools.len(), "tool");
        output.print(&format!(
            "{name}{}  {state}, {tools}, {}\n",
            escape_line(&version),
            escape_line(&plugin.source)
        ));
        if let PluginState::Refused(chain) = &plugin.state {
            output.print(&format!("    {}\n", escape_line(&chain.join(": "))));
        }
        if let PluginState::Off(off) = &plugin.state {
            output.print(&format!("    {}\n", off.line()));
            for line in off.toml.iter().flat_map(|toml| toml.lines()) {
                output.print(&format!("    {}\n", escape_line(line)));
            }
        }
        if let Some(effective) = &plugin.effective {
            for ask in effective.missing.iter().filter(|_| plugin.state == PluginState::Loaded) {
                output.print(&format!("    declared and not granted: {ask}\n"));
            }
        }
        if !plugin.tools.is_empty() {
            output.print(&format!("    {}\n", escape_line(&plugin.tools.join(", "))));
        }
    }
    Ok(0)
}

fn as_json(plugin: &PluginStatus) -> Value {
    let (state, reason) = match &plugin.state {
        PluginState::Loaded => ("loaded", None),
        PluginState::Disabled => ("disabled", None),
        PluginState::Off(off) => ("off", Some(&off.why)),
        PluginState::Refused(chain) => ("refused", Some(chain)),
    };
    let (command, toml) = match &plugin.state {
        PluginState::Off(off) => (Some(&off.command), off.toml.as_ref()),
        _ => (None, None),
    };
    json!({
        "name": plugin.name,
        "version": plugin.version,
        "source": plugin.source,
        "sha256": plugin.sha256,
        "state": state,
        "reason": reason,
        "tools": plugin.tools,
        "effective": plugin.effective.as_ref().map(super::check::effective),
        "mend": { "command": command, "toml": toml },
    })
}
