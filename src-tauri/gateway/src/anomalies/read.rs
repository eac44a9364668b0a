//! Anomalies in answers to GET.

use tillgate_domain::id::Id;

use crate::access::sees::Sees;
use crate::gateway::Gateway;
use crate::records::{RecordList, Snapshot};
use crate::store::StoreError;
use crate::store::anomalies::AnomalyFilter;

/// The record of one anomaly, if the caller `sees` one with this id. Blocks while its transactions are read; there may
/// be any number.
///
/// # Errors The database cannot be read.
pub(crate) fn record(gateway: &Gateway, id: &Id, sees: Sees) -> Result<Option<String>, StoreError> {
    gateway.render(|snapshot| {
        let row = snapshot.reader.anomaly(id)?.filter(|row| sees.may_see(row.key_id));
        row.map(|row| snapshot.anomaly(&row)).transpose()
    })
}

/// A page of anomalies, newest first, to be rendered in parts. Blocks while the query runs.
///
/// # Errors The database cannot be read.
pub(crate) fn list(
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
