//! What the calls share that have a record notified again.

use tillgate_domain::id::Id;
use tillgate_domain::permission::Permission;

use super::Http;
use super::auth::Caller;
use super::body::Unused;
use super::error::Failure;
use super::path::RecordId;

/// The id of the record that is to be notified again, where the caller may ask for that now: one that has the permission,
/// names a record, sends no body, and is within its rate, while there is room on the disk.
pub(super) fn asked_for(
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
    http.app.gateway.disk.check_room()?;
    Ok(id)
}
