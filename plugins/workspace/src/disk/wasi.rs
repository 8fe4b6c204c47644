//! Reading by the calls of `wasi:filesystem`: open, read, read to the end, close.
//!
//! When one of them fails the standard library does the same again, for its errors have the kinds
//! that the rest of the crate goes by. It also serves paths that the working directory does not
//! hold, of which the host says what there is to say.

use std::cell::OnceCell;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};

use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{
    Descriptor, DescriptorFlags, DescriptorType, OpenFlags, PathFlags,
};

use super::Kind;
use crate::names;

thread_local! {
    /// The working directory.
    static ROOT: OnceCell<Option<Descriptor>> = const { OnceCell::new() };
}

fn open(path: &str, flags: OpenFlags) -> Option<Descriptor> {
    ROOT.with(|root| {
        root.get_or_init(|| {
            let mut all = get_directories().into_iter();
            all.find_map(|(descriptor, name)| (name == ".").then_some(descriptor))
        })
        .as_ref()?
        .open_at(PathFlags::SYMLINK_FOLLOW, path, flags, DescriptorFlags::READ)
        .ok()
    })
}

/// A file that is read from some byte on.
#[derive(Debug)]
pub struct File(Inner);

#[derive(Debug)]
enum Inner {
    Direct { descriptor: Descriptor, at: u64 },
    Standard(fs::File),
}

impl File {
    /// Opens a file, following links.
    pub fn open(path: &str) -> io::Result<Self> {
        match open(path, OpenFlags::empty()) {
            Some(descriptor) => Ok(Self(Inner::Direct { descriptor, at: 0 })),
            None => fs::File::open(path).map(|file| Self(Inner::Standard(file))),
        }
    }

    /// Goes on at `byte`.
    pub fn seek(&mut self, byte: u64) -> io::Result<()> {
        match &mut self.0 {
            Inner::Direct { at, .. } => {
                *at = byte;
                Ok(())
            }
            Inner::Standard(file) => file.seek(SeekFrom::Start(byte)).map(|_| ()),
        }
    }

    /// How large the file says it is. What can be read may be more or less.
    pub fn size(&self) -> io::Result<u64> {
        match &self.0 {
            Inner::Direct { descriptor, .. } => match descriptor.stat() {
                Ok(stat) => Ok(stat.size),
                Err(code) => Err(io::Error::other(code.message())),
            },
            Inner::Standard(file) => file.metadata().map(|metadata| metadata.len()),
        }
    }
}

impl Read for File {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Inner::Direct { descriptor, at } => match descriptor.read(into.len() as u64, *at) {
                Ok((bytes, _)) => {
                    // The host gives no more than it was asked for; a longer answer is cut.
                    let len = bytes.len().min(into.len());
                    into[..len].copy_from_slice(&bytes[..len]);
                    *at += len as u64;
                    Ok(len)
                }
                Err(wasip2::filesystem::types::ErrorCode::IsDirectory) => {
                    Err(io::ErrorKind::IsADirectory.into())
                }
                Err(code) => Err(io::Error::other(code.message())),
            },
            Inner::Standard(file) => file.read(into),
        }
    }
}

/// Hands each entry of a folder, in no order, to `take`.
pub fn entries(path: &str, mut take: impl FnMut(String, Kind)) -> io::Result<()> {
    let stream = open(path, OpenFlags::DIRECTORY).and_then(|folder| folder.read_directory().ok());
    let Some(stream) = stream else {
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let kind = entry.file_type().map_or(Kind::Special, Kind::of);
            take(names::text(&entry.file_name()).into_owned(), kind);
        }
        return Ok(());
    };
    loop {
        match stream.read_directory_entry() {
            Ok(Some(entry)) => {
                let kind = match entry.type_ {
                    DescriptorType::RegularFile => Kind::File,
                    DescriptorType::Directory => Kind::Folder,
                    DescriptorType::SymbolicLink => Kind::Link,
                    _ => Kind::Special,
                };
                take(entry.name, kind);
            }
            Ok(None) => return Ok(()),
            Err(code) => return Err(io::Error::other(code.message())),
        }
    }
}
