//! What standard input adds to a command.

use std::io::{self, IsTerminal as _, Read};
use std::sync::mpsc;
use std::time::Duration;

/// How long a pipe may stay silent before it counts as one that nobody writes to: daemons and
/// continuous integration often leave such a pipe open.
const SILENCE: Duration = Duration::from_millis(200);

/// The most bytes taken from a pipe; more would not fit into a conversation anyway.
const MOST: u64 = 8 * 1024 * 1024;

/// Why input was not used.
#[derive(Debug, thiserror::Error)]
pub(super) enum InputError {
    #[error("cannot read standard input: {0}")]
    Failed(#[from] io::Error),
    #[error("standard input has more than 8 MiB: write it to a file in the workdir and name that")]
    TooLong,
}

/// All of standard input, for `-`.
pub(super) fn whole() -> Result<String, InputError> {
    read_all(io::stdin().lock(), &[])
}

/// What is piped in, None where that is a terminal, nothing, or silence. Bytes that are not UTF-8
/// are replaced.
pub(super) fn piped() -> Result<Option<String>, InputError> {
    if io::stdin().is_terminal() {
        return Ok(None);
    }
    piped_from(io::stdin(), SILENCE)
}

/// Reads on a thread of its own, since a read from a silent pipe cannot be called off. In that
/// case the thread is left behind, and ends with the process.
fn piped_from(
    mut input: impl Read + Send + 'static,
    silence: Duration,
) -> Result<Option<String>, InputError> {
    let (first_sent, first) = mpsc::channel();
    let (rest_sent, rest) = mpsc::channel();
    std::thread::spawn(move || {
        let mut buffer = vec![0; 4096];
        let begun = loop {
            match input.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        let count = begun.as_ref().copied().unwrap_or(0);
        // A receiver that is gone has stopped waiting; then nobody wants the rest either.
        if first_sent.send(begun).is_ok() && count > 0 {
            let _ = rest_sent.send(read_all(input, &buffer[..count]));
        }
    });
    match first.recv_timeout(silence) {
        Ok(Ok(0)) | Err(_) => return Ok(None),
        Ok(Err(error)) => return Err(error.into()),
        Ok(Ok(_)) => {}
    }
    // Somebody writes, so the end is worth waiting for.
    let text = rest.recv().unwrap_or_else(|_| Err(io::Error::other("the reader ended").into()))?;
    Ok(if text.trim().is_empty() { None } else { Some(text) })
}

fn read_all(input: impl Read, begun: &[u8]) -> Result<String, InputError> {
    let mut bytes = begun.to_vec();
    input.take(MOST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST {
        return Err(InputError::TooLong);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A task and what was piped in with it, as one message.
pub(super) fn with_context(prompt: &str, context: &str) -> String {
    format!("{prompt}\n\nFrom standard input:\n\n{}", context.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::Cursor;

    use super::*;

    /// Never has anything to read, and never ends.
    struct Silent;

    impl Read for Silent {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            loop {
                std::thread::park();
            }
        }
    }

    #[test]
    fn empty_and_silent_input_is_none() {
        let wait = Duration::from_millis(20);
        assert!(piped_from(Silent, wait).unwrap().is_none());
        assert!(piped_from(io::empty(), SILENCE).unwrap().is_none());
        assert!(piped_from(Cursor::new("\n  \n"), SILENCE).unwrap().is_none());
    }

    #[test]
    fn what_is_written_is_read_to_its_end() {
        let long = "目录\n".repeat(5000);
        let read = piped_from(Cursor::new(long.clone()), SILENCE).unwrap();
        assert_eq!(read, Some(long));
        let bytes = piped_from(Cursor::new(b"a\xffb".to_vec()), SILENCE).unwrap();
        assert_eq!(bytes.as_deref(), Some("a\u{fffd}b"));
    }

    #[test]
    fn too_much_is_an_error_and_not_cut() {
        assert!(matches!(read_all(io::repeat(b'x'), b""), Err(InputError::TooLong)));
    }

    #[test]
    fn a_task_comes_before_its_context() {
        assert_eq!(with_context("sum up", "a\nb\n"), "sum up\n\nFrom standard input:\n\na\nb");
    }
}
