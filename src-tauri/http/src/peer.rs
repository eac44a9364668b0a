//! The client of a request, by its address.

use std::net::{IpAddr, Ipv6Addr};

use axum::http::HeaderMap;
use tillgate_gateway::settings::Settings;

/// The address of a request's client: the peer, or the address that trusted proxies name. The last
/// address of `X-Forwarded-For` that is no trusted proxy counts, because a client may have written
/// the ones before it.
pub fn client_address(peer: IpAddr, headers: &HeaderMap, settings: &Settings) -> IpAddr {
    if !settings.trusts(peer) {
        return peer;
    }
    let forwarded =
        headers.get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok());
    let addresses: Vec<&str> =
        forwarded.flat_map(|value| value.split(',')).map(str::trim).collect();
    let mut nearest = peer;
    for text in addresses.into_iter().rev() {
        let Ok(address) = text.parse::<IpAddr>() else { break };
        nearest = address;
        if !settings.trusts(address) {
            break;
        }
    }
    nearest
}

/// The network of an address; its addresses count as one, because a customer of an IPv6 provider
/// has at least a /64.
pub fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        IpAddr::V4(address) => IpAddr::V4(address),
    }
}

#[cfg(test)]
mod tests {
    use tillgate_machine::environment::Environment;

    use super::*;

    fn client(peer: &str, forwarded: &[&str], trusted: &[&str]) -> String {
        let mut settings = Settings::defaults(Environment::Test);
        settings.trusted_proxies = trusted.iter().map(|proxy| proxy.parse().unwrap()).collect();
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append("x-forwarded-for", value.parse().unwrap());
        }
        client_address(peer.parse().unwrap(), &headers, &settings).to_string()
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        assert_eq!(client("192.0.2.1", &["198.51.100.1"], &[]), "192.0.2.1");
        assert_eq!(client("10.0.0.1", &["198.51.100.1"], &["10.0.0.0/8"]), "198.51.100.1");
        assert_eq!(
            client("10.0.0.1", &["6.6.6.6, 198.51.100.1", "10.0.0.2"], &["10.0.0.0/8"]),
            "198.51.100.1"
        );
        assert_eq!(client("10.0.0.1", &["6.6.6.6, nonsense"], &["10.0.0.0/8"]), "10.0.0.1");
        assert_eq!(client("10.0.0.1", &[], &["10.0.0.0/8"]), "10.0.0.1");
    }
}
