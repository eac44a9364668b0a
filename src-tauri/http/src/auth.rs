//! Authentication: HTTP Basic with an API key's name and secret, looked up in memory.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use tillgate_domain::permission::Permission;
use tillgate_gateway::access::record_scope::RecordScope;
use tillgate_machine::clock::machine_now;
use tillgate_store::api_keys::ApiKey;
use tokio::time::Instant;

use super::connections::Peer;
use super::error::Failure;
use super::peer::client_address;
use super::state::Http;
use tillgate_gateway::error_type::ErrorType;

/// The message of a 401.
const HOW: &str = "Sign in with HTTP Basic: the API key's name and secret";

/// The message if the secret was read from a file with its line break.
const LINE_BREAK: &str = "The secret ends with a line break: send it without one";

/// Some clients pad their base64, others do not.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// An authenticated API key. As an extractor it answers 401 or 429 to a request without a valid
/// key.
pub struct Caller(pub Arc<ApiKey>);

impl Caller {
    /// Refuses with 403 unless the key has this permission.
    pub fn may(&self, permission: Permission) -> Result<(), Failure> {
        if self.0.permissions.has(permission) {
            return Ok(());
        }
        let message = format!("This API key lacks the permission {}", permission.as_str());
        Err(Failure::new(ErrorType::PermissionDenied, message))
    }

    /// The records that the key may see.
    pub fn scope(&self) -> RecordScope {
        RecordScope::of(&self.0)
    }

    /// Refuses with 429 if the key requests payments, payouts or resends too often.
    pub fn asks(&self, http: &Http) -> Result<(), Failure> {
        let gateway = &http.app.gateway;
        let per_second = gateway.settings.snapshot().key_requests_per_second;
        Ok(gateway.access.limits.ask(self.0.key_id, per_second, Instant::now())?)
    }
}

impl FromRequestParts<Arc<Http>> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, http: &Arc<Http>) -> Result<Self, Failure> {
        let mut values = parts.headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else {
            return Err(Failure::unauthorized(HOW));
        };
        let peer = parts.extensions.get::<Peer>();
        let credentials = credentials(value.as_bytes());
        let key = credentials
            .as_ref()
            .and_then(|(name, secret)| http.app.gateway.access.keys.authenticate(name, secret));
        if let Some(key) = key {
            if let Some(peer) = peer {
                peer.permit.signed_in();
            }
            return Ok(Self(key));
        }
        let settings = http.app.gateway.settings.snapshot();
        let address = peer.map(|peer| client_address(peer.address.ip(), &parts.headers, &settings));
        match address.map_or(Ok(()), |address| http.throttle.failed(address, machine_now())) {
            Ok(()) => {
                let is_broken =
                    credentials.is_some_and(|(_, secret)| secret.ends_with(['\n', '\r']));
                Err(Failure::unauthorized(if is_broken { LINE_BREAK } else { HOW }))
            }
            Err(retry_after_seconds) => Err(Failure::too_many_sign_ins(retry_after_seconds)),
        }
    }
}

/// The name and the secret of an `Authorization` header.
fn credentials(value: &[u8]) -> Option<(String, String)> {
    let text = std::str::from_utf8(value).ok()?;
    let (scheme, credentials) = text.trim().split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = BASE64.decode(credentials.trim()).ok()?;
    let (name, secret) = std::str::from_utf8(&decoded).ok()?.split_once(':')?;
    Some((name.to_owned(), secret.to_owned()))
}
