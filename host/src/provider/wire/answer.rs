//! An answer's body, read into a reply.

use serde_json::Value;

use super::complaint::{Complaint, harmless, sample};
use super::dialect::{Assembler, AssemblyError, Draft, Flow, Framing};
use super::exchange::Answer;
use super::fault::Fault;
use super::lines::LineDecoder;
use super::sse::{Event, SseDecoder, TooLong};
use crate::provider::{Events, Scrubber};

/// Bytes of the beginning that are kept, to show them if they turn out to be something else.
const HEAD: usize = 1024;

/// Reads `answer` to the end of its reply.
pub(super) async fn read(
    answer: Answer,
    framing: Framing,
    line_cap: usize,
    mut assembler: Box<dyn Assembler>,
    show: Events<'_>,
    scrubber: &Scrubber,
) -> Result<Draft, Fault> {
    let Answer { mut body, media_type } = answer;
    let mut head: Vec<u8> = Vec::new();
    // How the body is cut: by its media type, else by how it begins. Until that is clear, what
    // has come waits in `pending`.
    let mut decoder = by_media_type(&media_type).map(|shape| shape.decoder(line_cap));
    let mut pending: Vec<u8> = Vec::new();
    let mut reading = Reading { assembler: &mut *assembler, show, lossy: false, events: 0 };

    while let Some(piece) = body.next().await? {
        let piece = piece.as_ref();
        head.extend_from_slice(&piece[..piece.len().min(HEAD.saturating_sub(head.len()))]);
        let flow = if let Some(decoder) = &mut decoder {
            reading.take(decoder, piece)
        } else {
            pending.extend_from_slice(piece);
            match by_beginning(&pending, framing) {
                Guess::Unclear => {
                    // White space says nothing, however much of it keeps the connection alive.
                    if pending.trim_ascii().is_empty() {
                        pending.clear();
                    }
                    Ok(Flow::More)
                }
                Guess::Shape(shape) => {
                    reading.take(decoder.insert(shape.decoder(line_cap)), &pending)
                }
                Guess::Foreign => return Err(foreign(&mut body, pending, scrubber).await),
            }
        };
        if flow.map_err(|wrong| wrong.into_fault(scrubber, line_cap))? == Flow::Done {
            body.settle().await?;
            return reading.finish(&head, scrubber);
        }
    }
    if let Some(decoder) = &mut decoder {
        reading.end(decoder).map_err(|wrong| wrong.into_fault(scrubber, line_cap))?;
    }
    reading.finish(&head, scrubber)
}

/// How a body is cut.
#[derive(Clone, Copy)]
enum Shape {
    Events,
    Lines,
    /// One JSON value, all of it.
    Whole,
}

enum Decoder {
    Events(SseDecoder),
    Lines(LineDecoder),
    Whole(Vec<u8>),
}

impl Shape {
    fn decoder(self, cap: usize) -> Decoder {
        match self {
            Self::Events => Decoder::Events(SseDecoder::new(cap)),
            Self::Lines => Decoder::Lines(LineDecoder::new(cap)),
            Self::Whole => Decoder::Whole(Vec::new()),
        }
    }
}

/// The types that are never wrong. Others are: some servers ignore that a stream was asked for,
/// some stream under the type of JSON, and some say no type at all.
fn by_media_type(media_type: &str) -> Option<Shape> {
    match media_type {
        "text/event-stream" => Some(Shape::Events),
        "application/x-ndjson" | "application/jsonl" => Some(Shape::Lines),
        _ => None,
    }
}

enum Guess {
    Unclear,
    Shape(Shape),
    Foreign,
}

fn by_beginning(head: &[u8], framing: Framing) -> Guess {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let fields: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];
    match (text.first(), framing) {
        (None, _) => Guess::Unclear,
        (Some(b'{'), Framing::Lines) => Guess::Shape(Shape::Lines),
        (Some(b'{' | b'['), Framing::Events) => Guess::Shape(Shape::Whole),
        _ if fields.iter().any(|field| text.starts_with(field)) => Guess::Shape(Shape::Events),
        // The beginning of a field name that is not all here yet.
        _ if fields.iter().any(|field| field.starts_with(text)) => Guess::Unclear,
        _ => Guess::Foreign,
    }
}

/// The fault of a body that is no reply at all.
async fn foreign(body: &mut super::body::Body, mut head: Vec<u8>, scrubber: &Scrubber) -> Fault {
    if head.len() < HEAD {
        head.extend(body.remains(HEAD).await);
    }
    Fault::Malformed { cause: beginning(&head, scrubber), again: false }
}

/// Scrubbed before it is cut: half a key would not be found any more.
fn beginning(head: &[u8], scrubber: &Scrubber) -> String {
    let text = scrubber.scrub(&String::from_utf8_lossy(head));
    let kind = if text.trim_start().starts_with('<') { "a web page" } else { "something else" };
    let cause = format!("{kind} came in place of the API's answer; it begins: {}", sample(&text));
    harmless(&cause, scrubber)
}

struct Reading<'a> {
    assembler: &'a mut dyn Assembler,
    show: Events<'a>,
    /// Some bytes were no UTF-8.
    lossy: bool,
    events: usize,
}

/// What can be wrong with a piece.
enum Wrong {
    TooLong,
    Assembly(AssemblyError),
}

impl Wrong {
    fn into_fault(self, scrubber: &Scrubber, line_cap: usize) -> Fault {
        match self {
            Self::TooLong => {
                let cause = format!("a line of it is longer than {line_cap} bytes");
                Fault::Malformed { cause, again: false }
            }
            Self::Assembly(error) => error.into_fault(scrubber),
        }
    }
}

impl Reading<'_> {
    fn take(&mut self, decoder: &mut Decoder, piece: &[u8]) -> Result<Flow, Wrong> {
        match decoder {
            Decoder::Events(events) => {
                events.feed(piece).map_err(|TooLong| Wrong::TooLong)?;
                while let Some(event) = events.pop() {
                    if self.event(&event)? == Flow::Done {
                        return Ok(Flow::Done);
                    }
                }
            }
            Decoder::Lines(lines) => {
                lines.feed(piece).map_err(|TooLong| Wrong::TooLong)?;
                while let Some(event) = lines.pop() {
                    if self.event(&event)? == Flow::Done {
                        return Ok(Flow::Done);
                    }
                }
            }
            // The cap on the whole body bounds this one.
            Decoder::Whole(bytes) => bytes.extend_from_slice(piece),
        }
        Ok(Flow::More)
    }

    /// The body ended as it should.
    fn end(&mut self, decoder: &mut Decoder) -> Result<(), Wrong> {
        match decoder {
            // An event without its empty line is not one (WHATWG HTML, section 9.2.6).
            Decoder::Events(_) => Ok(()),
            Decoder::Lines(lines) => match lines.last() {
                Some(event) => self.event(&event).map(|_| ()),
                None => Ok(()),
            },
            Decoder::Whole(bytes) => self.whole(bytes),
        }
    }

    fn event(&mut self, event: &Event) -> Result<Flow, Wrong> {
        self.events += 1;
        self.lossy |= event.lossy;
        self.assembler.event(event, self.show).map_err(Wrong::Assembly)
    }

    fn whole(&mut self, bytes: &[u8]) -> Result<(), Wrong> {
        self.events += 1;
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let reply: Value = match serde_json::from_slice(bytes) {
            Ok(reply) => reply,
            Err(cause) if cause.is_eof() => {
                return Err(Wrong::Assembly(AssemblyError::Cut(format!(
                    "the JSON ends early ({cause})"
                ))));
            }
            Err(cause) => {
                return Err(Wrong::Assembly(AssemblyError::Malformed(format!(
                    "it is not JSON ({cause})"
                ))));
            }
        };
        if reply.get("error").is_some_and(|error| !error.is_null())
            && let Some(complaint) = Complaint::of_json(&reply)
        {
            return Err(Wrong::Assembly(AssemblyError::Complaint(complaint)));
        }
        self.assembler.whole(&reply, self.show).map_err(Wrong::Assembly)
    }

    fn finish(self, head: &[u8], scrubber: &Scrubber) -> Result<Draft, Fault> {
        if self.events == 0 {
            if head.trim_ascii().is_empty() {
                return Err(Fault::malformed("an empty body"));
            }
            if matches!(by_beginning(head, Framing::Events), Guess::Shape(Shape::Events)) {
                return Err(Fault::cut("the stream ended before its first event was whole"));
            }
            return Err(Fault::malformed(beginning(head, scrubber)));
        }
        let draft = self.assembler.finish().map_err(|error| error.into_fault(scrubber))?;
        // Text with replaced characters can be read; a call with them would do something else
        // than what was meant.
        if self.lossy && !draft.calls.is_empty() {
            return Err(Fault::malformed("a reply with tool calls that is not UTF-8"));
        }
        Ok(draft)
    }
}
