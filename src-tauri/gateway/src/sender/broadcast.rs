//! Broadcasts a stored transaction and stores the answer.

use std::sync::Arc;

use bitcoin::{Transaction, Txid};

use super::error::SendError;
use crate::chain::Broadcast;
use crate::gateway::{Gateway, StaffWarning};
use crate::notifications::outbox::{self, Outbox};
use crate::settlement::batches;
use crate::store::Tx;
use crate::store::batches::Refusal;
use crate::watcher::package;

/// Broadcasts the last transaction of `package` behind its unconfirmed ancestors. Its payouts are SENT once a node has
/// it. After any other answer, or none, it is broadcast again later.
pub(super) async fn broadcast(gateway: &Arc<Gateway>, txid: Txid, package: Vec<Transaction>) -> Result<(), SendError> {
    let asking = Arc::clone(gateway);
    let answer = tokio::task::spawn_blocking(move || package::broadcast(&asking, &package));
    match answer.await.map_err(|_| SendError::BrokenOff)? {
        Ok(Broadcast::Accepted | Broadcast::AlreadyKnown) => {
            tracing::info!(%txid, "a transaction that sends payouts was taken");
            accept(gateway, txid).await?;
        }
        Ok(Broadcast::InputsSpent) => {
            tracing::warn!(%txid, "a transaction that sends payouts was refused: another one spends its coins");
            refuse(gateway, txid, None).await?;
        }
        Ok(Broadcast::InputsMissing) => tracing::warn!(%txid, "inputs of a transaction that sends payouts are missing"),
        Ok(Broadcast::Conflict(why) | Broadcast::Refused(why)) => {
            tracing::warn!(%txid, why, "a transaction that sends payouts was refused");
            refuse(gateway, txid, Some(why)).await?;
        }
        Err(error) => tracing::warn!(%txid, %error, "there is no answer to a transaction that sends payouts"),
    }
    Ok(())
}

/// Stores a refusal with the backend's words. People are told of it until a backend accepts the transaction.
async fn refuse(gateway: &Arc<Gateway>, txid: Txid, words: Option<String>) -> Result<(), SendError> {
    let refusal = Refusal { at: gateway.clock.now(), words };
    gateway.store.write(move |tx: &Tx<'_>| tx.refuse_version(&txid, &refusal)).await?;
    gateway.note_change();
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
        gateway.last_look.warn(warning);
    }
    Ok(())
}
