//! Reads anomalies for GET requests.

use tillgate_domain::id::Id;
use tillgate_store::StoreError;
use tillgate_store::anomalies::AnomalyFilter;

use crate::access::record_scope::RecordScope;
use crate::gateway::Gateway;
use crate::records::{RecordList, Snapshot};

/// The record of one anomaly, if the caller may see it. Blocks while its transactions are read,
/// which may be many.
///
/// # Errors
/// When the database cannot be read.
pub fn record(
    gateway: &Gateway,
    id: &Id,
    scope: RecordScope,
) -> Result<Option<String>, StoreError> {
    gateway.render(|snapshot| {
        let row = snapshot.reader.anomaly(id)?.filter(|row| scope.includes(row.key_id));
        row.map(|row| snapshot.anomaly(&row)).transpose()
    })
}

/// A page of anomalies, newest first, to be rendered in parts. Blocks while the query runs.
///
/// # Errors
/// When the database cannot be read.
pub fn list(
    snapshot: &Snapshot<'_>,
    filter: &AnomalyFilter,
    limit: u32,
    offset: u64,
) -> Result<RecordList<Id>, StoreError> {
    let ids = snapshot.reader.anomaly_ids(filter, limit, offset)?;
    Ok(RecordList::new(snapshot.reader.anomalies_count(filter)?, ids, |snapshot, id| {
        snapshot.reader.anomaly(id)?.map(|row| snapshot.anomaly(&row)).transpose()
    }))
}
