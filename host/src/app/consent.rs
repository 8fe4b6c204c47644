//! Whether a plugin may be loaded as it is now: held against what was approved, and asked about
//! where somebody can be asked. Models and plugins have no part in this.

use crate::config::{self, GrantEdit, Settings};
use crate::model::ToolSpec;
use crate::policy::{
    Ask, Effective, Grant, Manifest, Pin, Standing, compare, grant_command, toml_lines,
};
use crate::sandbox::Plugin;
use crate::text::{clip_end, escape_line};

use super::lockfile::Lockfile;

/// Somebody who can be asked. Nobody there, no answer, and an unclear one are all "no".
pub trait Consent: Send + Sync {
    fn approve(&self, request: &ConsentRequest) -> bool;
}

/// What somebody is asked. All texts are escaped and fit on a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsentRequest {
    pub plugin: String,
    pub source: String,
    /// What the plugin says it is.
    pub description: Option<String>,
    /// Each capability that it asks for beyond what it has.
    pub asks: Vec<String>,
    /// What differs from the version that was approved.
    pub changes: Vec<String>,
    /// Each tool with its effects and the beginning of its description.
    pub tools: Vec<String>,
}

/// What came of it.
#[derive(Debug)]
pub(super) enum Settled {
    /// It may be loaded, under this grant; the lines are for the user.
    Load {
        granted: Option<Grant>,
        notices: Vec<String>,
    },
    Off(Off),
}

/// Why a plugin is off, and what switches it on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Off {
    pub why: Vec<String>,
    /// A command.
    pub command: String,
    /// The same as lines of config.toml, where there are any.
    pub toml: Option<String>,
}

impl Off {
    /// The whole on one line.
    pub fn line(&self) -> String {
        format!("is off: {}; `{}` switches it on", self.why.join("; "), self.command)
    }
}

/// What is judged.
pub(super) struct Candidate<'a> {
    pub plugin: &'a Plugin,
    pub source: &'a str,
    pub grant: &'a Grant,
    pub effective: &'a Effective,
}

/// Decides, and pins what is loaded.
pub(super) fn settle(
    candidate: &Candidate<'_>,
    settings: &Settings,
    lock: &Lockfile,
    consent: Option<&dyn Consent>,
) -> Settled {
    let plugin = candidate.plugin;
    let name = plugin.name.as_str();
    let now = pin(plugin);
    let approved = match lock.find(name) {
        Ok(approved) => approved,
        Err(why) => {
            return off(
                vec![why.to_owned()],
                format!("rm {}", settings.paths.lock_file.display()),
                None,
            );
        }
    };
    let written = settings.plugins.contains_key(name);
    let asks: Vec<Ask> =
        candidate.effective.missing.iter().filter(|ask| ask.needs_consent()).cloned().collect();
    // Where the user has written a table, its word stands: what it leaves out is denied, and the
    // plugin runs without. Where nothing is written, nobody has decided yet.
    let open: &[Ask] = if written { &[] } else { &asks };
    let approve = || format!("claw plugin grant {}", escape_line(name));
    let (question, changes) = match compare(approved, &now) {
        Standing::Same => return load(Vec::new()),
        Standing::Drifted(lines) => {
            let mut why = vec!["the same file offers other tools than when it was approved".into()];
            why.extend(lines);
            return off(why, approve(), None);
        }
        Standing::New if open.is_empty() => {
            let may = may(candidate.effective);
            let mut notice = format!("is new here; it may {may}");
            if !asks.is_empty() {
                let list: Vec<String> = asks.iter().map(ToString::to_string).collect();
                notice = format!(
                    "{notice}, and may not, since config.toml does not say so, {} (`{}`)",
                    list.join(", "),
                    grant_command(name, &asks)
                );
            }
            return pinned(lock, name, now, vec![notice]);
        }
        Standing::New => (true, Vec::new()),
        Standing::Changed(lines)
            if open.is_empty() || approved.is_some_and(|old| old.needs == now.needs) =>
        {
            let changes = if lines.is_empty() {
                "nothing that it says of itself differs".to_owned()
            } else {
                lines.join("; ")
            };
            return pinned(
                lock,
                name,
                now,
                vec![format!("has been replaced and can do no more than before ({changes})")],
            );
        }
        Standing::Changed(lines) => (true, lines),
        Standing::Wider(more, other) => {
            (false, more.into_iter().map(|line| format!("more: {line}")).chain(other).collect())
        }
    };
    if consent.is_some_and(|consent| consent.approve(&request(candidate, open, &changes))) {
        return granted(candidate, settings, lock, now, open);
    }
    let mut why: Vec<String> = if question {
        vec!["it asks for what it was not granted".into()]
    } else {
        vec!["it is wider than the version that was approved".into()]
    };
    why.extend(open.iter().map(ToString::to_string));
    why.extend(changes);
    let command = if open.is_empty() { approve() } else { grant_command(name, open) };
    let toml = (!open.is_empty()).then(|| toml_lines(name, candidate.grant, open, false));
    off(why, command, toml)
}

/// What is pinned of a plugin as it is now.
pub(super) fn pin(plugin: &Plugin) -> Pin {
    let needs =
        plugin.manifest.as_ref().map_or_else(|| Manifest::unsaid().needs, |m| m.needs.clone());
    Pin::of(&plugin.sha256, &plugin.tools, &needs)
}

/// What a plugin may do, in words.
pub(super) fn may(effective: &Effective) -> String {
    let mut words: Vec<String> = effective
        .directories
        .iter()
        .map(|dir| {
            let path = dir.path.clone();
            if dir.write { Ask::Write(path) } else { Ask::Read(path) }.to_string()
        })
        .collect();
    words.extend(effective.http.iter().map(|rule| {
        Ask::Http { host: rule.host.clone(), methods: rule.methods.clone(), why: None }.to_string()
    }));
    words.extend(effective.env.iter().map(|name| Ask::Env(name.clone()).to_string()));
    words.extend(effective.settings.keys().map(|name| Ask::Setting(name.clone()).to_string()));
    words.extend(
        effective.secrets.iter().map(|secret| Ask::Secret(secret.name.clone()).to_string()),
    );
    if words.is_empty() { "touch nothing".into() } else { words.join(", ") }
}

fn load(notices: Vec<String>) -> Settled {
    Settled::Load { granted: None, notices }
}

fn off(why: Vec<String>, command: String, toml: Option<String>) -> Settled {
    Settled::Off(Off { why, command, toml })
}

fn pinned(lock: &Lockfile, name: &str, now: Pin, mut notices: Vec<String>) -> Settled {
    if let Err(why) = lock.pin(name, now) {
        notices.push(format!("cannot be pinned, so a later change of it would go unseen: {why}"));
    }
    load(notices)
}

/// After a yes: what was asked for is written where the user's other words stand.
fn granted(
    candidate: &Candidate<'_>,
    settings: &Settings,
    lock: &Lockfile,
    now: Pin,
    asks: &[Ask],
) -> Settled {
    let name = candidate.plugin.name.as_str();
    let file = &settings.paths.config_file;
    let grant = if asks.is_empty() {
        Ok(candidate.grant.clone())
    } else {
        config::add_grant(file, name, &GrantEdit::of(asks), false)
    };
    match grant {
        Err(error) => off(vec![error.to_string()], grant_command(name, asks), None),
        // The table now stands in the file; this process goes on with it too.
        Ok(grant) => match pinned(lock, name, now, Vec::new()) {
            Settled::Load { notices, .. } => Settled::Load { granted: Some(grant), notices },
            off @ Settled::Off(_) => off,
        },
    }
}

fn request(candidate: &Candidate<'_>, asks: &[Ask], changes: &[String]) -> ConsentRequest {
    let plugin = candidate.plugin;
    let description = plugin.manifest.as_ref().and_then(|manifest| manifest.description.as_deref());
    ConsentRequest {
        plugin: escape_line(&plugin.name),
        source: escape_line(candidate.source),
        description: description.map(|text| escape_line(&clip_end(text, 300))),
        asks: asks.iter().map(ToString::to_string).collect(),
        changes: changes.to_vec(),
        tools: plugin.tools.iter().map(tool_line).collect(),
    }
}

fn tool_line(tool: &ToolSpec) -> String {
    let effects = tool.effects.names();
    let effects = if effects.is_empty() { "may write".to_owned() } else { effects.join(", ") };
    // Whole, not its first sentence: what is hidden further down is what one would want to see.
    format!("{} ({effects}): {}", tool.name, escape_line(&tool.description))
}
