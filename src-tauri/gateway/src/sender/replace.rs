//! Replaces a stored transaction on behalf of staff: by one with a higher fee, or by one that gives its payouts up and
//! pays ourselves. The new version spends all inputs of every earlier version, so that any two conflict.

mod error;
mod fee;
mod kind;
mod target;

use std::sync::Arc;

use bitcoin::{FeeRate, Txid};
use tillgate_domain::id::Id;
use tillgate_domain::payout::PayoutState;
use tillgate_domain::time::Timestamp;

use super::build::{self, Chosen, Signed};
use super::error::SendError;
use super::pass::Sender;
use crate::notifications::outbox::{self, Outbox};
use crate::settlement::batches;
use crate::store::Reader;
use crate::watcher::Watcher;
pub(crate) use error::ReplaceError;
pub(crate) use fee::{ReplacementFee, abandon_fee, bump_fee};
pub(crate) use kind::Agreed;
use kind::Kind;
use target::may_sign;
pub(crate) use target::{may_abandon, may_bump};

impl Sender {
    /// Replaces the transaction of a payout, or the last one along its change, by one with a higher fee. The rate is
    /// `fee_rate_sat_vb` or the estimate, and at least the minimum of BIP125. Answers the replacement, once it is
    /// stored.
    ///
    /// # Errors
    /// Why nothing was replaced and nothing changed.
    pub(crate) async fn bump_agreed(
        &self,
        id: Id,
        fee_rate_sat_vb: Option<u32>,
        agreed: Agreed,
        (actor, watcher): (&str, &Watcher),
    ) -> Result<Txid, ReplaceError> {
        let fee_rate = fee_rate_sat_vb.map(FeeRate::from_sat_per_vb_u32);
        self.replace(id, Kind::HigherFee { fee_rate }, agreed, (actor, watcher)).await
    }

    /// Gives a payout up. Without a stored transaction it is FAILED at once. Otherwise a transaction that pays
    /// ourselves is stored in its place and answered. Its payouts, and those that rest on it, are FAILED once it has
    /// six confirmations.
    ///
    /// # Errors
    /// Why the payout was not given up and nothing changed.
    pub(crate) async fn abandon_agreed(
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
        // The lock keeps passes from building a transaction for it.
        let _one_at_a_time = self.rebroadcasts.lock().await;
        let actor = actor.to_owned();
        let give_up = move |outbox: &Outbox<'_>| {
            let payout = outbox.tx.payout(&id)?.ok_or(ReplaceError::NoSuchPayout(id))?;
            if payout.state != PayoutState::Queued || payout.batch_seq.is_some() {
                return Err(ReplaceError::Stale);
            }
            // Shops read the reason, so it does not name the staff.
            batches::fail(outbox, payout, "it was given up by staff", Some(actor.clone()))?;
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
        // Our new version would pay twice a payout that another copy paid meanwhile.
        if let Some(why) = self.look_unless_fresh(watcher, Timestamp::from_ms(0)).await {
            return Err(ReplaceError::Unseen(why.details));
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
            let is_as_chosen = kind.target(tx, id)?.is_some_and(|now| now.is_as(&target));
            if !is_as_chosen || !build::are_free(tx, &signed.draft, Some(target.batch_seq))? {
                return Err(ReplaceError::Stale);
            }
            let txid = build::store_version(outbox, target.batch_seq, &signed, kind.pays(), Some(actor.clone()))?;
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

    /// Signs a chosen transaction, once a look covered the coins that it spends.
    async fn sign_seen(&self, chosen: Chosen, watcher: &Watcher) -> Result<Signed, ReplaceError> {
        let since = Timestamp::from_ms(0);
        if let Some(why) = self.look_at_coins(watcher, &chosen.draft, since).await? {
            return Err(ReplaceError::Unseen(why.details));
        }
        self.gateway.store.read(may_sign)?;
        let gateway = Arc::clone(&self.gateway);
        let sign = move || build::sign_chosen(&gateway, chosen);
        let signed = tokio::task::spawn_blocking(sign).await.map_err(|_| SendError::BrokenOff)?;
        let signed = signed.map_err(|cannot| ReplaceError::Cannot(cannot.details))?;
        self.check_view(since).map_err(|too_old| ReplaceError::Unseen(too_old.details))?;
        Ok(signed)
    }
}
