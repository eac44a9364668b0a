//! Rebroadcasts customers' transactions that are missing: in neither mempool nor chain, and not
//! gone. They are broadcast at the first look that misses them, at the program's first look, and
//! after each block. The sender rebroadcasts payouts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bitcoin::{Transaction, Txid};
use tillgate_chain::{Broadcast, missing_ancestors, parents_first};

use super::error::WatchError;
use super::package;
use crate::gateway::Gateway;

/// Missing transactions that were rebroadcast.
#[derive(Debug, Default)]
pub struct ReceiptRebroadcasts {
    /// `None` while all missing transactions are due: at the start, and after an interrupted
    /// broadcast.
    done: Option<BTreeSet<Txid>>,
}

impl ReceiptRebroadcasts {
    /// Whether a broadcast is due even if a look finds nothing.
    pub const fn is_due(&self) -> bool {
        self.done.is_none()
    }

    /// Broadcasts missing transactions. Those that were rebroadcast before are included only with
    /// `is_new_tip`. The next look sees the effect.
    pub async fn broadcast(
        &mut self,
        gateway: &Arc<Gateway>,
        is_new_tip: bool,
    ) -> Result<(), WatchError> {
        let before = self.done.take().filter(|_| !is_new_tip).unwrap_or_default();
        if gateway.store.read(|reader| reader.dangerous_restore())?.is_some() {
            // A restored copy broadcasts nothing before its scan ends; the broadcast stays due.
            return Ok(());
        }
        let gateway = Arc::clone(gateway);
        let at = gateway.time.now();
        let store = Arc::clone(&gateway.store);
        let broadcast = move || -> Result<(BTreeSet<Txid>, Vec<Txid>), WatchError> {
            let mut spent = Vec::new();
            let missing = gateway.store.read(|reader| reader.missing_transactions())?;
            let missing: BTreeMap<Txid, Transaction> =
                missing.into_iter().map(|tx| (tx.compute_txid(), tx)).collect();
            for (txid, tx) in missing.iter().filter(|(txid, _)| !before.contains(*txid)) {
                if broadcast_missing(&gateway, txid, &with_ancestors(tx, &missing)) {
                    spent.push(*txid);
                }
            }
            Ok((missing.into_keys().collect(), spent))
        };
        let (done, spent) =
            tokio::task::spawn_blocking(broadcast).await.map_err(|_| WatchError::Interrupted)??;
        if !spent.is_empty() {
            store
                .write(move |tx| spent.iter().try_for_each(|txid| tx.note_spent_inputs(txid, at)))
                .await?;
        }
        self.done = Some(done);
        Ok(())
    }
}

/// A missing transaction with its missing ancestors, parents first.
fn with_ancestors(tx: &Transaction, missing: &BTreeMap<Txid, Transaction>) -> Vec<Transaction> {
    let mut line = missing_ancestors(tx, |txid| missing.get(txid));
    line.insert(tx.compute_txid(), tx);
    parents_first(line, |tx| tx).into_iter().cloned().collect()
}

/// Broadcasts a package. Returns whether it was refused because its inputs are spent. Without an
/// answer, the result is false, and the look does not fail.
fn broadcast_missing(gateway: &Gateway, txid: &Txid, txs: &[Transaction]) -> bool {
    let answer = match package::broadcast(gateway, txs) {
        Ok(answer) => answer,
        Err(error) => {
            tracing::warn!(%txid, %error, "there is no answer to the broadcast of a missing transaction");
            return false;
        }
    };
    match &answer {
        Broadcast::Accepted => tracing::info!(%txid, "broadcast a missing transaction again"),
        Broadcast::AlreadyKnown => {
            tracing::debug!(%txid, "the backend already has a missing transaction again")
        }
        Broadcast::Conflict(why) => {
            tracing::warn!(%txid, why, "another mempool transaction spends a missing transaction's inputs");
        }
        Broadcast::InputsSpent => tracing::warn!(%txid, "a missing transaction's inputs are spent"),
        Broadcast::InputsMissing => {
            tracing::warn!(%txid, "a missing transaction's inputs are missing")
        }
        Broadcast::Refused(why) => tracing::warn!(%txid, why, "a missing transaction was refused"),
    }
    matches!(answer, Broadcast::Conflict(_) | Broadcast::InputsSpent)
}
