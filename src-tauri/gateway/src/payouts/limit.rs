//! The day's limit, its refusals and its record.

use crate::answer::{Answer, Answered};
use crate::error_type::ErrorType;
use bitcoin::Script;
use tillgate_domain::money::{Currency, format_btc};
use tillgate_domain::payout::limit::{LimitRefusal, PayoutLimit, UtcDay};
use tillgate_domain::time::Timestamp;
use tillgate_machine::field_errors::{Fault, FieldError};
use tillgate_store::{Reader, StoreError};
use tillgate_told::Told as _;

use crate::gateway::Gateway;
use crate::rates::RateUnavailable;
use crate::records::limit_record as render;
use crate::settings::Settings;

/// The value of `currency` for amounts in Bitcoin.
const BTC: &str = "BTC";

/// Reason why the limit cannot be answered.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum LimitError {
    #[error("the request is not valid")]
    Invalid(Vec<FieldError>),
    #[error(transparent)]
    Rate(#[from] RateUnavailable),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Answered for LimitError {
    fn answer(&self) -> Answer<'_> {
        match self {
            Self::Invalid(field_errors) => Answer::Fields(field_errors.into()),
            Self::Rate(unavailable) => unavailable.answer(),
            Self::Store(error) => error.answer(),
        }
    }
}

/// The limit at `now`. It includes payments of other copies of this wallet on this day. An approval
/// in the future, by a clock that was ahead, counts until its day is over. In the transaction of an
/// approval the result is final.
pub fn limit_now(
    reader: &Reader<'_>,
    settings: &Settings,
    now: Timestamp,
) -> Result<PayoutLimit, StoreError> {
    let (used_sats, last_at) = reader.paid_out_since(UtcDay::of(now).begin)?;
    let used_sats = used_sats.saturating_add(reader.paid_by_twins_since(UtcDay::of(now).begin)?);
    let until = UtcDay::of(last_at.unwrap_or(now).max(now)).end;
    Ok(PayoutLimit::after(used_sats, settings.daily_limit_sats, settings.min_payout_sats, until))
}

/// The refusals of paying `amount_sats` to `script`. The only minimum of a refund is dust.
pub fn refusals(
    limit: &PayoutLimit,
    amount_sats: u64,
    script: &Script,
    is_refund: bool,
) -> Vec<LimitRefusal> {
    if is_refund {
        limit.refusals_of_refund(amount_sats, script.minimal_non_dust().to_sat())
    } else {
        limit.refusals(amount_sats)
    }
}

/// The refusals as field errors. `field` is the field of the amount; `None` if the request had
/// none.
pub fn field_errors(refusals: &[LimitRefusal], field: Option<&'static str>) -> Vec<FieldError> {
    let field_error = |refusal: &LimitRefusal| {
        let code = match refusal {
            LimitRefusal::AboveDailyLimit { .. } => ErrorType::PayoutAboveDailyLimit.as_str(),
            LimitRefusal::BelowMinimum { .. } | LimitRefusal::Dust { .. } => {
                ErrorType::PayoutBelowMinimum.as_str()
            }
        };
        FieldError {
            code,
            message: refusal.to_string(),
            field: field.map(Into::into),
            telling: Box::new(refusal.telling()),
        }
    };
    refusals.iter().map(field_error).collect()
}

/// The limit record in a currency of the merchant, or in Bitcoin.
///
/// # Errors
/// When the currency is unknown, has no rate, or the database cannot be read.
pub fn limit_record(gateway: &Gateway, currency: Option<&str>) -> Result<String, LimitError> {
    let now = gateway.time.now();
    let settings = gateway.settings.snapshot();
    let currency = match currency {
        None | Some(BTC) => None,
        Some(code) => Some(taken(&settings.currencies, code).map_err(LimitError::Invalid)?),
    };
    // Without a rate the sums are not read.
    let rate = currency.map(|currency| gateway.market.rates.rate_for(currency, now)).transpose()?;
    let limit = gateway.store.read(|reader| limit_now(reader, &settings, now))?;
    Ok(match currency.zip(rate) {
        None => render(
            BTC,
            [limit.used_sats, limit.available_sats, limit.minimum_sats]
                .map(format_btc)
                .each_ref()
                .map(String::as_str),
        ),
        Some((currency, stored)) => {
            let worth = limit.worth(stored.rate, currency);
            let shown = [worth.used_minor, worth.available_minor, worth.minimum_minor];
            render(
                currency.code(),
                shown.map(|minor| currency.format_minor(minor)).each_ref().map(String::as_str),
            )
        }
    })
}

fn taken(currencies: &[Currency], code: &str) -> Result<Currency, Vec<FieldError>> {
    currencies.iter().find(|currency| currency.code() == code).copied().ok_or_else(|| {
        let codes: Vec<&str> = currencies.iter().map(Currency::code).collect();
        vec![FieldError::told("currency", &Fault::NotACurrency(codes.join(", ")))]
    })
}
