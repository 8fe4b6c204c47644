//! One call of one tool: through the registry into a fresh sandbox, beside doing it without one.

use std::sync::Arc;

use clawhold::model::{Outcome, ToolCall};
use clawhold::sandbox::{self, Runtime};
use clawhold::tool::{CallContext, PathScope, Registry};

use crate::lab;
use crate::measure::{Times, shown};

pub fn run() {
    read();
    loading();
}

/// One read, over and over: for a profiler.
pub fn read_only() {
    for _ in 0..10 {
        read();
    }
}

fn read() {
    let temp = tempfile::tempdir().unwrap();
    let workdir = temp.path().canonicalize().unwrap();
    std::fs::write(workdir.join("a.txt"), "0123456789abcde\n".repeat(64)).unwrap();

    let registry = Registry::new().with_paths(PathScope::new(workdir.clone(), vec![], vec![]));
    for tool in
        lab::tools_over(lab::standard(), &workdir, true, sandbox::Limits::default(), 1 << 30)
            .into_values()
    {
        registry.register(tool).unwrap();
    }
    let registry = Arc::new(registry);
    let call = |name: &str, arguments: &str| ToolCall {
        id: "c".into(),
        name: name.into(),
        arguments: arguments.into(),
    };
    let read = call("read_file", r#"{"path":"a.txt"}"#);
    let executor = lab::executor();
    // As in a run, where each call has a task of its own.
    let context = CallContext { own_task: true, ..CallContext::detached("c") };
    let once = |call: &ToolCall| {
        let reply = executor.block_on(registry.execute(call, &context));
        assert_eq!(reply.outcome, Outcome::Done, "{:?}", reply.failure);
        reply
    };

    let sandboxed = Times::of(3000, || drop(once(&read)));
    sandboxed.report("read_file of 1 KiB, registry, fresh instance", "bound 60 µs");
    let receipts: Vec<_> = (0..1000).map(|_| once(&read).receipt).collect();
    let mean = |part: fn(&clawhold::model::Receipt) -> u64| {
        receipts.iter().map(part).sum::<u64>() / receipts.len() as u64
    };
    println!(
        "    of which, mean: queue {} µs, instantiate {} µs, execute {} µs",
        mean(|r| r.queue_us),
        mean(|r| r.instantiate_us),
        mean(|r| r.execute_us)
    );

    let native = Times::of(3000, || drop(std::fs::read_to_string(workdir.join("a.txt")).unwrap()));
    native.report("the same read natively", "");
    let spawned = Times::of(100, || {
        let output = std::process::Command::new("bash")
            .args(["-c", "cat a.txt"])
            .current_dir(&workdir)
            .output();
        assert!(output.unwrap().status.success());
    });
    spawned.report("the same read by `bash -c cat`", "");
    println!(
        "    a sandboxed read costs {:.0} native ones and {:.3} of a shell's",
        sandboxed.median().as_secs_f64() / native.median().as_secs_f64(),
        sandboxed.median().as_secs_f64() / spawned.median().as_secs_f64()
    );

    let mut turn = 0_u32;
    let edit = Times::of(500, || {
        turn += 1;
        let write = call("write_file", &format!(r#"{{"path":"b.txt","content":"{turn}\n"}}"#));
        once(&write);
    });
    edit.report("write_file of a few bytes, flushed to disk", "");
}

/// Ten plugins from the cache, as at a start of the host.
fn loading() {
    let temp = tempfile::tempdir().unwrap();
    let plugins = temp.path().join("plugins");
    std::fs::create_dir(&plugins).unwrap();
    let wasm = std::fs::read(standard_wasm()).unwrap();
    for n in 0..10_u8 {
        // Each must be a component of its own: a custom section at the end makes it one.
        let mut own = wasm.clone();
        own.extend([0, 4, 2, b'n', b'o', n]);
        std::fs::write(plugins.join(format!("p{n}.wasm")), own).unwrap();
    }
    let settings =
        sandbox::Settings { cache: Some(temp.path().join("cache")), ..Default::default() };
    let load = || {
        let runtime = Runtime::new(settings.clone()).unwrap();
        let found = sandbox::load_all(&runtime, sandbox::files(&plugins).unwrap());
        assert!(found.len() == 10 && found.iter().all(|found| found.plugin.is_ok()));
    };
    load();
    let times = Times::of(30, load);
    times.report("a runtime and 10 plugins from the cache", "bound 10 ms");
    println!("    that is {} for each plugin", shown(times.median() / 10));
}

fn standard_wasm() -> std::path::PathBuf {
    let own =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/plugins/workspace.wasm");
    std::env::var_os("CLAWHOLD_STANDARD_PLUGIN").map_or(own, Into::into)
}
