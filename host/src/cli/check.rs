//! `claw plugin check`, `inspect` and `try`: a file looked at before it is trusted.

use std::path::Path;

use serde_json::{Value, json};

use super::Invocation;
use crate::app::{self, Checked, Trial};
use crate::policy::{Ask, Effective, grant_command, plain_directory, toml_lines};
use crate::sandbox::ImportState;
use crate::text::escape_line;
use crate::ui;

/// Exit code 0 only if the file would load.
pub(super) fn check(invocation: &Invocation, file: &Path, run: bool) -> anyhow::Result<u8> {
    let checked = app::check_plugin(&invocation.settings, file, run)?;
    show(invocation, &checked);
    Ok(u8::from(!checked.inspection.would_load()))
}

/// The same of a plugin that is there already, with its tools: they are known without asking.
pub(super) fn inspect(invocation: &Invocation, what: &Path) -> anyhow::Result<u8> {
    let checked = app::check_plugin(&invocation.settings, what, !what.exists())?;
    show(invocation, &checked);
    Ok(u8::from(checked.inspection.size.is_none()))
}

fn show(invocation: &Invocation, checked: &Checked) {
    let output = &invocation.output;
    if invocation.json {
        output.print(&ui::json::to_line(&as_json(checked)));
        return;
    }
    let paint = output.out_paint();
    let found = &checked.inspection;
    let size = found.size.map(|size| format!(", {}", ui::size(size))).unwrap_or_default();
    let compiled = found.compile_ms.map(|ms| format!(", compiled in {ms} ms")).unwrap_or_default();
    output.print(&format!(
        "{}: {}{size}{compiled}\n",
        paint.bold(&escape_line(&checked.name)),
        found.kind
    ));
    if let Some(sha256) = &found.sha256 {
        output.print(&format!("  sha256 {sha256}\n"));
    }
    for import in &found.imports {
        let state = match import.state {
            ImportState::Satisfied => paint.green("ok"),
            ImportState::WrongVersion => paint.red("wrong version"),
            ImportState::Unknown => paint.red("unknown"),
        };
        let why = import.why.as_ref().map(|why| format!(": {}", escape_line(why)));
        output.print(&format!(
            "  import {} {state}{}\n",
            escape_line(&import.name),
            why.unwrap_or_default()
        ));
    }
    for tool in found.tools.iter().flatten() {
        let effects = tool.effects.names();
        let effects = if effects.is_empty() { "may write".to_owned() } else { effects.join(", ") };
        output.print(&format!(
            "  tool {} ({effects}), schema ok: {}\n",
            escape_line(&tool.name),
            escape_line(&tool.description)
        ));
    }
    if found.kind == "component" {
        output.print(&format!("  would here {}\n", checked.may));
        for ask in &checked.effective.missing {
            output.print(&format!("  asks beyond that to {ask}\n"));
        }
        if !checked.effective.missing.is_empty() {
            output.print(&format!(
                "    {}\n",
                grant_command(&checked.name, &checked.effective.missing)
            ));
            let toml = toml_lines(&checked.name, &checked.grant, &checked.effective.missing, false);
            for line in toml.lines() {
                output.print(&format!("    {}\n", escape_line(line)));
            }
        }
    }
    for note in found.notes.iter().chain(&checked.effective.warnings) {
        output.print(&format!("  {} {}\n", paint.yellow("note:"), escape_line(note)));
    }
    for fault in &found.faults {
        output.print(&format!(
            "  {} {}\n    mend: {}\n",
            paint.red("fault:"),
            escape_line(&fault.what),
            escape_line(&fault.mend)
        ));
    }
    let verdict = if found.would_load() {
        paint.green("it would load")
    } else {
        paint.red("it would not load")
    };
    output.print(&format!("  {verdict}\n"));
}

fn as_json(checked: &Checked) -> Value {
    let found = &checked.inspection;
    let imports = found.imports.iter().map(|import| {
        let state = match import.state {
            ImportState::Satisfied => "satisfied",
            ImportState::WrongVersion => "wrong-version",
            ImportState::Unknown => "unknown",
        };
        json!({ "name": import.name, "state": state, "why": import.why })
    });
    let faults = found.faults.iter().map(|fault| json!({ "what": fault.what, "mend": fault.mend }));
    let manifest = match (&found.manifest, found.side_car) {
        (None, _) => "none",
        (Some(_), true) => "side-car",
        (Some(_), false) => "embedded",
    };
    json!({
        "name": checked.name,
        "kind": found.kind,
        "size": found.size,
        "sha256": found.sha256,
        "compile_ms": found.compile_ms,
        "loads": found.would_load(),
        "imports": imports.collect::<Vec<_>>(),
        "exports": found.exports,
        "manifest_from": manifest,
        "manifest": found.manifest,
        "effective": effective(&checked.effective),
        "missing": checked.effective.missing.iter().map(Ask::to_string).collect::<Vec<_>>(),
        "grant": grant_command(&checked.name, &checked.effective.missing),
        "tools": found.tools.as_ref().map(|tools| ui::json::tools(tools)),
        "faults": faults.collect::<Vec<_>>(),
        "notes": found.notes.iter().chain(&checked.effective.warnings).collect::<Vec<_>>(),
    })
}

/// What a plugin may do, for JSON. Of secrets, where they come from and not what they are.
pub(super) fn effective(effective: &Effective) -> Value {
    let dirs = |write: bool| -> Vec<&str> {
        let dirs = effective.directories.iter().filter(|dir| dir.write == write);
        dirs.map(|dir| dir.path.as_str()).collect()
    };
    let limits = effective.limits;
    json!({
        "read": dirs(false),
        "write": dirs(true),
        "http": effective.http.iter().map(|rule| json!({ "host": rule.host, "methods": rule.methods })).collect::<Vec<_>>(),
        "env": effective.env,
        "settings": effective.settings.keys().collect::<Vec<_>>(),
        "secrets": effective.secrets.iter().map(|s| json!({ "name": s.name, "from": s.from, "host": s.host })).collect::<Vec<_>>(),
        "tools": effective.tools,
        "limits": { "memory": limits.memory, "timeout_ms": limits.timeout.as_millis() as u64, "output": limits.output },
    })
}

/// Runs a tool with everything denied, and prints what it wanted as a grant to paste. The exit
/// code says whether the trial took place, not how the call went: it is meant to be refused.
pub(super) fn try_out(
    invocation: &Invocation,
    file: &Path,
    tool: Option<&str>,
    arguments: &str,
) -> anyhow::Result<u8> {
    let arguments: Value = serde_json::from_str(arguments).map_err(|error| {
        super::usage::UsageError(format!("the arguments are not JSON: {error}"))
    })?;
    let trial = app::try_plugin(&invocation.settings, file, tool, &arguments)?;
    let (asks, settings) = wanted(&trial);
    let output = &invocation.output;
    let mut all = asks.clone();
    all.extend(settings);
    let manifest = needs(&all);
    let grant = toml_lines(&trial.plugin, &crate::policy::Grant::default(), &all, false);
    let tried = &trial.tried;
    if invocation.json {
        let document = json!({
            "plugin": trial.plugin,
            "tool": trial.tool,
            "outcome": tried.reply.outcome.word(),
            "failure": tried.reply.failure,
            "reads": tried.reads,
            "writes": tried.writes,
            "hosts": tried.hosts.iter().map(|(host, method)| json!({ "host": host, "method": method })).collect::<Vec<_>>(),
            "settings": tried.settings,
            "environment": tried.environment,
            "manifest": manifest,
            "grant": grant,
        });
        output.print(&ui::json::to_line(&document));
        return Ok(0);
    }
    output.print(&format!(
        "`{}` of `{}` ran with everything denied and ended as {}\n",
        escape_line(&trial.tool),
        escape_line(&trial.plugin),
        tried.reply.outcome.word()
    ));
    let list = |what: &str, items: &[String]| {
        for item in items {
            output.print(&format!("  {what} {}\n", escape_line(item)));
        }
    };
    list("wanted to read", &tried.reads);
    list("wanted to write", &tried.writes);
    for (host, method) in &tried.hosts {
        output.print(&format!(
            "  wanted to send {} to {}\n",
            escape_line(method),
            escape_line(host)
        ));
    }
    list("asked for the setting", &tried.settings);
    if tried.environment {
        output.print("  asked for its environment (WASI hands that over whole, so no names are known; add those it needs to `env`)\n");
    }
    if all.is_empty() {
        output.print("  asked for nothing that it would have to be granted\n");
        return Ok(0);
    }
    output.print(&format!(
        "\n# {}.toml, beside the .wasm\n{manifest}\n\n# config.toml\n{grant}\n",
        escape_line(&trial.plugin)
    ));
    Ok(0)
}

/// What it wanted as capabilities: the folders of paths outside, the workdir for those within.
fn wanted(trial: &Trial) -> (Vec<Ask>, Vec<Ask>) {
    let folder = |path: &String| -> Option<String> {
        let plain = plain_directory(path).ok()?;
        if !plain.starts_with('/') {
            return Some(".".into());
        }
        // `/etc/hosts` is a file in `/etc`; `/etc` alone is itself.
        let above = plain.rsplit_once('/').map_or("", |(above, _)| above);
        Some(if above.is_empty() { plain } else { above.to_owned() })
    };
    let mut asks: Vec<Ask> = Vec::new();
    let writes: Vec<String> = trial.tried.writes.iter().filter_map(folder).collect();
    let reads = trial.tried.reads.iter().filter_map(folder).filter(|dir| !writes.contains(dir));
    let reads = reads.map(Ask::Read).collect::<Vec<_>>();
    let hosts = trial.tried.hosts.iter().map(|(host, method)| Ask::Http {
        host: host.clone(),
        methods: vec![method.clone()],
        why: None,
    });
    for ask in reads.into_iter().chain(writes.iter().cloned().map(Ask::Write)).chain(hosts) {
        if !asks.contains(&ask) {
            asks.push(ask);
        }
    }
    (asks, trial.tried.settings.iter().cloned().map(Ask::Setting).collect())
}

/// The `[needs]` of a manifest that declares `asks`.
fn needs(asks: &[Ask]) -> String {
    let mut needs = crate::policy::Needs::default();
    for ask in asks {
        match ask {
            Ask::Read(dir) => needs.read.push(dir.clone()),
            Ask::Write(dir) => needs.write.push(dir.clone()),
            Ask::Http { host, methods, .. } => needs.http.push(crate::policy::HttpNeed {
                host: host.clone(),
                methods: methods.clone(),
                why: None,
            }),
            Ask::Env(name) => needs.env.push(name.clone()),
            Ask::Setting(name) => needs.settings.push(name.clone()),
            Ask::Secret(name) => needs.secrets.push(name.clone()),
        }
    }
    let list = |items: &[String]| toml::Value::from(items.to_vec()).to_string();
    let mut lines = vec!["[needs]".to_owned()];
    for (key, items) in
        [("read", &needs.read), ("write", &needs.write), ("settings", &needs.settings)]
    {
        if !items.is_empty() {
            lines.push(format!("{key} = {}", list(items)));
        }
    }
    if !needs.http.is_empty() {
        let hosts = needs.http.iter().map(|need| {
            let host = toml::Value::from(need.host.clone());
            format!("{{ host = {host}, methods = {} }}", list(&need.methods))
        });
        lines.push(format!("http = [{}]", hosts.collect::<Vec<_>>().join(", ")));
    }
    lines.join("\n")
}
