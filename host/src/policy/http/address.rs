//! Addresses that no name may lead to, unless the user granted them by their number.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What kind of place `address` is, if it is none of the public internet. An IPv4 address inside
/// an IPv6 one (mapped, compatible, NAT64, 6to4) is judged as what it would reach.
///
/// The ranges are those of the IANA registries for special purposes (RFC 6890 and its updates).
pub fn reserved_range(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => reserved_v4(address),
        IpAddr::V6(address) => match embedded(address) {
            Some(inner) => reserved_v4(inner),
            None => reserved_v6(address),
        },
    }
}

fn reserved_v4(address: Ipv4Addr) -> Option<&'static str> {
    let [a, b, c, _] = address.octets();
    match (a, b, c) {
        (0, ..) => Some("the unspecified network"),
        (127, ..) => Some("loopback: this machine itself"),
        (169, 254, _) => Some("link-local, where clouds keep their metadata"),
        (10, ..) | (172, 16..=31, _) | (192, 168, _) => Some("a private network"),
        (100, 64..=127, _) => Some("a carrier's own network"),
        (192, 0, 0) => Some("kept for protocols"),
        (192, 0, 2) | (198, 51, 100) | (203, 0, 113) => Some("kept for documentation"),
        (192, 88, 99) => Some("a relay to IPv6"),
        (198, 18..=19, _) => Some("kept for measurements"),
        (224..=239, ..) => Some("multicast"),
        (240..=255, ..) => Some("kept for later, or broadcast"),
        _ => None,
    }
}

fn reserved_v6(address: Ipv6Addr) -> Option<&'static str> {
    let [first, second, third, ..] = address.segments();
    if address.is_unspecified() {
        return Some("the unspecified address");
    }
    if address.is_loopback() {
        return Some("loopback: this machine itself");
    }
    match first {
        0xfe80..=0xfebf => Some("link-local"),
        0xfec0..=0xfeff | 0xfc00..=0xfdff => Some("a private network"),
        0xff00..=0xffff => Some("multicast"),
        // NAT64 of a network's own, where the length of the prefix is not known.
        0x64 if second == 0xff9b && third == 1 => Some("a translation into a private network"),
        // Teredo hides an address of a client, and what is below 2001:200 is kept for protocols.
        0x2001 if second < 0x200 || second == 0xdb8 => Some("kept for protocols or documentation"),
        0x3fff if second < 0x1000 => Some("kept for documentation"),
        // Only 2000::/3 is handed out as public so far.
        0x2000..=0x3fff => None,
        _ => Some("not handed out"),
    }
}

/// The IPv4 address that a packet to `address` ends up at.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => Some(joined(high, low)),
        // `::` and `::1` are addresses of IPv6 itself.
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 || low > 1 => Some(joined(high, low)),
        _ => None,
    }
}

fn joined(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::reserved_range;

    #[test]
    fn p22_only_the_public_internet_is_free() {
        let check = |address: &str, free: bool| {
            let range = reserved_range(address.parse().unwrap());
            assert_eq!(range.is_none(), free, "{address}: {range:?}");
        };
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "100.64.0.1",
            "100.127.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.9",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:0:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2002:a9fe:a9fe::1",
            "fe80::1",
            "fec0::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "2001::1",
            "2001:db8::1",
            "3fff::1",
            "4000::1",
            "100::1",
        ] {
            check(address, false);
        }
        for address in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.1",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "169.253.0.1",
            "192.167.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450::1",
            "::ffff:1.1.1.1",
            "64:ff9b::1.1.1.1",
            "2002:101:101::1",
        ] {
            check(address, true);
        }
    }
}
