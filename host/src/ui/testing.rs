//! Streams that tests read back.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

/// A shared buffer.
#[derive(Clone, Default)]
pub(super) struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    pub(super) fn text(&self) -> String {
        let bytes = self.0.lock().expect("no test panics while it writes");
        String::from_utf8(bytes.clone()).expect("output is UTF-8")
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no test panics while it writes").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
