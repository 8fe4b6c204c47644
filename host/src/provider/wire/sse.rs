//! Server-sent events, decoded as the WHATWG HTML standard says (section 9.2.6).

use std::collections::VecDeque;

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::provider) struct Event {
    /// The name of the event; empty where it has none.
    pub(in crate::provider) name: String,
    pub(in crate::provider) data: String,
    /// Bytes that are not UTF-8 were replaced by U+FFFD.
    pub(in crate::provider) lossy: bool,
}

/// A line or an event grew beyond the cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::provider) struct TooLong;

/// Takes bytes in pieces of any size and gives events. Text is decoded only when a line is whole,
/// so no split can fall into a character.
#[derive(Debug)]
pub(in crate::provider) struct SseDecoder {
    cap: usize,
    line: Vec<u8>,
    /// The last byte was a carriage return, so a line feed that follows belongs to it.
    after_cr: bool,
    /// No line has ended yet; a byte order mark may still stand at the beginning.
    first: bool,
    name: String,
    data: String,
    has_data: bool,
    lossy: bool,
    ready: VecDeque<Event>,
}

impl SseDecoder {
    pub(in crate::provider) fn new(cap: usize) -> Self {
        Self {
            cap,
            line: Vec::new(),
            after_cr: false,
            first: true,
            name: String::new(),
            data: String::new(),
            has_data: false,
            lossy: false,
            ready: VecDeque::new(),
        }
    }

    pub(in crate::provider) fn feed(&mut self, mut bytes: &[u8]) -> Result<(), TooLong> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|&byte| matches!(byte, b'\r' | b'\n'));
            let part = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + part.len() > self.cap {
                return Err(TooLong);
            }
            self.line.extend_from_slice(part);
            let Some(end) = end else { break };
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            self.end_line()?;
        }
        Ok(())
    }

    /// The next event that is whole. What the stream leaves unfinished at its end is never given.
    pub(in crate::provider) fn pop(&mut self) -> Option<Event> {
        self.ready.pop_front()
    }

    fn end_line(&mut self) -> Result<(), TooLong> {
        let taken = std::mem::take(&mut self.line);
        let mut line = taken.as_slice();
        if std::mem::take(&mut self.first) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            self.dispatch();
        } else {
            let colon = line.iter().position(|&byte| byte == b':');
            let (field, value) = match colon {
                Some(at) => {
                    (&line[..at], line[at + 1..].strip_prefix(b" ").unwrap_or(&line[at + 1..]))
                }
                None => (line, &[][..]),
            };
            match field {
                b"data" => self.add_data(value)?,
                b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
                // An empty field name is a comment. `id` and `retry` serve reconnection, which a
                // request that is not repeated by itself has no use for.
                _ => {}
            }
        }
        // The line's memory serves the next line.
        self.line = taken;
        self.line.clear();
        Ok(())
    }

    fn add_data(&mut self, value: &[u8]) -> Result<(), TooLong> {
        if self.data.len() + value.len() > self.cap {
            return Err(TooLong);
        }
        if std::mem::replace(&mut self.has_data, true) {
            self.data.push('\n');
        }
        let text = String::from_utf8_lossy(value);
        self.lossy |= matches!(text, std::borrow::Cow::Owned(_));
        self.data.push_str(&text);
        Ok(())
    }

    fn dispatch(&mut self) {
        let event = Event {
            name: std::mem::take(&mut self.name),
            data: std::mem::take(&mut self.data),
            lossy: std::mem::take(&mut self.lossy),
        };
        // Without a data field there is no event, only a name that is forgotten. An empty one
        // is no event either: the standard tests the buffer for emptiness.
        if std::mem::take(&mut self.has_data) && !event.data.is_empty() {
            self.ready.push_back(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(pieces: &[&[u8]]) -> Vec<(String, String)> {
        let mut decoder = SseDecoder::new(1 << 20);
        for piece in pieces {
            decoder.feed(piece).unwrap();
        }
        std::iter::from_fn(|| decoder.pop()).map(|event| (event.name, event.data)).collect()
    }

    fn check(input: &str, want: &[(&str, &str)]) {
        let want: Vec<(String, String)> =
            want.iter().map(|(name, data)| ((*name).to_owned(), (*data).to_owned())).collect();
        assert_eq!(decode(&[input.as_bytes()]), want, "{input:?}");
        // The same at every single split, and byte by byte.
        for at in 0..=input.len() {
            let (head, tail) = input.as_bytes().split_at(at);
            assert_eq!(decode(&[head, tail]), want, "{input:?} split at {at}");
        }
        let bytes: Vec<&[u8]> = input.as_bytes().chunks(1).collect();
        assert_eq!(decode(&bytes), want, "{input:?} byte by byte");
    }

    #[test]
    fn n22_everything_the_standard_allows() {
        check("data: a\n\n", &[("", "a")]);
        check("data: a\r\n\r\ndata: b\r\n\r\n", &[("", "a"), ("", "b")]);
        check("data: a\r\ndata: b\r\n\r\n", &[("", "a\nb")]);
        check("data: a\r\rdata: b\r\r", &[("", "a"), ("", "b")]);
        check("data: a\r\n\rdata: b\n\r\n", &[("", "a"), ("", "b")]);
        check(":ping\n\n: ping\n\ndata: a\n\n", &[("", "a")]);
        check("data: a\ndata: b\ndata\n\n", &[("", "a\nb\n")]);
        check("data:a\ndata:  b\n\n", &[("", "a\n b")]);
        check("event: delta\ndata: a\n\ndata: b\n\n", &[("delta", "a"), ("", "b")]);
        check("event: lost\n\ndata: a\n\n", &[("", "a")]);
        check("\u{feff}data: a\n\n", &[("", "a")]);
        check("\u{feff}\u{feff}data: a\n\n", &[]);
        check("id: 1\nretry: 10\nunknown: x\ndata: a: b\n\n", &[("", "a: b")]);
        check("data: 目录 👩\n\n", &[("", "目录 👩")]);
    }

    #[test]
    fn what_does_not_end_is_never_given() {
        check("data: a", &[]);
        check("data: a\n", &[]);
        check("data\n\n", &[]);
        check("", &[]);
    }

    #[test]
    fn n24_what_is_not_utf8_is_replaced_and_said() {
        let mut decoder = SseDecoder::new(100);
        decoder.feed(b"data: a\xffb\n\ndata: c\n\n").unwrap();
        let event = decoder.pop().unwrap();
        assert_eq!((event.data.as_str(), event.lossy), ("a\u{fffd}b", true));
        assert!(!decoder.pop().unwrap().lossy);
    }

    #[test]
    fn n25_lines_and_events_are_capped() {
        let mut decoder = SseDecoder::new(10);
        assert_eq!(decoder.feed(b"data: 12345678"), Err(TooLong));
        let mut decoder = SseDecoder::new(10);
        let many = b"data:1234\n".repeat(3);
        assert_eq!(decoder.feed(&many), Err(TooLong));
        let mut decoder = SseDecoder::new(10);
        assert_eq!(decoder.feed(b"data:12345\n\ndata:12345\n\n"), Ok(()));
    }
}
