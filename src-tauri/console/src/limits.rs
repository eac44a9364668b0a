//! Shows and changes the limits of payouts.

use serde::{Deserialize, Serialize};
use tillgate_domain::money::Currency;
use tillgate_domain::payout::limit::UtcDay;
use tillgate_gateway::error_type::ErrorType;
use tillgate_gateway::payouts::{limit_now, limit_record};
use tillgate_gateway::settings::{Act, SettingError};
use ts_rs::TS;

use super::ask::{Ask, Asker};
use super::btc::BtcView;
use super::error::CommandError;
use super::payouts::plain_btc;
use super::sums::FiatView;
use crate::refusal::ArgumentFault;

const DAILY: &str = "dailyLimitBtc";

/// The setting of the smallest payout.
const MINIMUM: &str = "minPayoutBtc";

/// Asks for today's limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ShowLimits {
    /// The ISO code of a currency. If given, the answer also holds the limits in this currency at
    /// the present rate.
    #[serde(default)]
    pub currency: Option<String>,
}

/// Changes one or both limits, in one transaction. A limit that is absent stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SetLimits {
    #[serde(default)]
    pub daily_btc: Option<String>,
    /// The smallest payout, in BTC.
    #[serde(default)]
    pub minimum_btc: Option<String>,
}

/// The limits of payouts, and how much of today's limit is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct LimitsView {
    /// The sum approved today that did not fail, without fees.
    pub used: BtcView,
    /// The sum that may still be approved today.
    pub available: BtcView,
    /// The smallest payout that may be requested.
    pub minimum: BtcView,
    pub daily: BtcView,
    /// The end of the present UTC day, when `used` becomes 0 again. ISO 8601.
    pub resets: String,
    /// The limits in the requested currency.
    pub worth: Option<LimitsWorth>,
    /// The limit record of `/v2` in that currency or in BTC: JSON with exact numbers.
    pub record: String,
}

/// The limits in a currency, in its minor units.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct LimitsWorth {
    /// Rounded up.
    pub used: FiatView,
    /// Rounded down.
    pub available: FiatView,
    /// Rounded up.
    pub minimum: FiatView,
}

impl Ask for ShowLimits {
    type Answer = LimitsView;

    async fn answer(self, by: &Asker<'_>) -> Result<LimitsView, CommandError> {
        let currency = self.currency.filter(|currency| !currency.is_empty());
        if currency.is_some() {
            by.refresh_rates_if_unserved().await?;
        }
        show(by, currency.as_deref())
    }
}

impl Ask for SetLimits {
    type Answer = LimitsView;

    async fn answer(self, by: &Asker<'_>) -> Result<LimitsView, CommandError> {
        let gateway = by.gateway();
        let (daily, minimum) = (self.daily_btc.map(plain_btc), self.minimum_btc.map(plain_btc));
        let wanted = [(DAILY, daily.as_deref()), (MINIMUM, minimum.as_deref())];
        let wanted = wanted.map(|(name, value)| value.map(|value| (name, Some(value.trim()))));
        let wanted: Vec<_> = wanted.into_iter().flatten().collect();
        if wanted.is_empty() {
            return Err(CommandError::at("dailyBtc", &ArgumentFault::NoLimit));
        }
        let act = Act { actor: by.actor, at: gateway.time.now() };
        gateway.settings.change(&gateway.store, &wanted, act).await.map_err(refused)?;
        gateway.signals.note_change();
        show(by, None)
    }
}

/// The error for a limit that was refused, with the command's field in place of the setting's name.
fn refused((name, error): (&str, SettingError)) -> CommandError {
    let error = CommandError::from(error);
    let field = if name == DAILY { "dailyBtc" } else { "minimumBtc" };
    CommandError { field: error.field.map(|_| field.to_owned()), ..error }
}

fn show(by: &Asker<'_>, currency: Option<&str>) -> Result<LimitsView, CommandError> {
    let gateway = by.gateway();
    let record = limit_record(gateway, currency)?;
    let now = gateway.time.now();
    let settings = gateway.settings.snapshot();
    let limit = gateway.store.read(|reader| limit_now(reader, &settings, now))?;
    let worth = match currency.and_then(Currency::from_code) {
        Some(currency) => {
            let rate = gateway.market.rates.rate_for(currency, now);
            let rate =
                rate.map_err(|error| CommandError::told(ErrorType::RateUnavailable, &error))?.rate;
            let worth = limit.worth(rate, currency);
            let fiat = |minor| FiatView::from_minor(minor, currency);
            Some(LimitsWorth {
                used: fiat(worth.used_minor),
                available: fiat(worth.available_minor),
                minimum: fiat(worth.minimum_minor),
            })
        }
        None => None,
    };
    Ok(LimitsView {
        used: BtcView::from_sats(limit.used_sats),
        available: BtcView::from_sats(limit.available_sats),
        minimum: BtcView::from_sats(limit.minimum_sats),
        daily: BtcView::from_sats(settings.daily_limit_sats),
        resets: UtcDay::of(now).end.iso_seconds(),
        worth,
        record,
    })
}
