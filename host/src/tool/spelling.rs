//! Names that Windows reads as something other than a file of that name.
//!
//! Source: "Naming Files, Paths, and Namespaces" of the Win32 documentation. The rules are pure
//! and tested everywhere; they are enforced where they hold.

/// Why Windows would not take `path` as the plain name of a file, if so.
pub fn windows_objection(path: &str) -> Option<String> {
    let slashed = path.replace('\\', "/");
    if slashed.starts_with("//") {
        // `\\?\`, `\\.\pipe\x` and `\\server\share` alike.
        return Some("it names a device, a pipe or another machine".into());
    }
    let bytes = slashed.as_bytes();
    if bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' {
        let rooted = bytes.get(2) == Some(&b'/');
        return if rooted {
            slashed[3..].split('/').find_map(component_objection)
        } else {
            Some("a drive letter without `\\` means whatever folder that drive is at".into())
        };
    }
    slashed.split('/').find_map(component_objection)
}

fn component_objection(name: &str) -> Option<String> {
    if matches!(name, "" | "." | "..") {
        return None;
    }
    if name.contains(':') {
        return Some(format!("`{name}` names an alternate stream of a file"));
    }
    if name.ends_with(['.', ' ']) {
        return Some(format!("`{name}` ends in a dot or a space, which Windows drops"));
    }
    // An extension does not help: `NUL.txt` is still the null device.
    let stem = name.split('.').next().unwrap_or(name).trim_end();
    is_device(stem).then(|| format!("`{name}` is the name of a device"))
}

fn is_device(stem: &str) -> bool {
    let upper = stem.to_ascii_uppercase();
    if matches!(upper.as_str(), "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$") {
        return true;
    }
    let port = upper.strip_prefix("COM").or_else(|| upper.strip_prefix("LPT"));
    // The superscripts one to three count as digits there; the others are refused with them.
    let digit = |c: char| {
        c.is_ascii_digit()
            || matches!(c, '\u{b9}' | '\u{b2}' | '\u{b3}' | '\u{2070}' | '\u{2074}'..='\u{2079}')
    };
    port.is_some_and(|rest| {
        let mut letters = rest.chars();
        letters.next().is_some_and(digit) && letters.next().is_none()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f40_spellings_that_windows_reads_otherwise() {
        for path in [
            "CON",
            "con",
            "NUL.txt",
            "a/NUL.tar.gz",
            "COM1",
            "COM¹",
            "LPT⁰",
            "LPT9.log",
            "aux .txt",
            "C:x",
            "C:",
            "\\\\?\\C:\\x",
            "\\\\.\\pipe\\x",
            "//server/share",
            "a.txt:ads",
            "a/b.txt::$DATA",
            "x.",
            "x ",
            "a /b",
            "a./b",
            "C:\\NUL",
            "CONIN$",
        ] {
            assert!(windows_objection(path).is_some(), "{path}");
        }
        for path in [
            "a.txt",
            "a/b c/d.e",
            "..",
            "./a",
            "../b",
            "console.rs",
            "COM",
            "COM10",
            "nullable",
            ".gitignore",
            "C:\\a\\b",
            "目录/文",
            "a\\b",
        ] {
            assert_eq!(windows_objection(path), None, "{path}");
        }
    }
}
