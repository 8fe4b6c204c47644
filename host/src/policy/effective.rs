//! What a plugin may really do: what it declares and what it was granted, both at once.
//!
//! Undeclared is denied although it is granted, because the author never meant it; ungranted is
//! denied although it is declared, because the user never said so. Nothing here opens, resolves
//! or asks anything: directories are compared by their plain names.

use std::collections::BTreeMap;
use std::time::Duration;

use super::manifest::{plain_directory, plain_host};
use super::{Ask, Grant, HttpGrant, Limits, Manifest, Needs};
use crate::text::{clip_end, escape_line};

/// The capabilities of one plugin in one workdir.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effective {
    /// Directories to lend, each once, none that another one holds with the same right.
    pub directories: Vec<DirectoryRule>,
    /// Hosts, with methods in upper case, as [`super::HttpGrantRules`] takes them.
    pub http: Vec<HttpGrant>,
    /// Names of environment variables.
    pub env: Vec<String>,
    pub settings: BTreeMap<String, String>,
    pub secrets: Vec<SecretRule>,
    /// The only tools to offer; all where none are named.
    pub tools: Option<Vec<String>>,
    pub limits: Ceiling,
    /// Declared, and not granted.
    pub missing: Vec<Ask>,
    /// Lines for the user: something was granted and has no effect.
    pub warnings: Vec<String>,
}

/// A directory in its plain spelling: `.`, one below the workdir, or an absolute one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirectoryRule {
    pub path: String,
    pub write: bool,
}

/// A secret that the host adds to requests to `host`. The value itself is not here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretRule {
    pub name: String,
    /// `env:NAME` or `file:PATH`.
    pub from: String,
    pub host: String,
    pub header: String,
    /// `{}` stands for the secret.
    pub format: String,
}

/// Limits with every value decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ceiling {
    /// Bytes.
    pub memory: u64,
    pub timeout: Duration,
    /// Bytes.
    pub output: u64,
}

impl Effective {
    /// Whether a path in its plain spelling may be read.
    pub fn reads(&self, path: &str) -> bool {
        self.directories.iter().any(|dir| holds(&dir.path, path))
    }

    /// Whether a path in its plain spelling may be written.
    pub fn writes(&self, path: &str) -> bool {
        self.directories.iter().any(|dir| dir.write && holds(&dir.path, path))
    }
}

/// Decides. `manifest` is none where the plugin carries none and has no side-car; `host` is what
/// the host allows a call at the most where the user says nothing; `standard` marks the plugin
/// that is part of the binary.
pub fn effective(
    manifest: Option<&Manifest>,
    grant: &Grant,
    host: Ceiling,
    standard: bool,
) -> Effective {
    let unsaid = Manifest::unsaid();
    let declared = manifest.unwrap_or(&unsaid);
    let mut notes = Notes { silent: manifest.is_none(), missing: Vec::new(), warnings: Vec::new() };
    let directories = directories(&declared.needs, grant, standard, &mut notes);
    let http = http(&declared.needs, grant, &mut notes);
    let env = common(&declared.needs.env, &grant.env, Ask::Env, "env", &mut notes);
    let given: Vec<String> = grant.settings.keys().cloned().collect();
    let settings = common(&declared.needs.settings, &given, Ask::Setting, "settings", &mut notes);
    let settings = settings.into_iter().filter_map(|name| grant.settings.get_key_value(&name));
    let settings = settings.map(|(name, value)| (name.clone(), value.clone())).collect();
    let given: Vec<String> = grant.secrets.keys().cloned().collect();
    let secrets = common(&declared.needs.secrets, &given, Ask::Secret, "secrets", &mut notes);
    let secrets = secrets.into_iter().filter_map(|name| {
        let secret = grant.secrets.get(&name)?;
        Some(SecretRule {
            from: secret.from.clone(),
            host: secret.host.to_ascii_lowercase(),
            header: secret.header.clone(),
            format: secret.format.clone(),
            name,
        })
    });
    Effective {
        directories,
        http,
        env,
        settings,
        secrets: secrets.collect(),
        tools: grant.tools.clone(),
        limits: limits(&declared.limits, &grant.limits, host),
        missing: notes.missing,
        warnings: notes.warnings,
    }
}

/// What there is to tell beside the decision.
struct Notes {
    /// Whether the plugin has no manifest at all.
    silent: bool,
    missing: Vec<Ask>,
    warnings: Vec<String>,
}

impl Notes {
    /// `toml` is the line of a manifest that would declare it.
    fn undeclared(&mut self, what: &str, toml: &str) {
        let mend = if self.silent {
            format!(
                "it has no manifest; if it needs this, put `[needs]` with `{toml}` into a file \
                 of its name that ends in `.toml`, beside the `.wasm`"
            )
        } else {
            format!("if it needs this, its author adds `{toml}` under `[needs]` of its manifest")
        };
        self.warnings.push(format!(
            "{what} is granted and has no effect, since the plugin does not declare it: {mend}"
        ));
    }
}

fn directories(
    needs: &Needs,
    grant: &Grant,
    standard: bool,
    notes: &mut Notes,
) -> Vec<DirectoryRule> {
    let mut plain = |dirs: Vec<&str>| -> Vec<String> {
        let mut good: Vec<String> = Vec::new();
        for dir in dirs {
            match plain_directory(dir) {
                Ok(dir) if good.contains(&dir) => {}
                Ok(dir) => good.push(dir),
                Err(why) => notes.warnings.push(format!("a granted directory is left out: {why}")),
            }
        }
        good
    };
    let write = plain(grant.write_dirs(standard));
    // The workdir that is granted where nothing is written needs no word when it is not used.
    let spoken = grant.read.is_some();
    let mut read = plain(grant.read_dirs());
    read.extend(write.iter().filter(|dir| !read.contains(dir)).cloned().collect::<Vec<_>>());
    let readable: Vec<String> = needs.read.iter().chain(&needs.write).cloned().collect();

    let mut rules: Vec<DirectoryRule> = Vec::new();
    for (wanted, given, writes) in [(&needs.write, &write, true), (&readable, &read, false)] {
        for path in both(wanted, given) {
            let rule = DirectoryRule { path, write: writes };
            let held =
                rules.iter().any(|dir| holds(&dir.path, &rule.path) && (dir.write || !writes));
            if !held {
                rules.push(rule);
            }
        }
        let unused =
            given.iter().filter(|dir| !wanted.iter().any(|want| meet(want, dir).is_some()));
        for dir in unused.filter(|dir| spoken || writes || *dir != ".") {
            // What is granted for writing is told once, as that.
            if writes || !write.contains(dir) {
                let key = if writes { "write" } else { "read" };
                let dir = escape_line(&clip_end(dir, 200));
                notes.undeclared(&format!("`{key}` of `{dir}`"), &format!("{key} = [\"{dir}\"]"));
            }
        }
    }
    rules = outermost(&rules);
    rules.sort();
    let lacks = |dir: &String, write: bool| {
        dir != "*" && !rules.iter().any(|rule| holds(&rule.path, dir) && (rule.write || !write))
    };
    let write = needs.write.iter().filter(|dir| lacks(dir, true)).cloned().map(Ask::Write);
    let read = needs.read.iter().filter(|dir| lacks(dir, false) && !needs.write.contains(dir));
    notes.missing.extend(read.cloned().map(Ask::Read).chain(write));
    rules
}

/// The rules that no other one makes superfluous, whatever order they came in.
fn outermost(rules: &[DirectoryRule]) -> Vec<DirectoryRule> {
    let covered = |one: &DirectoryRule| {
        rules.iter().any(|other| {
            other != one && holds(&other.path, &one.path) && (other.write || !one.write)
        })
    };
    rules.iter().filter(|rule| !covered(rule)).cloned().collect()
}

/// The directories that lie in one of `wanted` and in one of `given`.
fn both(wanted: &[String], given: &[String]) -> Vec<String> {
    wanted.iter().flat_map(|want| given.iter().filter_map(|give| meet(want, give))).collect()
}

/// The narrower of two directories where one holds the other. `*` is wide as need be.
fn meet(want: &str, give: &str) -> Option<String> {
    if want == "*" || holds(want, give) {
        return Some(give.to_owned());
    }
    holds(give, want).then(|| want.to_owned())
}

/// Whether `path` is `dir` or lies below it; both in their plain spelling.
pub(super) fn holds(dir: &str, path: &str) -> bool {
    if dir.starts_with('/') != path.starts_with('/') {
        return false;
    }
    matches!(dir, "." | "/")
        || path.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn http(needs: &Needs, grant: &Grant, notes: &mut Notes) -> Vec<HttpGrant> {
    let mut granted: Vec<HttpGrant> = Vec::new();
    for rule in &grant.http {
        match plain_host(&rule.host) {
            Ok(host) => {
                let methods = rule.methods.iter().map(|method| method.to_ascii_uppercase());
                granted.push(HttpGrant { host, methods: methods.collect(), ..rule.clone() });
            }
            Err(why) => notes.warnings.push(format!("a granted host is left out: {why}")),
        }
    }
    let mut rules: BTreeMap<String, HttpGrant> = BTreeMap::new();
    for need in &needs.http {
        let mut lacks = need.methods.clone();
        for rule in &granted {
            let Some(host) = meet_hosts(&need.host, &rule.host) else { continue };
            let may = |method: &&String| rule.methods.contains(method);
            let methods: Vec<String> = need.methods.iter().filter(may).cloned().collect();
            // A need is met where all of it is: `*` asks for what there is, not for the world.
            lacks.retain(|method| {
                !(methods.contains(method) && (host == need.host || need.host == "*"))
            });
            if !methods.is_empty() {
                let new =
                    HttpGrant { host: host.clone(), methods: Vec::new(), addresses: Vec::new() };
                let all = rules.entry(host).or_insert(new);
                all.methods.extend(methods);
                all.addresses.extend(&rule.addresses);
            }
        }
        if !lacks.is_empty() {
            let (host, why) = (need.host.clone(), need.why.clone());
            notes.missing.push(Ask::Http { host, methods: lacks, why });
        }
    }
    for HttpGrant { host, methods, .. } in &granted {
        let declared = |method: &&String| {
            let meets = |need: &str| meet_hosts(need, host).is_some();
            needs.http.iter().any(|need| meets(&need.host) && need.methods.contains(method))
        };
        let unused: Vec<&str> =
            methods.iter().filter(|method| !declared(method)).map(String::as_str).collect();
        if !unused.is_empty() {
            let list = unused.join(", ");
            let toml = format!(
                "http = [{{ host = \"{host}\", methods = [\"{}\"] }}]",
                unused.join("\", \"")
            );
            notes.undeclared(&format!("`http` to `{host}` ({list})"), &toml);
        }
    }
    let tidy = |mut rule: HttpGrant| {
        rule.methods.sort();
        rule.methods.dedup();
        rule.addresses.sort();
        rule.addresses.dedup();
        rule
    };
    rules.into_values().map(tidy).collect()
}

/// The narrower of two hosts where one holds the other: `*.NAME` holds what lies below it, `*` is
/// any host, on the ports that HTTP has by itself.
fn meet_hosts(want: &str, give: &str) -> Option<String> {
    let holds = |wide: &str, narrow: &str| {
        let below = wide.strip_prefix('*').filter(|rest| !rest.is_empty());
        narrow == wide
            || (wide == "*" && !has_port(narrow))
            || below.is_some_and(|rest| !narrow.starts_with('*') && narrow.ends_with(rest))
    };
    if want == "*" || holds(want, give) {
        return Some(give.to_owned());
    }
    holds(give, want).then(|| want.to_owned())
}

fn has_port(host: &str) -> bool {
    host.rsplit_once(':').is_some_and(|(before, port)| {
        port.bytes().all(|byte| byte.is_ascii_digit())
            && (before.ends_with(']') || !before.contains(':'))
    })
}

/// The names on both lists, sorted.
fn common(
    declared: &[String],
    granted: &[String],
    ask: fn(String) -> Ask,
    key: &str,
    notes: &mut Notes,
) -> Vec<String> {
    for name in granted.iter().filter(|name| !declared.contains(name)) {
        let name = escape_line(&clip_end(name, 200));
        notes.undeclared(&format!("`{key}` of `{name}`"), &format!("{key} = [\"{name}\"]"));
    }
    notes.missing.extend(declared.iter().filter(|name| !granted.contains(name)).cloned().map(ask));
    let mut both: Vec<String> =
        declared.iter().filter(|name| granted.contains(name)).cloned().collect();
    both.sort();
    both.dedup();
    both
}

/// A plugin may ask for less than it is allowed, never for more.
fn limits(declared: &Limits, granted: &Limits, host: Ceiling) -> Ceiling {
    fn least<T: Ord + Copy>(declared: Option<T>, granted: Option<T>, host: T) -> T {
        let most = granted.unwrap_or(host);
        declared.map_or(most, |asked| asked.min(most))
    }
    Ceiling {
        memory: least(declared.memory, granted.memory, host.memory),
        timeout: least(declared.timeout, granted.timeout, host.timeout),
        output: least(declared.output, granted.output, host.output),
    }
}
