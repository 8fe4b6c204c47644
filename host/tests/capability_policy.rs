//! Properties of the decision what a plugin may do: it is the meeting of what is declared and
//! what is granted, whatever these are.

use std::time::Duration;

use clawhold::policy::{
    Ask, Ceiling, Effective, Grant, HttpGrant, HttpNeed, Limits, Manifest, Needs, effective,
};
use proptest::prelude::*;

const HOST: Ceiling =
    Ceiling { memory: 256 << 20, timeout: Duration::from_mins(1), output: 1 << 20 };

/// Few names, so that lists meet often.
fn dir() -> impl Strategy<Value = String> {
    prop::sample::select(vec![".", "a", "a/b", "a/b/c", "ab", "/", "/x", "/x/y"])
        .prop_map(str::to_owned)
}

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["A", "B", "C"]).prop_map(str::to_owned)
}

fn http() -> impl Strategy<Value = (String, Vec<String>)> {
    let method = prop::sample::select(vec!["GET", "POST"]).prop_map(str::to_owned);
    let host = prop::sample::select(vec!["a.example", "b.example", "*.example", "*"])
        .prop_map(str::to_owned);
    (host, prop::collection::vec(method, 1..3))
}

fn some<T: std::fmt::Debug>(item: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<T>> {
    prop::collection::vec(item, 0..4)
}

fn manifest() -> impl Strategy<Value = Manifest> {
    (
        some(dir()),
        some(dir()),
        some(http()),
        some(name()),
        some(name()),
        prop::option::of(1_u64..1 << 40),
    )
        .prop_map(|(read, write, http, env, settings, memory)| {
            let http =
                http.into_iter().map(|(host, methods)| HttpNeed { host, methods, why: None });
            let needs =
                Needs { read, write, http: http.collect(), env, settings, secrets: Vec::new() };
            let limits = Limits { memory, ..Limits::default() };
            Manifest { needs, limits, ..Manifest::default() }
        })
}

fn grant() -> impl Strategy<Value = Grant> {
    (some(dir()), some(dir()), some(http()), some(name()), some(name())).prop_map(
        |(read, write, http, env, settings)| Grant {
            read: Some(read),
            write: Some(write),
            http: http
                .into_iter()
                .map(|(host, methods)| HttpGrant { host, methods, addresses: Vec::new() })
                .collect(),
            env,
            settings: settings.into_iter().map(|name| (name, "value".to_owned())).collect(),
            ..Grant::default()
        },
    )
}

/// One more thing to grant.
#[derive(Debug, Clone)]
enum More {
    Ask(Ask),
    Setting(String),
}

fn more() -> impl Strategy<Value = More> {
    prop_oneof![
        dir().prop_map(|dir| More::Ask(Ask::Read(dir))),
        dir().prop_map(|dir| More::Ask(Ask::Write(dir))),
        name().prop_map(|name| More::Ask(Ask::Env(name))),
        http().prop_map(|(host, methods)| More::Ask(Ask::Http { host, methods, why: None })),
        name().prop_map(More::Setting),
    ]
}

fn with(grant: &Grant, more: &More) -> Grant {
    let mut wider = grant.clone();
    match more {
        More::Ask(ask) => ask.add_to(&mut wider, false),
        More::Setting(name) => {
            wider.settings.entry(name.clone()).or_insert_with(|| "value".to_owned());
        }
    }
    wider
}

/// Everything that can be asked of a decision, over the few names there are.
fn allowed(effective: &Effective) -> Vec<String> {
    let mut all = Vec::new();
    for path in
        [".", "q", "a", "a/q", "a/b", "a/b/c/q", "ab", "ab/q", "/", "/q", "/x", "/x/q", "/x/y/q"]
    {
        if effective.reads(path) {
            all.push(format!("read {path}"));
        }
        if effective.writes(path) {
            all.push(format!("write {path}"));
        }
    }
    for host in ["a.example", "b.example", "c.example", "d.other"] {
        for method in ["GET", "POST"] {
            let may = |rule: &HttpGrant| {
                covers(&rule.host, host) && rule.methods.iter().any(|m| m == method)
            };
            if effective.http.iter().any(may) {
                all.push(format!("{method} {host}"));
            }
        }
    }
    all.extend(effective.env.iter().map(|name| format!("env {name}")));
    all.extend(effective.settings.keys().map(|name| format!("setting {name}")));
    all
}

fn covers(rule: &str, host: &str) -> bool {
    rule == "*" || rule == host || rule.strip_prefix('*').is_some_and(|rest| host.ends_with(rest))
}

/// What a manifest allows by itself, computed in the plainest way.
fn declared(manifest: &Manifest) -> Vec<String> {
    let all = Grant {
        read: Some(vec![".".into(), "/".into()]),
        write: Some(vec![".".into(), "/".into()]),
        http: vec![HttpGrant {
            host: "*".into(),
            methods: vec!["GET".into(), "POST".into()],
            addresses: Vec::new(),
        }],
        env: ["A", "B", "C"].map(str::to_owned).to_vec(),
        settings: ["A", "B", "C"].map(|name| (name.to_owned(), String::new())).into(),
        ..Grant::default()
    };
    allowed(&effective(Some(manifest), &all, HOST, false))
}

fn below(dirs: &[String], path: &str) -> bool {
    dirs.iter().any(|dir| {
        let roots = dir.starts_with('/') == path.starts_with('/');
        roots && (dir == "." || dir == "/" || path == dir || path.starts_with(&format!("{dir}/")))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn adding_a_grant_never_narrows_and_removing_it_never_widens(
        manifest in prop::option::of(manifest()), grant in grant(), more in more()
    ) {
        let less = allowed(&effective(manifest.as_ref(), &grant, HOST, false));
        let wide = allowed(&effective(manifest.as_ref(), &with(&grant, &more), HOST, false));
        for one in &less {
            prop_assert!(wide.contains(one), "{} is lost by {:?}", one, more);
        }
    }

    #[test]
    fn what_is_allowed_is_declared_and_granted(manifest in manifest(), grant in grant()) {
        let decision = effective(Some(&manifest), &grant, HOST, false);
        let declared = declared(&manifest);
        let (read, write) = (grant.read.clone().unwrap_or_default(), grant.write.clone().unwrap_or_default());
        let readable = [read.clone(), write.clone()].concat();
        for one in allowed(&decision) {
            prop_assert!(declared.contains(&one), "{} is not declared", one);
            let (what, which) = one.split_once(' ').unwrap_or_default();
            let granted = match what {
                "read" => below(&readable, which),
                "write" => below(&write, which),
                "env" => grant.env.iter().any(|name| name == which),
                "setting" => grant.settings.contains_key(which),
                method => grant.http.iter().any(|rule| covers(&rule.host, which) && rule.methods.iter().any(|m| m == method)),
            };
            prop_assert!(granted, "{} is not granted", one);
        }
    }

    /// The other half: nothing that is declared and granted gets lost.
    #[test]
    fn what_is_declared_and_granted_is_allowed(manifest in manifest(), grant in grant(), path in dir()) {
        let decision = effective(Some(&manifest), &grant, HOST, false);
        let readable = |read: &[String], write: &[String]| below(read, &path) || below(write, &path);
        let (read, write) = (grant.read.clone().unwrap_or_default(), grant.write.clone().unwrap_or_default());
        let needs = &manifest.needs;
        for host in ["a.example", "c.example", "d.other"] {
            let asked = needs.http.iter().any(|need| covers(&need.host, host) && need.methods.contains(&"GET".to_owned()));
            let given = grant.http.iter().any(|rule| covers(&rule.host, host) && rule.methods.contains(&"GET".to_owned()));
            let wanted = format!("GET {host}");
            prop_assert_eq!(allowed(&decision).contains(&wanted), asked && given, "{}", wanted);
        }
        prop_assert_eq!(decision.reads(&path), readable(&needs.read, &needs.write) && readable(&read, &write));
        prop_assert_eq!(decision.writes(&path), below(&needs.write, &path) && below(&write, &path));
    }

    #[test]
    fn order_does_not_matter(manifest in manifest(), grant in grant()) {
        let (mut turned, mut other) = (grant.clone(), manifest.clone());
        for list in [&mut turned.read, &mut turned.write].into_iter().flatten() {
            list.reverse();
        }
        turned.http.reverse();
        turned.env.reverse();
        other.needs.read.reverse();
        other.needs.write.reverse();
        other.needs.http.reverse();
        other.needs.env.reverse();
        let one = effective(Some(&manifest), &grant, HOST, false);
        let two = effective(Some(&other), &turned, HOST, false);
        prop_assert_eq!(one.directories, two.directories);
        prop_assert_eq!(one.http, two.http);
        prop_assert_eq!(one.env, two.env);
        prop_assert_eq!(one.settings, two.settings);
    }

    #[test]
    fn nobody_gets_more_than_the_hosts_maximum(manifest in manifest()) {
        let decision = effective(Some(&manifest), &Grant::default(), HOST, false);
        prop_assert!(decision.limits.memory <= HOST.memory);
        let asked = manifest.limits.memory.unwrap_or(HOST.memory);
        prop_assert_eq!(decision.limits.memory, asked.min(HOST.memory));
    }
}

#[test]
fn the_defaults() {
    let nothing = effective(None, &Grant::default(), HOST, false);
    assert_eq!(
        allowed(&nothing),
        [
            "read .",
            "read q",
            "read a",
            "read a/q",
            "read a/b",
            "read a/b/c/q",
            "read ab",
            "read ab/q"
        ]
    );
    assert!(nothing.missing.is_empty() && nothing.warnings.is_empty());
    let standard = effective(Some(&Manifest::standard()), &Grant::default(), HOST, true);
    assert!(standard.writes("q") && !standard.reads("/q"));
    assert!(standard.missing.is_empty() && standard.warnings.is_empty());
    let asked = effective(Some(&Manifest::default()), &Grant::default(), HOST, false);
    assert_eq!(allowed(&asked), [""; 0], "a manifest that asks for nothing gets nothing");
}

#[test]
fn p54_what_is_granted_without_a_manifest_is_denied_with_the_way_to_declare_it() {
    let grant = Grant { env: vec!["A".into()], write: Some(vec![".".into()]), ..Grant::default() };
    let decision = effective(None, &grant, HOST, false);
    assert!(!decision.writes("q") && decision.env.is_empty());
    assert_eq!(decision.warnings.len(), 2, "{:?}", decision.warnings);
    assert!(
        decision.warnings.iter().all(|line| line.contains(".toml") && line.contains("[needs]")),
        "{:?}",
        decision.warnings
    );
}

#[test]
fn the_standard_plugin_serves_whatever_folder_the_user_names() {
    let grant = Grant { read: Some(vec![".".into(), "/data".into()]), ..Grant::default() };
    let decision = effective(Some(&Manifest::standard()), &grant, HOST, true);
    assert!(decision.reads("/data/x") && !decision.writes("/data/x") && decision.writes("x"));
}
