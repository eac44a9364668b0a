//! Records of payouts for GET requests.

use tillgate_domain::id::Id;
use tillgate_store::StoreError;
use tillgate_store::payout_lists::PayoutFilter;

use crate::access::record_scope::RecordScope;
use crate::gateway::Gateway;
use crate::records::{RecordList, Snapshot};

/// The record of the payout with this id, if the caller may see it. Reads one row by its key.
pub fn record(
    gateway: &Gateway,
    id: &Id,
    scope: RecordScope,
) -> Result<Option<String>, StoreError> {
    gateway.render(|snapshot| {
        let row = snapshot.reader.payout(id)?.filter(|row| scope.includes(row.key_id));
        Ok(row.map(|row| snapshot.payout(&row)))
    })
}

/// A page of payouts, newest first, to be rendered in parts. Blocks during the query.
pub fn list(
    snapshot: &Snapshot<'_>,
    filter: &PayoutFilter,
    limit: u32,
    offset: u64,
) -> Result<RecordList<i64>, StoreError> {
    let numbers = snapshot.reader.payout_seqs(filter, limit, offset)?;
    Ok(RecordList::new(snapshot.reader.payouts_count(filter)?, numbers, |snapshot, seq| {
        Ok(snapshot.reader.payout_by_seq(*seq)?.map(|row| snapshot.payout(&row)))
    }))
}
