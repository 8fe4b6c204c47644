//! Changing grants in config.toml, where every comment and every blank line stays.

use std::path::Path;

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::{ConfigError, file, store};
use crate::policy::{Ask, Grant};

/// What `claw plugin grant` and `revoke` say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrantEdit {
    pub read: Vec<String>,
    pub write: Vec<String>,
    /// Host and methods.
    pub http: Vec<(String, Vec<String>)>,
    pub env: Vec<String>,
}

impl GrantEdit {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What can be granted by a command among `asks`.
    pub fn of(asks: &[Ask]) -> Self {
        let mut edit = Self::default();
        for ask in asks {
            match ask {
                Ask::Read(dir) => edit.read.push(dir.clone()),
                Ask::Write(dir) => edit.write.push(dir.clone()),
                Ask::Http { host, methods, .. } => edit.http.push((host.clone(), methods.clone())),
                Ask::Env(name) => edit.env.push(name.clone()),
                Ask::Setting(_) | Ask::Secret(_) => {}
            }
        }
        edit
    }

    /// The same as what it would take to ask for it.
    pub fn asks(&self) -> Vec<Ask> {
        let http = self.http.iter().map(|(host, methods)| Ask::Http {
            host: host.clone(),
            methods: methods.clone(),
            why: None,
        });
        let read = self.read.iter().cloned().map(Ask::Read);
        let write = self.write.iter().cloned().map(Ask::Write);
        read.chain(write).chain(http).chain(self.env.iter().cloned().map(Ask::Env)).collect()
    }
}

/// Adds to `[plugins.NAME]` of the config file at `path`, which is made where there is none.
/// `standard` marks the plugin that is part of the binary. Gives the table as it is now.
pub fn add_grant(
    path: &Path,
    plugin: &str,
    edit: &GrantEdit,
    standard: bool,
) -> Result<Grant, ConfigError> {
    change(path, plugin, |grant| edit.asks().iter().for_each(|ask| ask.add_to(grant, standard)))
}

/// Takes from `[plugins.NAME]`; an empty edit takes all directories, hosts, variables, settings
/// and secrets that were written, so that the defaults hold again. Gives the table as it is now.
pub fn take_grant(
    path: &Path,
    plugin: &str,
    edit: &GrantEdit,
    standard: bool,
) -> Result<Grant, ConfigError> {
    change(path, plugin, |grant| {
        if edit.is_empty() {
            *grant = Grant {
                enabled: grant.enabled,
                tools: grant.tools.take(),
                limits: grant.limits,
                ..Grant::default()
            };
            return;
        }
        let without = |dirs: Vec<&str>, taken: &[String]| -> Vec<String> {
            dirs.into_iter()
                .filter(|dir| !taken.iter().any(|t| t == dir))
                .map(str::to_owned)
                .collect()
        };
        if !edit.read.is_empty() {
            grant.read = Some(without(grant.read_dirs(), &edit.read));
        }
        if !edit.write.is_empty() {
            grant.write = Some(without(grant.write_dirs(standard), &edit.write));
        }
        for (host, methods) in &edit.http {
            for rule in grant.http.iter_mut().filter(|rule| rule.host == *host) {
                rule.methods.retain(|method| !methods.contains(method));
            }
        }
        grant.http.retain(|rule| !rule.methods.is_empty());
        grant.env.retain(|name| !edit.env.contains(name));
    })
}

fn change(path: &Path, plugin: &str, alter: impl FnOnce(&mut Grant)) -> Result<Grant, ConfigError> {
    let mut after = Grant::default();
    let result = store::update(path, |old| {
        let text = old.unwrap_or_default();
        // Whatever is wrong with the file is said before anything is changed in it.
        let parsed = file::parse(path, text).map_err(Failed::Config)?;
        let mut grant = parsed.plugins.get(plugin).cloned().unwrap_or_default();
        let before = grant.clone();
        alter(&mut grant);
        after = grant.clone();
        if grant == before {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(text).into_owned();
        let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
            Failed::Io(std::io::Error::other(error.message().to_owned()))
        })?;
        write(&mut document, plugin, &before, &grant).map_err(Failed::Io)?;
        let new = document.to_string().into_bytes();
        // A file that would not be read back the same way is not written.
        let again = file::parse(path, &new).map_err(Failed::Config)?;
        if again.plugins.get(plugin).cloned().unwrap_or_default() != grant {
            let why = "the table cannot be changed in place; edit it by hand";
            return Err(Failed::Io(std::io::Error::other(why)));
        }
        Ok(Some(new))
    });
    match result {
        Ok(()) => Ok(after),
        Err(Failed::Config(error)) => Err(error),
        Err(Failed::Io(cause)) => Err(ConfigError::Unwritable { path: path.to_owned(), cause }),
    }
}

enum Failed {
    Config(ConfigError),
    Io(std::io::Error),
}

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

/// Sets the keys that differ; the others are not touched.
fn write(
    document: &mut DocumentMut,
    plugin: &str,
    old: &Grant,
    new: &Grant,
) -> std::io::Result<()> {
    let not_a_table = || std::io::Error::other("`plugins` is not a table that can be changed");
    let plugins = document.entry("plugins").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let plugins: &mut dyn TableLike = plugins.as_table_like_mut().ok_or_else(not_a_table)?;
    if !plugins.contains_key(plugin) {
        plugins.insert(plugin, Item::Table(Table::new()));
    }
    let table =
        plugins.get_mut(plugin).and_then(Item::as_table_like_mut).ok_or_else(not_a_table)?;
    if old.read != new.read {
        set(table, "read", new.read.as_deref().map(list));
    }
    if old.write != new.write {
        set(table, "write", new.write.as_deref().map(list));
    }
    if old.env != new.env {
        set(table, "env", (!new.env.is_empty()).then(|| list(&new.env)));
    }
    if old.http != new.http {
        let hosts: Array = new
            .http
            .iter()
            .map(|rule| {
                let mut host = InlineTable::new();
                host.insert("host", rule.host.as_str().into());
                host.insert("methods", list(&rule.methods));
                Value::InlineTable(host)
            })
            .collect();
        set(table, "http", (!new.http.is_empty()).then_some(Value::Array(hosts)));
    }
    // An empty table would still be the user's word that this is all.
    if *new == Grant::default() {
        plugins.remove(plugin);
        return Ok(());
    }
    let table =
        plugins.get_mut(plugin).and_then(Item::as_table_like_mut).ok_or_else(not_a_table)?;
    // These are only ever taken away as a whole.
    if old.settings != new.settings {
        set(table, "settings", None);
    }
    if old.secrets != new.secrets {
        set(table, "secrets", None);
    }
    Ok(())
}

/// A value in the place and with the surroundings of the old one; none removes the key.
fn set(table: &mut dyn TableLike, key: &str, value: Option<Value>) {
    let Some(mut value) = value else {
        table.remove(key);
        return;
    };
    match table.get_mut(key) {
        Some(item) => {
            if let Some(old) = item.as_value() {
                *value.decor_mut() = old.decor().clone();
            }
            *item = Item::Value(value);
        }
        None => {
            table.insert(key, Item::Value(value));
        }
    }
}

fn list(items: &[String]) -> Value {
    Value::Array(items.iter().map(String::as_str).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn edited(text: &str, edit: impl FnOnce(&Path) -> Result<Grant, ConfigError>) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        if !text.is_empty() {
            std::fs::write(&path, text).unwrap();
        }
        edit(&path).unwrap();
        std::fs::read_to_string(&path).unwrap_or_default()
    }

    fn http() -> GrantEdit {
        GrantEdit {
            http: vec![("api.example.com".into(), vec!["GET".into()])],
            ..GrantEdit::default()
        }
    }

    #[test]
    fn comments_and_order_stay() {
        let before = "# mine\nmodel = \"a/b\" # this one\n\n[plugins.docs]\nread = [\".\"] # the workdir\n\n# the rest\n[limits]\nturns = 3\n";
        let edit = GrantEdit { read: vec!["/data".into()], ..http() };
        let after = edited(before, |path| add_grant(path, "docs", &edit, false));
        let expect = before.replace(
            "read = [\".\"] # the workdir\n",
            "read = [\".\", \"/data\"] # the workdir\nhttp = [{ host = \"api.example.com\", methods = [\"GET\"] }]\n",
        );
        assert_eq!(after, expect);
        let back = edited(&after, |path| take_grant(path, "docs", &edit, false));
        assert_eq!(back, before);
    }

    #[test]
    fn a_file_is_made_and_a_table_is_made() {
        let after = edited("", |path| add_grant(path, "my docs", &http(), false));
        assert_eq!(
            after,
            "[plugins.\"my docs\"]\nhttp = [{ host = \"api.example.com\", methods = [\"GET\"] }]\n"
        );
        let after =
            edited("plugins.docs.enabled = true\n", |path| add_grant(path, "docs", &http(), false));
        assert!(after.contains("api.example.com"), "{after}");
    }

    #[test]
    fn everything_granted_is_taken_by_an_empty_edit() {
        let before = "[plugins.docs]\nread = []\nenv = [\"A\"]\nsettings = { a = 1 }\ntools = [\"t\"]\n[plugins.docs.secrets.token]\nfrom = \"env:T\"\nhost = \"h\"\nheader = \"x\"\n";
        let after = edited(before, |path| take_grant(path, "docs", &GrantEdit::default(), false));
        assert_eq!(after, "[plugins.docs]\ntools = [\"t\"]\n");
    }

    #[test]
    fn a_broken_file_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        std::fs::write(&path, "[plugins.docs\n").unwrap();
        assert!(add_grant(&path, "docs", &http(), false).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "[plugins.docs\n");
    }
}
