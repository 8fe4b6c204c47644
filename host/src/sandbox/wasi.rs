//! The small interfaces of WASI that need no capability: the command's surroundings, of which a
//! guest sees nothing but what it was granted, and randomness.

use wasmtime::component::{HasSelf, Resource};
use wasmtime_wasi::p2::bindings::{cli, random};
use wasmtime_wasi::p2::pipe::ClosedInputStream;
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream};

use super::output::{Pipe, Which};
use super::state::CallState;

/// Random bytes that one request may ask for. A guest that wants more asks again.
const MAX_RANDOM: u64 = 64 << 10;

/// How a guest ended by calling `exit`.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the plugin called `exit` ({})", if *ok { "success" } else { "failure" })]
pub(super) struct GuestExit {
    pub ok: bool,
}

/// How the marker type of the linker finds the state.
pub(super) type State = HasSelf<CallState>;

impl cli::environment::Host for CallState {
    fn get_environment(&mut self) -> wasmtime::Result<Vec<(String, String)>> {
        if let Some(asked) = &self.asked {
            asked.environment();
        }
        Ok(self.environment.to_vec())
    }

    fn get_arguments(&mut self) -> wasmtime::Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn initial_cwd(&mut self) -> wasmtime::Result<Option<String>> {
        Ok(None)
    }
}

impl cli::exit::Host for CallState {
    fn exit(&mut self, status: Result<(), ()>) -> wasmtime::Result<()> {
        Err(GuestExit { ok: status.is_ok() }.into())
    }

    fn exit_with_code(&mut self, status: u8) -> wasmtime::Result<()> {
        Err(GuestExit { ok: status == 0 }.into())
    }
}

impl cli::stdin::Host for CallState {
    fn get_stdin(&mut self) -> wasmtime::Result<Resource<DynInputStream>> {
        let stream: DynInputStream = Box::new(ClosedInputStream);
        Ok(self.table.push(stream)?)
    }
}

impl cli::stdout::Host for CallState {
    fn get_stdout(&mut self) -> wasmtime::Result<Resource<DynOutputStream>> {
        self.pipe(Which::Stdout)
    }
}

impl cli::stderr::Host for CallState {
    fn get_stderr(&mut self) -> wasmtime::Result<Resource<DynOutputStream>> {
        self.pipe(Which::Stderr)
    }
}

impl CallState {
    fn pipe(&mut self, which: Which) -> wasmtime::Result<Resource<DynOutputStream>> {
        let stream: DynOutputStream = Box::new(Pipe { output: self.output.clone(), which });
        Ok(self.table.push(stream)?)
    }
}

// There is no terminal, ever.

impl cli::terminal_input::Host for CallState {}
impl cli::terminal_input::HostTerminalInput for CallState {
    fn drop(
        &mut self,
        terminal: Resource<cli::terminal_input::TerminalInput>,
    ) -> wasmtime::Result<()> {
        self.table.delete(terminal)?;
        Ok(())
    }
}

impl cli::terminal_output::Host for CallState {}
impl cli::terminal_output::HostTerminalOutput for CallState {
    fn drop(
        &mut self,
        terminal: Resource<cli::terminal_output::TerminalOutput>,
    ) -> wasmtime::Result<()> {
        self.table.delete(terminal)?;
        Ok(())
    }
}

impl cli::terminal_stdin::Host for CallState {
    fn get_terminal_stdin(
        &mut self,
    ) -> wasmtime::Result<Option<Resource<cli::terminal_input::TerminalInput>>> {
        Ok(None)
    }
}

impl cli::terminal_stdout::Host for CallState {
    fn get_terminal_stdout(
        &mut self,
    ) -> wasmtime::Result<Option<Resource<cli::terminal_output::TerminalOutput>>> {
        Ok(None)
    }
}

impl cli::terminal_stderr::Host for CallState {
    fn get_terminal_stderr(
        &mut self,
    ) -> wasmtime::Result<Option<Resource<cli::terminal_output::TerminalOutput>>> {
        Ok(None)
    }
}

fn random_bytes(len: u64) -> wasmtime::Result<Vec<u8>> {
    wasmtime::ensure!(
        len <= MAX_RANDOM,
        "{len} random bytes asked for at once; at most {MAX_RANDOM} are given"
    );
    let mut bytes = vec![0; usize::try_from(len)?];
    getrandom::fill(&mut bytes).map_err(|error| wasmtime::format_err!("no randomness: {error}"))?;
    Ok(bytes)
}

fn random_word() -> wasmtime::Result<u64> {
    getrandom::u64().map_err(|error| wasmtime::format_err!("no randomness: {error}"))
}

impl random::random::Host for CallState {
    fn get_random_bytes(&mut self, len: u64) -> wasmtime::Result<Vec<u8>> {
        random_bytes(len)
    }

    fn get_random_u64(&mut self) -> wasmtime::Result<u64> {
        random_word()
    }
}

impl random::insecure::Host for CallState {
    fn get_insecure_random_bytes(&mut self, len: u64) -> wasmtime::Result<Vec<u8>> {
        random_bytes(len)
    }

    fn get_insecure_random_u64(&mut self) -> wasmtime::Result<u64> {
        random_word()
    }
}

impl random::insecure_seed::Host for CallState {
    fn insecure_seed(&mut self) -> wasmtime::Result<(u64, u64)> {
        Ok((random_word()?, random_word()?))
    }
}
