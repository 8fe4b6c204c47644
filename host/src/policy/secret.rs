//! Files that look as if they held secrets. They are the user's to show, so a tool reads them only
//! when the user has said so.

/// Whole names.
const NAMES: &[&str] = &[
    ".env",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".htpasswd",
    ".git-credentials",
    ".dockercfg",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "credentials",
    "secrets",
];
/// Beginnings of names, up to a dot.
const STEMS: &[&str] = &["credentials", "secrets", ".env"];
/// Endings.
const EXTENSIONS: &[&str] =
    &["pem", "key", "p12", "pfx", "keystore", "jks", "kdbx", "ppk", "asc", "gpg"];
/// What follows a stem in the files that are there to be shown.
const EXAMPLES: &[&str] = &["example", "sample", "template", "dist", "defaults"];
/// Programs and prose that are only named after secrets.
const HARMLESS: &[&str] =
    &["rs", "go", "py", "js", "ts", "c", "h", "java", "rb", "md", "html", "css"];

/// Whether the last part of `path` looks like a secret, whatever the case of its letters.
pub fn looks_secret(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    if EXAMPLES.contains(&extension) || HARMLESS.contains(&extension) {
        return false;
    }
    // Public halves of keys are public.
    if extension == "pub" {
        return false;
    }
    let stem = |stem: &&str| name.strip_prefix(*stem).is_some_and(|rest| rest.starts_with('.'));
    NAMES.contains(&name.as_str())
        || STEMS.iter().any(stem)
        || (name.starts_with("id_") && extension.is_empty())
        || (EXTENSIONS.contains(&extension) && name.len() > extension.len() + 1)
}

#[cfg(test)]
mod tests {
    use super::looks_secret;

    #[test]
    fn f64_names() {
        for name in [
            ".env",
            "a/.env",
            ".env.production",
            ".ENV",
            "server.pem",
            "tls.KEY",
            "id_rsa",
            "id_work",
            "credentials",
            "credentials.json",
            "secrets.yaml",
            ".netrc",
            ".npmrc",
            "store.p12",
        ] {
            assert!(looks_secret(name), "{name}");
        }
        for name in [
            ".env.example",
            "env",
            "environment.md",
            "id_rsa.pub",
            "credentials.rs",
            "secrets.py",
            "pem",
            ".pem",
            "keyboard.rs",
            "monkey",
            "ids.txt",
            "a.txt",
            "src/secret_store.rs",
            "id_map.txt",
        ] {
            assert!(!looks_secret(name), "{name}");
        }
    }
}
