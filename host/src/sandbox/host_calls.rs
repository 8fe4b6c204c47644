//! The contract's own imports: log, progress, cancellation, settings.

use super::bindings::clawhold::tool::{host, types};
use super::state::CallState;
use crate::tool::Progress;

impl types::Host for CallState {}

impl host::Host for CallState {
    fn log(&mut self, level: host::Level, message: String) -> wasmtime::Result<()> {
        let level = match level {
            host::Level::Trace => "trace",
            host::Level::Debug => "debug",
            host::Level::Info => "info",
            host::Level::Warn => "warn",
            host::Level::Error => "error",
        };
        self.output.log(level, &message);
        Ok(())
    }

    fn progress(&mut self, done: u64, total: Option<u64>, message: String) -> wasmtime::Result<()> {
        let message = crate::text::escape_line(&crate::text::clip_end(&message, 200));
        (self.progress)(Progress { done, total, message });
        Ok(())
    }

    fn cancelled(&mut self) -> wasmtime::Result<bool> {
        Ok(self.cancel.is_cancelled())
    }

    fn setting(&mut self, name: String) -> wasmtime::Result<Option<String>> {
        if let Some(asked) = &self.asked {
            asked.setting(&name);
        }
        Ok(self.settings.get(&name).cloned())
    }
}
