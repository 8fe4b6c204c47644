//! Streams of one JSON value a line.

use std::collections::VecDeque;

use super::sse::{Event, TooLong};

/// Takes bytes in pieces of any size and gives lines, as events without a name. Empty lines say
/// nothing.
#[derive(Debug)]
pub(super) struct LineDecoder {
    cap: usize,
    line: Vec<u8>,
    ready: VecDeque<Event>,
}

impl LineDecoder {
    pub(super) fn new(cap: usize) -> Self {
        Self { cap, line: Vec::new(), ready: VecDeque::new() }
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            if self.line.len() + part.len() > self.cap {
                return Err(TooLong);
            }
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let event = self.last();
                self.ready.extend(event);
            }
        }
        Ok(())
    }

    pub(super) fn pop(&mut self) -> Option<Event> {
        self.ready.pop_front()
    }

    /// What stands since the last line feed: at the end of a body, its last line.
    pub(super) fn last(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(line.trim_ascii());
        let lossy = matches!(text, std::borrow::Cow::Owned(_));
        (!text.is_empty()).then(|| Event { name: String::new(), data: text.into_owned(), lossy })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_the_same_at_every_split() {
        let input = "{\"a\":\"目\"}\r\n\n{\"b\":2}\n{\"c\":3}".as_bytes();
        for at in 0..=input.len() {
            let mut decoder = LineDecoder::new(100);
            decoder.feed(&input[..at]).unwrap();
            decoder.feed(&input[at..]).unwrap();
            let mut lines: Vec<String> =
                std::iter::from_fn(|| decoder.pop()).map(|event| event.data).collect();
            lines.extend(decoder.last().map(|event| event.data));
            assert_eq!(lines, ["{\"a\":\"目\"}", "{\"b\":2}", "{\"c\":3}"], "split at {at}");
        }
    }

    #[test]
    fn n25_a_line_is_capped() {
        assert_eq!(LineDecoder::new(4).feed(b"12345"), Err(TooLong));
    }
}
