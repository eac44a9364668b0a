//! Replacing a stored transaction, on behalf of staff: by one with a higher fee, or by one that gives its payouts up and
//! pays ourselves. The new version spends all inputs of every version before it, so that any two conflict.

mod target;

use std::sync::Arc;

use bitcoin::{FeeRate, Txid};
use tillgate_domain::id::Id;
use tillgate_domain::payout::PayoutState;
use tillgate_domain::time::Timestamp;

use super::build::{self, Chosen, Signed};
use super::held_back::is_paid_otherwise;
use super::looking::Unseen;
use super::{NO_FEE_RATE, SendError, Sender};
use crate::funds::{self, PayoutFeeRate};
use crate::gateway::Gateway;
use crate::notifications::outbox::{self, Outbox, OutboxError};
use crate::settings::Settings;
use crate::store::batches::VersionRow;
use crate::store::keychains::Keychain;
use crate::store::payouts::PayoutRow;
use crate::store::sender_hold::{Hold, HoldCause};
use crate::store::{Reader, StoreError};
use crate::wallet::spend::{self, FeeWanted, Means, Paid, Payee};
use crate::watcher::{Watcher, batches};
use target::{Target, abandon_target, bump_target, is_a_parent, is_any_held_back, is_in_block, may_sign};
pub(crate) use target::{may_abandon, may_bump};

/// Why nothing was replaced, without the remedy, which each shell names in its own words.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReplaceError {
    /// There is no such payout.
    #[error("there is no payout {0}")]
    NoSuchPayout(Id),
    /// The payout's state does not allow it.
    #[error("the payout is {0}: {1}")]
    State(PayoutState, &'static str),
    /// Several payouts share the transaction.
    #[error("{} payouts share the transaction, and all would be given up: {}", .0.len(), list(.0))]
    Shared(Vec<Id>),
    /// The fee that is needed is above the cap.
    #[error(
        "the replacement must pay {needed} sat/vB, above the highest rate that is paid unasked, {cap} (feeCapSatVb)"
    )]
    AboveCap {
        /// In sat/vB, rounded up.
        needed: u64,
        /// In sat/vB.
        cap: u64,
    },
    /// The sender holds.
    #[error("the sender holds: {0}")]
    Held(String),
    /// The sender holds until a restored copy of the wallet has looked.
    #[error("the sender holds: {0}")]
    NotLooked(String),
    /// It is not known what another copy of the wallet did meanwhile.
    #[error("nothing is signed before it is known what another copy of the wallet paid meanwhile: {0}")]
    Unseen(String),
    /// It cannot be built or signed.
    #[error("it cannot be replaced now: {0}")]
    Cannot(String),
    /// Something changed meanwhile.
    #[error("the payout changed meanwhile: look at it again")]
    Stale,
    /// It could not be read or stored.
    #[error(transparent)]
    Send(#[from] SendError),
}

impl From<Hold> for ReplaceError {
    fn from(hold: Hold) -> Self {
        match hold.cause {
            HoldCause::UntilReleased | HoldCause::UntilCompared => Self::Held(hold.reason),
            HoldCause::Restored | HoldCause::Stopped => Self::NotLooked(hold.reason),
        }
    }
}

impl From<StoreError> for ReplaceError {
    fn from(error: StoreError) -> Self {
        Self::Send(error.into())
    }
}

impl From<OutboxError> for ReplaceError {
    fn from(error: OutboxError) -> Self {
        Self::Send(error.into())
    }
}

/// How it is to be replaced.
#[derive(Clone, Copy)]
enum By {
    HigherFee { fee_rate: Option<FeeRate> },
    GivingUp,
}

impl Sender {
    /// Replaces the transaction of a payout, or the last one along its change, by one with a higher fee: at
    /// `fee_rate_sat_vb`, or at the estimate; at least what BIP125 asks. It has succeeded once it is stored. Answers what was
    /// stored in its place.
    ///
    /// # Errors
    /// Why not; nothing was changed then.
    pub(crate) async fn bump(
        &self,
        id: Id,
        fee_rate_sat_vb: Option<u32>,
        actor: &str,
        watcher: &Watcher,
    ) -> Result<Txid, ReplaceError> {
        let fee_rate = fee_rate_sat_vb.map(FeeRate::from_sat_per_vb_u32);
        let target = self.gateway.store.read(|reader| {
            let payout = reader.payout(&id)?.ok_or(ReplaceError::NoSuchPayout(id))?;
            bump_target(reader, &payout)
        })?;
        self.replace(id, target, By::HigherFee { fee_rate }, (actor, watcher)).await
    }

    /// Gives a payout up. One without a stored transaction is FAILED at once; else a transaction is stored that pays
    /// ourselves in place of it, which is answered, and its payouts are FAILED once that has six confirmations.
    ///
    /// # Errors
    /// Why not; nothing was changed then.
    pub(crate) async fn abandon(
        &self,
        id: Id,
        all: bool,
        actor: &str,
        watcher: &Watcher,
    ) -> Result<Option<Txid>, ReplaceError> {
        let target = self.gateway.store.read(|reader| {
            let payout = reader.payout(&id)?.ok_or(ReplaceError::NoSuchPayout(id))?;
            abandon_target(reader, &payout, all)
        })?;
        match target {
            Some(target) => self.replace(id, target, By::GivingUp, (actor, watcher)).await.map(Some),
            None => {
                self.give_up_unsent(id, actor).await?;
                Ok(None)
            }
        }
    }

    async fn give_up_unsent(&self, id: Id, actor: &str) -> Result<(), ReplaceError> {
        // No pass builds a transaction for it meanwhile.
        let _one_at_a_time = self.again.lock().await;
        let actor = actor.to_owned();
        let give_up = move |outbox: &Outbox<'_>| {
            let payout = outbox.tx.payout(&id)?.ok_or(ReplaceError::NoSuchPayout(id))?;
            if payout.state != PayoutState::Queued || payout.batch_seq.is_some() {
                return Err(ReplaceError::Stale);
            }
            // Shops read the reason, and not who it was.
            batches::fail(outbox, payout, "it was given up by staff", Some(actor.clone()))?;
            outbox.tx.audit(outbox.now, &actor, "payouts abandon", &id.to_string())?;
            Ok(())
        };
        outbox::commit(&self.gateway, None, give_up).await
    }

    async fn replace(
        &self,
        id: Id,
        target: Target,
        by: By,
        (actor, watcher): (&str, &Watcher),
    ) -> Result<Txid, ReplaceError> {
        let mut again = self.again.lock().await;
        self.gateway.store.read(may_sign)?;
        // What another copy paid meanwhile is paid twice by a version of ours that leaves now.
        match self.look_first(watcher, Timestamp::from_ms(0)).await {
            None => {}
            Some(Unseen::NotYet(why) | Unseen::Silent(why)) => return Err(ReplaceError::Unseen(why.details)),
        }
        let gateway = Arc::clone(&self.gateway);
        let settings = gateway.settings.snapshot();
        let (batch_seq, count) = (target.batch_seq, target.versions.len());
        let rate = match by {
            By::HigherFee { fee_rate: None } => funds::fee_rate_now(&gateway, &settings)
                .await
                .ok_or_else(|| ReplaceError::Cannot(NO_FEE_RATE.to_owned()))?,
            By::HigherFee { fee_rate: Some(_) } | By::GivingUp => funds::fee_rate(&gateway, &settings).await,
        };
        let choose = move || choose(&gateway, &settings, rate, &target, by);
        let chosen = tokio::task::spawn_blocking(choose).await.map_err(|_| SendError::BrokenOff)??;
        let signed = self.sign_seen(chosen, watcher).await?;
        let (actor, act) = match by {
            By::HigherFee { .. } => (actor.to_owned(), "payouts bump"),
            By::GivingUp => (actor.to_owned(), "payouts abandon"),
        };
        let store = move |outbox: &Outbox<'_>| {
            let tx = outbox.tx;
            if let Some(hold) = tx.sender_hold()? {
                return Err(hold.into());
            }
            let versions = tx.versions(batch_seq)?;
            let is_same = versions.len() == count && !versions.iter().any(is_in_block);
            let may_take_its_place = match by {
                By::HigherFee { .. } => !is_a_parent(tx, &versions)? && !is_any_held_back(tx, &versions)?,
                By::GivingUp => !is_a_parent(tx, &versions)? || is_paid_otherwise(tx, batch_seq)?,
            };
            if !is_same || !build::are_free(tx, &signed.draft, Some(batch_seq))? || !may_take_its_place {
                return Err(ReplaceError::Stale);
            }
            let pays = matches!(by, By::HigherFee { .. });
            let txid = build::store_version(outbox, batch_seq, &signed, pays, Some(actor.clone()))?;
            tx.audit(outbox.now, &actor, act, &id.to_string())?;
            Ok(txid)
        };
        let txid = outbox::commit(&self.gateway, None, store).await?;
        // It is stored: whatever the network answers, it is broadcast again.
        if let Err(error) = again.broadcast_new(&self.gateway, txid).await {
            tracing::error!(%error, "a replacement could not be broadcast yet");
        }
        Ok(txid)
    }
}

impl Sender {
    /// Signs what was chosen, once a look covered the coins that it spends.
    async fn sign_seen(&self, chosen: Chosen, watcher: &Watcher) -> Result<Signed, ReplaceError> {
        let since = Timestamp::from_ms(0);
        match self.look_for(watcher, &chosen.draft, since).await? {
            None => {}
            Some(Unseen::NotYet(why) | Unseen::Silent(why)) => return Err(ReplaceError::Unseen(why.details)),
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

/// What a bump would pay.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BumpFee {
    /// What the transaction pays that would be replaced.
    pub now_sats: u64,
    pub fee_sats: u64,
    /// The size that it is reckoned for.
    pub vsize: u64,
}

/// What a bump of a payout would pay at the rate that is wanted, where the replacement is as large as what it replaces. An
/// input that has to be added for the fee makes it larger, and dearer, than this.
///
/// # Errors
/// Why it may not be bumped.
pub(crate) fn bump_fee(reader: &Reader<'_>, payout: &PayoutRow, wanted: FeeRate) -> Result<BumpFee, ReplaceError> {
    let target = bump_target(reader, payout)?;
    may_sign(reader)?;
    let newest = target.versions.last().ok_or(ReplaceError::Stale)?;
    let fee = fee_wanted(reader, &target, wanted)?;
    Ok(BumpFee { now_sats: newest.fee_sats, fee_sats: fee.sats(newest.vsize), vsize: newest.vsize })
}

fn choose(
    gateway: &Gateway,
    settings: &Settings,
    rate: PayoutFeeRate,
    target: &Target,
    by: By,
) -> Result<Chosen, ReplaceError> {
    let wallet = gateway.wallet.get().ok_or_else(|| ReplaceError::Cannot("the wallet is not set up".to_owned()))?;
    let wanted = match by {
        By::HigherFee { fee_rate: Some(wanted) } => wanted,
        By::HigherFee { fee_rate: None } => rate.estimate,
        By::GivingUp => rate.capped(),
    };
    let (required, optional, tip_height, change_index, fee) = gateway.store.read(|reader| {
        let change = reader.keychain(Keychain::Internal)?.ok_or(StoreError::BadValue("keychains"))?;
        let required = build::inputs_of(reader, target.batch_seq)?;
        let mut optional = funds::spendable(reader, settings)?;
        optional.retain(|coin| coin.height.is_some());
        let fee = fee_wanted(reader, target, wanted)?;
        Ok::<_, StoreError>((required, optional, reader.tip_height()?, change.1, fee))
    })?;
    let change = build::fresh_change(wallet, change_index).map_err(ReplaceError::Cannot)?;
    let means = Means {
        required: &required,
        optional: match by {
            By::HigherFee { .. } => &optional,
            By::GivingUp => &[],
        },
        fee,
        change: &change,
        address_type: wallet.keychains.address_type(),
        tip_height,
    };
    let seed = build::seed(gateway)?;
    let (draft, payouts) = match by {
        By::HigherFee { .. } => {
            let payee = |row: &PayoutRow| Payee { script: row.script.clone(), amount_sats: row.amount_sats };
            let payees: Vec<Payee> = target.payouts.iter().map(payee).collect();
            let payouts = target.payouts.iter().map(|row| row.seq).collect();
            (spend::choose(&payees, &means, seed), payouts)
        }
        By::GivingUp => (spend::to_ourselves(&means, seed), Vec::new()),
    };
    let draft = draft.map_err(|error| ReplaceError::Cannot(error.to_string()))?;
    let cap = cap(&rate, by, &draft, &fee)?;
    Ok(Chosen { draft, payouts, fee, cap })
}

/// The highest rate that the replacement may pay. Above the setting only by a rate that staff gave.
fn cap(rate: &PayoutFeeRate, by: By, draft: &spend::Draft, fee: &FeeWanted) -> Result<FeeRate, ReplaceError> {
    // What it pays for its ancestors brings the package to the rate, and not itself above it.
    let own_fee_sats = draft.fee_sats.saturating_sub(fee.for_ancestors_sats);
    let needed = own_fee_sats.div_ceil(draft.vsize.max(1));
    match by {
        By::HigherFee { fee_rate: Some(given) } => Ok(rate.cap.max(given)),
        By::HigherFee { fee_rate: None } if needed > rate.cap.to_sat_per_vb_ceil() => {
            Err(ReplaceError::AboveCap { needed, cap: rate.cap.to_sat_per_vb_ceil() })
        }
        By::HigherFee { fee_rate: None } | By::GivingUp => Ok(rate.cap),
    }
}

/// The fee of a replacement: at the rate that is wanted, with what its ancestors lack, and enough to replace every version.
fn fee_wanted(reader: &Reader<'_>, target: &Target, wanted: FeeRate) -> Result<FeeWanted, StoreError> {
    let paid = |version: &VersionRow| Paid { fee_sats: version.fee_sats, vsize: version.vsize };
    let replaced: Vec<Paid> = target.versions.iter().map(paid).collect();
    Ok(FeeWanted::at(wanted).lifting(ancestors(reader, target)?).replacing(&replaced))
}

/// What the unconfirmed ancestors of a batch pay together.
fn ancestors(reader: &Reader<'_>, target: &Target) -> Result<Paid, StoreError> {
    let mut sum = Paid { fee_sats: 0, vsize: 0 };
    let Some(newest) = target.versions.last() else { return Ok(sum) };
    for (txid, ancestor) in funds::unconfirmed(reader, &newest.txid)? {
        if txid != newest.txid {
            sum.fee_sats = sum.fee_sats.saturating_add(ancestor.paid.fee_sats);
            sum.vsize = sum.vsize.saturating_add(ancestor.paid.vsize);
        }
    }
    Ok(sum)
}

fn list(ids: &[Id]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
