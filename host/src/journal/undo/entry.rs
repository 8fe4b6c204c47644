//! The lines of the index.

use serde::{Deserialize, Serialize};

/// The version of the index's format. A reader refuses a newer one by name.
pub(super) const FORMAT: u32 = 1;

/// One line: `{"op":"keep","turn":3,"root":"/w","path":"a.rs","old":{"kind":"file",…}}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(super) enum Entry {
    /// Always the first line.
    Begin { format: u32 },
    /// How the path was before the turn changed it.
    Keep {
        turn: u32,
        #[serde(flatten)]
        at: At,
        old: State,
    },
    /// How a call left a path that was kept in the same turn. The last one counts.
    After {
        turn: u32,
        #[serde(flatten)]
        at: At,
        new: State,
    },
    /// An entry is about to move with all that it holds. The numbers identify it, since the
    /// move may never have happened.
    Move { turn: u32, from: At, to: At, dev: u64, ino: u64 },
    /// Something that the turn may have changed and that nobody looked at.
    Gap {
        turn: u32,
        #[serde(flatten)]
        at: At,
        why: String,
    },
    /// The turn undoes others. Written with `whole` unset when it begins, and once more with it
    /// set when nothing was left out.
    Undo { turn: u32, of: Vec<u32>, whole: bool },
}

impl Entry {
    /// 0 for the line that belongs to no turn.
    pub(super) fn turn(&self) -> u32 {
        match self {
            Self::Begin { .. } => 0,
            Self::Keep { turn, .. }
            | Self::After { turn, .. }
            | Self::Move { turn, .. }
            | Self::Gap { turn, .. }
            | Self::Undo { turn, .. } => *turn,
        }
    }
}

/// A path below a granted directory.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct At {
    pub root: String,
    pub path: String,
}

impl At {
    pub(super) fn new(root: &str, path: &str) -> Self {
        Self { root: root.to_owned(), path: path.to_owned() }
    }

    /// The absolute path: what identifies an entry, since granted directories may overlap.
    pub(super) fn absolute(&self) -> String {
        absolute(&self.root, &self.path)
    }

    /// Whether the path is one that the host would have written. The index is ours, but a line
    /// that leads elsewhere must not be followed whoever wrote it.
    pub(super) fn is_sound(&self) -> bool {
        std::path::Path::new(&self.root).is_absolute()
            && self.path.split('/').all(|part| !matches!(part, "" | "." | ".."))
            && !self.path.contains('\0')
    }
}

pub(super) fn absolute(root: &str, path: &str) -> String {
    format!("{}/{path}", root.trim_end_matches('/'))
}

/// What is below `above`, or nothing when `path` is not below it; empty for the same path.
pub(super) fn below<'a>(path: &'a str, above: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(above)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// How an entry is or was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum State {
    Absent,
    File(FileState),
    Dir {
        mode: u32,
        ino: u64,
        /// When it was made, in nanoseconds since 1970, where the system tells: inodes are used
        /// again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        born: Option<i64>,
    },
    Symlink {
        target: String,
    },
    /// A device, a socket and the like, which nothing can bring back.
    Other {
        what: String,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct FileState {
    pub size: u64,
    /// The twelve permission bits.
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    /// Nanoseconds since 1970.
    pub mtime: i64,
    pub ino: u64,
    /// SHA-256 in hexadecimal, for files up to the limit of hashing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Where the content is kept, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// Why it is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Content {
    /// At this offset of the pack.
    Pack(u64),
    /// In the file of this number.
    File(u64),
}

impl State {
    /// Whether both describe the same thing. Where both contents are hashed only those count;
    /// otherwise a file is the same if it is the same inode, untouched.
    pub(super) fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File(a), Self::File(b)) => {
                a.size == b.size
                    && a.mode == b.mode
                    && match (&a.hash, &b.hash) {
                        (Some(a), Some(b)) => a == b,
                        _ => a.mtime == b.mtime && a.ino == b.ino,
                    }
            }
            // A directory's own time changes with what it holds, which is judged by itself.
            (Self::Dir { .. }, Self::Dir { .. }) => true,
            (a, b) => a == b,
        }
    }

    /// Whether nothing happened to the entry between two looks, as far as its metadata tells.
    pub(super) fn untouched(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File(a), Self::File(b)) => {
                (a.size, a.mode, a.mtime, a.ino) == (b.size, b.mode, b.mtime, b.ino)
            }
            (a, b) => a.same(b),
        }
    }

    pub(super) fn is_dir(&self) -> bool {
        matches!(self, Self::Dir { .. })
    }
}
