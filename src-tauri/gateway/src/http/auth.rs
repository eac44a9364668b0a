//! Who asks: HTTP Basic with an API key's name and secret, looked up in memory.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::Http;
use super::error::Failure;
use crate::api_keys::{ApiKey, Permission};
use crate::clock::machine_now;
use crate::settings::Settings;

/// Clients differ in whether they pad.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The other end of a request's connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub SocketAddr);

/// An API key that signed in. As an argument of a handler it answers 401 or 429 without one.
pub(crate) struct Caller(pub Arc<ApiKey>);

impl Caller {
    /// 403 unless the key may do this.
    pub(crate) fn may(&self, permission: Permission) -> Result<(), Failure> {
        if self.0.permissions.has(permission) {
            return Ok(());
        }
        let message = format!("This API key lacks the permission {}", permission.as_str());
        Err(Failure::new(StatusCode::FORBIDDEN, "PERMISSION_DENIED", message))
    }
}

impl FromRequestParts<Arc<Http>> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, http: &Arc<Http>) -> Result<Self, Failure> {
        let mut values = parts.headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return Err(Failure::unauthorized()) };
        if let Some(key) = sign_in(http, value.as_bytes()) {
            return Ok(Self(key));
        }
        let peer = parts.extensions.get::<Peer>().map(|peer| peer.0.ip());
        let address = client_address(peer, &parts.headers, &http.gateway.settings.snapshot());
        match address.map_or(Ok(()), |address| http.throttle.failed(address, machine_now())) {
            Ok(()) => Err(Failure::unauthorized()),
            Err(retry_after_seconds) => Err(Failure::too_many_sign_ins(retry_after_seconds)),
        }
    }
}

fn sign_in(http: &Http, value: &[u8]) -> Option<Arc<ApiKey>> {
    let text = std::str::from_utf8(value).ok()?;
    let (scheme, credentials) = text.trim().split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = BASE64.decode(credentials.trim()).ok()?;
    let (name, secret) = std::str::from_utf8(&decoded).ok()?.split_once(':')?;
    http.gateway.keys.authenticate(name, secret)
}

/// Whom a request is from: the peer, or what trusted proxies say. Of `X-Forwarded-For` the last address
/// that is no trusted proxy counts: what stands before it, the client may have written itself.
fn client_address(peer: Option<IpAddr>, headers: &HeaderMap, settings: &Settings) -> Option<IpAddr> {
    let trusted = |address: &IpAddr| settings.trusted_proxies.iter().any(|proxy| proxy.contains(*address));
    let peer = peer?;
    if !trusted(&peer) {
        return Some(peer);
    }
    let forwarded = headers.get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok());
    let addresses: Vec<&str> = forwarded.flat_map(|value| value.split(',')).map(str::trim).collect();
    let mut nearest = peer;
    for text in addresses.into_iter().rev() {
        let Ok(address) = text.parse::<IpAddr>() else { break };
        nearest = address;
        if !trusted(&address) {
            break;
        }
    }
    Some(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;

    fn client(peer: &str, forwarded: &[&str], trusted: &[&str]) -> String {
        let mut settings = Settings::defaults(Environment::Test);
        settings.trusted_proxies = trusted.iter().map(|proxy| proxy.parse().unwrap()).collect();
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append("x-forwarded-for", value.parse().unwrap());
        }
        client_address(Some(peer.parse().unwrap()), &headers, &settings).unwrap().to_string()
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        assert_eq!(client("192.0.2.1", &["198.51.100.1"], &[]), "192.0.2.1");
        assert_eq!(client("10.0.0.1", &["198.51.100.1"], &["10.0.0.0/8"]), "198.51.100.1");
        assert_eq!(client("10.0.0.1", &["6.6.6.6, 198.51.100.1", "10.0.0.2"], &["10.0.0.0/8"]), "198.51.100.1");
        assert_eq!(client("10.0.0.1", &["6.6.6.6, nonsense"], &["10.0.0.0/8"]), "10.0.0.1");
        assert_eq!(client("10.0.0.1", &[], &["10.0.0.0/8"]), "10.0.0.1");
    }
}
