//! The ways in which an answer may spell a secret that it repeats.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE};

use crate::policy::SecretHeader;

/// Fewer characters of an encoded form than this could be anything.
const SHORTEST: usize = 8;

/// All spellings of the secrets that are looked for.
pub(super) fn all(secrets: &[SecretHeader]) -> Vec<Vec<u8>> {
    let mut forms: Vec<Vec<u8>> = secrets
        .iter()
        .flat_map(|secret| {
            let mut texts = vec![secret.secret().to_owned()];
            texts.extend(credentials(secret));
            texts
        })
        .flat_map(|secret| of(&secret))
        .filter(|form| form.len() >= SHORTEST)
        .map(String::into_bytes)
        .collect();
    forms.sort();
    forms.dedup();
    forms
}

/// What basic credentials (RFC 7617) hold: servers decode them, and may repeat what they found.
fn credentials(secret: &SecretHeader) -> Vec<String> {
    let decoded = STANDARD
        .decode(secret.secret())
        .or_else(|_| STANDARD_NO_PAD.decode(secret.secret()))
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok());
    let Some(pair) = decoded.filter(|_| secret.value().to_ascii_lowercase().starts_with("basic "))
    else {
        return Vec::new();
    };
    let password = pair.split_once(':').map(|(_, password)| password.to_owned());
    [pair].into_iter().chain(password).filter(|text| text.len() >= SHORTEST).collect()
}

fn of(secret: &str) -> Vec<String> {
    let mut forms = vec![secret.to_owned()];
    for upper in [true, false] {
        let percent = percent(secret, upper);
        // A form on a page writes a space as a plus sign.
        forms.push(percent.replace("%20", "+"));
        forms.push(percent);
        forms.push(hexadecimal(secret, upper));
    }
    let json = serde_json::Value::from(secret).to_string();
    let json = json[1..json.len() - 1].to_owned();
    forms.push(json.replace('/', "\\/"));
    forms.push(json);
    let page = secret.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    for quote in ["&#39;", "&#x27;", "&apos;"] {
        forms.push(page.replace('"', "&quot;").replace('\'', quote));
    }
    forms.extend(base64_cores(secret));
    forms
}

/// Percent-encoding (RFC 3986, section 2.1) of all but the unreserved characters.
fn percent(secret: &str, upper: bool) -> String {
    secret.bytes().fold(String::new(), |mut text, byte| {
        let written = match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                write!(text, "{}", char::from(byte))
            }
            _ if upper => write!(text, "%{byte:02X}"),
            _ => write!(text, "%{byte:02x}"),
        };
        debug_assert!(written.is_ok(), "a string takes everything");
        text
    })
}

fn hexadecimal(secret: &str, upper: bool) -> String {
    secret
        .bytes()
        .map(|byte| if upper { format!("{byte:02X}") } else { format!("{byte:02x}") })
        .collect()
}

/// The characters that the secret gives in base64 wherever it begins within a longer text: three
/// alignments, each without the characters at its ends that depend on the neighbours.
fn base64_cores(secret: &str) -> Vec<String> {
    let mut cores = Vec::new();
    for lead in 0..3_usize {
        let mut bytes = vec![0; lead];
        bytes.extend_from_slice(secret.as_bytes());
        let from = (lead * 8).div_ceil(6);
        let to = bytes.len() * 8 / 6;
        for engine in [&STANDARD, &URL_SAFE] {
            cores.push(engine.encode(&bytes)[from..to].to_owned());
        }
    }
    cores
}
