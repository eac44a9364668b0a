//! Estimates a payout. Nothing is stored, and no limit is checked.

use std::borrow::Cow;
use std::sync::Arc;

use bitcoin::ScriptBuf;
use bitcoin::hashes::Hash as _;
use tillgate_domain::payout::offer::{OfferTooLarge, OfferWorth};
use tillgate_machine::field_errors::{Fault, FieldError};
use tillgate_store::StoreError;

use super::cost::{self, Permit};
use super::request::{self, BTC, FIAT};
use crate::answer::{Answer, Answered};
use crate::gateway::Gateway;
use crate::payments::FieldErrors;
use crate::rates::RateUnavailable;
use crate::records::{Estimate, estimate_record};

/// The amount of an estimate, as received.
#[derive(Debug, Clone)]
pub enum EstimateAmount<'a> {
    Btc(Option<Cow<'a, str>>),
    Fiat(Option<Cow<'a, str>>),
}

/// A request for an estimate, as received.
#[derive(Debug, Clone)]
pub struct EstimateRequest<'a> {
    pub amount: EstimateAmount<'a>,
    /// ISO 4217 code.
    pub currency: Option<Cow<'a, str>>,
    /// The recipient's address. Without one, a SegWit address is assumed.
    pub address: Option<Cow<'a, str>>,
    /// Errors found while the request was parsed.
    pub field_errors: Vec<FieldError>,
}

/// Reason why there is no estimate.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum EstimateError {
    #[error("the request is not valid")]
    Invalid(Vec<FieldError>),
    #[error(transparent)]
    Rate(#[from] RateUnavailable),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Answered for EstimateError {
    fn answer(&self) -> Answer<'_> {
        match self {
            Self::Invalid(field_errors) => Answer::Fields(field_errors.into()),
            Self::Rate(unavailable) => unavailable.answer(),
            Self::Store(error) => error.answer(),
        }
    }
}

/// The estimate of a payout made now, as a record.
///
/// # Errors
/// Every field error of the request, or the one obstacle to an estimate.
pub async fn estimate(
    gateway: &Arc<Gateway>,
    request: EstimateRequest<'_>,
    permit: Permit,
) -> Result<String, EstimateError> {
    let settings = gateway.settings.snapshot();
    let mut field_errors = FieldErrors(request.field_errors);
    let currency = field_errors.currency("currency", request.currency, &settings.currencies);
    let (field, amount) = match request.amount {
        EstimateAmount::Btc(text) => (
            BTC,
            field_errors
                .required(BTC, text)
                .and_then(|text| request::btc_amount(&mut field_errors, &text)),
        ),
        EstimateAmount::Fiat(text) => {
            let text = field_errors.required(FIAT, text);
            (FIAT, text.and_then(|text| request::fiat_amount(&mut field_errors, &text, currency)))
        }
    };
    let network = gateway.network;
    let address =
        request.address.map(|text| request::payout_address(&mut field_errors, &text, network));
    let (Some(currency), Some(amount), []) = (currency, amount, field_errors.0.as_slice()) else {
        return Err(EstimateError::Invalid(field_errors.0));
    };
    let rate = gateway.market.rates.rate_for(currency, gateway.time.now())?.rate;
    let too_large =
        |why: OfferTooLarge| EstimateError::Invalid(vec![FieldError::told(field, &why)]);
    let worth = OfferWorth::at_rate(amount, rate, currency).map_err(too_large)?;
    if worth.amount_sats == 0 {
        return Err(EstimateError::Invalid(vec![FieldError::told(field, &Fault::NoSatoshi)]));
    }
    let script = address.flatten().map_or_else(usual_script, |address| address.script);
    if gateway.store.read(|reader| gateway.is_ours(reader, &script))? {
        return Err(EstimateError::Invalid(vec![FieldError::told("address", &Fault::OwnAddress)]));
    }
    let fee_rate = cost::fee_rate(gateway, &settings).await;
    let cost =
        cost::cost_off_thread(gateway, &settings, fee_rate, (worth.amount_sats, script), permit)
            .await?;
    let total = worth.total_minor(cost.network_fee_sats, rate, currency);
    Ok(estimate_record(&Estimate {
        amount_sats: worth.amount_sats,
        currency,
        fiat_minor: worth.fiat_minor,
        fiat_total_minor: total.map_err(too_large)?,
        network_fee_sats: cost.network_fee_sats,
        rate,
    }))
}

/// The script of a typical address.
pub fn usual_script() -> ScriptBuf {
    ScriptBuf::new_p2wpkh(&bitcoin::WPubkeyHash::all_zeros())
}
