//! A model service on this machine that answers exactly the bytes it is told to, and keeps what it
//! was asked. It plays one [`Play`] for each request, in order, and the last one for all further
//! requests; it splits, delays, cuts and resets on order.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of it")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// One request, as it came.
#[derive(Debug, Clone)]
pub struct Recorded {
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub at: Instant,
    /// The number of its connection, from 0.
    pub connection: usize,
}

impl Recorded {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("the request's body is JSON")
    }
}

#[derive(Debug, Clone)]
enum Act {
    Send(Vec<u8>),
    /// The bytes over and over, until the client has gone.
    Flood(Vec<u8>),
    Pause(Duration),
    /// An orderly end of the connection.
    Close,
    /// An end by a reset packet.
    Reset,
}

/// What is done about one request.
#[derive(Debug, Clone, Default)]
pub struct Play {
    acts: Vec<Act>,
    /// The size of the pieces in which bytes are sent; 0 for all at once.
    piece: usize,
}

impl Play {
    /// Nothing yet: add [`Play::send`] and its like.
    pub fn new() -> Self {
        Self::default()
    }

    /// A whole answer with its length.
    pub fn answer(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Self {
        let mut head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            head.extend([name, ": ", value, "\r\n"]);
        }
        head.push_str("\r\n");
        Self::new().send(head.as_bytes()).send(body)
    }

    pub fn json(status: u16, body: &str) -> Self {
        Self::answer(status, &[("content-type", "application/json")], body.as_bytes())
    }

    /// A stream of server-sent events, one for each of `data`, chunked and properly ended.
    pub fn events(data: &[&str]) -> Self {
        Self::stream(&sse(data))
    }

    /// The same from bytes of a stream as they stand.
    pub fn stream(body: &[u8]) -> Self {
        Self::open_stream(body).send(b"0\r\n\r\n")
    }

    /// The same without its end: more may follow, or not.
    pub fn open_stream(body: &[u8]) -> Self {
        Self::new()
            .send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            .chunk(body)
    }

    #[must_use]
    pub fn send(mut self, bytes: &[u8]) -> Self {
        self.acts.push(Act::Send(bytes.to_vec()));
        self
    }

    /// Bytes as one chunk of a chunked body.
    #[must_use]
    pub fn chunk(self, bytes: &[u8]) -> Self {
        let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
        framed.extend_from_slice(bytes);
        framed.extend_from_slice(b"\r\n");
        self.send(&framed)
    }

    #[must_use]
    pub fn flood(mut self, bytes: &[u8]) -> Self {
        self.acts.push(Act::Flood(bytes.to_vec()));
        self
    }

    #[must_use]
    pub fn pause(mut self, time: Duration) -> Self {
        self.acts.push(Act::Pause(time));
        self
    }

    #[must_use]
    pub fn close(mut self) -> Self {
        self.acts.push(Act::Close);
        self
    }

    #[must_use]
    pub fn reset(mut self) -> Self {
        // What was sent before must have arrived: a reset overtakes it.
        self.acts.push(Act::Pause(Duration::from_millis(30)));
        self.acts.push(Act::Reset);
        self
    }

    /// Sends everything in pieces of `size` bytes, each a packet of its own.
    #[must_use]
    pub fn in_pieces(mut self, size: usize) -> Self {
        self.piece = size;
        self
    }
}

/// Server-sent events, one for each of `data`.
pub fn sse(data: &[&str]) -> Vec<u8> {
    data.iter().flat_map(|data| format!("data: {data}\n\n").into_bytes()).collect()
}

/// A running server; it ends with the process.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Recorded>>>,
}

impl ModelServer {
    pub fn start(plays: Vec<Play>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("its address");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let stage =
            Arc::new(Stage { plays, next: AtomicUsize::new(0), requests: Arc::clone(&requests) });
        std::thread::spawn(move || {
            for (connection, stream) in listener.incoming().enumerate() {
                let Ok(stream) = stream else { return };
                let stage = Arc::clone(&stage);
                // A client that goes away ends its connection's thread with an error, as it should.
                std::thread::spawn(move || stage.serve(stream, connection));
            }
        });
        Self { address, requests }
    }

    /// `http://127.0.0.1:PORT/v1`
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What was asked so far.
    pub fn requests(&self) -> Vec<Recorded> {
        self.requests.lock().expect("no thread panicked").clone()
    }
}

struct Stage {
    plays: Vec<Play>,
    next: AtomicUsize,
    requests: Arc<Mutex<Vec<Recorded>>>,
}

impl Stage {
    fn serve(&self, mut stream: TcpStream, connection: usize) -> std::io::Result<()> {
        stream.set_nodelay(true)?;
        loop {
            let Some(request) = read_request(&mut stream, connection)? else { return Ok(()) };
            self.requests.lock().expect("no thread panicked").push(request);
            let at = self.next.fetch_add(1, Ordering::SeqCst).min(self.plays.len() - 1);
            if !perform(&mut stream, &self.plays[at])? {
                return Ok(());
            }
        }
    }
}

/// Plays; false when the connection is to end.
fn perform(stream: &mut TcpStream, play: &Play) -> std::io::Result<bool> {
    // The last byte of the request waits unread. If the socket closes over it, the system sends a
    // reset; for any other end it is taken first.
    let mut last = [0];
    if !play.acts.iter().any(|act| matches!(act, Act::Reset)) {
        stream.read_exact(&mut last)?;
    }
    for act in &play.acts {
        match act {
            Act::Send(bytes) if play.piece > 0 => {
                for piece in bytes.chunks(play.piece) {
                    stream.write_all(piece)?;
                }
            }
            Act::Send(bytes) => stream.write_all(bytes)?,
            Act::Flood(bytes) => loop {
                stream.write_all(bytes)?;
            },
            Act::Pause(time) => std::thread::sleep(*time),
            Act::Close | Act::Reset => return Ok(false),
        }
    }
    Ok(true)
}

/// Reads a request, all but the last byte of its body, which is only looked at.
fn read_request(stream: &mut TcpStream, connection: usize) -> std::io::Result<Option<Recorded>> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte)? == 0 {
            return Ok(None);
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut lines = head.lines();
    let mut words = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .and_then(|(_, value)| value.parse::<usize>().ok())
        .unwrap_or(0);
    assert!(length > 0, "every request to a model has a body");
    let mut body = vec![0; length - 1];
    stream.read_exact(&mut body)?;
    stream.peek(&mut byte)?;
    body.push(byte[0]);
    Ok(Some(Recorded { method, target, headers, body, at: Instant::now(), connection }))
}
