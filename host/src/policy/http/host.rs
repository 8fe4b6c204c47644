//! The host and port of a URL, read so strictly that no two readers can understand it differently.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A host: a name in lower case, or an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Host {
    Name(String),
    Address(IpAddr),
}

impl Host {
    /// Whether it means this machine by its very spelling, whatever a name server says.
    pub fn is_loopback(&self) -> bool {
        match self {
            Self::Name(name) => name == "localhost",
            Self::Address(address) => address.is_loopback(),
        }
    }
}

impl std::fmt::Display for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// Reads `HOST` or `HOST:PORT`. The error says what is odd about it, for the end of a sentence.
pub(super) fn parse(authority: &str) -> Result<(Host, Option<u16>), &'static str> {
    if authority.is_empty() {
        return Err("it names no host");
    }
    if authority.contains('@') {
        return Err("a user name or password stands before the host");
    }
    if authority.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
        return Err("there is white space or a control character in the host");
    }
    if !authority.is_ascii() {
        return Err("the host has letters beyond ASCII; write it in its `xn--` form");
    }
    if let Some(rest) = authority.strip_prefix('[') {
        let (inner, after) =
            rest.split_once(']').ok_or("the bracket of the address is not closed")?;
        let port = match after.strip_prefix(':') {
            Some(port) => Some(parse_port(port)?),
            None if after.is_empty() => None,
            None => return Err("something other than a port follows the address"),
        };
        return Ok((Host::Address(parse_v6(inner)?), port));
    }
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, Some(parse_port(port)?)),
        None => (authority, None),
    };
    Ok((parse_name_or_v4(host)?, port))
}

fn parse_port(port: &str) -> Result<u16, &'static str> {
    let digits =
        !port.is_empty() && port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse::<u16>() {
        Ok(port) if digits && port > 0 => Ok(port),
        _ => Err("the port is no number from 1 to 65535"),
    }
}

fn parse_v6(text: &str) -> Result<IpAddr, &'static str> {
    let address: Ipv6Addr =
        text.parse().map_err(|_| "what stands in brackets is no IPv6 address")?;
    if address.to_ipv4_mapped().is_some() {
        return Err("it is an IPv4 address dressed as IPv6; write `a.b.c.d`");
    }
    Ok(IpAddr::V6(address))
}

fn parse_name_or_v4(host: &str) -> Result<Host, &'static str> {
    let name = host.to_ascii_lowercase();
    let last = name.rsplit('.').next().unwrap_or_default();
    // Programs read `127.1`, `0177.0.0.1`, `0x7f000001` and `2130706433` as addresses (WHATWG URL,
    // section 3.5, "ends in a number"). Four plain decimal numbers are the one form taken here.
    let numeric = !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit());
    let hexadecimal = last
        .strip_prefix("0x")
        .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if numeric || hexadecimal {
        return match name.parse::<Ipv4Addr>() {
            Ok(address) => Ok(Host::Address(IpAddr::V4(address))),
            Err(_) => Err(
                "it is an address in an unusual spelling; write `a.b.c.d` in plain decimal numbers",
            ),
        };
    }
    if name.len() > 253 {
        return Err("the host is longer than a name can be");
    }
    for label in name.split('.') {
        // An underscore is no letter of a host name, yet some are in use.
        let fine = (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
            && !label.starts_with('-')
            && !label.ends_with('-');
        if !fine {
            return Err(
                "the host is no plain name: letters, digits and hyphens between single dots",
            );
        }
    }
    Ok(Host::Name(name))
}

#[cfg(test)]
mod tests {
    use super::parse;

    fn shown(authority: &str) -> Result<String, &'static str> {
        parse(authority).map(|(host, port)| match port {
            Some(port) => format!("{host} {port}"),
            None => host.to_string(),
        })
    }

    #[test]
    fn plain_hosts_are_read() {
        let check =
            |authority: &str, expect: &str| assert_eq!(shown(authority).as_deref(), Ok(expect));
        check("Api.Example.COM", "api.example.com");
        check("api.example.com:8443", "api.example.com 8443");
        check("localhost:1", "localhost 1");
        check("127.0.0.1:8080", "127.0.0.1 8080");
        check("[::1]:80", "[::1] 80");
        check("xn--bcher-kva.example", "xn--bcher-kva.example");
        check("_srv.a1.example", "_srv.a1.example");
    }

    #[test]
    fn p22_whatever_could_be_read_in_two_ways_is_refused() {
        let check = |authority: &str, word: &str| {
            let got = shown(authority);
            assert!(matches!(got, Err(why) if why.contains(word)), "{authority:?}: {got:?}");
        };
        check("", "no host");
        check("ok@evil.example", "user name");
        check("ok:pw@evil.example", "user name");
        check("ok.com\0.evil.example", "control");
        check("ok.com\t", "control");
        check("ok.com /", "white space");
        check("ok.com%00.evil.example", "plain name");
        check("ok.com\\.evil.example", "plain name");
        check("ok.com/evil", "plain name");
        check("ok.com#evil", "plain name");
        check("ok.com?evil", "plain name");
        check("b\u{fc}cher.example", "ASCII");
        check("ok.com\u{3002}evil", "ASCII");
        check("ok.com.", "plain name");
        check("ok..com", "plain name");
        check("-ok.com", "plain name");
        check("2130706433", "spelling");
        check("0x7f000001", "spelling");
        check("0X7F.1", "spelling");
        check("0x", "spelling");
        check("0177.0.0.1", "spelling");
        check("127.1", "spelling");
        check("127.0.0.01", "spelling");
        check("1.2.3.4.5", "spelling");
        check("a.0x7f", "spelling");
        check("[::ffff:127.0.0.1]", "dressed");
        check("[::ffff:7f00:1]:80", "dressed");
        check("[fe80::1%eth0]", "no IPv6");
        check("[::1", "not closed");
        check("[::1]80", "port");
        check("::1", "port");
        check("a:", "port");
        check("a:0", "port");
        check("a:+80", "port");
        check("a:080808", "port");
        check("a:65536", "port");
        check(&format!("{}.example", "a".repeat(64)), "plain name");
        check(&["a".repeat(60).as_str(); 5].join("."), "longer");
    }
}
