//! Things outside the sandbox that tell whether something got out.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;

use super::shell::Lab;

/// Things outside that no command may touch.
pub struct Canaries {
    pub tcp: TcpListener,
    pub udp: UdpSocket,
    pub unix: UnixListener,
    pub files: Vec<(std::path::PathBuf, Vec<u8>)>,
}

impl Canaries {
    pub fn around(lab: &Lab) -> Self {
        let root = lab.root();
        let files =
            ["user/.ssh/id_ed25519", "user/.bashrc", "sibling/notes.txt", "ours/config.toml"];
        let files = files.map(|name| {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "CANARY-FILE\n").unwrap();
            (path, b"CANARY-FILE\n".to_vec())
        });
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let unix = UnixListener::bind(root.join("sibling/socket")).unwrap();
        tcp.set_nonblocking(true).unwrap();
        udp.set_nonblocking(true).unwrap();
        unix.set_nonblocking(true).unwrap();
        Self { tcp, udp, unix, files: files.into() }
    }

    #[track_caller]
    pub fn are_untouched(&self, what: &str) {
        for (path, content) in &self.files {
            let now = std::fs::read(path).unwrap_or_default();
            assert_eq!(now, *content, "{what} changed {}", path.display());
        }
        assert!(self.tcp.accept().is_err(), "{what} connected over TCP");
        assert!(self.udp.recv(&mut [0; 16]).is_err(), "{what} sent over UDP");
        assert!(self.unix.accept().is_err(), "{what} connected to a Unix socket");
    }
}
