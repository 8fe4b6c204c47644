//! What a component asks for, compared with what there is, in words of its author.

use wasmtime::Engine;
use wasmtime::component::Component;
use wasmtime::component::types::ComponentItem;

/// The contract's package without its version.
const CONTRACT: &str = "clawhold:tool/";
/// The version that this host speaks.
pub const CONTRACT_VERSION: &str = "0.1.0";

/// The interfaces of WASI 0.2 that are linked.
const WASI: &[&str] = &[
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/stderr",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:cli/terminal-stderr",
    "wasi:clocks/monotonic-clock",
    "wasi:clocks/wall-clock",
    "wasi:filesystem/preopens",
    "wasi:filesystem/types",
    "wasi:http/outgoing-handler",
    "wasi:http/types",
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
    "wasi:random/insecure",
    "wasi:random/insecure-seed",
    "wasi:random/random",
];

/// Whether the component exports the tools interface of a version that this host speaks.
pub(super) fn exports_tools(engine: &Engine, component: &Component) -> bool {
    let wanted = format!("{CONTRACT}tools@{CONTRACT_VERSION}");
    component.component_type().exports(engine).any(|(name, _)| name == wanted)
}

/// A sentence for each import that cannot be satisfied, and for an export of another contract.
pub(super) fn problems(engine: &Engine, component: &Component) -> Vec<String> {
    let ty = component.component_type();
    let imports = ty.imports(engine).filter_map(|(name, item)| {
        // A type carries no behaviour, so whatever it is called, it is satisfied.
        (!matches!(item.ty, ComponentItem::Type(_))).then(|| problem(name)).flatten()
    });
    let exports = ty.exports(engine).filter_map(|(name, _)| {
        let version = name.strip_prefix(CONTRACT)?.split_once('@')?.1;
        (version != CONTRACT_VERSION).then(|| wrong_contract(name, version))
    });
    imports.chain(exports).collect()
}

/// How one import stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportState {
    Satisfied,
    /// The host has another version of it.
    WrongVersion,
    Unknown,
}

/// Every import that has behaviour, with what is wrong with it.
pub(super) fn judged(
    engine: &Engine,
    component: &Component,
) -> Vec<(String, ImportState, Option<String>)> {
    let ty = component.component_type();
    let imports = ty.imports(engine).filter(|(_, item)| !matches!(item.ty, ComponentItem::Type(_)));
    imports
        .map(|(name, _)| {
            let plain = name.split_once('@').map_or(name, |(plain, _)| plain);
            let known = plain.starts_with(CONTRACT) || WASI.contains(&plain);
            let why = problem(name);
            let state = match &why {
                None => ImportState::Satisfied,
                Some(_) if known => ImportState::WrongVersion,
                Some(_) => ImportState::Unknown,
            };
            (name.to_owned(), state, why)
        })
        .collect()
}

/// The names of what the component exports.
pub(super) fn exports(engine: &Engine, component: &Component) -> Vec<String> {
    component.component_type().exports(engine).map(|(name, _)| name.to_owned()).collect()
}

fn problem(import: &str) -> Option<String> {
    let (name, version) = import.split_once('@').unwrap_or((import, ""));
    if name.starts_with(CONTRACT) {
        return (version != CONTRACT_VERSION).then(|| wrong_contract(import, version));
    }
    if name.starts_with("wasi:") && version.starts_with("0.3") {
        return Some(format!("`{import}` is WASI 0.3; build for WASI 0.2 (`wasm32-wasip2`)"));
    }
    if name.starts_with("wasi:sockets/") {
        return Some(format!(
            "`{import}`: plugins get no sockets; use `wasi:http`, or build without networking"
        ));
    }
    if WASI.contains(&name) {
        let fits = version.strip_prefix("0.2.").is_some();
        return (!fits).then(|| format!("`{import}`: this host has version 0.2 of it"));
    }
    Some(format!("`{import}` is not known to this host"))
}

fn wrong_contract(name: &str, version: &str) -> String {
    format!(
        "`{name}` is contract {version}; this host speaks {CONTRACT_VERSION}, so build the plugin against that"
    )
}

#[cfg(test)]
mod tests {
    use super::problem;

    #[test]
    fn p27_p29_each_import_is_judged_by_name_and_version() {
        let check = |import: &str, expect: Option<&str>| {
            let got = problem(import);
            match expect {
                None => assert_eq!(got, None, "{import}"),
                Some(word) => {
                    assert!(
                        got.as_ref().is_some_and(|got| got.contains(word)),
                        "{import}: {got:?}"
                    );
                }
            }
        };
        check("wasi:cli/stdout@0.2.0", None);
        check("wasi:filesystem/types@0.2.6", None);
        check("wasi:http/outgoing-handler@0.2.3", None);
        check("wasi:http/incoming-handler@0.2.3", Some("not known"));
        check("clawhold:tool/host@0.1.0", None);
        check("clawhold:tool/host@0.2.0", Some("contract 0.2.0"));
        check("wasi:cli/stdout@0.3.0", Some("WASI 0.3"));
        check("wasi:filesystem/types@0.1.0", Some("version 0.2"));
        check("wasi:sockets/tcp@0.2.0", Some("no sockets"));
        check("evil:host/x", Some("not known"));
        check("wasi:nn/graph@0.2.0", Some("not known"));
    }
}
