//! What a component can import. Everything that is linked stands here; sockets are not.

use wasmtime::Engine;
use wasmtime::component::{HasData, Linker, ResourceTable};
use wasmtime_wasi::clocks::WasiClocks;
use wasmtime_wasi::p2::bindings::{cli, clocks, filesystem, io, random};

use super::bindings::clawhold::tool::{host, types};
use super::guard::Guarded;
use super::state::CallState;
use super::wasi::State;

/// The linker that every plugin is prepared with.
pub(super) fn new_linker(engine: &Engine) -> wasmtime::Result<Linker<CallState>> {
    let mut linker = Linker::new(engine);
    let l = &mut linker;

    io::error::add_to_linker::<CallState, Table>(l, |state| &mut state.table)?;
    io::poll::add_to_linker::<CallState, Table>(l, |state| &mut state.table)?;
    io::streams::add_to_linker::<CallState, Table>(l, |state| &mut state.table)?;

    clocks::wall_clock::add_to_linker::<_, WasiClocks>(l, CallState::clocks)?;
    clocks::monotonic_clock::add_to_linker::<_, WasiClocks>(l, CallState::clocks)?;

    random::random::add_to_linker::<_, State>(l, |state| state)?;
    random::insecure::add_to_linker::<_, State>(l, |state| state)?;
    random::insecure_seed::add_to_linker::<_, State>(l, |state| state)?;

    cli::environment::add_to_linker::<_, State>(l, |state| state)?;
    cli::exit::add_to_linker::<_, State>(l, |state| state)?;
    cli::stdin::add_to_linker::<_, State>(l, |state| state)?;
    cli::stdout::add_to_linker::<_, State>(l, |state| state)?;
    cli::stderr::add_to_linker::<_, State>(l, |state| state)?;
    cli::terminal_input::add_to_linker::<_, State>(l, |state| state)?;
    cli::terminal_output::add_to_linker::<_, State>(l, |state| state)?;
    cli::terminal_stdin::add_to_linker::<_, State>(l, |state| state)?;
    cli::terminal_stdout::add_to_linker::<_, State>(l, |state| state)?;
    cli::terminal_stderr::add_to_linker::<_, State>(l, |state| state)?;

    filesystem::types::add_to_linker::<_, Guarded>(l, CallState::files)?;
    filesystem::preopens::add_to_linker::<_, Guarded>(l, CallState::files)?;

    super::http::add_to_linker(l)?;

    types::add_to_linker::<_, State>(l, |state| state)?;
    host::add_to_linker::<_, State>(l, |state| state)?;
    Ok(linker)
}

/// For the interfaces that need the table only.
struct Table;

impl HasData for Table {
    type Data<'a> = &'a mut ResourceTable;
}
