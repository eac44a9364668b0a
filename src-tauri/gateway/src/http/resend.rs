//! The checks of all calls for a resend.

use tillgate_domain::id::Id;
use tillgate_domain::permission::Permission;

use super::auth::Caller;
use super::body::Unused;
use super::error::Failure;
use super::path::RecordId;
use super::state::Http;
use crate::machine::owed::Promise;
use crate::store::owed::ATTEMPTS_BYTES;

/// The id of the record to notify again. Refuses a caller that lacks the permission, names no record, sends a body or
/// exceeds its rate. Refuses while the disk is full.
pub(super) async fn asked_for(
    http: &Http,
    caller: &Caller,
    permission: Permission,
    id: Result<RecordId, Failure>,
    body: Result<Unused, Failure>,
) -> Result<(Id, Promise), Failure> {
    caller.may(permission)?;
    let RecordId(id) = id?;
    body?;
    caller.asks(http)?;
    // The notification takes its own bytes at once; its attempts are still to come.
    let promise = http.app.gateway.promise_room(ATTEMPTS_BYTES).await?;
    Ok((id, promise))
}
