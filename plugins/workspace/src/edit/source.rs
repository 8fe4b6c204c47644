//! The text of the file that is edited, and the way back to its bytes.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use clawhold_sdk::failure::failure;
use clawhold_sdk::{Failure, FailureCode};

use crate::decode::{self, Charset};
use crate::{fault, kind, names::shown};

/// The largest file that is edited.
const MAX: u64 = 16 << 20;

/// A file as text.
#[derive(Debug)]
pub(super) struct Source {
    /// Without a byte order mark. UTF-8 as it is in the file, bad bytes included; other encodings
    /// decoded.
    pub(super) text: Vec<u8>,
    bom: Vec<u8>,
    charset: Charset,
}

impl Source {
    /// Reads a file, and refuses what an edit could not write back unharmed.
    pub(super) fn load(path: &str, target: &Path) -> Result<Self, Failure> {
        let told = |error| fault::io("edit", path, &error);
        let mut bytes = Vec::with_capacity(4096);
        let file = File::open(target).map_err(told)?;
        file.take(MAX + 1).read_to_end(&mut bytes).map_err(told)?;
        let name = shown(path);
        if bytes.len() as u64 > MAX {
            return Err(failure(
                FailureCode::TooLarge,
                format!("`{name}` is larger than the {} MiB that edit_file takes", MAX >> 20),
            )
            .hint("change it with a command-line program such as sed"));
        }
        let charset = decode::detect(&bytes);
        let unsupported = |message| Err(failure(FailureCode::Unsupported, message));
        if !charset.lines_are_bytes() {
            return unsupported(format!(
                "`{name}` is {}, which edit_file does not change",
                charset.name()
            ))
            .map_err(|failure: Failure| {
                failure.hint("read it, then write the whole with write_file, which makes it UTF-8")
            });
        }
        if memchr::memchr(0, &bytes).is_some() {
            return unsupported(format!("`{name}` is not text: {}", kind::with_nul(&bytes)))
                .map_err(|failure: Failure| failure.hint("edit_file changes text files only"));
        }
        if matches!(charset, Charset::Utf8 { .. }) {
            let text = bytes.split_off(charset.bom_len(&bytes));
            return Ok(Self { text, bom: bytes, charset });
        }
        let (text, _) = decode::decode(&bytes, charset);
        if decode::encode(&text, charset).as_ref() != Ok(&bytes) {
            return unsupported(format!(
                "`{name}` looks like {} but does not read as such without loss",
                charset.name()
            ))
            .map_err(|failure: Failure| {
                failure.hint("its encoding is unknown here; tell the user")
            });
        }
        Ok(Self { text: text.into_owned().into_bytes(), bom: Vec::new(), charset })
    }

    /// The bytes for the file.
    pub(super) fn to_bytes(&self, path: &str, text: &[u8]) -> Result<Vec<u8>, Failure> {
        if matches!(self.charset, Charset::Utf8 { .. }) {
            return Ok([&self.bom, text].concat());
        }
        decode::encode(&String::from_utf8_lossy(text), self.charset).map_err(|c| {
            failure(
                FailureCode::Unsupported,
                format!(
                    "`{}` is {}, which has no `{c}`; nothing was changed",
                    shown(path),
                    self.charset.name()
                ),
            )
            .hint("write it without that character, or rewrite the file in UTF-8 with write_file")
        })
    }

    /// Refuses to write U+FFFD where it stands for bytes that could not be shown.
    pub(super) fn refuse_lost(&self, new: &[u8], old: &[u8]) -> Result<(), Failure> {
        let lost = memchr::memmem::Finder::new("\u{fffd}");
        if matches!(self.charset, Charset::Utf8 { clean: false, .. })
            && lost.find(new).is_some()
            && lost.find(old).is_none()
        {
            return Err(failure(
                FailureCode::InvalidArguments,
                "`new_text` holds U+FFFD, which stands for bytes of the file that are not UTF-8",
            )
            .hint("edit around those bytes"));
        }
        Ok(())
    }

    /// What the caller should know about the encoding.
    pub(super) fn note(&self) -> Option<String> {
        match self.charset {
            Charset::Utf8 { clean: true, .. } => None,
            Charset::Utf8 { .. } => Some("bytes that are not UTF-8 were kept".to_owned()),
            other => Some(format!("the file stays {}", other.name())),
        }
    }
}
