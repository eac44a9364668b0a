//! The checks that every call for a resend has in common: for payments, payouts and anomalies.

use tillgate_domain::id::Id;
use tillgate_domain::permission::Permission;

use super::auth::Caller;
use super::body::Unused;
use super::error::Failure;
use super::path::RecordId;
use super::state::Http;

/// The id of the record to notify again. Refuses a caller that lacks the permission, sends a
/// malformed id or a bad body, or makes more requests a second than its key may. Refuses while the
/// disk is full.
pub async fn check_resend(
    http: &Http,
    caller: &Caller,
    permission: Permission,
    id: Result<RecordId, Failure>,
    body: Result<Unused, Failure>,
) -> Result<Id, Failure> {
    caller.may(permission)?;
    let RecordId(id) = id?;
    body?;
    caller.asks(http)?;
    http.app.gateway.check_room()?;
    Ok(id)
}
