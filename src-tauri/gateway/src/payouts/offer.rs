//! Offers a payout. Every possible refusal comes before anything is stored. The offer, the answer
//! to its request and an immediate approval are one commit.

use std::mem;
use std::sync::Arc;

use bitcoin::Txid;
use tillgate_domain::id::Id;
use tillgate_domain::money::{Currency, Rate, format_btc};
use tillgate_domain::payout::PayoutState;
use tillgate_domain::payout::offer::{OfferAmount, OfferTooLarge, OfferWorth};
use tillgate_domain::time::Timestamp;
use tillgate_machine::disk::DiskNearlyFull;
use tillgate_machine::entropy::NoEntropy;
use tillgate_machine::field_errors::{Fault, FieldError};
use tillgate_store::notify_hosts::NotifyHosts;
use tillgate_store::payouts::{NewPayout, PayoutRow};
use tillgate_store::rates::StoredRate;
use tillgate_store::twins::PaidByTwin;
use tillgate_store::{Reader, StoreError};
use tillgate_told::Sum;

use super::approve::{self, Wake};
use super::cost::{self, PayoutCost, Permit};
use super::estimate::usual_script;
use super::limit;
use super::request::{self, BTC, FIAT, PayoutRequest, Validated};
use crate::access::idempotency::{Once, PriorRequest};
use crate::answer::{Answer, Answered};
use crate::error_type::ErrorType;
use crate::gateway::Gateway;
use crate::notifications::outbox::{self, Outbox};
use crate::rates::RateUnavailable;
use crate::settings::Settings;
use crate::wallet::NotReady;

const MINUTE_MS: i64 = 60_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requester {
    /// The API key; `None` for people.
    pub key_id: Option<i64>,
    /// The key's name, or `cli:…` or `panel:…`.
    pub name: String,
    /// Hosts that may be notified.
    pub notify_hosts: NotifyHosts,
}

pub struct OfferRequest<'a> {
    pub requester: Requester,
    pub payout: PayoutRequest<'a>,
    /// Whether the requester approves the offer at once.
    pub is_approved: bool,
    /// Its Idempotency-Key, if it has one.
    pub once: Option<Once>,
    /// The permit for computing its cost. A repeated answer takes none.
    pub permit: Permit,
    /// Whether to offer the payout although another copy of the wallet paid this address.
    pub again: bool,
}

/// The outcome of a request for a payout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Offered {
    New {
        /// Its id, for the panel.
        payout_id: Id,
        /// The Payout record, JSON.
        record: String,
    },
    /// No new payout: the stored answer of the first request with this idempotency key.
    Again(Vec<u8>),
}

#[cfg(any(test, feature = "testing"))]
impl Offered {
    pub fn payout_id(self) -> Id {
        match self {
            Self::New { payout_id, .. } => payout_id,
            Self::Again(_) => panic!("an older payout was answered"),
        }
    }
}

/// Reason why no payout was offered. Nothing was stored.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum OfferError {
    /// Every field error of the request, including refusals of the limit.
    #[error("the request is not valid")]
    Invalid(Vec<FieldError>),
    #[error("this Idempotency-Key was used with another request")]
    KeyReused,
    /// Another copy of the wallet paid the same address, in any amount.
    #[error(
        "another copy of this wallet paid {} BTC to {address}, in transaction {txid}: ask again only if that was for \
         something else",
        Sum(format_btc(*.amount_sats))
    )]
    PaidBefore {
        /// The other copy's transaction.
        txid: Txid,
        amount_sats: u64,
        address: String,
    },
    #[error(transparent)]
    DiskNearlyFull(#[from] DiskNearlyFull),
    #[error(transparent)]
    Rate(#[from] RateUnavailable),
    /// The wallet is missing, or its coins are not known yet.
    #[error(transparent)]
    WalletNotReady(#[from] NotReady),
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Answered for OfferError {
    fn answer(&self) -> Answer<'_> {
        match self {
            Self::Invalid(field_errors) => Answer::Fields(field_errors.into()),
            Self::KeyReused => Answer::new(ErrorType::IdempotencyKeyReused),
            Self::PaidBefore { .. } => Answer::new(ErrorType::PayoutPaidBefore).at("again"),
            Self::DiskNearlyFull(full) => full.answer(),
            Self::Rate(unavailable) => unavailable.answer(),
            Self::WalletNotReady(_) => Answer::new(ErrorType::WalletNotReady),
            Self::Entropy(_) => Answer::internal(),
            Self::Store(error) => error.answer(),
        }
    }
}

/// Further work in the transaction that stores an offer.
pub trait Along: Send + 'static {
    /// Reason for which this work refuses the offer.
    type Error: From<OfferError> + From<StoreError> + Send + 'static;

    /// Whether the offer sends an anomaly's coins back.
    fn is_refund(&self) -> bool {
        false
    }

    /// Checks the offer in its transaction before it is inserted, and may still change it.
    fn before(&self, outbox: &Outbox<'_>, row: &mut PayoutRow) -> Result<(), Self::Error>;

    /// Runs in the transaction after the offer is inserted.
    ///
    /// # Errors
    /// The reason for which the whole transaction is undone.
    fn after(&self, outbox: &Outbox<'_>, row: &PayoutRow) -> Result<(), Self::Error>;
}

/// No further work.
struct Alone;

impl Along for Alone {
    type Error = OfferError;

    fn before(&self, _: &Outbox<'_>, _: &mut PayoutRow) -> Result<(), OfferError> {
        Ok(())
    }

    fn after(&self, _: &Outbox<'_>, _: &PayoutRow) -> Result<(), OfferError> {
        Ok(())
    }
}

/// Offers a payout, or repeats the answer to the same earlier request.
///
/// # Errors
/// Every field error of the request, or the one obstacle to an offer.
pub async fn offer(
    gateway: &Arc<Gateway>,
    request: OfferRequest<'_>,
) -> Result<Offered, OfferError> {
    offer_along(gateway, request, Alone).await
}

/// As [`offer`], with further work in the transaction that stores the offer.
///
/// # Errors
/// Errors of [`offer`], and refusals of `along`.
pub async fn offer_along<A: Along>(
    gateway: &Arc<Gateway>,
    request: OfferRequest<'_>,
    along: A,
) -> Result<Offered, A::Error> {
    // The sandbox moves the clock and looks at the chain; no request may run between the two.
    let _no_jump = gateway.time.jumps.read().await;
    let now = gateway.follow_clock().await?;
    if let Some(once) = &request.once
        && let Some(answer) =
            answered_before(gateway.store.read(|reader| once.prior(reader, now))?)?
    {
        return Ok(answer);
    }
    let settings = gateway.settings.snapshot();
    let OfferRequest { requester, payout, is_approved, once, permit, again } = request;
    let validated =
        request::validate(payout, &settings.currencies, gateway.network, &requester.notify_hosts);
    let known = cost::ours_is_known(gateway).await;
    let (judged, market) = judge(gateway, validated, along.is_refund(), &settings, now)?;
    known.map_err(OfferError::from)?;
    gateway.ready_wallet().map_err(OfferError::from)?;
    gateway.check_room().map_err(OfferError::from)?;
    let fee_rate = cost::fee_rate(gateway, &settings).await;
    let (amount_sats, script) = (judged.worth.amount_sats, judged.address.script.clone());
    let cost =
        cost::cost_off_thread(gateway, &settings, fee_rate, (amount_sats, script), permit).await?;
    let rate_id = gateway.market.rates.row_id(&gateway.store, judged.currency, &market).await?;
    let id = gateway.machine.entropy.id().map_err(OfferError::from)?;
    let field = judged.field;
    let row = row(id, judged, market.rate, cost, (&requester, &settings), now)?;
    let insertion =
        Insertion { new: NewPayout { row, rate_id }, field, is_approved, once, again, along };
    let (offered, _woken) =
        outbox::commit(gateway, None, move |outbox| insertion.insert(outbox)).await?;
    Ok(offered)
}

/// A valid request.
struct Judged {
    worth: OfferWorth,
    /// The field that held the amount.
    field: &'static str,
    currency: Currency,
    address: tillgate_domain::payout::address::PayoutAddress,
    comment: Option<String>,
    notification_url: Option<String>,
}

/// Computes the amount, its worth and the rate of both. It finds every field error, and refuses
/// faults that the client can mend before those that pass with time.
fn judge(
    gateway: &Gateway,
    mut validated: Validated,
    is_refund: bool,
    settings: &Settings,
    now: Timestamp,
) -> Result<(Judged, StoredRate), OfferError> {
    let mut field_errors = mem::take(&mut validated.field_errors);
    if let Some(address) = &validated.address
        && gateway.store.read(|reader| gateway.is_ours(reader, &address.script))?
    {
        field_errors.push(FieldError::told("address", &Fault::OwnAddress));
    }
    let field = match validated.amount {
        Some(OfferAmount::Fiat(_)) => FIAT,
        Some(OfferAmount::Btc(_)) | None => BTC,
    };
    let rate = validated.currency.map(|currency| gateway.market.rates.rate_for(currency, now));
    if let (Some(refund_sats), Some(amount)) = (validated.refund_sats, validated.amount) {
        let market = validated.currency.zip(rate.as_ref().and_then(|rate| rate.as_ref().ok()));
        field_errors.extend(other_than_the_refund(amount, refund_sats, market));
        validated.amount = Some(OfferAmount::Btc(refund_sats));
    }
    // An amount in Bitcoin does not depend on the rate.
    let worth = match (validated.amount, validated.currency, &rate) {
        (Some(amount), Some(currency), Some(Ok(market))) => {
            Some(OfferWorth::at_rate(amount, market.rate, currency))
        }
        (Some(OfferAmount::Btc(amount_sats)), _, _) => {
            Some(Ok(OfferWorth { amount_sats, fiat_minor: 0 }))
        }
        _ => None,
    };
    match &worth {
        Some(Ok(worth)) => {
            let limit = gateway.store.read(|reader| limit::limit_now(reader, settings, now))?;
            // The dust limit depends on the address. A wrong address is refused anyway.
            let script = validated
                .address
                .as_ref()
                .map_or_else(usual_script, |address| address.script.clone());
            let refusals = limit::refusals(&limit, worth.amount_sats, &script, is_refund);
            field_errors.extend(limit::field_errors(&refusals, Some(field)));
        }
        Some(Err(too_large)) => field_errors.push(FieldError::told(field, &too_large)),
        None => {}
    }
    if !field_errors.is_empty() {
        return Err(OfferError::Invalid(field_errors));
    }
    let Validated { currency, address, comment, notification_url, .. } = validated;
    match (worth, currency, address, rate) {
        (Some(Ok(worth)), Some(currency), Some(address), Some(Ok(market))) => {
            Ok((Judged { worth, field, currency, address, comment, notification_url }, market))
        }
        (_, _, _, Some(Err(unavailable))) => Err(unavailable.into()),
        // Each missing part was reported above.
        _ => Err(OfferError::Invalid(field_errors)),
    }
}

/// Refuses an amount that differs from the refund's sum, or from its worth at this rate.
fn other_than_the_refund(
    amount: OfferAmount,
    refund_sats: u64,
    market: Option<(Currency, &StoredRate)>,
) -> Option<FieldError> {
    let must_be = |field, sum| Some(FieldError::told(field, &Fault::NotTheRefund(Sum(sum))));
    match (amount, market) {
        (OfferAmount::Btc(sats), _) if sats == refund_sats => None,
        (OfferAmount::Btc(_), _) => must_be(BTC, format_btc(refund_sats)),
        (OfferAmount::Fiat(minor), Some((currency, market))) => {
            let worth =
                OfferWorth::at_rate(OfferAmount::Btc(refund_sats), market.rate, currency).ok()?;
            if worth.fiat_minor == minor {
                None
            } else {
                must_be(FIAT, currency.format_minor(worth.fiat_minor))
            }
        }
        // The missing rate is reported instead.
        (OfferAmount::Fiat(_), None) => None,
    }
}

/// The row of the offer. The insertion assigns its `seq`.
fn row(
    id: Id,
    judged: Judged,
    rate: Rate,
    cost: PayoutCost,
    (requester, settings): (&Requester, &Settings),
    now: Timestamp,
) -> Result<PayoutRow, OfferError> {
    let Judged { worth, field, currency, address, comment, notification_url } = judged;
    let total = worth.total_minor(cost.network_fee_sats, rate, currency);
    let fiat_total_minor = total.map_err(|too_large: OfferTooLarge| {
        OfferError::Invalid(vec![FieldError::told(field, &too_large)])
    })?;
    let created_at = now.cut_to_second();
    Ok(PayoutRow {
        seq: 0,
        id,
        state: PayoutState::New,
        amount_sats: worth.amount_sats,
        script: address.script,
        address: address.text,
        currency,
        rate,
        fiat_minor: worth.fiat_minor,
        fiat_total_minor,
        network_fee_sats: cost.network_fee_sats,
        balance_short: cost.balance_short,
        key_id: requester.key_id,
        requested_by: requester.name.clone(),
        merchant_name: settings.merchant_name.clone(),
        comment,
        notification_url,
        anomaly: None,
        created_at,
        expires_at: created_at.plus_ms(i64::from(settings.offer_validity_minutes) * MINUTE_MS),
        approved_at: None,
        approved_by: None,
        sent_at: None,
        failure_reason: None,
        failed_at: None,
        given_up_by: None,
        batch_seq: None,
        txid: None,
        booked_sats: 0,
        booked_fee_sats: 0,
        current_at: now,
    })
}

/// The answer to an earlier request with this Idempotency-Key.
///
/// # Errors
/// When the key was used with another request.
pub fn answered_before(prior: PriorRequest) -> Result<Option<Offered>, OfferError> {
    match prior {
        PriorRequest::None => Ok(None),
        PriorRequest::Same(answer) => Ok(Some(Offered::Again(answer))),
        PriorRequest::Other => Err(OfferError::KeyReused),
    }
}

/// Refuses a payout that another copy of the wallet may have made: a twin pays its address
/// (interface, section 4, "Restored from a backup").
fn check_not_paid(reader: &Reader<'_>, row: &PayoutRow) -> Result<(), OfferError> {
    match reader.twin_that_paid(&row.script)? {
        Some(PaidByTwin { txid, amount_sats, .. }) => {
            Err(OfferError::PaidBefore { txid, amount_sats, address: row.address.clone() })
        }
        None => Ok(()),
    }
}

/// An offer about to be stored.
struct Insertion<A> {
    new: NewPayout,
    /// The field that held the amount.
    field: &'static str,
    is_approved: bool,
    once: Option<Once>,
    again: bool,
    along: A,
}

impl<A: Along> Insertion<A> {
    /// Stores the offer, unless a simultaneous repetition of its request was committed first. Then
    /// it repeats that answer.
    fn insert(mut self, outbox: &Outbox<'_>) -> Result<(Offered, Option<Wake>), A::Error> {
        let (tx, now) = (outbox.tx, outbox.now);
        let reader: &Reader<'_> = tx;
        if let Some(once) = &self.once
            && let Some(again) = answered_before(once.prior(reader, now)?)?
        {
            return Ok((again, None));
        }
        let row = &mut self.new.row;
        self.along.before(outbox, row)?;
        if !self.again {
            check_not_paid(tx, row)?;
        }
        if self.is_approved {
            // Other approvals since the first check may have used up the limit.
            let limit = limit::limit_now(reader, &outbox.gateway.settings.snapshot(), now)?;
            let refusals =
                limit::refusals(&limit, row.amount_sats, &row.script, row.anomaly.is_some());
            if !refusals.is_empty() {
                return Err(
                    OfferError::Invalid(limit::field_errors(&refusals, Some(self.field))).into()
                );
            }
            approve::queue(row, row.requested_by.clone(), now);
        }
        let seq = tx.insert_payout(&self.new)?;
        let row = PayoutRow { seq, ..self.new.row };
        if row.key_id.is_none() {
            let act =
                if self.is_approved { "payouts request and approve" } else { "payouts request" };
            tx.audit(now, &row.requested_by, act, &row.id.to_string())?;
        }
        self.along.after(outbox, &row)?;
        let record = outbox.payout_record(&row);
        if let Some(once) = &self.once {
            once.store(tx, record.as_bytes(), now)?;
        }
        let wake = self.is_approved.then(|| Wake::new(outbox));
        Ok((Offered::New { payout_id: row.id, record }, wake))
    }
}
