//! Validates a payout request. Finds every field error, not just the first.

use std::borrow::Cow;

use bitcoin::Network;
use tillgate_domain::money::{Currency, parse_btc};
use tillgate_domain::payout::address::{self, PayoutAddress};
use tillgate_domain::payout::offer::OfferAmount;
use tillgate_machine::field_errors::Fault;
use tillgate_machine::field_errors::FieldError;
use tillgate_store::notify_hosts::NotifyHosts;

use crate::payments::{FieldErrors, TEXT_MAX};

/// The field of an amount in Bitcoin.
pub const BTC: &str = "btcAmount";

/// The field of an amount in fiat.
pub const FIAT: &str = "fiatAmount";

/// A payout request as received: texts that are not validated. `None` means missing.
#[derive(Debug, Clone, Default)]
pub struct PayoutRequest<'a> {
    /// The Bitcoin to send, a decimal number; either this or the fiat amount.
    pub btc_amount: Option<Cow<'a, str>>,
    /// The fiat worth to send, a decimal number.
    pub fiat_amount: Option<Cow<'a, str>>,
    /// ISO 4217 code.
    pub currency: Option<Cow<'a, str>>,
    /// The recipient's address.
    pub address: Option<Cow<'a, str>>,
    /// A note about the payout.
    pub comment: Option<Cow<'a, str>>,
    /// The URL that is notified when the payout is sent or fails.
    pub notification_url: Option<Cow<'a, str>>,
    /// The sum of a refund. The amounts may then be left out, or must agree.
    pub refund_sats: Option<u64>,
    /// Errors found while the request was parsed. A field with such an error does not count as
    /// missing.
    pub field_errors: Vec<FieldError>,
}

/// A validated request. The limit, and addresses of our own, are checked later.
#[derive(Debug)]
pub struct Validated {
    pub amount: Option<OfferAmount>,
    /// The sum of a refund, which `amount` must equal.
    pub refund_sats: Option<u64>,
    /// `None` after a field error, like each of the following.
    pub currency: Option<Currency>,
    pub address: Option<PayoutAddress>,
    pub comment: Option<String>,
    pub notification_url: Option<String>,
    pub field_errors: Vec<FieldError>,
}

/// Finds every field error of a request. `currencies` are those that the merchant takes; `hosts`
/// may be notified.
pub fn validate(
    payout: PayoutRequest<'_>,
    currencies: &[Currency],
    network: Network,
    hosts: &NotifyHosts,
) -> Validated {
    let mut field_errors = FieldErrors(payout.field_errors);
    let currency = field_errors.currency("currency", payout.currency, currencies);
    let amount = amount(
        &mut field_errors,
        payout.btc_amount,
        payout.fiat_amount,
        currency,
        payout.refund_sats,
    );
    let address = field_errors.required("address", payout.address);
    let address = address.and_then(|text| payout_address(&mut field_errors, &text, network));
    Validated {
        amount,
        refund_sats: payout.refund_sats,
        currency,
        address,
        comment: payout.comment.and_then(|it| field_errors.text("comment", it, TEXT_MAX)),
        notification_url: payout
            .notification_url
            .and_then(|it| field_errors.notified_url("notificationUrl", it, hosts)),
        field_errors: field_errors.0,
    }
}

/// A payable address.
pub fn payout_address(
    field_errors: &mut FieldErrors,
    text: &str,
    network: Network,
) -> Option<PayoutAddress> {
    address::parse(text, network)
        .map_or_else(|refusal| field_errors.told("address", &refusal), Some)
}

/// The amount in Bitcoin.
pub fn btc_amount(field_errors: &mut FieldErrors, text: &str) -> Option<OfferAmount> {
    parse_btc(text)
        .map_or_else(|error| field_errors.told(BTC, &error), |sats| Some(OfferAmount::Btc(sats)))
}

pub fn fiat_amount(
    field_errors: &mut FieldErrors,
    text: &str,
    currency: Option<Currency>,
) -> Option<OfferAmount> {
    field_errors.fiat(FIAT, text, currency).map(OfferAmount::Fiat)
}

/// The amount of a request, or the sum of a refund. If there are two amounts, the faults of each
/// are reported.
fn amount(
    field_errors: &mut FieldErrors,
    btc: Option<Cow<'_, str>>,
    fiat: Option<Cow<'_, str>>,
    currency: Option<Currency>,
    refund_sats: Option<u64>,
) -> Option<OfferAmount> {
    let is_wrong = |field_errors: &FieldErrors, field| {
        field_errors.0.iter().any(|field_error| field_error.field.as_deref() == Some(field))
    };
    let (wrong_btc, wrong_fiat) = (is_wrong(field_errors, BTC), is_wrong(field_errors, FIAT));
    let in_btc = btc.as_ref().and_then(|text| btc_amount(field_errors, text));
    let in_fiat = fiat.as_ref().and_then(|text| fiat_amount(field_errors, text, currency));
    match (btc.is_some() || wrong_btc, fiat.is_some() || wrong_fiat) {
        (true, true) => field_errors.told(FIAT, &Fault::BothAmounts),
        (false, false) if refund_sats.is_some() => refund_sats.map(OfferAmount::Btc),
        (false, false) => field_errors.told(BTC, &Fault::NoAmount),
        (true, false) => in_btc,
        (false, true) => in_fiat,
    }
}
