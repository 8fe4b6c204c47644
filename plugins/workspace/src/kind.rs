//! What a file that is not text holds, by its first bytes.

/// Signatures that no text begins with.
const SURE: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF87a", "GIF image"),
    (b"GIF89a", "GIF image"),
    (b"%PDF-", "PDF document"),
    (b"\x7fELF", "ELF program"),
    (b"\0asm", "WebAssembly module"),
    (b"PK\x03\x04", "zip archive"),
    (b"PK\x05\x06", "empty zip archive"),
    (b"\x1f\x8b", "gzip archive"),
    (b"\xfd7zXZ\0", "xz archive"),
    (b"\x28\xb5\x2f\xfd", "zstd archive"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip archive"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"\xca\xfe\xba\xbe", "Java class or Mach-O program"),
    (b"\xcf\xfa\xed\xfe", "Mach-O program"),
    (b"wOFF", "WOFF font"),
    (b"wOF2", "WOFF2 font"),
    (b"OggS", "Ogg media"),
];

/// Signatures that a text might begin with too: they only name what a NUL byte has given away.
const LIKELY: &[(&[u8], &str)] = &[
    (b"MZ", "Windows program"),
    (b"BM", "BMP image"),
    (b"BZh", "bzip2 archive"),
    (b"ID3", "MP3 audio"),
    (b"\0\0\x01\0", "icon"),
    (b"!<arch>", "static library"),
];

/// The kind of a file that is certainly not text.
pub fn sure(start: &[u8]) -> Option<&'static str> {
    let found = SURE.iter().find(|(sign, _)| start.starts_with(sign));
    if let Some((_, kind)) = found {
        return Some(kind);
    }
    match start {
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("WebP image"),
        [_, _, _, 0..=0x40, b'f', b't', b'y', b'p', ..] if start[0] == 0 => Some("MP4 media"),
        _ => None,
    }
}

/// The kind of a file that holds NUL bytes.
pub fn with_nul(start: &[u8]) -> &'static str {
    sure(start)
        .or_else(|| {
            let found = LIKELY.iter().find(|(sign, _)| start.starts_with(sign));
            found.map(|(_, kind)| *kind)
        })
        .or_else(|| (start.get(257..262) == Some(b"ustar")).then_some("tar archive"))
        .unwrap_or("binary data")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f55_kinds_are_named() {
        assert_eq!(sure(b"\x89PNG\r\n\x1a\n...."), Some("PNG image"));
        assert_eq!(sure(b"\x7fELF\x02\x01"), Some("ELF program"));
        assert_eq!(sure(b"RIFF\x10\0\0\0WEBPVP8 "), Some("WebP image"));
        assert_eq!(sure(b"MZ is how this text begins"), None);
        assert_eq!(with_nul(b"MZ\x90\0"), "Windows program");
        assert_eq!(with_nul(b"a\0b"), "binary data");
        let mut tar = vec![0; 512];
        tar[257..262].copy_from_slice(b"ustar");
        assert_eq!(with_nul(&tar), "tar archive");
    }
}
