//! A web server on this machine that answers exactly the bytes it is told to, plain or encrypted,
//! and keeps what it was asked.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// One request, as it came.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    pub method: String,
    pub target: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// Bytes of body, framing included where it was chunked.
    pub body: usize,
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

#[derive(Debug, Clone)]
pub enum Step {
    Send(Vec<u8>),
    /// So many pieces of 64 KiB of this byte, or as many as the client takes.
    Flood(u8, usize),
    Pause(Duration),
    Close,
}

/// A whole answer with its length.
pub fn answer(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Vec<Step> {
    let mut bytes =
        format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len()).into_bytes();
    for (name, value) in headers {
        bytes.extend(format!("{name}: {value}\r\n").into_bytes());
    }
    bytes.extend(b"\r\n");
    bytes.extend(body);
    vec![Step::Send(bytes)]
}

pub fn redirect(status: u16, location: &str) -> Vec<Step> {
    answer(status, &[("location", location)], b"")
}

type Play = dyn Fn(&Asked) -> Vec<Step> + Send + Sync;

/// A running server; it ends with the process.
pub struct Web {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Web {
    pub fn start(play: impl Fn(&Asked) -> Vec<Step> + Send + Sync + 'static) -> Self {
        Self::run(Arc::new(play), None)
    }

    /// The same over TLS, as `127.0.0.1` under a certificate of the test authority.
    pub fn encrypted(play: impl Fn(&Asked) -> Vec<Step> + Send + Sync + 'static) -> Self {
        let chain =
            CertificateDer::from_pem_slice(include_bytes!("../provider_support/tls/good.pem"))
                .unwrap();
        let key =
            PrivateKeyDer::from_pem_slice(include_bytes!("../provider_support/tls/server.key"))
                .unwrap();
        let config = rustls::ServerConfig::builder_with_provider(Arc::new(
            rustls::crypto::ring::default_provider(),
        ))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![chain], key)
        .unwrap();
        Self::run(Arc::new(play), Some(Arc::new(config)))
    }

    pub fn place(&self) -> String {
        self.address.to_string()
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    fn run(play: Arc<Play>, tls: Option<Arc<rustls::ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                stream.set_nodelay(true).unwrap();
                let (play, log, tls) = (Arc::clone(&play), Arc::clone(&log), tls.clone());
                // A client that goes away ends its connection's thread with an error.
                std::thread::spawn(move || match tls {
                    None => serve(stream, &*play, &log),
                    Some(config) => {
                        let connection = rustls::ServerConnection::new(config).unwrap();
                        serve(rustls::StreamOwned::new(connection, stream), &*play, &log)
                    }
                });
            }
        });
        Self { address, asked }
    }
}

fn serve(
    mut stream: impl Read + Write,
    play: &Play,
    log: &Mutex<Vec<Asked>>,
) -> std::io::Result<()> {
    while let Some(asked) = read(&mut stream)? {
        log.lock().unwrap().push(asked.clone());
        for step in play(&asked) {
            match step {
                Step::Send(bytes) => stream.write_all(&bytes)?,
                Step::Flood(byte, pieces) => {
                    for _ in 0..pieces {
                        stream.write_all(&vec![byte; 64 << 10])?;
                    }
                }
                Step::Pause(time) => std::thread::sleep(time),
                Step::Close => return stream.flush(),
            }
            stream.flush()?;
        }
    }
    Ok(())
}

fn read(stream: &mut impl Read) -> std::io::Result<Option<Asked>> {
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
    let mut asked = Asked {
        method: words.next().unwrap_or_default(),
        target: words.next().unwrap_or_default(),
        ..Asked::default()
    };
    asked.headers = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    if let Some(length) = asked.header("content-length") {
        let mut left: usize = length.parse().unwrap();
        let mut piece = [0; 4096];
        while left > 0 {
            let most = left.min(piece.len());
            let got = stream.read(&mut piece[..most])?;
            if got == 0 {
                return Ok(None);
            }
            left -= got;
            asked.body += got;
        }
    } else if asked.header("transfer-encoding").is_some() {
        let mut end = Vec::new();
        while !end.ends_with(b"0\r\n\r\n") {
            if stream.read(&mut byte)? == 0 {
                return Ok(None);
            }
            asked.body += 1;
            end.push(byte[0]);
            if end.len() > 8 {
                end.remove(0);
            }
        }
    }
    Ok(Some(asked))
}
