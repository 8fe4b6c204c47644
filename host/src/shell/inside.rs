//! Whether a path operand stays inside the workdir: by its text, and in the real tree.

use std::path::{Component, Path};

use super::tree::{Place, Tree};
use crate::text::escape_line;

/// Judges `operand` as a program would resolve it in `cwd`, a directory below the workdir given
/// relative to it. `Err` says why not.
pub(super) fn path_inside(operand: &str, cwd: &Path, tree: &dyn Tree) -> Result<(), String> {
    let shown = || escape_line(operand);
    if operand.is_empty() {
        return Err("an empty path names nothing".into());
    }
    // A lone dash is standard input.
    if operand == "-" {
        return Ok(());
    }
    if operand.starts_with('~') {
        return Err(format!("`{}` may be read as a home directory", shown()));
    }
    if operand.starts_with('@') {
        return Err(format!("`{}` may be read as a file of further arguments", shown()));
    }
    if hides_path(operand) {
        return Err(format!("`{}` holds a path that leads out of the workdir", shown()));
    }
    let Some(relative) = below_root(operand, cwd, tree.root()) else {
        return Err(format!("`{}` is outside the workdir", shown()));
    };
    if !stays_inside(&relative) {
        return Err(format!("`{}` leads out of the workdir", shown()));
    }
    match tree.place(&relative) {
        Place::Here(real) => match tree.guarded(&real) {
            Some(why) => Err(format!("`{}`: {why}", shown())),
            None => Ok(()),
        },
        // What `..` leads to depends on what stands before it once that exists.
        Place::Absent if relative.components().any(|c| c == Component::ParentDir) => {
            Err(format!("`{}` goes back from something that does not exist", shown()))
        }
        Place::Absent => Ok(()),
        Place::Outside => Err(format!("`{}` leads out of the workdir through a link", shown())),
    }
}

/// The path relative to the workdir, not yet simplified: `a/link/..` keeps its meaning.
pub(super) fn below_root(operand: &str, cwd: &Path, root: &Path) -> Option<std::path::PathBuf> {
    let path = Path::new(operand);
    if path.is_absolute() {
        return path.strip_prefix(root).ok().map(Path::to_path_buf);
    }
    Some(cwd.join(path))
}

/// No prefix of the path climbs above its start.
pub(super) fn stays_inside(path: &Path) -> bool {
    let mut depth = 0_usize;
    for component in path.components() {
        match component {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    true
}

/// Programs find paths behind signs too: `@file`, `if=file`, `host:file`, `a,b`. None of these
/// parts may be absolute, a home directory or climb.
fn hides_path(operand: &str) -> bool {
    let mut parts = operand.split(['@', '=', ':', ',']);
    // The first part is the operand's own beginning, which is judged as a path of its own.
    parts.next();
    parts.any(|part| part.starts_with(['/', '~']) || part.split('/').any(|c| c == ".."))
}
