//! What a file really is, from its first bytes: the commonest mistakes get their own words.

use thiserror::Error;

/// Why bytes are not a component. Each text says what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NotAComponent {
    #[error("the file is empty; copy it again")]
    Empty,
    #[error(
        "this is a core WebAssembly module, not a component; build for `wasm32-wasip2`, or turn it into one with `wasm-tools component new`"
    )]
    CoreModule,
    #[error(
        "this is a compiled artefact (`.cwasm`) of a WebAssembly engine, which is never loaded from outside; install the `.wasm` that it was made from"
    )]
    Compiled,
    #[error("this is WebAssembly in text form; turn it into a component with `wasm-tools parse`")]
    Text,
    #[error("this is a native program (ELF), not WebAssembly; build for `wasm32-wasip2`")]
    Elf,
    #[error("this is a zip archive, not WebAssembly; unpack it first")]
    Zip,
    #[error(
        "this is WebAssembly of a version that nobody knows; the file is damaged or from the future"
    )]
    UnknownVersion,
    #[error("this is not WebAssembly")]
    Unknown,
}

/// Says what is wrong with `bytes` unless they begin like a component. `compiled` tells whether
/// the engine knows them as its own artefact.
pub(super) fn expect_component(bytes: &[u8], compiled: bool) -> Result<(), NotAComponent> {
    if compiled {
        return Err(NotAComponent::Compiled);
    }
    Err(match bytes {
        [] => NotAComponent::Empty,
        // Version and layer, component-model `Binary.md`: layer 0 is a core module, 1 a component.
        [0, b'a', b's', b'm', _, _, 1, 0, ..] => return Ok(()),
        [0, b'a', b's', b'm', 1, 0, 0, 0, ..] => NotAComponent::CoreModule,
        [0, b'a', b's', b'm', ..] => NotAComponent::UnknownVersion,
        [0x7f, b'E', b'L', b'F', ..] => NotAComponent::Elf,
        [b'P', b'K', 3, 4, ..] => NotAComponent::Zip,
        _ if looks_like_text(bytes) => NotAComponent::Text,
        _ => NotAComponent::Unknown,
    })
}

/// The text formats begin with a parenthesis, after blanks and comments.
fn looks_like_text(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(4096)];
    let Ok(text) = std::str::from_utf8(head) else { return false };
    let first =
        text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with(";;"));
    first.is_some_and(|line| line.starts_with("(module") || line.starts_with("(component"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p30_each_kind_has_its_own_words() {
        let check = |bytes: &[u8], expect| assert_eq!(expect_component(bytes, false), expect);
        check(b"", Err(NotAComponent::Empty));
        check(b"\0", Err(NotAComponent::Unknown));
        check(b"\0asm\x01\0\0\0", Err(NotAComponent::CoreModule));
        check(b"\0asm\x0d\0\x01\0", Ok(()));
        check(b"\0asm\x63\0\0\0", Err(NotAComponent::UnknownVersion));
        check(b"\x7fELF\x02", Err(NotAComponent::Elf));
        check(b"PK\x03\x04", Err(NotAComponent::Zip));
        check(b";; a comment\n(component)", Err(NotAComponent::Text));
        check(b"hello", Err(NotAComponent::Unknown));
        assert_eq!(expect_component(b"\x7fELF", true), Err(NotAComponent::Compiled));
    }
}
