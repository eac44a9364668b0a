//! Refunds an anomaly: a payout of all its coins, under the rules of every payout.

use std::borrow::Cow;
use std::sync::Arc;

use bitcoin::Txid;
use tillgate_domain::anomaly::{Anomaly, AnomalyKind, Resolution};
use tillgate_domain::id::Id;
use tillgate_domain::money::format_btc;
use tillgate_domain::payment::PaymentState;
use tillgate_domain::payout::PayoutState;
use tillgate_store::anomalies::AnomalyRow;
use tillgate_store::notify_hosts::NotifyHosts;
use tillgate_store::payout_lists::PayoutFilter;
use tillgate_store::payouts::PayoutRow;
use tillgate_store::twins::PaidByTwin;
use tillgate_store::{Reader, StoreError};
use tillgate_told::Sum;

use crate::access::record_scope::RecordScope;
use crate::answer::{Answer, Answered, ToShops};
use crate::error_type::ErrorType;
use crate::gateway::Gateway;
use crate::notifications::outbox::{Outbox, OutboxError};
use crate::notifications::refunds;
use crate::payouts::{
    self, Along, OfferError, OfferRequest, Offered, PayoutRequest, Permit, Requester,
};

/// Limit of payouts of one sum that are checked for an earlier refund.
const ALIKE_MAX: u32 = 100;

pub struct RefundRequest<'a> {
    pub anomaly_id: Id,
    /// The anomalies that the requester may refund.
    pub scope: RecordScope,
    /// The requested payout. Amount and currency are optional; a missing currency is the payment's.
    /// `again` allows an address that another copy paid, and a sum that an earlier payout paid.
    pub offer: OfferRequest<'a>,
}

impl<'a> RefundRequest<'a> {
    /// A refund to `address` requested by staff; `by` is `cli:…` or `panel:…`.
    pub fn of_staff(
        anomaly_id: Id,
        address: impl Into<Cow<'a, str>>,
        by: impl Into<String>,
    ) -> Self {
        let requester =
            Requester { key_id: None, name: by.into(), notify_hosts: NotifyHosts::default() };
        let payout = PayoutRequest { address: Some(address.into()), ..PayoutRequest::default() };
        let (is_approved, again) = (false, false);
        let offer = OfferRequest {
            requester,
            payout,
            is_approved,
            once: None,
            permit: Permit::none(),
            again,
        };
        Self { anomaly_id, scope: RecordScope::Everything, offer }
    }
}

/// Reason why an anomaly is not refunded. The database is unchanged.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum RefundError {
    #[error("there is no anomaly {0}")]
    NoSuchAnomaly(Id),
    #[error("this anomaly is {} and waits for no decision", .0.as_str())]
    NotOpen(Resolution),
    #[error("these coins were taken back: there is nothing to refund, dismiss the anomaly instead")]
    Reversed,
    #[error(
        "the coins of this anomaly are gone, or have less than {confirmations} confirmations: wait for them"
    )]
    CoinsNotReady {
        /// The needed confirmations.
        confirmations: u32,
    },
    #[error(
        "nothing is left to send back: {} BTC of this payment were sent back before, and the price of a paid \
         payment is not refunded; dismiss the anomaly",
        Sum(format_btc(*.returned_sats))
    )]
    ReturnedBefore {
        /// The sum of earlier refunds of the same payment.
        returned_sats: u64,
    },
    #[error(
        "another copy of this wallet paid {} BTC to this address, in transaction {txid}: if that was this refund, dismiss \
         the anomaly; if it was for something else, confirm that the address is to be paid again",
        Sum(format_btc(*.amount_sats))
    )]
    PaidBefore {
        /// The other copy's transaction.
        txid: Txid,
        /// The sum of that transaction's outputs to the address.
        amount_sats: u64,
    },
    /// A payout that belongs to no anomaly pays the same sum, to any address.
    #[error(
        "payout {payout_id}, which is {state}, pays exactly {} BTC: if that is this refund, dismiss the anomaly; \
         if it is for something else, confirm that the sum is to be sent again",
        Sum(format_btc(*.amount_sats))
    )]
    PaidByPayout {
        payout_id: Id,
        state: PayoutState,
        /// The sum of that payout.
        amount_sats: u64,
    },
    /// A look changed the anomaly between the request and the commit.
    #[error("the coins of this anomaly have just changed: look at it again, then refund it")]
    Changed,
    #[error(transparent)]
    Offer(#[from] OfferError),
    #[error(transparent)]
    Outbox(#[from] OutboxError),
}

impl Answered for RefundError {
    fn answer(&self) -> Answer<'_> {
        match self {
            Self::NoSuchAnomaly(_) => Answer::not_found("There is no such anomaly"),
            Self::NotOpen(_) | Self::Reversed | Self::ReturnedBefore { .. } | Self::Changed => {
                Answer::new(ErrorType::AnomalyNotOpen)
            }
            Self::CoinsNotReady { .. } => Answer::new(ErrorType::RefundCoinsGone),
            Self::PaidBefore { .. } => Answer::new(ErrorType::PayoutPaidBefore).at(ALTHOUGH_PAID),
            // The payout may belong to another key, so shops do not see its id.
            Self::PaidByPayout { .. } => Answer::new(ErrorType::PayoutPaidBefore)
                .at(ALTHOUGH_PAID)
                .to_shops(ToShops::Instead(PAID_BY_PAYOUT)),
            Self::Offer(error) => error.answer(),
            Self::Outbox(error) => error.answer(),
        }
    }
}

/// The argument that confirms a refund to an address or of a sum that was paid before.
const ALTHOUGH_PAID: &str = "althoughPaid";

/// The sentence for shops if another payout already pays the refund's amount.
const PAID_BY_PAYOUT: &str = "Another payout pays exactly this amount. If that is this refund, dismiss the \
     anomaly; if it is for something else, ask again with again=true";

impl From<StoreError> for RefundError {
    fn from(error: StoreError) -> Self {
        Self::Outbox(error.into())
    }
}

/// Offers a payout of an OPEN anomaly's coins, minus earlier refunds. The anomaly becomes
/// REFUNDING, and the shop is notified. An immediate approval is part of the same transaction.
///
/// # Errors
/// [`RefundError`].
pub async fn refund(
    gateway: &Arc<Gateway>,
    request: RefundRequest<'_>,
) -> Result<Offered, RefundError> {
    let RefundRequest { anomaly_id, scope, mut offer } = request;
    let although_paid = offer.again;
    let (confirmations, now) =
        (gateway.settings.snapshot().spend_confirmations, gateway.time.now());
    let begun = gateway.store.read(|reader| {
        if let Some(once) = &offer.once
            && let Some(answer) = payouts::answered_before(once.prior(reader, now)?)?
        {
            return Ok(Err(answer));
        }
        let row = reader.anomaly(&anomaly_id)?.filter(|row| scope.includes(row.key_id));
        let row = row.ok_or(RefundError::NoSuchAnomaly(anomaly_id))?;
        judge(reader, &row, confirmations).map(|refund_sats| Ok((row, refund_sats)))
    })?;
    let (row, refund_sats) = match begun {
        Ok(judged) => judged,
        Err(answer) => return Ok(answer),
    };
    offer.payout.refund_sats = Some(refund_sats);
    offer.payout.currency.get_or_insert_with(|| row.currency.code().into());
    payouts::offer_along(gateway, offer, Refund { anomaly_id, confirmations, although_paid }).await
}

/// The present sum of an anomaly's refund, in satoshis.
///
/// # Errors
/// When the anomaly cannot be refunded now.
pub fn refund_sats(gateway: &Gateway, anomaly_id: Id) -> Result<u64, RefundError> {
    let confirmations = gateway.settings.snapshot().spend_confirmations;
    gateway.store.read(|reader| {
        let row = reader.anomaly(&anomaly_id)?.ok_or(RefundError::NoSuchAnomaly(anomaly_id))?;
        judge(reader, &row, confirmations)
    })
}

/// The facts that make an offer a refund.
struct Refund {
    anomaly_id: Id,
    confirmations: u32,
    although_paid: bool,
}

impl Along for Refund {
    type Error = RefundError;

    fn is_refund(&self) -> bool {
        true
    }

    fn before(&self, outbox: &Outbox<'_>, payout: &mut PayoutRow) -> Result<(), RefundError> {
        let row = outbox
            .tx
            .anomaly(&self.anomaly_id)?
            .ok_or(RefundError::NoSuchAnomaly(self.anomaly_id))?;
        if judge(outbox.tx, &row, self.confirmations)? != payout.amount_sats {
            return Err(RefundError::Changed);
        }
        if !self.although_paid {
            check_not_paid(outbox.tx, &row, payout)?;
        }
        payout.anomaly = Some((row.seq, self.anomaly_id));
        Ok(())
    }

    fn after(&self, outbox: &Outbox<'_>, payout: &PayoutRow) -> Result<(), RefundError> {
        if payout.key_id.is_some() {
            return Ok(refunds::anomaly_after(outbox, payout)?);
        }
        let again = if self.although_paid { ", again" } else { "" };
        let act = format!("{} by payout {}{again}", self.anomaly_id, payout.id);
        outbox.tx.audit(outbox.now, &payout.requested_by, "anomalies refund", &act)?;
        Ok(refunds::anomaly_after(outbox, payout)?)
    }
}

/// Refuses a refund that may have been made already, by a payout without the anomaly's id or by
/// another copy of the wallet. This database lacks the payouts of another copy.
fn check_not_paid(
    reader: &Reader<'_>,
    anomaly: &AnomalyRow,
    refund: &PayoutRow,
) -> Result<(), RefundError> {
    let amount_sats = refund.amount_sats;
    if let Some(paid) = payout_alike(reader, anomaly, amount_sats)? {
        return Err(RefundError::PaidByPayout {
            payout_id: paid.id,
            state: paid.state,
            amount_sats,
        });
    }
    match reader.twin_that_paid(&refund.script)? {
        Some(PaidByTwin { txid, amount_sats, .. }) => {
            Err(RefundError::PaidBefore { txid, amount_sats })
        }
        None => Ok(()),
    }
}

/// The newest approved or sent payout of this sum that belongs to no anomaly and was requested
/// after the anomaly's payment was made. Its address may differ, because a customer may name
/// another one each time.
fn payout_alike(
    reader: &Reader<'_>,
    anomaly: &AnomalyRow,
    amount_sats: u64,
) -> Result<Option<PayoutRow>, StoreError> {
    let payment = reader
        .payment(&anomaly.payment_id)?
        .ok_or(StoreError::BadValue("anomalies.payment_seq"))?;
    let filter = PayoutFilter {
        states: vec![PayoutState::Queued, PayoutState::Sent],
        from: Some(payment.payment.created_at),
        amount_sats: Some(amount_sats),
        ..PayoutFilter::default()
    };
    let alike = reader.payouts(&filter, ALIKE_MAX, 0)?;
    Ok(alike.into_iter().find(|payout| payout.anomaly.is_none()))
}

/// Refuses an anomaly that waits for no decision, or whose coins are gone.
pub fn check_awaits_refund(anomaly: &Anomaly) -> Result<(), RefundError> {
    if anomaly.resolution != Resolution::Open {
        return Err(RefundError::NotOpen(anomaly.resolution));
    }
    if anomaly.kind == AnomalyKind::ReversedPayment {
        return Err(RefundError::Reversed);
    }
    Ok(())
}

/// The sum of an anomaly's refund. Refuses if it cannot be refunded now.
fn judge(reader: &Reader<'_>, row: &AnomalyRow, confirmations: u32) -> Result<u64, RefundError> {
    check_awaits_refund(&row.anomaly)?;
    if !payouts::has_refund_coins(reader, &row.anomaly.id, confirmations)? {
        return Err(RefundError::CoinsNotReady { confirmations });
    }
    let (free_sats, returned_sats) = free_sats(reader, row)?;
    match row.anomaly.paid_sats.min(free_sats) {
        0 => Err(RefundError::ReturnedBefore { returned_sats }),
        refund_sats => Ok(refund_sats),
    }
}

/// The refundable sum of a payment, and the sum of its refunds so far. The refundable sum is all
/// received coins that the chain still shows, minus the price of a paid payment, minus those
/// refunds.
fn free_sats(reader: &Reader<'_>, row: &AnomalyRow) -> Result<(u64, u64), StoreError> {
    let payment = reader
        .payment(&row.payment_id)?
        .ok_or(StoreError::BadValue("anomalies.payment_seq"))?
        .payment;
    let kept_sats = match payment.state {
        PaymentState::Unconfirmed | PaymentState::Confirmed => {
            payment.paid_sats.min(payment.amount_sats)
        }
        PaymentState::New
        | PaymentState::Underpaid
        | PaymentState::Expired
        | PaymentState::Invalid => 0,
    };
    let receipts = reader.receipts(row.payment_seq)?;
    let there = receipts.iter().filter(|receipt| !receipt.gone);
    let there_sats = there.fold(0u64, |sum, receipt| sum.saturating_add(receipt.amount_sats));
    let mut returned_sats = reader.refunded_sats(row.seq)?;
    for other in reader.anomalies_of_payment(row.payment_seq)? {
        if other.seq != row.seq
            && other.anomaly.resolution.is_refund()
            && let Some(id) = other.payout_id
            && let Some(payout) = reader.payout(&id)?
        {
            returned_sats = returned_sats.saturating_add(payout.amount_sats);
        }
    }
    Ok((there_sats.saturating_sub(kept_sats).saturating_sub(returned_sats), returned_sats))
}
