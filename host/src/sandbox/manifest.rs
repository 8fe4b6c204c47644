//! Where a plugin's manifest stands: in the component, or beside it.

use std::path::{Path, PathBuf};

use crate::policy::{BadManifest, MAX_MANIFEST, Manifest};

use super::LoadError;

/// The name of the custom section that holds a manifest as JSON.
pub const MANIFEST_SECTION: &str = "clawhold:manifest";

/// A core module in a component, and a component in a component: ids of sections in
/// component-model `Binary.md`. A custom section is 0 in both layers.
const CUSTOM: u8 = 0;
const MODULE: u8 = 1;
const COMPONENT: u8 = 4;
/// Compilers put a section into the core module, which linkers then wrap once or twice.
const MAX_DEPTH: usize = 3;

/// The manifest within a component; none where it carries none. Two that differ are an error,
/// since either could be the one that was read by whoever approved it.
pub(super) fn embedded(wasm: &[u8]) -> Result<Option<Manifest>, LoadError> {
    let mut found = Vec::new();
    collect(wasm, 0, &mut found);
    found.dedup();
    let bad = |why| LoadError::Manifest { place: format!("its section `{MANIFEST_SECTION}`"), why };
    match found.as_slice() {
        [] => Ok(None),
        [one] => Manifest::from_json(one).map(Some).map_err(bad),
        _ => Err(bad(BadManifest::Wrong { why: "it carries several that differ".into() })),
    }
}

/// The file beside `NAME.wasm` that may declare for it.
pub fn side_car(wasm: &Path) -> PathBuf {
    wasm.with_extension("toml")
}

/// The manifest beside a component; none where there is no such file.
pub(super) fn beside(wasm: &Path) -> Result<Option<Manifest>, LoadError> {
    use std::io::Read as _;

    let path = side_car(wasm);
    let file = match std::fs::File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut bytes = Vec::new();
    file.take(MAX_MANIFEST as u64 + 1).read_to_end(&mut bytes)?;
    let place = format!("`{}`", path.display());
    Manifest::from_toml(&bytes).map(Some).map_err(|why| LoadError::Manifest { place, why })
}

/// Collects the bodies of the sections in question. What is malformed ends the search: the
/// compiler says what is wrong with it.
fn collect<'a>(wasm: &'a [u8], depth: usize, found: &mut Vec<&'a [u8]>) {
    let Some(mut rest) = wasm.get(8..) else { return };
    while let Some((id, after)) = rest.split_first() {
        let Some((body, next)) = sized(after) else { return };
        rest = next;
        match *id {
            CUSTOM => {
                if let Some((name, data)) = sized(body)
                    && name == MANIFEST_SECTION.as_bytes()
                {
                    found.push(data);
                }
            }
            MODULE | COMPONENT if depth < MAX_DEPTH && body.starts_with(b"\0asm") => {
                collect(body, depth + 1, found);
            }
            _ => {}
        }
    }
}

/// Bytes with their length before them, and what follows.
fn sized(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, bytes) = leb128(bytes)?;
    bytes.split_at_checked(usize::try_from(length).ok()?)
}

/// An unsigned number of at most 32 bits (WebAssembly core specification, 5.2.2).
fn leb128(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let mut value = 0_u32;
    for (at, byte) in bytes.iter().enumerate().take(5) {
        value |= u32::from(byte & 0x7f).checked_shl(7 * u32::try_from(at).ok()?)?;
        if byte & 0x80 == 0 {
            return Some((value, &bytes[at + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const HEAD: &[u8] = b"\0asm\x0d\0\x01\0";

    fn section(id: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![id];
        let mut length = body.len();
        while length >= 0x80 {
            bytes.push((length & 0x7f) as u8 | 0x80);
            length >>= 7;
        }
        bytes.push(length as u8);
        bytes.extend_from_slice(body);
        bytes
    }

    fn custom(json: &str) -> Vec<u8> {
        let mut body = vec![MANIFEST_SECTION.len() as u8];
        body.extend_from_slice(MANIFEST_SECTION.as_bytes());
        body.extend_from_slice(json.as_bytes());
        section(CUSTOM, &body)
    }

    #[test]
    fn a_manifest_is_found_at_any_depth() {
        let json = format!("{{\"name\":\"{}\"}}", "x".repeat(300));
        let core = [b"\0asm\x01\0\0\0".to_vec(), section(1, b"types"), custom(&json)].concat();
        let inner = [HEAD.to_vec(), section(MODULE, &core)].concat();
        for wasm in [
            [HEAD.to_vec(), section(7, b"x"), custom(&json)].concat(),
            [HEAD.to_vec(), section(MODULE, &core)].concat(),
            [HEAD.to_vec(), section(COMPONENT, &inner), custom(&json)].concat(),
        ] {
            assert_eq!(embedded(&wasm).unwrap().unwrap().name.unwrap().len(), 300);
        }
        assert!(embedded(&[HEAD.to_vec(), section(7, b"x")].concat()).unwrap().is_none());
    }

    #[test]
    fn what_is_wrong_is_an_error_and_what_is_broken_is_nothing() {
        let twice = [HEAD.to_vec(), custom("{}"), custom("{\"name\":\"b\"}")].concat();
        assert!(embedded(&twice).unwrap_err().to_string().contains("several"));
        let wrong = [HEAD.to_vec(), custom("{\"nmae\":\"b\"}")].concat();
        assert!(embedded(&wrong).unwrap_err().to_string().contains("did you mean `name`"));
        for broken in [
            &b""[..],
            HEAD,
            b"\0asm\x0d\0\x01\0\0\xff\xff\xff\xff\xff",
            b"\0asm\x0d\0\x01\0\0\x09x",
        ] {
            assert!(embedded(broken).unwrap().is_none());
        }
    }
}
