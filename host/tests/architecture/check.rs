//! The rules of the tables, applied to one file.

use crate::rules::{self, Effect};
use crate::tokens::{self, Token, reads};

#[derive(Debug)]
pub(crate) struct File {
    /// Seen from `host/src`, with forward slashes.
    pub(crate) path: String,
    tokens: Vec<Token>,
    /// How many modules deep its first line is: 0 for the roots, 1 for `agent/mod.rs`, 2 for
    /// `agent/turn.rs`.
    depth: usize,
    /// Whether all of it is compiled for tests only.
    test: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) line: usize,
    pub(crate) rule: String,
}

impl File {
    pub(crate) fn new(path: &str, source: &str) -> Self {
        let mut file =
            Self { path: path.to_owned(), tokens: tokens::read(source), depth: 0, test: false };
        if !file.module().is_empty() {
            file.depth = file.stem().split('/').count();
        }
        file
    }

    /// The module of the crate in which it lies; empty for the roots.
    fn module(&self) -> &str {
        match self.path.split_once('/') {
            Some((module, _)) => module,
            None if self.path == "lib.rs" || self.path == "main.rs" => "",
            None => self.path.trim_end_matches(".rs"),
        }
    }

    /// `agent` for `agent/mod.rs`, `agent/turn` for `agent/turn.rs`.
    fn stem(&self) -> &str {
        self.path.trim_end_matches(".rs").trim_end_matches("/mod")
    }
}

/// Where a file declared with `mod` lies, and what its parent makes of it.
struct Declared {
    place: String,
    test: bool,
    /// Set where `#[path]` says where it lies, for then its place says nothing of its depth.
    depth: Option<usize>,
}

/// Lets files know what their parents say of them: compiled for tests only, or lying elsewhere than
/// their name says.
pub(crate) fn link(files: &mut [File]) {
    let declared: Vec<Declared> = files.iter().flat_map(declarations).collect();
    for file in files {
        for child in declared.iter().filter(|child| rules::is_in(&file.path, &child.place)) {
            file.test |= child.test;
            file.depth = child.depth.unwrap_or(file.depth);
        }
    }
}

fn declarations(file: &File) -> Vec<Declared> {
    let below = if file.depth == 0 { String::new() } else { format!("{}/", file.stem()) };
    let beside = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let tokens = &file.tokens;
    let is_declaration = |at: &usize| tokens[*at].text == "mod" && reads(tokens, at + 2, &[";"]);
    (0..tokens.len())
        .filter(is_declaration)
        .map(|at| {
            let before = tokens[..at].rsplit(|t| [";", "{", "}"].contains(&&*t.text)).next();
            let elsewhere = before.and_then(|attributes| {
                let path =
                    attributes.windows(3).find(|w| w[0].text == "path" && w[1].text == "=")?;
                Some(path[2].text.trim_start_matches('"').trim_end_matches(".rs"))
            });
            Declared {
                place: match elsewhere {
                    Some(name) => format!("{beside}/{name}"),
                    None => format!("{below}{}", tokens[at + 1].text),
                },
                test: tokens[at].test,
                depth: elsewhere.map(|_| file.depth + 1),
            }
        })
        .collect()
}

/// Imports that lead upwards or sideways. Tests are held to it too: a module that can be tested by
/// what is below it can be understood by it.
pub(crate) fn floors(file: &File) -> Vec<Violation> {
    let module = file.module();
    if module.is_empty() {
        return Vec::new();
    }
    let violation = |line, rule| Violation { line, rule };
    let Some(own) = rules::floor(module) else {
        return vec![violation(1, format!("`{module}` is on no floor: give it one in rules.rs"))];
    };
    let mut found = Vec::new();
    for named in crate_modules(file) {
        let other = &*named.text;
        if other == module {
            continue;
        }
        let rule = match rules::floor(other) {
            None => format!("`crate::{other}` is on no floor: import from a module that is on one"),
            Some(floor) if floor > own => {
                format!("`{module}` (floor {own}) imports upwards from `{other}` (floor {floor})")
            }
            Some(floor) if floor == own => {
                format!("`{module}` imports sideways from `{other}`: both are on floor {own}")
            }
            Some(_) if rules::STRANGERS.contains(&(module, other)) => {
                format!("`{module}` must not know `{other}`")
            }
            Some(_) => continue,
        };
        found.push(violation(named.line, rule));
    }
    found
}

/// Effects in a file that is no home for them.
pub(crate) fn homes(file: &File) -> Vec<Violation> {
    let mut found = Vec::new();
    for effect in [Effect::Files, Effect::Programs, Effect::Printing, Effect::Unsafe] {
        let homes = rules::HOMES.iter().filter(|home| home.effect == effect);
        let places: Vec<&str> = homes.map(|home| home.place).collect();
        if places.iter().any(|place| rules::is_in(&file.path, place)) {
            continue;
        }
        for line in uses(file, effect) {
            let what = match effect {
                Effect::Files => "files are opened",
                Effect::Programs => "programs are started",
                Effect::Printing => "text is printed",
                Effect::Unsafe => "`unsafe` is written",
            };
            let places = if places.is_empty() { "no place".into() } else { places.join(", ") };
            found.push(Violation { line, rule: format!("{what} in {places} only") });
        }
    }
    found.sort_by_key(|violation| violation.line);
    found
}

/// The lines of `file` that have the effect, outside of tests.
pub(crate) fn uses(file: &File, effect: Effect) -> Vec<usize> {
    if file.test {
        return Vec::new();
    }
    let tokens = &file.tokens;
    let has_effect = |at: usize| match effect {
        Effect::Files => {
            leads_to(tokens, at, "std", &["fs"]) || leads_to(tokens, at, "tokio", &["fs"])
        }
        Effect::Programs => leads_to(tokens, at, "process", &["Command"]),
        Effect::Printing => {
            let macros = ["print", "println", "eprint", "eprintln", "dbg"];
            (macros.contains(&&*tokens[at].text) && reads(tokens, at + 1, &["!"]))
                || leads_to(tokens, at, "io", &["stdout", "stderr"])
        }
        Effect::Unsafe => tokens[at].text == "unsafe",
    };
    let found = (0..tokens.len()).filter(|at| !tokens[*at].test && has_effect(*at));
    found.map(|at| tokens[at].line).collect()
}

/// Whether the path at `at` is `root::NAME…` or `root::{…, NAME…}` with one of `names`.
fn leads_to(tokens: &[Token], at: usize, root: &str, names: &[&str]) -> bool {
    reads(tokens, at, &[root, "::"])
        && heads(tokens, at + 2).iter().any(|head| names.contains(&&*head.text))
}

/// The modules of the crate that the file names, through `crate::` or a climb by `super::`.
fn crate_modules(file: &File) -> Vec<&Token> {
    let tokens = &file.tokens;
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if reads(tokens, at, &["crate", "::"]) {
            found.extend(heads(tokens, at + 2));
        }
        let mut climbed = 0;
        let depth = file.depth + tokens[at].inline;
        while reads(tokens, at, &["super", "::"]) {
            climbed += 1;
            at += 2;
        }
        if climbed > 0 && climbed >= depth {
            found.extend(heads(tokens, at));
        }
        at += usize::from(climbed == 0);
    }
    found
}

/// The first words of what stands at `at`: of a path its own, of a group one for each member.
fn heads(tokens: &[Token], at: usize) -> Vec<&Token> {
    if !reads(tokens, at, &["{"]) {
        return tokens.get(at).into_iter().collect();
    }
    let end = tokens::closing(tokens, at);
    let mut found = Vec::new();
    let mut inner = at + 1;
    let mut begins = true;
    while inner + 1 < end {
        match &*tokens[inner].text {
            "," => begins = true,
            "{" => {
                inner = tokens::closing(tokens, inner);
                continue;
            }
            _ if begins => {
                found.push(&tokens[inner]);
                begins = false;
            }
            _ => {}
        }
        inner += 1;
    }
    found
}
