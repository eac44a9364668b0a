//! Approves an offer. The approving transaction checks state and limit, because the sender does not
//! check them again.

use std::sync::{Arc, Weak};

use bitcoin::Txid;
use tillgate_domain::checked_clock::latest_stored;
use tillgate_domain::id::Id;
use tillgate_domain::money::format_btc;
use tillgate_domain::payout::PayoutState;
use tillgate_domain::payout::limit::LimitRefusal;
use tillgate_domain::payout::offer::is_valid_at;
use tillgate_domain::time::Timestamp;
use tillgate_machine::field_errors::FieldError;
use tillgate_store::payouts::PayoutRow;
use tillgate_store::{Reader, StoreError};
use tillgate_told::{Sum, Telling};

use super::limit;
use crate::access::record_scope::RecordScope;
use crate::answer::{Answer, Answered};
use crate::error_type::ErrorType;
use crate::gateway::Gateway;
use crate::notifications::outbox::{self, Outbox, OutboxError};
use crate::settings::Settings;
use crate::wallet::NotReady;

/// The person or program that approves a payout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approver {
    /// The API key's name, or `cli:…` or `panel:…`.
    pub name: String,
    /// The payouts that the approver may approve.
    pub scope: RecordScope,
    /// Whether the approver is a person. The audit log names persons; the payout's record names an
    /// API key.
    pub is_person: bool,
}

/// Reason why a payout was not approved. Nothing was changed.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum ApproveError {
    #[error("there is no payout {0}")]
    NoSuchPayout(Id),
    #[error(
        "the offer has expired: ask for a new payout, at the rate of that moment, with a new Idempotency-Key if the request \
         had one"
    )]
    OfferExpired,
    /// Staff rejected or withdrew it. Holds the record's `failureReason`.
    #[error("the offer has ended ({0}): ask staff before you request the payout again")]
    OfferRejected(Telling),
    #[error("this payout is {} and waits for no approval{}", .0, after(*.0))]
    NotPending(PayoutState),
    /// The refunded coins are gone or have too few confirmations.
    #[error(
        "the coins that this payout would send back are gone, or have too few confirmations again: approve it later; once \
         the offer has lapsed the anomaly is open again"
    )]
    RefundCoinsGone,
    /// An earlier refund of the same coins had failed, and was sent after all.
    #[error(
        "an earlier refund sent these coins back after all: reject this offer, and dismiss the anomaly"
    )]
    RefundedBefore,
    /// Another copy of the wallet paid the same address after the offer was made.
    #[error(
        "another copy of this wallet paid {} BTC to {address}, in transaction {txid}, which was not known at the request: \
         reject this offer, and ask again only if that was for something else",
        Sum(format_btc(*.amount_sats))
    )]
    PaidBefore {
        /// The other copy's transaction.
        txid: Txid,
        amount_sats: u64,
        address: String,
    },
    /// Another copy of the wallet may have sent this payout, or used up today's limit.
    #[error(transparent)]
    WalletNotReady(NotReady),
    #[error("the payout is beyond the limits of payouts")]
    Limit(Vec<LimitRefusal>),
    #[error(transparent)]
    Outbox(#[from] OutboxError),
}

impl Answered for ApproveError {
    fn answer(&self) -> Answer<'_> {
        match self {
            Self::NoSuchPayout(_) => Answer::not_found("There is no such payout"),
            Self::OfferExpired | Self::OfferRejected(_) => {
                Answer::new(ErrorType::PayoutOfferExpired)
            }
            Self::NotPending(_) => Answer::new(ErrorType::PayoutNotPending),
            Self::RefundCoinsGone | Self::RefundedBefore => Answer::new(ErrorType::RefundCoinsGone),
            Self::PaidBefore { .. } => Answer::new(ErrorType::PayoutPaidBefore),
            Self::WalletNotReady(_) => Answer::new(ErrorType::WalletNotReady),
            Self::Limit(refusals) => Answer::Fields(Self::limit_errors(refusals).into()),
            Self::Outbox(error) => error.answer(),
        }
    }
}

impl From<StoreError> for ApproveError {
    fn from(error: StoreError) -> Self {
        Self::Outbox(error.into())
    }
}

impl ApproveError {
    /// The refusals as field errors. They name no field, because the request held no amount.
    pub fn limit_errors(refusals: &[LimitRefusal]) -> Vec<FieldError> {
        limit::field_errors(refusals, None)
    }
}

/// The remedy for an expired or failed payout, appended to the sentence of [`ApproveError`].
const fn after(state: PayoutState) -> &'static str {
    match state {
        PayoutState::Expired | PayoutState::Failed => {
            ": ask for a new payout, with a new Idempotency-Key if the request had one"
        }
        PayoutState::New | PayoutState::Queued | PayoutState::Sent => "",
    }
}

/// Wakes the sender when dropped. The writer drops it after the commit if the caller has gone.
pub struct Wake(Weak<Gateway>);

impl Wake {
    pub fn new(outbox: &Outbox<'_>) -> Self {
        Self(outbox.gateway_weak())
    }
}

impl Drop for Wake {
    fn drop(&mut self) {
        if let Some(gateway) = self.0.upgrade() {
            gateway.sending.wake.notify_one();
        }
    }
}

/// Approves an offer, and returns its record. Approvals are checked one after another, so that
/// together they never exceed the limit.
///
/// # Errors
/// No such payout, or else the first reason of [`may_approve`].
pub async fn approve(
    gateway: &Arc<Gateway>,
    id: Id,
    approver: Approver,
) -> Result<String, ApproveError> {
    let _no_jump = gateway.time.jumps.read().await;
    gateway.follow_clock().await?;
    let commit = outbox::commit(gateway, None, move |outbox| -> Result<_, ApproveError> {
        // The limit at the time of the approval counts.
        let (tx, now, settings) = (outbox.tx, outbox.now, outbox.gateway.settings.snapshot());
        let row = tx.payout(&id)?.filter(|row| approver.scope.includes(row.key_id));
        let mut row = row.ok_or(ApproveError::NoSuchPayout(id))?;
        may_approve(tx, &row, &settings, now)?;
        queue(&mut row, approver.name.clone(), now);
        tx.update_payout(&row)?;
        if approver.is_person {
            tx.audit(now, &approver.name, "payouts approve", &id.to_string())?;
        }
        Ok((outbox.payout_record(&row), Wake::new(outbox)))
    });
    let (record, _woken) = commit.await?;
    Ok(record)
}

/// Checks that a payout may be approved at `now`.
///
/// # Errors
/// The first of these reasons: the payout's state, a restored copy without a scan, an address that
/// another copy paid, coins that were refunded before or are gone, the limit.
pub fn may_approve(
    reader: &Reader<'_>,
    row: &PayoutRow,
    settings: &Settings,
    now: Timestamp,
) -> Result<(), ApproveError> {
    judge_state(row, now)?;
    if reader.dangerous_restore()?.is_some() {
        return Err(ApproveError::WalletNotReady(NotReady::NotLooked));
    }
    // A payment by another copy that was known at the request was agreed to with it. An offer's
    // `current_at` is the time of its request.
    if let Some(paid) =
        reader.twin_that_paid(&row.script)?.filter(|paid| paid.noticed_at > row.current_at)
    {
        let (txid, amount_sats, address) = (paid.txid, paid.amount_sats, row.address.clone());
        return Err(ApproveError::PaidBefore { txid, amount_sats, address });
    }
    if let Some((seq, anomaly)) = &row.anomaly {
        if reader.refunded_sats(*seq)? > 0 {
            return Err(ApproveError::RefundedBefore);
        }
        if !has_refund_coins(reader, anomaly, settings.spend_confirmations)? {
            return Err(ApproveError::RefundCoinsGone);
        }
    }
    let limit = limit::limit_now(reader, settings, now)?;
    let refusals = limit::refusals(&limit, row.amount_sats, &row.script, row.anomaly.is_some());
    if refusals.is_empty() { Ok(()) } else { Err(ApproveError::Limit(refusals)) }
}

/// Turns an offer into an approved payout.
pub fn queue(row: &mut PayoutRow, by: String, now: Timestamp) {
    row.state = PayoutState::Queued;
    row.approved_at = Some(now);
    row.approved_by = Some(by);
    row.current_at = row.current_at.moved_on(now);
}

/// Whether all coins of an anomaly have the confirmations that a refund needs.
pub fn has_refund_coins(
    reader: &Reader<'_>,
    anomaly: &Id,
    confirmations: u32,
) -> Result<bool, StoreError> {
    let Some(row) = reader.anomaly(anomaly)? else { return Ok(false) };
    let receipts = reader.receipts_of(row.payment_seq, &row.anomaly.txids)?;
    let tip_height = reader.tip_height()?;
    let are_all_there = !receipts.is_empty() && receipts.len() == row.anomaly.txids.len();
    Ok(are_all_there
        && receipts.iter().all(|it| !it.gone && it.confirmations(tip_height) >= confirmations))
}

/// Refuses a payout that is not an offer, and an expired offer.
pub fn judge_state(row: &PayoutRow, now: Timestamp) -> Result<(), ApproveError> {
    match row.state {
        PayoutState::New
            if is_valid_at(row.expires_at, now) && row.created_at <= latest_stored(now) =>
        {
            Ok(())
        }
        PayoutState::New | PayoutState::Expired => Err(row
            .failure_reason
            .clone()
            .map_or(ApproveError::OfferExpired, ApproveError::OfferRejected)),
        PayoutState::Queued | PayoutState::Sent | PayoutState::Failed => {
            Err(ApproveError::NotPending(row.state))
        }
    }
}
