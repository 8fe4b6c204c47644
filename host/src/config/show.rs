//! The settings as `claw config` shows them: every value with its origin, no secret.

use serde_json::{Map, Value, json};

use super::{ModelChoice, Origin, Settings, Valued};

/// One object: each setting as `{"value", "origin"}`.
pub fn as_json(settings: &Settings) -> Value {
    let mut all = Map::new();
    for (name, value, origin) in rows(settings) {
        all.insert(name, json!({ "value": value, "origin": origin }));
    }
    Value::Object(all)
}

/// Name, value and origin of each setting, for a table.
pub fn as_lines(settings: &Settings) -> Vec<(String, String, String)> {
    rows(settings)
        .into_iter()
        .map(|(name, value, origin)| {
            let shown = match value {
                Value::Null => "none".to_owned(),
                Value::String(text) => crate::text::escape_line(&text),
                other => crate::text::escape_line(&other.to_string()),
            };
            (name, shown, origin)
        })
        .collect()
}

fn rows(settings: &Settings) -> Vec<(String, Value, String)> {
    let path = |path: &std::path::Path| Value::from(path.to_string_lossy());
    let file = settings.read_from.as_ref().map_or_else(
        || "not there".to_owned(),
        |_| Origin::File(settings.paths.config_file.clone()).to_string(),
    );
    let (model, model_origin) = model(settings);
    let limits = &settings.limits;
    let mut rows = vec![
        ("config".into(), path(&settings.paths.config_file), file.clone()),
        row("workdir", &settings.workdir, |p| path(p)),
        ("model".into(), model, model_origin),
        row("sessions", &settings.sessions, |p| path(p)),
        ("plugins".into(), path(&settings.paths.plugins_dir), place(settings)),
        ("state".into(), path(&settings.paths.state_dir), place(settings)),
        row("approve", &settings.approve, |a| json!(a)),
        row("limits.turns", &limits.turns, |v| json!(v)),
        row("limits.tokens", &limits.tokens, |v| json!(v)),
        row("limits.seconds", &limits.seconds, |v| json!(v)),
        row("limits.cost", &limits.cost, |v| json!(v)),
    ];
    if !settings.secret_files.is_empty() {
        rows.push(("secret_files".into(), json!(settings.secret_files), file.clone()));
    }
    if settings.bash != super::BashEntry::default() {
        rows.push(("bash".into(), without_nulls(json!(settings.bash)), file.clone()));
    }
    for (name, entry) in &settings.providers {
        rows.push((format!("providers.{name}"), without_nulls(json!(entry)), file.clone()));
    }
    for (name, grant) in &settings.plugins {
        rows.push((format!("plugins.{name}"), without_nulls(json!(grant)), file.clone()));
    }
    rows
}

fn row<T>(name: &str, valued: &Valued<T>, show: impl Fn(&T) -> Value) -> (String, Value, String) {
    (name.to_owned(), show(&valued.value), valued.origin.to_string())
}

/// What is configured, else what would be asked.
fn model(settings: &Settings) -> (Value, String) {
    if let Some(model) = &settings.model {
        return (json!(model.value), model.origin.to_string());
    }
    match settings.choose_model() {
        Ok(ModelChoice::Service(service)) => (
            json!(format!("{}/{}", service.provider, service.model)),
            "default, by the key in the environment".to_owned(),
        ),
        _ => (Value::Null, Origin::Default.to_string()),
    }
}

fn place(settings: &Settings) -> String {
    let by_home = settings.env.os("CLAWHOLD_HOME").is_some();
    if by_home { Origin::Env("CLAWHOLD_HOME") } else { Origin::Default }.to_string()
}

/// Unset keys of a table say nothing.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.into_iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| (name, without_nulls(value)))
                .collect(),
        ),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::{Env, Flags};
    use super::*;

    fn settings(config: &str) -> Settings {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("config.toml"), config).unwrap();
        let vars =
            [("CLAWHOLD_HOME", home.path().to_str().unwrap()), ("OPENAI_API_KEY", "sk-CANARY")];
        Settings::load(&Flags { max_turns: Some(3), ..Flags::default() }, Env::of(&vars)).unwrap()
    }

    #[test]
    fn every_value_says_where_it_came_from() {
        let shown = as_json(&settings("model = \"a/b\""));
        assert_eq!(shown["limits.turns"], json!({ "value": 3, "origin": "flag --max-turns" }));
        assert_eq!(shown["limits.seconds"]["origin"], "default");
        assert_eq!(shown["model"]["value"], "a/b");
        assert!(shown["model"]["origin"].as_str().unwrap().starts_with("file "));
        assert_eq!(shown["state"]["origin"], "environment CLAWHOLD_HOME");
    }

    #[test]
    fn n42_no_secret_is_shown() {
        let settings = settings(
            "[providers.lab]\nbase_url = \"http://lab/v1?k=CANARY\"\nkey = \"env:OPENAI_API_KEY\"\n\
             headers = { authorization = \"CANARY\" }",
        );
        let shown = format!("{} {:?}", as_json(&settings), as_lines(&settings));
        assert!(!shown.contains("CANARY"), "{shown}");
        assert!(shown.contains("authorization") && shown.contains("env:OPENAI_API_KEY"));
        assert!(shown.contains("openai/"), "the model that would be asked");
    }
}
