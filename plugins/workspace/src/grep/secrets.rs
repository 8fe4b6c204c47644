//! Names of files that hold secrets, so that a search never shows a key that nobody asked for.

/// Whether a file of this name is left out. `read_file` still reads it, if the host lets it.
pub(super) fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let env = name.strip_prefix(".env").is_some_and(|rest| {
        rest.is_empty()
            || rest.starts_with('.')
                && !matches!(rest, ".example" | ".sample" | ".template" | ".dist")
    });
    // `id_ed25519` is a key; `id_map.rs` is not.
    let key = name.starts_with("id_") && !name.contains('.');
    env || key || name.strip_suffix(".pem").is_some() || name.starts_with("credentials")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f64_secrets_are_told_by_name() {
        for name in [
            ".env",
            ".env.local",
            ".ENV",
            "server.pem",
            "id_rsa",
            "credentials",
            "credentials.json",
        ] {
            assert!(looks_secret(name), "{name}");
        }
        for name in [".env.example", ".envrc", "id_map.rs", "pem.rs", "environment", "rapid_rsa"] {
            assert!(!looks_secret(name), "{name}");
        }
    }
}
