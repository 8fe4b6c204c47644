//! Hostile and faulty plugins: each attempt ends as that call's failure, and the next call works.

#![allow(clippy::unwrap_used)]

#[path = "support/lab.rs"]
mod lab;

use std::sync::Arc;
use std::time::{Duration, Instant};

use clawhold::model::{FailureCode, Outcome, ToolReply};
use clawhold::sandbox::{self, Limits, LoadError, Plugin, Runtime, Source};
use lab::{Lab, guest};
use serde_json::json;

fn probe() -> &'static Arc<Plugin> {
    static PROBE: std::sync::OnceLock<Arc<Plugin>> = std::sync::OnceLock::new();
    PROBE.get_or_init(|| {
        Arc::new(Plugin::load(lab::runtime(), "probe", Source::File(guest("probe"))).unwrap())
    })
}

fn quick() -> Limits {
    Limits { timeout: Duration::from_millis(300), ..Limits::default() }
}

fn small() -> Limits {
    Limits { memory: 32 << 20, ..Limits::default() }
}

fn hostile(lab: &Lab, op: &str, n: u64) -> ToolReply {
    let reply = lab.call("hostile", json!({"op": op, "n": n}));
    // Whatever it did, the next call finds everything in order.
    assert_eq!(lab.done("hostile", json!({"op": "count"})), "1", "after {op}");
    reply
}

#[test]
fn p01_a_spinning_call_is_stopped_at_its_deadline() {
    let lab = Lab::with(probe(), false, quick());
    let begun = Instant::now();
    let reply = hostile(&lab, "spin", 0);
    assert_eq!(reply.outcome, Outcome::TimedOut);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert!(reply.observation().contains("[plugins.NAME]"), "{}", reply.observation());
}

#[test]
fn p01_a_sleeping_call_is_stopped_at_its_deadline_and_a_short_sleep_is_not() {
    let lab = Lab::with(probe(), false, quick());
    let begun = Instant::now();
    assert_eq!(hostile(&lab, "sleep", 3_600_000).outcome, Outcome::TimedOut);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert_eq!(hostile(&lab, "sleep", 10).outcome, Outcome::Done);
}

#[test]
fn p02_a_guest_that_loops_while_it_starts_is_not_loaded() {
    let begun = Instant::now();
    let loaded = Plugin::load(lab::runtime(), "start_loop", Source::File(guest("start_loop")));
    assert!(matches!(&loaded, Err(LoadError::Listing(why)) if why.contains("time")), "{loaded:?}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn p04_memory_ends_at_the_limit_and_is_there_up_to_it() {
    let lab = Lab::with(probe(), false, small());
    let text = hostile(&lab, "grow", 500).observation();
    assert!(text.starts_with("refused after"), "{text}");
    assert_eq!(hostile(&lab, "grow", 8).observation(), "has 8 MiB");
    assert!(lab.call("hostile", json!({"op": "grow", "n": 8})).receipt.peak_memory <= 32 << 20);
}

#[test]
fn p07_a_stack_overflow_is_a_failure() {
    let lab = Lab::with(probe(), false, Limits::default());
    let reply = hostile(&lab, "recurse", 0);
    assert_eq!(reply.outcome, Outcome::Failed);
    assert!(reply.observation().contains("stack"), "{}", reply.observation());
}

#[test]
fn p09_a_panic_and_an_exit_are_failures_with_their_reason() {
    let lab = Lab::with(probe(), false, Limits::default());
    let reply = hostile(&lab, "panic", 0);
    assert_eq!(reply.failure.as_ref().unwrap().code, FailureCode::Internal);
    assert!(reply.observation().contains("the probe panics as told"), "{}", reply.observation());
    for status in [0, 1] {
        let reply = hostile(&lab, "exit", status);
        assert_eq!(reply.outcome, Outcome::Failed, "exit {status} is no answer");
        assert!(reply.observation().contains("`exit`"), "{}", reply.observation());
    }
}

#[test]
fn p11_a_giant_result_is_cut_or_refused() {
    let lab = Lab::with(probe(), false, Limits { output: 1000, ..Limits::default() });
    let text = hostile(&lab, "text", 5000).observation();
    assert!(text.len() < 1100 && text.contains("4000 bytes more"), "{}", text.len());
    let reply = hostile(&lab, "text", 60 << 20);
    assert_ne!(reply.outcome, Outcome::Done);
}

#[test]
fn p14_what_a_guest_prints_reaches_nobody_raw() {
    let lab = Lab::with(probe(), false, Limits::default());
    let text = hostile(&lab, "stderr", 10_000).observation();
    assert!(
        text.contains("after the flood") && !text.contains('\u{1b}') && !text.contains('\u{7}'),
        "{text}"
    );
    assert!(text.len() < 8000, "{}", text.len());
}

#[test]
fn p19_p20_there_is_no_environment_no_argument_and_no_input() {
    let lab = Lab::with(probe(), false, Limits::default());
    assert_eq!(hostile(&lab, "environment", 0).observation(), "0 variables: ; 0 arguments");
    assert_eq!(hostile(&lab, "stdin", 0).observation(), "Ok(0)");
    assert_eq!(hostile(&lab, "clock", 0).observation(), "true");
    assert_eq!(lab.done("hostile", json!({"op": "setting", "name": "x"})), "None");
}

#[test]
fn p46_calls_share_nothing() {
    let lab = Lab::with(probe(), false, Limits::default());
    for _ in 0..5 {
        assert_eq!(lab.done("hostile", json!({"op": "count"})), "1");
    }
}

#[test]
fn p47_a_cancelled_call_ends_at_once_and_says_so() {
    let lab = Lab::with(probe(), false, Limits::default());
    for op in ["spin", "sleep"] {
        let context = clawhold::tool::CallContext::detached("c1");
        let cancel = context.cancel.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            cancel.cancel();
        });
        let begun = Instant::now();
        let arguments = json!({"op": op, "n": 3_600_000});
        let reply = lab::executor().block_on(lab.tool("hostile").call(&arguments, &context));
        assert!(
            matches!(reply.outcome, Outcome::Interrupted { after_ms } if after_ms >= 20),
            "{reply:?}"
        );
        assert!(begun.elapsed() < Duration::from_secs(1), "{op}: {:?}", begun.elapsed());
    }
}

#[test]
fn p47_a_call_that_nobody_waits_for_is_stopped() {
    let lab = Lab::with(probe(), false, Limits::default());
    lab::executor().block_on(async {
        let context = clawhold::tool::CallContext::detached("c1");
        let arguments = json!({"op": "spin"});
        let call = lab.tool("hostile").call(&arguments, &context);
        assert!(tokio::time::timeout(Duration::from_millis(50), call).await.is_err());
    });
    // All its slots are free again, or this would wait for the minute of the first.
    let begun = Instant::now();
    for _ in 0..40 {
        assert_eq!(lab.done("hostile", json!({"op": "count"})), "1");
    }
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn p30_what_is_not_a_component_is_named() {
    let temp = tempfile::tempdir().unwrap();
    let wat = |text: &str| wat::parse_str(text).unwrap();
    let component = std::fs::read(guest("probe")).unwrap();
    let engine = wasmtime::Engine::default();
    let compiled = engine.precompile_component(&wat("(component)")).unwrap();
    for (name, bytes, word) in [
        ("core", wat("(module)"), "core WebAssembly module"),
        ("text", b"(component)".to_vec(), "text form"),
        ("empty", Vec::new(), "empty"),
        ("one", vec![0], "not WebAssembly"),
        ("elf", b"\x7fELF\x02\x01".to_vec(), "native program"),
        ("zip", b"PK\x03\x04".to_vec(), "zip archive"),
        ("cwasm", compiled, "compiled artefact"),
        ("bare", wat("(component)"), "exports no"),
        ("cut", component[..component.len() / 2].to_vec(), "does not compile"),
        (
            "import",
            wat(r#"(component (import "evil:host/x" (instance (export "f" (func)))))"#),
            "`evil:host/x` is not known",
        ),
    ] {
        let path = temp.path().join(format!("{name}.wasm"));
        std::fs::write(&path, bytes).unwrap();
        let loaded = Plugin::load(lab::runtime(), name, Source::File(path));
        let why = loaded.err().unwrap_or_else(|| panic!("{name} was loaded")).to_string();
        assert!(why.contains(word), "{name}: {why}");
    }
}

#[test]
fn p31_damaged_files_never_break_the_host() {
    let temp = tempfile::tempdir().unwrap();
    let component = std::fs::read(guest("start_loop")).unwrap();
    let path = temp.path().join("damaged.wasm");
    let rounds = if std::env::var_os("CLAWHOLD_LONG").is_some() { 1000 } else { 24 };
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed >> 33).unwrap()
    };
    for round in 0..rounds {
        let mut bytes = component.clone();
        if round < 16 {
            bytes.truncate(bytes.len() * round / 16);
        } else {
            // Among the first part, where the structure lies.
            let at = random() % bytes.len().min(4096);
            bytes[at] ^= 1 << (random() % 8);
        }
        std::fs::write(&path, bytes).unwrap();
        // An error or a plugin, never a panic; the guest itself does not come to its first call.
        let loaded = Plugin::load(lab::runtime(), "damaged", Source::File(path.clone()));
        assert!(loaded.is_err(), "round {round}");
    }
}

#[test]
fn p05_p06_p10_p32_components_that_ask_for_too_much_are_refused() {
    // None of these is a plugin; what matters is that each is judged in bounded time and memory.
    let temp = tempfile::tempdir().unwrap();
    let core = |body: &str| {
        format!("(component (core module $m {body}) (core instance (instantiate $m)))")
    };
    for (name, text) in [
        ("memory64", core("(memory i64 1)")),
        ("memory", core("(memory 65536)")),
        ("table", core("(table 4000000000 funcref)")),
        ("threads", core("(memory 1 1 shared)")),
        ("functions", core(&"(func (result i32) (i32.const 1))".repeat(5000))),
        ("nested", core(&format!("(func {} {})", "block ".repeat(2000), "end ".repeat(2000)))),
    ] {
        let path = temp.path().join(format!("{name}.wasm"));
        std::fs::write(&path, wat::parse_str(&text).unwrap()).unwrap();
        let begun = Instant::now();
        assert!(Plugin::load(lab::runtime(), name, Source::File(path)).is_err(), "{name}");
        assert!(begun.elapsed() < Duration::from_secs(20), "{name}: {:?}", begun.elapsed());
    }
}

#[test]
fn p32_a_file_over_the_cap_is_refused_unread() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("large.wasm");
    std::fs::File::create(&path).unwrap().set_len(300 << 20).unwrap();
    let loaded = Plugin::load(lab::runtime(), "large", Source::File(path));
    assert!(matches!(loaded, Err(LoadError::TooLarge { .. })), "{loaded:?}");
}

#[test]
fn p34_a_cache_that_is_not_ours_alone_is_not_used() {
    use std::os::unix::fs::PermissionsExt;
    let temp = tempfile::tempdir().unwrap();
    std::fs::set_permissions(temp.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let settings = sandbox::Settings { cache: Some(temp.path().to_owned()), ..Default::default() };
    let runtime = Runtime::new(settings).unwrap();
    assert!(runtime.cache_trouble().unwrap().contains("chmod 700"));
    assert!(sandbox::standard_plugin(&runtime).is_ok(), "it works all the same");
    assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 0);
}

#[test]
fn p35_a_plugin_replaced_while_it_runs_goes_on_as_it_was() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("p.wasm");
    std::fs::copy(guest("probe"), &path).unwrap();
    let settings =
        sandbox::Settings { cache: Some(temp.path().join("cache")), ..Default::default() };
    let runtime = Runtime::new(settings).unwrap();
    let plugin = Arc::new(Plugin::load(&runtime, "p", Source::File(path.clone())).unwrap());
    std::fs::write(&path, b"something else").unwrap();
    let lab = Lab::with(&plugin, false, Limits::default());
    assert_eq!(lab.done("hostile", json!({"op": "count"})), "1");
    assert!(Plugin::load(&runtime, "p", Source::File(path)).is_err());
}

#[test]
fn p49_one_bad_plugin_never_stops_the_rest() {
    let temp = tempfile::tempdir().unwrap();
    for name in ["a", "c"] {
        std::fs::copy(guest("probe"), temp.path().join(format!("{name}.wasm"))).unwrap();
    }
    std::fs::write(temp.path().join("b.wasm"), b"rubbish").unwrap();
    let found = sandbox::load_all(lab::runtime(), sandbox::files(temp.path()).unwrap());
    let loaded: Vec<(&str, bool)> =
        found.iter().map(|f| (f.name.as_str(), f.plugin.is_ok())).collect();
    assert_eq!(loaded, [("a", true), ("b", false), ("c", true)]);
}

#[test]
fn a_thousand_calls_leave_memory_and_descriptors_where_they_were() {
    let lab = Lab::new();
    lab.write("a.txt", "x");
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let resident = || -> usize {
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
        statm.split(' ').nth(1).unwrap().parse().unwrap()
    };
    let call = || drop(lab.done("read_file", json!({"path": "a.txt"})));
    for _ in 0..100 {
        call();
    }
    let (files, pages) = (open(), resident());
    for _ in 0..1000 {
        call();
    }
    // Other tests of this process run at the same time, hence the room.
    assert!(open() <= files + 40, "{files} descriptors before, {} after", open());
    assert!(resident() <= pages + (64 << 20) / 4096, "{pages} pages before, {} after", resident());
}
