//! Broadcasting again what is in neither mempool nor chain and not gone: at the first look that
//! misses it, at the first look of the program, and after each new block.

use std::collections::BTreeSet;
use std::sync::Arc;

use bitcoin::{Transaction, Txid};

use super::WatchError;
use crate::chain::{Broadcast, ChainDown};
use crate::gateway::Gateway;

/// What was broadcast since it went missing.
#[derive(Debug, Default)]
pub(super) struct Missing {
    /// `None` while it is owed: at the start, and after a broadcast that was broken off.
    done: Option<BTreeSet<Txid>>,
}

impl Missing {
    /// Whether something may be missing that was not broadcast, whatever a look finds.
    pub(super) const fn is_owed(&self) -> bool {
        self.done.is_none()
    }

    /// Broadcasts what is missing; of what was broadcast before only with `is_new_tip`. What comes
    /// of it is seen by the next look.
    pub(super) async fn broadcast(&mut self, gateway: &Arc<Gateway>, is_new_tip: bool) -> Result<(), WatchError> {
        let before = self.done.take().filter(|_| !is_new_tip).unwrap_or_default();
        let gateway = Arc::clone(gateway);
        let broadcast = move || -> Result<BTreeSet<Txid>, WatchError> {
            let mut done = BTreeSet::new();
            for tx in gateway.store.read(|reader| reader.missing_transactions())? {
                let txid = tx.compute_txid();
                if !before.contains(&txid) {
                    offer(&gateway, &tx, &txid)?;
                }
                done.insert(txid);
            }
            Ok(done)
        };
        self.done = Some(tokio::task::spawn_blocking(broadcast).await.map_err(|_| WatchError::BrokenOff)??);
        Ok(())
    }
}

fn offer(gateway: &Gateway, tx: &Transaction, txid: &Txid) -> Result<(), ChainDown> {
    match gateway.chain.broadcast(tx)? {
        Broadcast::Accepted => tracing::info!(%txid, "broadcast a missing transaction again"),
        Broadcast::InputsSpent => tracing::warn!(%txid, "a missing transaction's inputs are spent or missing"),
        Broadcast::Refused(why) => tracing::warn!(%txid, why, "a missing transaction was refused"),
    }
    Ok(())
}
