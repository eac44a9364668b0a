//! Broadcasts the transactions of payouts until a block holds them: when they are stored, at the
//! start, when a look misses them, and after each block. Stores each acceptance and each refusal.

use std::collections::BTreeMap;
use std::sync::Arc;

use bitcoin::{BlockHash, Transaction, Txid};
use tillgate_chain::Broadcast;
use tillgate_domain::batch::Position;
use tillgate_domain::time::Timestamp;
use tillgate_store::batches::{Refusal, VersionRow};
use tillgate_store::{Reader, StoreError, Tx};

use super::double_payments;
use super::error::SendError;
use crate::gateway::{Gateway, StaffWarning};
use crate::notifications::outbox::{self, Outbox};
use crate::settlement::batches;
use crate::watcher::package;

/// The first look that misses a transaction makes it due at once, later ones after this time.
const AGAIN_AFTER_MS: i64 = 60_000;

/// Broadcasts of the missing transactions. They are kept in memory only, so a restart broadcasts
/// all of them again.
#[derive(Debug, Default)]
pub struct PayoutRebroadcasts {
    tip: Option<BlockHash>,
    /// The backend's generation and server at the last pass. Attempts at one server say nothing
    /// about the next.
    server: (u64, usize),
    /// For each transaction, the start of the look before its last broadcast, and the time from
    /// which a look that misses it makes it due again.
    tried: BTreeMap<Txid, Tried>,
}

#[derive(Debug, Clone, Copy)]
struct Tried {
    looked_at: Timestamp,
    due_from: Timestamp,
}

impl PayoutRebroadcasts {
    /// Broadcasts every stored transaction that the last look missed and that is due again. Does
    /// nothing until a look has reached the best block: an unread block may hold another copy's
    /// replacement of the transaction.
    pub async fn broadcast_missing(&mut self, gateway: &Arc<Gateway>) -> Result<(), SendError> {
        let Some(watched) = gateway.backend.last_look.caught_up() else { return Ok(()) };
        let is_new_tip = self.tip != Some(watched.tip.hash);
        let server = (gateway.backend.chain.generation(), gateway.backend.chain.server());
        if self.server != server {
            self.server = server;
            self.tried.clear();
        }
        let reading = Arc::clone(gateway);
        let missing = tokio::task::spawn_blocking(move || reading.store.read(missing));
        let missing: BTreeMap<Txid, Vec<Transaction>> =
            missing.await.map_err(|_| SendError::Interrupted)??;
        // Transactions that a look found are forgotten, so that they are due at once if they drop
        // out later.
        self.tried.retain(|txid, _| missing.contains_key(txid));
        for (txid, package) in missing {
            let before = self.tried.get(&txid);
            let looked_at = watched.looked_at;
            let is_due = before.is_none_or(|before| {
                is_new_tip || (looked_at > before.looked_at && looked_at >= before.due_from)
            });
            if is_due {
                let due_from = before.map_or(looked_at, |_| looked_at.plus_ms(AGAIN_AFTER_MS));
                self.tried.insert(txid, Tried { looked_at, due_from });
                broadcast(gateway, txid, package).await?;
            }
        }
        // Stored last: if a broadcast above fails, the next pass still sees a new tip and
        // broadcasts all of them.
        self.tip = Some(watched.tip.hash);
        Ok(())
    }

    /// Broadcasts a transaction that was stored just now.
    pub async fn broadcast_new(
        &mut self,
        gateway: &Arc<Gateway>,
        txid: Txid,
    ) -> Result<(), SendError> {
        let looked_at = gateway
            .backend
            .last_look
            .watched()
            .map_or(Timestamp::from_ms(0), |watched| watched.looked_at);
        self.tried.insert(txid, Tried { looked_at, due_from: looked_at });
        match gateway.store.read(|reader| double_payments::package(reader, &txid))? {
            Some(package) => broadcast(gateway, txid, package).await,
            None => Ok(()),
        }
    }
}

/// Broadcasts `package`: the unconfirmed ancestors of `txid`, and this transaction last. Its
/// payouts are SENT once a node accepted it. After any other answer, or none, it is broadcast again
/// later.
async fn broadcast(
    gateway: &Arc<Gateway>,
    txid: Txid,
    package: Vec<Transaction>,
) -> Result<(), SendError> {
    let asking = Arc::clone(gateway);
    let answer = tokio::task::spawn_blocking(move || package::broadcast(&asking, &package));
    match answer.await.map_err(|_| SendError::Interrupted)? {
        Ok(Broadcast::Accepted | Broadcast::AlreadyKnown) => {
            tracing::info!(%txid, "a transaction that sends payouts was accepted");
            accept(gateway, txid).await?;
        }
        Ok(Broadcast::InputsSpent) => {
            tracing::warn!(%txid, "a transaction that sends payouts was refused: another one spends its coins");
            refuse(gateway, txid, None).await?;
        }
        Ok(Broadcast::InputsMissing) => {
            tracing::warn!(%txid, "inputs of a transaction that sends payouts are missing")
        }
        Ok(Broadcast::Conflict(why) | Broadcast::Refused(why)) => {
            tracing::warn!(%txid, why, "a transaction that sends payouts was refused");
            refuse(gateway, txid, Some(why)).await?;
        }
        Err(error) => {
            tracing::warn!(%txid, %error, "the backend did not answer the broadcast of a payout transaction")
        }
    }
    Ok(())
}

/// Stores a refusal with the backend's words. Panel and command line show it until a backend
/// accepts the transaction.
async fn refuse(
    gateway: &Arc<Gateway>,
    txid: Txid,
    words: Option<String>,
) -> Result<(), SendError> {
    let refusal = Refusal { at: gateway.time.now(), words };
    gateway.store.write(move |tx: &Tx<'_>| tx.refuse_version(&txid, &refusal)).await?;
    gateway.signals.note_change();
    Ok(())
}

async fn accept(gateway: &Arc<Gateway>, txid: Txid) -> Result<(), SendError> {
    let accept = move |outbox: &Outbox<'_>| -> Result<Vec<StaffWarning>, SendError> {
        let tx = outbox.tx;
        tx.accept_version(&txid, outbox.now)?;
        match tx.batch_of_version(&txid)? {
            Some(batch_seq) => Ok(batches::settle(outbox, batch_seq, tx.tip_height()?)?),
            None => Ok(Vec::new()),
        }
    };
    for warning in outbox::commit(gateway, None, accept).await? {
        gateway.backend.last_look.warn(warning);
    }
    Ok(())
}

/// Transactions of our batches that should be broadcast and are in neither mempool nor block, each
/// with its unconfirmed ancestors before it. While the sender holds, transactions that no node
/// accepted yet are left out.
fn missing(reader: &Reader<'_>) -> Result<BTreeMap<Txid, Vec<Transaction>>, StoreError> {
    let mut missing = BTreeMap::new();
    if reader.dangerous_restore()?.is_some() {
        // A restored copy sends nothing before it has looked: another copy may have replaced these
        // transactions.
        return Ok(missing);
    }
    let is_held = reader.sender_hold()?.is_some();
    for batch_seq in reader.pending_batches()? {
        let versions = reader.versions(batch_seq)?;
        let is_mined = versions.iter().any(|version| version.position.is_in_block());
        if is_mined || !reader.batch(batch_seq)?.is_some_and(|batch| batch.live) {
            continue;
        }
        if let Some(version) = to_broadcast(reader, &versions)?
            && version.position == Position::Absent
            && (version.accepted_at.is_some() || !is_held)
            && let Some(package) = double_payments::package(reader, &version.txid)?
        {
            missing.insert(version.txid, package);
        }
    }
    Ok(missing)
}

/// The version of a batch to broadcast: the version that gives the batch up, else the version whose
/// change another batch spends, else the newest.
pub fn to_broadcast<'a>(
    reader: &Reader<'_>,
    versions: &'a [VersionRow],
) -> Result<Option<&'a VersionRow>, StoreError> {
    if let Some(gives_up) = versions.iter().rfind(|version| !version.pays) {
        return Ok(Some(gives_up));
    }
    for version in versions {
        if !reader.live_batches_on(&version.txid)?.is_empty() {
            return Ok(Some(version));
        }
    }
    Ok(versions.last())
}
