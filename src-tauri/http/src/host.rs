//! The host names that the gateway answers to. With DNS rebinding, a hostile page lets its own name
//! resolve to this machine. The browser then sends that name as `Host`, and the request is refused.

use std::net::{IpAddr, SocketAddr};

use axum::http::header::HOST;
use axum::http::{HeaderMap, Uri};
use tillgate_gateway::settings::Settings;
use url::Url;

/// Whether a request's host is ours: the listen address, this machine's loopback names,
/// `allowedHosts` or the public URL's authority. A name in `allowedHosts` counts with any port,
/// because a hostile page has another name.
pub fn is_ours(uri: &Uri, headers: &HeaderMap, listen: SocketAddr, settings: &Settings) -> bool {
    // A whole URL as the request's target takes precedence over the header (RFC 9112, 3.2.2). The
    // header must still occur exactly once.
    let mut values = headers.get_all(HOST).iter();
    let (Some(header), None) = (values.next(), values.next()) else { return false };
    let authority = match uri.authority() {
        Some(authority) => authority.as_str(),
        None => match header.to_str() {
            Ok(text) => text,
            Err(_) => return false,
        },
    };
    names_us(authority, listen, settings)
}

/// Whether host and port of a URL are a name of this gateway.
fn names_us(authority: &str, listen: SocketAddr, settings: &Settings) -> bool {
    let Some((host, port)) = split(authority) else { return false };
    is_listened_at(authority, listen)
        || is_allowed(authority, settings)
        || settings.public_url().is_some_and(|url| is_authority_of(&url, host, port))
}

/// Whether a URL's host is the listen address or a name of this machine.
pub fn is_listened_at(authority: &str, listen: SocketAddr) -> bool {
    split(authority)
        .is_some_and(|(host, _)| parse_ip(host) == Some(listen.ip()) || is_this_machine(host))
}

/// Whether a URL's host is one of `allowedHosts`.
pub fn is_allowed(authority: &str, settings: &Settings) -> bool {
    split(authority).is_some_and(|(host, _)| {
        settings.allowed_hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(host))
    })
}

fn is_this_machine(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || host == "127.0.0.1" || host == "[::1]"
}

/// A web server in front may leave out the port, as nginx does with `$host`.
fn is_authority_of(url: &Url, host: &str, port: Option<u16>) -> bool {
    let is_port = |port| Some(port) == url.port_or_known_default();
    url.host_str().is_some_and(|ours| ours.eq_ignore_ascii_case(host)) && port.is_none_or(is_port)
}

fn parse_ip(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Host (an IPv6 address in its brackets) and port.
fn split(authority: &str) -> Option<(&str, Option<u16>)> {
    let end_of_host = if authority.starts_with('[') {
        authority.find(']')? + 1
    } else {
        authority.find(':').unwrap_or(authority.len())
    };
    let (host, rest) = authority.split_at(end_of_host);
    match rest.strip_prefix(':') {
        None if rest.is_empty() => Some((host, None)),
        None => None,
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some((host, Some(port.parse().ok()?)))
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use tillgate_machine::environment::Environment;

    use super::*;

    fn ours(authority: &str, listen: &str, allowed: &[&str], public_url: Option<&str>) -> bool {
        let mut settings = Settings::defaults(Environment::Test);
        settings.allowed_hosts = allowed.iter().map(|host| (*host).to_owned()).collect();
        settings.public_url = public_url.map(ToOwned::to_owned);
        names_us(authority, listen.parse().unwrap(), &settings)
    }

    #[test]
    fn loopback_names_are_ours_and_their_neighbours_are_not() {
        for authority in ["127.0.0.1:7421", "localhost:7421", "LOCALHOST", "[::1]:7421"] {
            assert!(ours(authority, "127.0.0.1:7421", &[], None), "{authority}");
        }
        let foreign =
            ["127.0.0.2:7421", "evil.example", "localhost.evil.example:7421", "evil.example:7421"];
        let broken = [
            "",
            ":7421",
            "localhost:7421:1",
            "localhost:+7421",
            "[::1",
            "[::1]x",
            "127.0.0.1:99999",
        ];
        for authority in foreign.into_iter().chain(broken) {
            assert!(!ours(authority, "127.0.0.1:7421", &[], None), "{authority}");
        }
    }

    #[test]
    fn the_listen_address_the_public_url_and_allowed_hosts_are_ours() {
        assert!(ours("192.0.2.7:443", "192.0.2.7:443", &[], None));
        assert!(ours("192.0.2.7", "192.0.2.7:443", &[], None));
        assert!(!ours("192.0.2.8", "192.0.2.7:443", &[], None));
        assert!(ours("till.example:9999", "127.0.0.1:7421", &["till.example"], None));
        assert!(ours("pay.example", "127.0.0.1:7421", &[], Some("https://pay.example")));
        assert!(ours("pay.example:443", "127.0.0.1:7421", &[], Some("https://pay.example")));
        assert!(!ours("pay.example:444", "127.0.0.1:7421", &[], Some("https://pay.example")));
        let with_port = Some("https://pay.example:444/till");
        assert!(ours("pay.example:444", "127.0.0.1:7421", &[], with_port));
        assert!(ours("pay.example", "127.0.0.1:7421", &[], with_port));
        assert!(!ours("pay.example:443", "127.0.0.1:7421", &[], with_port));
        assert!(!ours("evil.example", "127.0.0.1:7421", &[], with_port));
    }
}
