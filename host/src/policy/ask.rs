//! One thing that a plugin declares and was not granted, and how to grant it.

use std::fmt;

use super::{Grant, HttpGrant};
use crate::text::{clip_end, escape_line};

/// A single capability. Its text is escaped, for one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    Read(String),
    Write(String),
    Http { host: String, methods: Vec<String>, why: Option<String> },
    Env(String),
    Setting(String),
    Secret(String),
}

impl Ask {
    /// Whether the user's word makes the difference. A setting or a secret that is not given is
    /// simply not there: only the user has its value.
    pub fn needs_consent(&self) -> bool {
        !matches!(self, Self::Setting(_) | Self::Secret(_))
    }

    /// The words of `claw plugin grant` that give it, each quoted for a shell where need be. None
    /// for what only the file can say.
    pub fn flag(&self) -> Option<String> {
        Some(match self {
            Self::Read(dir) => format!("--read {}", quoted(dir)),
            Self::Write(dir) => format!("--write {}", quoted(dir)),
            Self::Http { host, methods, .. } if *methods == ["GET"] => {
                format!("--http {}", quoted(host))
            }
            Self::Http { host, methods, .. } => {
                format!("--http {}", quoted(&format!("{host}={}", methods.join(","))))
            }
            Self::Env(name) => format!("--env {}", quoted(name)),
            Self::Setting(_) | Self::Secret(_) => return None,
        })
    }

    /// Adds it to `grant`; what has a value that only the user knows is left out. `standard` as
    /// in [`super::effective`].
    pub fn add_to(&self, grant: &mut Grant, standard: bool) {
        fn push(list: &mut Vec<String>, item: &str) {
            if !list.iter().any(|old| old == item) {
                list.push(item.to_owned());
            }
        }
        match self {
            Self::Read(dir) => {
                let mut dirs: Vec<String> =
                    grant.read_dirs().into_iter().map(str::to_owned).collect();
                push(&mut dirs, dir);
                grant.read = Some(dirs);
            }
            Self::Write(dir) => {
                let mut dirs: Vec<String> =
                    grant.write_dirs(standard).into_iter().map(str::to_owned).collect();
                push(&mut dirs, dir);
                grant.write = Some(dirs);
            }
            Self::Http { host, methods, .. } => {
                match grant.http.iter_mut().find(|rule| rule.host.eq_ignore_ascii_case(host)) {
                    Some(rule) => {
                        for method in methods {
                            push(&mut rule.methods, method);
                        }
                    }
                    None => {
                        grant.http.push(HttpGrant {
                            host: host.clone(),
                            methods: methods.clone(),
                            addresses: Vec::new(),
                        });
                    }
                }
            }
            Self::Env(name) => push(&mut grant.env, name),
            Self::Setting(_) | Self::Secret(_) => {}
        }
    }
}

impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |text: &str| escape_line(&clip_end(text, 200));
        match self {
            Self::Read(dir) if dir == "." => f.write_str("read the workdir"),
            Self::Write(dir) if dir == "." => f.write_str("read and write the workdir"),
            Self::Read(dir) => write!(f, "read `{}`", shown(dir)),
            Self::Write(dir) => write!(f, "read and write `{}`", shown(dir)),
            Self::Http { host, methods, why } => {
                write!(f, "send {} requests to `{}`", shown(&methods.join(", ")), shown(host))?;
                match why {
                    Some(why) => write!(f, " (it says: {})", shown(why)),
                    None => Ok(()),
                }
            }
            Self::Env(name) => write!(f, "see the environment variable `{}`", shown(name)),
            Self::Setting(name) => write!(f, "be told the setting `{}`", shown(name)),
            Self::Secret(name) => write!(f, "use the secret `{}`", shown(name)),
        }
    }
}

/// The lines of config.toml that grant `asks` on top of `grant`: whole lines that replace those
/// of the same key, below the table's header.
pub fn toml_lines(plugin: &str, grant: &Grant, asks: &[Ask], standard: bool) -> String {
    let mut wide = grant.clone();
    for ask in asks {
        ask.add_to(&mut wide, standard);
    }
    let mut lines = vec![format!("[plugins.{}]", key(plugin))];
    let mut line = |name: &str, value: String| lines.push(format!("{name} = {value}"));
    if asks.iter().any(|ask| matches!(ask, Ask::Read(_))) {
        line("read", list(wide.read.iter().flatten()));
    }
    if asks.iter().any(|ask| matches!(ask, Ask::Write(_))) {
        line("write", list(wide.write.iter().flatten()));
    }
    if asks.iter().any(|ask| matches!(ask, Ask::Http { .. })) {
        let hosts = wide.http.iter().map(|rule| {
            format!("{{ host = {}, methods = {} }}", string(&rule.host), list(&rule.methods))
        });
        line("http", format!("[{}]", hosts.collect::<Vec<_>>().join(", ")));
    }
    if asks.iter().any(|ask| matches!(ask, Ask::Env(_))) {
        line("env", list(&wide.env));
    }
    for ask in asks {
        match ask {
            Ask::Setting(name) => line(&format!("settings.{}", key(name)), "\"…\"".to_owned()),
            Ask::Secret(name) => line(
                &format!("secrets.{}", key(name)),
                format!(
                    "{{ from = \"env:{}\", host = \"…\", header = \"authorization\", format = \"Bearer {{}}\" }}",
                    name.to_uppercase().replace('-', "_")
                ),
            ),
            _ => {}
        }
    }
    lines.join("\n")
}

/// The command that grants `asks`, as far as a command can.
pub fn grant_command(plugin: &str, asks: &[Ask]) -> String {
    let flags: Vec<String> = asks.iter().filter_map(Ask::flag).collect();
    let plugin = quoted(plugin);
    format!("claw plugin grant {plugin} {}", flags.join(" ")).trim_end().to_owned()
}

fn string(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn list<'a>(items: impl IntoIterator<Item = &'a String>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| string(item)).collect();
    format!("[{}]", items.join(", "))
}

fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { string(name) }
}

/// For a POSIX shell. Text comes from plugins, so it must not be able to end its quotes.
fn quoted(text: &str) -> String {
    let plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '-' | '_' | ':' | '=' | ',');
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", escape_line(text).replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_write_holds_what_was_written_before() {
        let grant = Grant { env: vec!["A".into()], ..Grant::default() };
        let http =
            Ask::Http { host: "api.example.com".into(), methods: vec!["GET".into()], why: None };
        let asks =
            [Ask::Read("/data".into()), http, Ask::Env("B".into()), Ask::Secret("token".into())];
        let lines = toml_lines("my docs", &grant, &asks, false);
        let expect = [
            "[plugins.\"my docs\"]",
            "read = [\".\", \"/data\"]",
            "http = [{ host = \"api.example.com\", methods = [\"GET\"] }]",
            "env = [\"A\", \"B\"]",
            "secrets.token = { from = \"env:TOKEN\", host = \"…\", header = \"authorization\", format = \"Bearer {}\" }",
        ];
        assert_eq!(lines, expect.join("\n"));
        assert!(toml::from_str::<toml::Table>(&lines).is_ok());
        assert_eq!(
            grant_command("docs", &asks),
            "claw plugin grant docs --read /data --http api.example.com --env B"
        );
    }

    #[test]
    fn a_plugin_cannot_write_the_users_command_line() {
        let command = grant_command("docs", &[Ask::Read("a'; rm -rf /; '\u{1b}[2K".into())]);
        assert_eq!(command, "claw plugin grant docs --read 'a'\\''; rm -rf /; '\\''\\x1b[2K'");
        let asks = [Ask::Read("a\"]\nwrite = [\"/\"]\nx = [\"".into())];
        let table: toml::Table =
            toml::from_str(&toml_lines("docs", &Grant::default(), &asks, false))
                .expect("one table");
        assert_eq!(table["plugins"]["docs"].as_table().map(toml::Table::len), Some(1));
    }
}
