//! Sends one waiting payout at a fee rate that staff name, in a transaction of its own. Staff need
//! this while the backend has no estimate of the fee rate, or an absurd one.

use std::sync::Arc;

use bitcoin::{FeeRate, Txid};
use tillgate_domain::id::Id;
use tillgate_domain::payout::PayoutState;
use tillgate_domain::time::Timestamp;
use tillgate_store::keychains::Keychain;
use tillgate_store::payouts::PayoutRow;
use tillgate_store::{Reader, StoreError};
use tillgate_told::{Telling, Told};

use super::build;
use super::chosen::{Chosen, seed};
use super::double_payments::{Payable, payable};
use super::error::SendError;
use super::instead::Replaced;
use super::pass::Sender;
use super::replace::{Agreed, ReplaceError, may_sign};
use crate::funds;
use crate::gateway::{Gateway, Waits};
use crate::notifications::outbox::{self, Outbox, OutboxError};
use crate::settlement::twins::UnminedTwins;
use crate::wallet::spend::{self, Funding, Payee};
use crate::watcher::Watcher;

/// Reason why a payout was not sent at a named rate. Each shell adds the remedy in its own words.
#[derive(Debug, thiserror::Error, Told)]
pub enum NamedRateError {
    #[error("the payout is {0}: {1}")]
    NotWaiting(PayoutState, NotWaiting),
    #[error("the payout cannot be sent now: {0}")]
    Obstacle(Telling),
    #[error(transparent)]
    Other(ReplaceError),
}

/// Why a payout does not wait for a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, Told)]
pub enum NotWaiting {
    #[error("its transaction is signed already: raise the fee of that transaction")]
    Signed,
    #[error("it waits for approval: approve it first")]
    NotApproved,
    #[error("its offer is over: request it again")]
    Expired,
    #[error("it was sent already: raise the fee of its transaction")]
    Sent,
    #[error("nothing more will be sent: request it again")]
    Failed,
}

/// The fee of a payout that is sent now at a named rate.
#[derive(Debug, Clone, Copy)]
pub struct NamedRateFee {
    pub fee_sats: u64,
    pub vsize: u64,
    /// The payout's amount.
    pub pays_sats: u64,
}

impl Sender {
    /// Sends a waiting payout alone, at this rate. Returns its transaction once it is stored.
    ///
    /// # Errors
    /// The reason why nothing was signed. Then nothing changed.
    pub async fn send_at_rate(
        &self,
        id: Id,
        fee_rate: FeeRate,
        agreed: Agreed,
        (actor, watcher): (&str, &Watcher),
    ) -> Result<Txid, NamedRateError> {
        // While this lock is held, no pass and no other order signs a transaction for the payout.
        let mut rebroadcasts = self.rebroadcasts.lock().await;
        self.gateway.store.read(|reader| waiting(reader, id))?;
        // If another copy paid the payout meanwhile, the transaction would pay it again.
        if let Some(why) = self.look_unless_fresh(watcher, Timestamp::from_ms(0)).await {
            return Err(ReplaceError::Unseen(why.reason).into());
        }
        let (chosen, fee) = choose(&self.gateway, id, fee_rate).await?;
        check_agreed(&fee, agreed)?;
        let signed = self.sign_seen(chosen, watcher).await?;
        let actor = actor.to_owned();
        let store = move |outbox: &Outbox<'_>| {
            may_sign(outbox.tx)?;
            let txid =
                build::insert(outbox, &signed, Some(actor.clone()))?.ok_or(ReplaceError::Stale)?;
            outbox.tx.audit(outbox.now, &actor, "payouts send", &id.to_string())?;
            Ok::<_, NamedRateError>(txid)
        };
        let txid = outbox::commit(&self.gateway, None, store).await?;
        // The transaction is stored, so it is broadcast again whatever the network answers.
        if let Err(error) = rebroadcasts.broadcast_new(&self.gateway, txid).await {
            tracing::error!(%error, "a payout could not be broadcast yet");
        }
        Ok(txid)
    }
}

/// The fee of sending a waiting payout now at this rate. Nothing is signed.
pub async fn named_rate_fee(
    gateway: &Arc<Gateway>,
    id: Id,
    fee_rate: FeeRate,
) -> Result<NamedRateFee, NamedRateError> {
    Ok(choose(gateway, id, fee_rate).await?.1)
}

/// Checks that staff may send the payout at a rate of their own.
pub fn may_send(reader: &Reader<'_>, payout: &PayoutRow) -> Result<(), NamedRateError> {
    let why = match (payout.state, payout.batch_seq) {
        (PayoutState::Queued, None) => return Ok(may_sign(reader)?),
        (PayoutState::Queued, Some(_)) => NotWaiting::Signed,
        (PayoutState::New, _) => NotWaiting::NotApproved,
        (PayoutState::Expired, _) => NotWaiting::Expired,
        (PayoutState::Sent, _) => NotWaiting::Sent,
        (PayoutState::Failed, _) => NotWaiting::Failed,
    };
    Err(NamedRateError::NotWaiting(payout.state, why))
}

fn waiting(reader: &Reader<'_>, id: Id) -> Result<PayoutRow, NamedRateError> {
    let payout = reader.payout(&id)?.ok_or(ReplaceError::NoSuchPayout(id))?;
    may_send(reader, &payout)?;
    Ok(payout)
}

async fn choose(
    gateway: &Arc<Gateway>,
    id: Id,
    fee_rate: FeeRate,
) -> Result<(Chosen, NamedRateFee), NamedRateError> {
    let gateway = Arc::clone(gateway);
    let choose = move || choose_now(&gateway, id, fee_rate);
    tokio::task::spawn_blocking(choose).await.map_err(|_| SendError::Interrupted)?
}

/// Chooses coins for the payout alone. If an unmined twin pays it too, one of the twin's coins is
/// spent.
fn choose_now(
    gateway: &Gateway,
    id: Id,
    fee_rate: FeeRate,
) -> Result<(Chosen, NamedRateFee), NamedRateError> {
    let wallet =
        gateway.wallet.get().ok_or_else(|| NamedRateError::Obstacle(Waits::NoWallet.telling()))?;
    let settings = gateway.settings.snapshot();
    let (payout, required, replaced, optional, tip_height, change_index) =
        gateway.store.read(|reader| {
            let (payout, twins) = (waiting(reader, id)?, UnminedTwins::load(reader)?);
            let replaced = Replaced::load(reader, &twins, &payout)?;
            let required = match payable(reader, &twins, &payout)? {
                Payable::Spending(coins) => coins,
                Payable::Waits(why) => return Err(NamedRateError::Obstacle(why.reason)),
            };
            let mut optional = funds::spendable_coins(reader, &settings)?;
            optional.retain(|coin| !required.iter().any(|it| it.outpoint == coin.outpoint));
            let change =
                reader.keychain(Keychain::Internal)?.ok_or(StoreError::BadValue("keychains"))?;
            Ok((payout, required, replaced, optional, reader.tip_height()?, change.1))
        })?;
    let change = build::fresh_change(&wallet, change_index)
        .map_err(|error| NamedRateError::Obstacle(error.telling()))?;
    let funding = Funding {
        required: &required,
        optional: &optional,
        fee: replaced.fee(gateway, fee_rate, funds::fee_rate_known(gateway, &settings).increment),
        change: &change,
        address_type: wallet.keychains.address_type(),
        tip_height,
    };
    let payee = Payee { script: payout.script.clone(), amount_sats: payout.amount_sats };
    let spend = spend::choose(&[payee], &funding, seed(gateway.machine.entropy.as_ref())?)
        .map_err(|error| NamedRateError::Obstacle(error.telling()))?;
    let told = NamedRateFee {
        fee_sats: spend.fee_sats,
        vsize: spend.vsize,
        pays_sats: payout.amount_sats,
    };
    // To replace a twin may need a higher rate (BIP125).
    let (fee, cap) = (funding.fee_for_inputs(&spend.inputs), fee_rate.max(funding.fee.rate));
    Ok((Chosen { spend, payouts: vec![payout.seq], fee, cap }, told))
}

fn check_agreed(fee: &NamedRateFee, agreed: Agreed) -> Result<(), ReplaceError> {
    let NamedRateFee { fee_sats, pays_sats, .. } = *fee;
    if let Some(agreed_sats) = agreed.fee_sats.filter(|agreed_sats| *agreed_sats < fee_sats) {
        return Err(ReplaceError::AboveAgreed { fee_sats, agreed_sats });
    }
    if fee_sats > pays_sats && !agreed.is_forced {
        Err(ReplaceError::AbovePayout { fee_sats, pays_sats })
    } else {
        Ok(())
    }
}

impl From<ReplaceError> for NamedRateError {
    fn from(error: ReplaceError) -> Self {
        match error {
            ReplaceError::Obstacle(why) => Self::Obstacle(why),
            error => Self::Other(error),
        }
    }
}

impl From<StoreError> for NamedRateError {
    fn from(error: StoreError) -> Self {
        SendError::from(error).into()
    }
}

impl From<OutboxError> for NamedRateError {
    fn from(error: OutboxError) -> Self {
        SendError::from(error).into()
    }
}

impl From<SendError> for NamedRateError {
    fn from(error: SendError) -> Self {
        Self::Other(error.into())
    }
}
