//! Authentication: HTTP Basic with an API key's name and secret, looked up in memory.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use tillgate_domain::permission::Permission;
use tokio::time::Instant;

use super::connections::Peer;
use super::error::Failure;
use super::error_type::ErrorType;
use super::peer::client_address;
use super::state::Http;
use crate::access::record_scope::RecordScope;
use crate::machine::clock::machine_now;
use crate::store::api_keys::ApiKey;

/// Some clients pad their base64, others do not.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// An authenticated API key. As an extractor it answers 401 or 429 to a request without a valid key.
pub(crate) struct Caller(pub Arc<ApiKey>);

impl Caller {
    /// Refuses with 403 unless the key has this permission.
    pub(crate) fn may(&self, permission: Permission) -> Result<(), Failure> {
        if self.0.permissions.has(permission) {
            return Ok(());
        }
        let message = format!("This API key lacks the permission {}", permission.as_str());
        Err(Failure::new(ErrorType::PermissionDenied, message))
    }

    /// The records that the key may see.
    pub(super) fn scope(&self) -> RecordScope {
        RecordScope::of(&self.0)
    }

    /// Refuses with 429 if the key requests payments, payouts or resends too often.
    pub(super) fn asks(&self, http: &Http) -> Result<(), Failure> {
        let gateway = &http.app.gateway;
        let per_second = gateway.settings.snapshot().key_requests_per_second;
        Ok(gateway.key_limits.ask(self.0.key_id, per_second, Instant::now())?)
    }
}

impl FromRequestParts<Arc<Http>> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, http: &Arc<Http>) -> Result<Self, Failure> {
        let mut values = parts.headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return Err(Failure::unauthorized()) };
        let peer = parts.extensions.get::<Peer>();
        if let Some(key) = sign_in(http, value.as_bytes()) {
            if let Some(peer) = peer {
                peer.permit.signed_in();
            }
            return Ok(Self(key));
        }
        let settings = http.app.gateway.settings.snapshot();
        let address = peer.map(|peer| client_address(peer.address.ip(), &parts.headers, &settings));
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
    http.app.gateway.keys.authenticate(name, secret)
}
