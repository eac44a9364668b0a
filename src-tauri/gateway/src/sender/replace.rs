//! Replaces a stored transaction on behalf of staff. The new version pays a higher fee (bump), or
//! gives its payouts up and pays ourselves (abandon). It spends all inputs of every earlier
//! version, so that only one version can be mined.

mod error;
mod fee;
mod kind;
mod target;

use std::sync::Arc;

use bitcoin::{FeeRate, Txid};
use tillgate_domain::id::Id;
use tillgate_domain::payout::PayoutState;
use tillgate_domain::time::Timestamp;
use tillgate_store::Reader;

use super::build::{self, Signed};
use super::chosen::Chosen;
use super::error::SendError;
use super::pass::Sender;
use crate::gateway::FailureReason;
use crate::notifications::outbox::{self, Outbox};
use crate::settlement::batches;
use crate::watcher::Watcher;

pub use error::ReplaceError;
pub use fee::{ReplacementFee, abandon_fee, bump_fee};
pub use kind::Agreed;
use kind::Kind;
pub use target::may_sign;
pub use target::{may_abandon, may_bump};

impl Sender {
    /// Replaces the transaction of a payout by one with a higher fee. If its change is spent,
    /// replaces the last transaction of the chain of spent changes instead. The rate is
    /// `fee_rate_sat_vb` or the estimate, and at least the minimum of BIP125. Returns the
    /// replacement once it is stored.
    ///
    /// # Errors
    /// The reason why nothing was replaced. Then nothing changed.
    pub async fn bump_agreed(
        &self,
        id: Id,
        fee_rate_sat_vb: Option<u32>,
        agreed: Agreed,
        (actor, watcher): (&str, &Watcher),
    ) -> Result<Txid, ReplaceError> {
        let fee_rate = fee_rate_sat_vb.map(FeeRate::from_sat_per_vb_u32);
        self.replace(id, Kind::HigherFee { fee_rate }, agreed, (actor, watcher)).await
    }

    /// Cancels a payout. Without a stored transaction the payout is FAILED at once. Otherwise a
    /// replacement that pays ourselves is stored and returned. The payouts of the replaced
    /// transaction, and those whose transactions spend its change, are FAILED once the replacement
    /// has six confirmations.
    ///
    /// # Errors
    /// The reason why the payout was not cancelled. Then nothing changed.
    pub async fn abandon_agreed(
        &self,
        id: Id,
        all: bool,
        agreed: Agreed,
        (actor, watcher): (&str, &Watcher),
    ) -> Result<Option<Txid>, ReplaceError> {
        let kind = Kind::GivingUp { all };
        if self.gateway.store.read(|reader| kind.target(reader, id))?.is_some() {
            return self.replace(id, kind, agreed, (actor, watcher)).await.map(Some);
        }
        self.give_up_unsent(id, actor).await?;
        Ok(None)
    }

    async fn give_up_unsent(&self, id: Id, actor: &str) -> Result<(), ReplaceError> {
        // While this lock is held, no pass builds a transaction for the payout.
        let _one_at_a_time = self.rebroadcasts.lock().await;
        let actor = actor.to_owned();
        let give_up = move |outbox: &Outbox<'_>| {
            let payout = outbox.tx.payout(&id)?.ok_or(ReplaceError::NoSuchPayout(id))?;
            if payout.state != PayoutState::Queued || payout.batch_seq.is_some() {
                return Err(ReplaceError::Stale);
            }
            // Shops read the reason, so it does not name the person.
            batches::fail(outbox, payout, &FailureReason::Cancelled, Some(actor.clone()))?;
            outbox.tx.audit(outbox.now, &actor, "payouts abandon", &id.to_string())?;
            Ok(())
        };
        outbox::commit(&self.gateway, None, give_up).await
    }

    async fn replace(
        &self,
        id: Id,
        kind: Kind,
        agreed: Agreed,
        (actor, watcher): (&str, &Watcher),
    ) -> Result<Txid, ReplaceError> {
        let mut rebroadcasts = self.rebroadcasts.lock().await;
        let find = |reader: &Reader<'_>| kind.target(reader, id)?.ok_or(ReplaceError::Stale);
        self.gateway.store.read(find)?;
        self.gateway.store.read(may_sign)?;
        // If another copy paid a payout meanwhile, the new version would pay it again.
        if let Some(why) = self.look_unless_fresh(watcher, Timestamp::from_ms(0)).await {
            return Err(ReplaceError::Unseen(why.reason));
        }
        let rate = fee::rate(&self.gateway, kind).await?;
        let target = self.gateway.store.read(find)?;
        let (replacement, target) = fee::choose(&self.gateway, target, kind, rate).await?;
        fee::check_cap(&replacement, &rate, (kind, agreed))?;
        fee::check_agreed(&replacement.fee, (kind, agreed))?;
        let signed = self.sign_seen(replacement.chosen, watcher).await?;
        let actor = actor.to_owned();
        let store = move |outbox: &Outbox<'_>| {
            let tx = outbox.tx;
            if let Some(hold) = tx.sender_hold()? {
                return Err(hold.into());
            }
            let is_unchanged =
                kind.target(tx, id)?.is_some_and(|now| now.is_unchanged_since(&target));
            if !is_unchanged || !build::are_free(tx, &signed.spend, Some(target.batch_seq))? {
                return Err(ReplaceError::Stale);
            }
            let txid = build::store_version(
                outbox,
                target.batch_seq,
                &signed,
                kind.pays(),
                Some(actor.clone()),
            )?;
            tx.audit(outbox.now, &actor, kind.act(), &id.to_string())?;
            Ok(txid)
        };
        let txid = outbox::commit(&self.gateway, None, store).await?;
        // The transaction is stored, so it is broadcast again whatever the network answers.
        if let Err(error) = rebroadcasts.broadcast_new(&self.gateway, txid).await {
            tracing::error!(%error, "a replacement could not be broadcast yet");
        }
        Ok(txid)
    }

    /// Signs a chosen transaction after a look that covers its coins.
    pub async fn sign_seen(
        &self,
        chosen: Chosen,
        watcher: &Watcher,
    ) -> Result<Signed, ReplaceError> {
        let since = Timestamp::from_ms(0);
        if let Some(why) = self.look_at_coins(watcher, &chosen.spend, since).await? {
            return Err(ReplaceError::Unseen(why.reason));
        }
        self.gateway.store.read(may_sign)?;
        let gateway = Arc::clone(&self.gateway);
        let sign = move || build::sign_chosen(&gateway, chosen);
        let signed = tokio::task::spawn_blocking(sign).await.map_err(|_| SendError::Interrupted)?;
        let signed = signed.map_err(|obstacle| ReplaceError::Obstacle(obstacle.reason))?;
        self.check_view(since).map_err(|too_old| ReplaceError::Unseen(too_old.reason))?;
        Ok(signed)
    }
}
