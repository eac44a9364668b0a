//! Offering transactions of ours to the network: where parents of them are missing, behind what is kept of others', too.

use std::collections::BTreeMap;

use bitcoin::Transaction;

use crate::chain::{Broadcast, ChainDown, parents_first};
use crate::gateway::Gateway;
use crate::store::{Reader, StoreError};

/// Why a broadcast has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BroadcastError {
    /// The backend gave none.
    #[error(transparent)]
    Chain(#[from] ChainDown),
    /// The database could not be asked for what belongs to it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Offers a package to the network, its last transaction behind the others; where parents of it are missing, behind what is
/// kept of others', too. The answer is about the last, or about the first that was not taken. Blocks.
///
/// # Errors
/// When nobody answers, or the database cannot be read.
pub(crate) fn offer(gateway: &Gateway, package: &[Transaction]) -> Result<Broadcast, BroadcastError> {
    let answer = gateway.chain.broadcast(package)?;
    if answer != Broadcast::InputsMissing {
        return Ok(answer);
    }
    let kept = gateway.store.read(|reader| kept_of(reader, package))?;
    if kept.is_empty() {
        return Ok(answer);
    }
    // One by one: what a block holds by now may be refused, and the next be missing all the same.
    let (mut is_refused, mut is_ruled_out) = (false, None);
    for tx in &kept {
        let txid = tx.compute_txid();
        let answer = match gateway.chain.broadcast(std::slice::from_ref(tx)) {
            Ok(answer) => answer,
            // The last word is that on the package itself.
            Err(error) => {
                tracing::info!(%txid, %error, "what a transaction of ours rests on could not be offered");
                is_refused = true;
                break;
            }
        };
        match answer {
            Broadcast::Accepted => tracing::info!(%txid, "broadcast again what a transaction of ours rests on"),
            Broadcast::AlreadyKnown | Broadcast::InputsMissing => {}
            Broadcast::Refused(why) => {
                tracing::info!(%txid, why, "what a transaction of ours rests on was refused");
                is_refused = true;
            }
            ruled_out @ (Broadcast::Conflict(_) | Broadcast::InputsSpent) => is_ruled_out = Some(ruled_out),
        }
    }
    // Those that pay too little alone are taken together, by servers that can do that.
    let again = if is_refused { [&kept, package].concat() } else { package.to_vec() };
    Ok(match gateway.chain.broadcast(&again)? {
        // Whatever rules out what it rests on, rules it out.
        Broadcast::InputsMissing => is_ruled_out.unwrap_or(Broadcast::InputsMissing),
        answer => answer,
    })
}

/// What is kept of the ancestors of a package, parents first. Twins, and what we made ourselves, are
/// broadcast by the sender alone, which may hold them back.
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
