//! The only place that writes to standard output and standard error.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::Paint;
use crate::provider::Scrubber;

/// Both streams. What a command answers goes to the first, everything else to the second.
///
/// A reader that has gone away is no error: the rest of the output is dropped, and the program
/// ends by its own exit code. Any other failure to write the answer is kept for
/// [`Output::finish`], since an answer that is lost in silence looks like an empty one.
pub struct Output {
    out: Mutex<Stream>,
    err: Mutex<Stream>,
    out_is_terminal: bool,
    err_is_terminal: bool,
    out_paint: Paint,
    err_paint: Paint,
    /// Takes known keys out of everything, once they are known.
    scrubber: OnceLock<Scrubber>,
}

struct Stream {
    to: Box<dyn Write + Send>,
    gone: bool,
    failure: Option<io::Error>,
}

impl Output {
    /// The streams of the process. `colour` is the user's wish; without a terminal there is none.
    pub fn of_process(colour: bool) -> Self {
        let (out, err) = (io::stdout(), io::stderr());
        let (out_is_terminal, err_is_terminal) = (out.is_terminal(), err.is_terminal());
        Self {
            out: Mutex::new(Stream::new(Box::new(io::BufWriter::new(out)))),
            err: Mutex::new(Stream::new(Box::new(err))),
            out_is_terminal,
            err_is_terminal,
            out_paint: Paint::new(colour && out_is_terminal),
            err_paint: Paint::new(colour && err_is_terminal),
            scrubber: OnceLock::new(),
        }
    }

    /// Writes to `out` and `err` as to files, or as to terminals with colour.
    pub fn to(out: Box<dyn Write + Send>, err: Box<dyn Write + Send>, terminal: bool) -> Self {
        Self {
            out: Mutex::new(Stream::new(out)),
            err: Mutex::new(Stream::new(err)),
            out_is_terminal: terminal,
            err_is_terminal: terminal,
            out_paint: Paint::new(terminal),
            err_paint: Paint::new(terminal),
            scrubber: OnceLock::new(),
        }
    }

    /// From now on `keys` are left out of whatever is written, also where a tool or a model
    /// repeats them. The first call counts.
    pub fn scrub(&self, keys: &[String]) {
        let _ = self.scrubber.set(Scrubber::new(keys.iter().map(String::as_str)));
    }

    /// Text of our own making for standard output.
    pub fn print(&self, text: &str) {
        lock(&self.out).write(self.scrubbed(text).as_bytes());
    }

    /// Text from a model or a tool for standard output, with one newline at its end. A terminal
    /// gets it escaped, since it may hold anything; a file or pipe gets it as it is, since it may
    /// be somebody's data.
    pub fn print_foreign(&self, text: &str) {
        let text = self.scrubbed(text);
        let mut stream = lock(&self.out);
        if self.out_is_terminal {
            stream.write(crate::text::escape_text(&text).as_bytes());
        } else {
            stream.write(text.as_bytes());
        }
        if !text.ends_with('\n') {
            stream.write(b"\n");
        }
    }

    /// One line for standard error. What is foreign in it must be escaped already.
    pub fn note(&self, line: &str) {
        lock(&self.err).write(format!("{}\n", self.scrubbed(line)).as_bytes());
    }

    fn scrubbed<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.scrubber.get() {
            Some(scrubber) => scrubber.scrub(text).into(),
            None => text.into(),
        }
    }

    pub fn out_is_terminal(&self) -> bool {
        self.out_is_terminal
    }

    pub fn err_is_terminal(&self) -> bool {
        self.err_is_terminal
    }

    pub fn out_paint(&self) -> Paint {
        self.out_paint
    }

    pub fn err_paint(&self) -> Paint {
        self.err_paint
    }

    /// Brings everything out, and says whether the answer could be written.
    pub fn finish(&self) -> io::Result<()> {
        let mut stream = lock(&self.out);
        stream.flush();
        stream.failure.take().map_or(Ok(()), Err)
    }
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Output")
            .field("out_is_terminal", &self.out_is_terminal)
            .finish_non_exhaustive()
    }
}

fn lock(stream: &Mutex<Stream>) -> MutexGuard<'_, Stream> {
    stream.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stream {
    fn new(to: Box<dyn Write + Send>) -> Self {
        Self { to, gone: false, failure: None }
    }

    fn write(&mut self, bytes: &[u8]) {
        if !self.gone {
            let result = self.to.write_all(bytes);
            self.note_failure(result);
        }
    }

    fn flush(&mut self) {
        if !self.gone {
            let result = self.to.flush();
            self.note_failure(result);
        }
    }

    fn note_failure(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.gone = true;
            if error.kind() != io::ErrorKind::BrokenPipe {
                self.failure = Some(error);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Buffer;
    use super::*;

    /// Fails every write in one way.
    struct Broken(io::ErrorKind);

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn c24_a_reader_that_left_is_no_error_and_a_full_disk_is() {
        let check = |kind, expect: Option<io::ErrorKind>| {
            let output = Output::to(Box::new(Broken(kind)), Box::new(Broken(kind)), false);
            output.print("a");
            output.note("b");
            output.print("c");
            assert_eq!(output.finish().err().map(|e| e.kind()), expect);
        };
        check(io::ErrorKind::BrokenPipe, None);
        check(io::ErrorKind::StorageFull, Some(io::ErrorKind::StorageFull));
    }

    #[test]
    fn n44_a_known_key_is_never_shown_whoever_says_it() {
        let (out, err) = (Buffer::default(), Buffer::default());
        let output = Output::to(Box::new(out.clone()), Box::new(err.clone()), false);
        output.scrub(&["sk-CANARY0123".to_owned()]);
        output.print("a sk-CANARY0123\n");
        output.print_foreign("KEY=sk-CANARY0123");
        output.note("c sk-CANARY0123");
        assert!(!(out.text() + &err.text()).contains("CANARY"));
        assert!(out.text().starts_with("a ") && err.text().starts_with("c "));
    }

    #[test]
    fn only_a_terminal_gets_foreign_text_escaped() {
        let check = |terminal, expect: &str| {
            let (out, err) = (Buffer::default(), Buffer::default());
            let output = Output::to(Box::new(out.clone()), Box::new(err), terminal);
            output.print_foreign("a\x1b[2J\r\n");
            assert_eq!(out.text(), expect);
        };
        check(false, "a\x1b[2J\r\n");
        check(true, "a\\x1b[2J\\r\n");
    }
}
