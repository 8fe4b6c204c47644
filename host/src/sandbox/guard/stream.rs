//! Streams over guarded files. They work on the calling thread: a regular file does not block
//! for long, and handing each chunk to another thread costs more than the chunk.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::{Bytes, BytesMut};
use wasmtime_wasi::p2::{InputStream, OutputStream, Pollable, StreamError, StreamResult};

/// The most that one read gives, so that a guest cannot make the host allocate at its word.
pub(super) const CHUNK: usize = 256 << 10;

/// What a call may still write.
#[derive(Debug)]
pub(super) struct Meter {
    left: AtomicU64,
    exhausted: AtomicBool,
    /// Why the system did not take what was written, if it did not. Many a guest's library makes
    /// the same error of every failed write, so the host has to tell.
    refused: OnceLock<io::ErrorKind>,
}

impl Meter {
    pub(super) fn new(quota: u64) -> Self {
        Self {
            left: AtomicU64::new(quota),
            exhausted: AtomicBool::new(false),
            refused: OnceLock::new(),
        }
    }

    /// Takes `bytes` from what is left, or nothing and an error.
    pub(super) fn spend(&self, bytes: u64) -> io::Result<()> {
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes))
            .map(|_| ())
            .map_err(|_| {
                self.exhausted.store(true, Ordering::Relaxed);
                io::Error::from(io::ErrorKind::QuotaExceeded)
            })
    }

    /// Passes on how a write ended, and keeps the first failure.
    pub(super) fn noted(&self, written: io::Result<()>) -> io::Result<()> {
        written.inspect_err(|error| {
            let _ = self.refused.set(error.kind());
        })
    }

    pub(super) fn refused(&self) -> Option<io::ErrorKind> {
        self.refused.get().copied()
    }

    pub(super) fn exhausted(&self) -> bool {
        self.exhausted.load(Ordering::Relaxed)
    }
}

/// Reads a file from a position on.
pub(super) struct Reader {
    pub file: Arc<std::fs::File>,
    pub at: u64,
}

#[async_trait::async_trait]
impl Pollable for Reader {
    async fn ready(&mut self) {}
}

#[async_trait::async_trait]
impl InputStream for Reader {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        if size == 0 {
            return Ok(Bytes::new());
        }
        let bytes = read_at(&self.file, size, self.at).map_err(failed)?;
        if bytes.is_empty() {
            return Err(StreamError::Closed);
        }
        self.at = self.at.saturating_add(bytes.len() as u64);
        Ok(bytes)
    }
}

/// Up to `size` bytes at `offset`, at most one chunk; none at the end of the file.
pub(super) fn read_at(file: &std::fs::File, size: usize, offset: u64) -> io::Result<Bytes> {
    let mut buffer = BytesMut::zeroed(size.min(CHUNK));
    loop {
        match positioned::read(file, &mut buffer, offset) {
            Ok(read) => {
                buffer.truncate(read);
                return Ok(buffer.freeze());
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Writes a file from a position on, or at its end.
pub(super) struct Writer {
    pub file: Arc<std::fs::File>,
    /// None appends.
    pub at: Option<u64>,
    pub meter: Arc<Meter>,
}

impl Writer {
    fn put(&mut self, bytes: &[u8]) -> StreamResult<()> {
        self.meter.spend(bytes.len() as u64).map_err(failed)?;
        let at = match self.at {
            Some(at) => at,
            None => self.file.metadata().map_err(failed)?.len(),
        };
        self.meter.noted(write_all_at(&self.file, bytes, at)).map_err(failed)?;
        if let Some(at) = &mut self.at {
            *at = at.saturating_add(bytes.len() as u64);
        }
        Ok(())
    }
}

/// Writes everything at `offset`.
pub(super) fn write_all_at(
    file: &std::fs::File,
    mut bytes: &[u8],
    mut offset: u64,
) -> io::Result<()> {
    while !bytes.is_empty() {
        match positioned::write(file, bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                bytes = &bytes[written..];
                offset = offset.saturating_add(written as u64);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[async_trait::async_trait]
impl Pollable for Writer {
    async fn ready(&mut self) {}
}

#[async_trait::async_trait]
impl OutputStream for Writer {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.put(&bytes)
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(CHUNK)
    }

    // One step instead of the five of the default: nothing here is ever pending.
    async fn blocking_write_and_flush(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.put(&bytes)
    }
}

/// Keeps the error itself, from which the guest is told its number later.
fn failed(error: io::Error) -> StreamError {
    StreamError::LastOperationFailed(error.into())
}

#[cfg(unix)]
mod positioned {
    use std::os::unix::fs::FileExt;

    pub(super) fn read(file: &std::fs::File, buffer: &mut [u8], at: u64) -> std::io::Result<usize> {
        file.read_at(buffer, at)
    }

    pub(super) fn write(file: &std::fs::File, bytes: &[u8], at: u64) -> std::io::Result<usize> {
        file.write_at(bytes, at)
    }
}

#[cfg(windows)]
mod positioned {
    use std::os::windows::fs::FileExt;

    pub(super) fn read(file: &std::fs::File, buffer: &mut [u8], at: u64) -> std::io::Result<usize> {
        file.seek_read(buffer, at)
    }

    pub(super) fn write(file: &std::fs::File, bytes: &[u8], at: u64) -> std::io::Result<usize> {
        file.seek_write(bytes, at)
    }
}
