//! Offering stored transactions to the network again, until they are in a block: at the start, at the next look that
//! misses one, and after each block.

use std::collections::BTreeMap;
use std::sync::Arc;

use bitcoin::{BlockHash, Transaction, Txid};
use tillgate_domain::batch::Position;
use tillgate_domain::time::Timestamp;

use super::{SendError, broadcast};
use crate::funds;
use crate::gateway::Gateway;
use crate::store::batches::VersionRow;
use crate::store::{Reader, StoreError};

/// What was offered since the last block. A restart forgets it, so that all that is missing is offered.
#[derive(Debug, Default)]
pub(super) struct Again {
    tip: Option<BlockHash>,
    offered: BTreeMap<Txid, Offered>,
}

/// How a transaction was offered.
#[derive(Debug, Clone, Copy)]
struct Offered {
    /// Start of the last look before it.
    looked_at: Timestamp,
    /// Whether a look missed it after it was offered, and it was offered again.
    twice: bool,
}

impl Again {
    /// Offers every stored transaction that the last look missed, and that is due again.
    pub(super) async fn offer(&mut self, gateway: &Arc<Gateway>) -> Result<(), SendError> {
        let Some(watched) = gateway.last_look.watched() else { return Ok(()) };
        let is_new_tip = self.tip.replace(watched.tip.hash) != Some(watched.tip.hash);
        let reading = Arc::clone(gateway);
        let missing = tokio::task::spawn_blocking(move || reading.store.read(missing));
        let missing: BTreeMap<Txid, Vec<Transaction>> = missing.await.map_err(|_| SendError::BrokenOff)??;
        // What was seen is missed anew should it drop out.
        self.offered.retain(|txid, _| missing.contains_key(txid));
        for (txid, package) in missing {
            let before = self.offered.get(&txid);
            let is_due = match before {
                None => true,
                Some(before) => is_new_tip || (!before.twice && watched.looked_at > before.looked_at),
            };
            if is_due {
                let offered = Offered { looked_at: watched.looked_at, twice: before.is_some() };
                self.offered.insert(txid, offered);
                broadcast::broadcast(gateway, txid, package).await?;
            }
        }
        Ok(())
    }

    /// Offers a transaction that was stored just now.
    pub(super) async fn offer_new(&mut self, gateway: &Arc<Gateway>, txid: Txid) -> Result<(), SendError> {
        let looked_at = gateway.last_look.watched().map_or(Timestamp::from_ms(0), |watched| watched.looked_at);
        self.offered.insert(txid, Offered { looked_at, twice: false });
        let package = gateway.store.read(|reader| package(reader, &txid))?;
        broadcast::broadcast(gateway, txid, package).await
    }
}

/// The transactions of batches that should be in the mempool or a block and are in neither, each behind its unconfirmed
/// ancestors.
fn missing(reader: &Reader<'_>) -> Result<BTreeMap<Txid, Vec<Transaction>>, StoreError> {
    let mut missing = BTreeMap::new();
    for batch_seq in reader.pending_batches()? {
        let versions = reader.versions(batch_seq)?;
        let is_mined = versions.iter().any(|version| matches!(version.position, Position::Block { .. }));
        if is_mined || !reader.batch(batch_seq)?.is_some_and(|batch| batch.live) {
            continue;
        }
        if let Some(version) = to_offer(reader, &versions)?
            && version.position == Position::Absent
            && !(version.pays && is_paid_otherwise(reader, batch_seq, &versions)?)
        {
            missing.insert(version.txid, package(reader, &version.txid)?);
        }
    }
    Ok(missing)
}

/// Whether another copy of the wallet pays a payout of a batch: our own transaction would pay it once more. A block that
/// holds that all the same is another matter.
fn is_paid_otherwise(reader: &Reader<'_>, batch_seq: i64, versions: &[VersionRow]) -> Result<bool, StoreError> {
    let is_ours = |txid: Txid| versions.iter().any(|version| version.txid == txid);
    let payouts = reader.payouts_of_batch(batch_seq)?;
    Ok(payouts.iter().any(|payout| payout.txid.is_some_and(|txid| !is_ours(txid))))
}

/// The version of a batch that the network should take: the one on which another batch rests, else the newest.
pub(super) fn to_offer<'a>(
    reader: &Reader<'_>,
    versions: &'a [VersionRow],
) -> Result<Option<&'a VersionRow>, StoreError> {
    for version in versions {
        if !reader.live_batches_on(&version.txid)?.is_empty() {
            return Ok(Some(version));
        }
    }
    Ok(versions.last())
}

fn package(reader: &Reader<'_>, txid: &Txid) -> Result<Vec<Transaction>, StoreError> {
    Ok(funds::parents_first(funds::unconfirmed(reader, txid)?))
}
