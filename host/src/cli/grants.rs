//! `claw plugin grant` and `claw plugin revoke`.

use serde_json::json;

use super::Invocation;
use super::args::Grants;
use super::usage::UsageError;
use crate::app::{self, Regranted};
use crate::config::GrantEdit;
use crate::policy::{Ask, plain_directory, plain_host};
use crate::text::escape_line;
use crate::ui;

pub(super) fn grant(invocation: &Invocation, name: &str, grants: &Grants) -> anyhow::Result<u8> {
    let after = app::grant_plugin(&invocation.settings, name, edit(grants)?)?;
    show(invocation, name, &after);
    Ok(0)
}

pub(super) fn revoke(invocation: &Invocation, name: &str, grants: &Grants) -> anyhow::Result<u8> {
    let after = app::revoke_plugin(&invocation.settings, name, &edit(grants)?)?;
    show(invocation, name, &after);
    Ok(0)
}

fn show(invocation: &Invocation, name: &str, after: &Regranted) {
    let output = &invocation.output;
    let file = escape_line(&invocation.settings.paths.config_file.display().to_string());
    let missing: Vec<String> = after.effective.missing.iter().map(Ask::to_string).collect();
    if invocation.json {
        let document = json!({
            "plugin": name,
            "file": file,
            "effective": super::check::effective(&after.effective),
            "missing": missing,
            "warnings": after.effective.warnings,
        });
        output.print(&ui::json::to_line(&document));
        return;
    }
    output.print(&format!("`{}` may {}\n", escape_line(name), after.may));
    for ask in &missing {
        output.print(&format!("  not granted, and declared: {ask}\n"));
    }
    for warning in &after.effective.warnings {
        output.note(&format!("{} {warning}", output.err_paint().yellow("note:")));
    }
}

/// The flags, each in its plain form. What is no directory or host is a fault of the line.
fn edit(grants: &Grants) -> Result<GrantEdit, UsageError> {
    let dirs = |list: &[String]| -> Result<Vec<String>, UsageError> {
        list.iter().map(|dir| plain_directory(dir).map_err(UsageError)).collect()
    };
    let http = grants.http.iter().map(|given| {
        let (host, methods) = given.split_once('=').unwrap_or((given, "GET"));
        let methods: Vec<String> = methods.split(',').map(str::to_ascii_uppercase).collect();
        if methods
            .iter()
            .any(|method| method.is_empty() || !method.chars().all(|c| c.is_ascii_alphabetic()))
        {
            return Err(UsageError(format!(
                "`{}` names no HTTP method: write it like `api.example.com=GET,POST`",
                escape_line(given)
            )));
        }
        Ok((plain_host(host).map_err(UsageError)?, methods))
    });
    if let Some(name) = grants.env.iter().find(|name| name.is_empty() || name.contains('=')) {
        return Err(UsageError(format!(
            "`{}` is not a variable's name: the value is the environment's, so only the name is given",
            escape_line(name)
        )));
    }
    Ok(GrantEdit {
        read: dirs(&grants.read)?,
        write: dirs(&grants.write)?,
        http: http.collect::<Result<_, _>>()?,
        env: grants.env.clone(),
    })
}
