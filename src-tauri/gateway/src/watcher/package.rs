//! Broadcasts a transaction of ours as a package with its unconfirmed ancestors. If the backend
//! lacks parents, the kept ancestors that others made are broadcast first.

use std::collections::BTreeMap;

use bitcoin::Transaction;
use tillgate_chain::{Broadcast, ChainDown, parents_first};
use tillgate_store::{Reader, StoreError};

use crate::gateway::Gateway;

/// Why a broadcast has no answer.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum BroadcastError {
    /// The backend gave no answer.
    #[error(transparent)]
    Chain(#[from] ChainDown),
    /// The kept ancestors could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Broadcasts a package, whose last transaction descends from the others. If the backend lacks
/// parents, the kept ancestors are broadcast first. The answer is about the last transaction, or
/// about the first that was refused. This call blocks the thread.
pub fn broadcast(gateway: &Gateway, package: &[Transaction]) -> Result<Broadcast, BroadcastError> {
    let answer = gateway.backend.chain.broadcast(package)?;
    if answer != Broadcast::InputsMissing {
        return Ok(answer);
    }
    let kept = gateway.store.read(|reader| kept_of(reader, package))?;
    if kept.is_empty() {
        return Ok(answer);
    }
    // Ancestors are broadcast one by one: a node may refuse one that is mined, and still lack the
    // next.
    let (mut is_refused, mut is_ruled_out) = (false, None);
    for tx in &kept {
        let txid = tx.compute_txid();
        let answer = match gateway.backend.chain.broadcast(std::slice::from_ref(tx)) {
            Ok(answer) => answer,
            // The answer about the package itself decides.
            Err(error) => {
                tracing::info!(%txid, %error, "an ancestor of our transaction could not be broadcast");
                is_refused = true;
                break;
            }
        };
        match answer {
            Broadcast::Accepted => {
                tracing::info!(%txid, "broadcast an ancestor of our transaction again")
            }
            Broadcast::AlreadyKnown | Broadcast::InputsMissing => {}
            Broadcast::Refused(why) => {
                tracing::info!(%txid, why, "an ancestor of our transaction was refused");
                is_refused = true;
            }
            ruled_out @ (Broadcast::Conflict(_) | Broadcast::InputsSpent) => {
                is_ruled_out = Some(ruled_out)
            }
        }
    }
    // A refused ancestor may have too low a fee alone. Servers that support packages accept it with
    // its descendants.
    let again = if is_refused { [&kept, package].concat() } else { package.to_vec() };
    Ok(match gateway.backend.chain.broadcast(&again)? {
        // A conflict of an ancestor also rules out the package.
        Broadcast::InputsMissing => is_ruled_out.unwrap_or(Broadcast::InputsMissing),
        answer => answer,
    })
}

/// Kept ancestors of a package, parents first. Twins and our own transactions are left out: only
/// the sender broadcasts them, and it may hold them back.
fn kept_of(reader: &Reader<'_>, package: &[Transaction]) -> Result<Vec<Transaction>, StoreError> {
    let mut kept = BTreeMap::new();
    for tx in package {
        for ancestor in reader.kept_ancestors(&tx.compute_txid())? {
            let txid = ancestor.compute_txid();
            if reader.version(&txid)?.is_none() && !reader.is_twin(&txid)? {
                kept.insert(txid, ancestor);
            }
        }
    }
    for tx in package {
        kept.remove(&tx.compute_txid());
    }
    Ok(parents_first(kept, |tx| tx))
}
