//! Reading directories, lazily: a directory of any size costs the host one buffer.

use std::io;

use cap_std::fs::{FileType, ReadDir};
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorType, DirectoryEntry};

/// A directory being read.
pub(super) struct DirStream {
    entries: ReadDir,
}

impl DirStream {
    pub(super) fn new(dir: &cap_std::fs::Dir) -> io::Result<Self> {
        Ok(Self { entries: dir.entries()? })
    }

    /// The next entry. A name that is not UTF-8 is given with its odd bytes escaped as `\xff`, by
    /// which it can be opened again.
    pub(super) fn next(&mut self) -> io::Result<Option<DirectoryEntry>> {
        let Some(entry) = self.entries.next() else { return Ok(None) };
        let entry = entry?;
        // The kind comes with the name on most file systems, without another look.
        let type_ = entry.file_type().map_or(DescriptorType::Unknown, kind_of);
        let name = entry.file_name().into_string().unwrap_or_else(|raw| escape_bytes(&raw));
        Ok(Some(DirectoryEntry { type_, name }))
    }
}

pub(super) fn kind_of(kind: FileType) -> DescriptorType {
    if kind.is_file() {
        return DescriptorType::RegularFile;
    }
    if kind.is_dir() {
        return DescriptorType::Directory;
    }
    if kind.is_symlink() {
        return DescriptorType::SymbolicLink;
    }
    #[cfg(unix)]
    {
        use cap_std::fs::FileTypeExt;
        if kind.is_fifo() {
            return DescriptorType::Fifo;
        }
        if kind.is_socket() {
            return DescriptorType::Socket;
        }
        if kind.is_char_device() {
            return DescriptorType::CharacterDevice;
        }
        if kind.is_block_device() {
            return DescriptorType::BlockDevice;
        }
    }
    DescriptorType::Unknown
}

fn escape_bytes(name: &std::ffi::OsStr) -> String {
    use std::fmt::Write as _;

    let mut out = String::new();
    for chunk in name.as_encoded_bytes().utf8_chunks() {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    #[test]
    fn f37_a_name_that_is_not_utf8_is_escaped() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;

        assert_eq!(super::escape_bytes(OsStr::from_bytes(b"a\xff\xfeb")), "a\\xff\\xfeb");
    }
}
