//! From WebAssembly to machine code, where a hostile file can be made to take minutes.
//!
//! Compiling cannot be stopped from within the process, so the shipped binary does it in a child
//! of itself that is killed when its time is up. A library user without that binary compiles in
//! the process, with the size cap as the only bound.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use thiserror::Error;
use wasmtime::Engine;

/// Where compiling happens.
#[derive(Debug, Clone)]
pub enum Compiler {
    InProcess,
    /// `program` is run with the one argument [`CHILD_ARGUMENT`] and must call [`child_main`].
    Child {
        program: PathBuf,
        time_limit: Duration,
    },
}

/// The hidden word by which the binary knows that it is to compile.
pub const CHILD_ARGUMENT: &str = "__compile";

/// Why there is no machine code.
#[derive(Debug, Error)]
pub enum CompileError {
    #[error("it does not compile: {0}")]
    Invalid(String),
    #[error("compiling took longer than {} s and was stopped; raise `compile_timeout` if the plugin is to be trusted", .limit.as_secs())]
    TimedOut { limit: Duration },
    #[error("the compiling process failed: {0}")]
    Child(String),
}

impl Compiler {
    /// The engine's own form of the component `wasm`.
    pub fn compile(&self, engine: &Engine, wasm: &[u8]) -> Result<Vec<u8>, CompileError> {
        match self {
            Self::InProcess => engine
                .precompile_component(wasm)
                .map_err(|error| CompileError::Invalid(format!("{error:#}"))),
            Self::Child { program, time_limit } => in_child(program, *time_limit, wasm),
        }
    }
}

/// The child's whole life: a component on standard input, machine code on standard output, or a
/// message on standard error and exit code 1.
pub fn child_main() -> Result<(), String> {
    let mut wasm = Vec::new();
    std::io::stdin().lock().read_to_end(&mut wasm).map_err(|error| error.to_string())?;
    let engine = super::engine::new_engine().map_err(|error| format!("{error:#}"))?;
    let code = engine.precompile_component(&wasm).map_err(|error| format!("{error:#}"))?;
    std::io::stdout().lock().write_all(&code).map_err(|error| error.to_string())
}

fn in_child(program: &PathBuf, limit: Duration, wasm: &[u8]) -> Result<Vec<u8>, CompileError> {
    let failed = |error: std::io::Error| CompileError::Child(error.to_string());
    let mut child = Command::new(program)
        .arg(CHILD_ARGUMENT)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        // All three pipes at once: any of them could fill while another is waited for.
        let feed = scope.spawn(move || {
            // A child that dies early breaks the pipe; its own message says more than that.
            stdin.map(|mut stdin| stdin.write_all(wasm))
        });
        let code = scope.spawn(move || read_all(stdout));
        let message = scope.spawn(move || read_all(stderr));
        let status = wait(&mut child, limit);
        let _ = feed.join();
        let code = code.join().unwrap_or_default();
        let message = message.join().unwrap_or_default();
        match status.map_err(failed)? {
            None => Err(CompileError::TimedOut { limit }),
            Some(status) if status.success() => Ok(code),
            Some(status) => {
                let message = String::from_utf8_lossy(&message);
                Err(match message.trim() {
                    "" => CompileError::Child(status.to_string()),
                    message => CompileError::Invalid(message.to_owned()),
                })
            }
        }
    })
}

fn read_all(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        // What came before an error is still worth having: it may be a message.
        let _ = pipe.read_to_end(&mut bytes);
    }
    bytes
}

/// The child's status, or none when it had to be killed.
fn wait(child: &mut Child, limit: Duration) -> std::io::Result<Option<std::process::ExitStatus>> {
    let deadline = Instant::now() + limit;
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}
