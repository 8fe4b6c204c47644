//! Places in a workdir that no tool may write, because a program of the user acts on them later
//! with the user's rights: hooks of the version control, settings of shells and editors, our own.
//!
//! Judged are paths relative to a granted directory. Reading is allowed, writing is not, whatever
//! the depth, the case of letters, or whether the thing exists yet.

use std::borrow::Cow;

/// What stands under protection, each with everything below it. `*` is any one name.
const PLACES: &[&[&str]] = &[
    &[".git", "config"],
    &[".git", "config.worktree"],
    &[".git", "hooks"],
    &[".git", "info"],
    &[".git", "commondir"],
    &[".git", "modules", "*", "config"],
    &[".git", "modules", "*", "hooks"],
    &[".git", "worktrees", "*", "config.worktree"],
    &[".gitmodules"],
    &[".gitconfig"],
    &[".claw"],
    &[".envrc"],
    &[".mcp.json"],
    &[".vscode"],
    &[".idea"],
    &[".bashrc"],
    &[".bash_profile"],
    &[".profile"],
    &[".zshrc"],
    &[".zprofile"],
    &[".ripgreprc"],
    &[".cargo", "config.toml"],
    &[".cargo", "config"],
];

/// The protected place that `path` is or lies below, in its plain spelling.
///
/// `path` is relative, its parts joined by `/`, with `.` and `..` resolved.
pub fn protected(path: &str) -> Option<String> {
    // Nearly every path has no part that could be one of the names; this is the common way out.
    if !path.split('/').any(suspicious) {
        return None;
    }
    let parts: Vec<String> = path.split('/').map(|part| fold(part).into_owned()).collect();
    (0..parts.len()).find_map(|start| {
        PLACES.iter().find(|place| begins_with(&parts[start..], place)).map(|place| place.join("/"))
    })
}

/// Whether `path` is a folder above a protected place. To rename such a folder, or to put
/// something else in its stead, would change what is protected without touching it.
pub fn holds_protected(path: &str) -> bool {
    if !path.split('/').any(suspicious) {
        return false;
    }
    let parts: Vec<String> = path.split('/').map(|part| fold(part).into_owned()).collect();
    (0..parts.len()).any(|start| {
        let tail = &parts[start..];
        PLACES
            .iter()
            .any(|place| tail.len() < place.len() && begins_with(tail, &place[..tail.len()]))
    })
}

fn begins_with(parts: &[String], place: &[&str]) -> bool {
    parts.len() >= place.len()
        && parts.iter().zip(place).all(|(part, want)| *want == "*" || same_name(part, want))
}

/// Every protected chain begins with a name that starts with a dot, or with a disguise of one:
/// a short name with `~`, or a character outside ASCII that some file systems drop.
fn suspicious(part: &str) -> bool {
    part.starts_with('.') || part.contains('~') || !part.is_ascii()
}

/// The name as the laxest file system would compare it: letters of one case, nothing invisible
/// (HFS+ drops such characters), no trailing dots and blanks and no stream name (NTFS).
fn fold(part: &str) -> Cow<'_, str> {
    let trimmed = part.split(':').next().unwrap_or(part).trim_end_matches(['.', ' ']);
    // `.` and `..` never reach this; a name of dots alone is left as it is.
    let part = if trimmed.is_empty() { part } else { trimmed };
    if part.bytes().all(|b| b.is_ascii() && !b.is_ascii_uppercase()) {
        return Cow::Borrowed(part);
    }
    let visible = part.chars().filter(|c| !ignorable(*c));
    // Up and down again: some letters have an ASCII form only in the other case, such as the
    // long s and the Kelvin sign.
    Cow::Owned(visible.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect())
}

fn ignorable(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

fn same_name(folded: &str, name: &str) -> bool {
    folded == name || short_name_of(folded, name)
}

/// Whether `candidate` is a DOS short name (8.3) that Windows could have given to `name`: up to
/// six letters, `~`, a digit, and the first three letters of the extension.
fn short_name_of(candidate: &str, name: &str) -> bool {
    let Some((base, rest)) = candidate.split_once('~') else { return false };
    let (number, extension) = rest.split_once('.').unwrap_or((rest, ""));
    let plain = name.trim_start_matches('.');
    let (stem, suffix) = plain.rsplit_once('.').unwrap_or((plain, ""));
    let letters = |text: &str, most: usize| -> String {
        text.chars().filter(|c| !matches!(c, '.' | ' ')).take(most).collect()
    };
    !number.is_empty()
        && number.bytes().all(|b| b.is_ascii_digit())
        && !base.is_empty()
        && letters(stem, 6).starts_with(base)
        && extension == letters(suffix, 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f24_protected_by_every_spelling() {
        for (path, place) in [
            (".git/config", ".git/config"),
            (".git/hooks/pre-commit", ".git/hooks"),
            (".GIT/config", ".git/config"),
            (".git /config", ".git/config"),
            (".git./hooks", ".git/hooks"),
            (".git::$INDEX_ALLOCATION/config", ".git/config"),
            (".g\u{200c}it/config", ".git/config"),
            ("GIT~1/config", ".git/config"),
            ("git~2/HOOKS/x", ".git/hooks"),
            (".git/hoo\u{212a}s/x", ".git/hooks"),
            (".v\u{17f}code/settings.json", ".vscode"),
            ("deep/down/.git/hooks/x", ".git/hooks"),
            (".git/modules/lib/hooks/post-checkout", ".git/modules/*/hooks"),
            (".claw/config.toml", ".claw"),
            ("sub/.envrc", ".envrc"),
            ("MCP~1.JSO", ".mcp.json"),
            (".Cargo/Config.toml", ".cargo/config.toml"),
            (".bash_profile", ".bash_profile"),
        ] {
            assert_eq!(protected(path).as_deref(), Some(place), "{path:?}");
        }
    }

    #[test]
    fn what_only_looks_alike_is_free() {
        for path in [
            "a.txt",
            ".gitignore",
            ".github/workflows/ci.yml",
            "git/config",
            ".git/objects/ab/cd",
            ".git/HEAD",
            "config",
            "hooks/x",
            ".cargo/registry",
            ".env",
            "x~1",
            "目录/文件.txt",
            ".gitattributes",
            ".vscodes",
            "notes.git/config",
        ] {
            assert_eq!(protected(path), None, "{path:?}");
        }
    }

    #[test]
    fn folders_above_a_protected_place_are_known() {
        for path in [".git", "sub/.GIT", ".cargo", ".git/modules", ".git/modules/lib"] {
            assert!(holds_protected(path), "{path}");
        }
        for path in ["git", ".git/objects", ".git/hooks/x", ".claw", "a/b"] {
            assert!(!holds_protected(path), "{path}");
        }
    }
}
