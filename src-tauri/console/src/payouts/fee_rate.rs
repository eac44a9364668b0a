//! Fee rates and fees, as people name them and see them.

use tillgate_domain::money::Currency;
use tillgate_gateway::gateway::Gateway;

use crate::error::CommandError;
use crate::refusal::ArgumentFault;
use crate::sums::FiatView;

/// The fee rates that a person may request, in sat/vB.
const FEE_RATES: std::ops::RangeInclusive<u32> = 1..=10_000;

/// The rate of a fee in satoshis per virtual byte, cut to 2 decimals.
pub fn rate_shown(fee_sats: u64, vsize: u64) -> String {
    let hundredths = fee_sats.saturating_mul(100) / vsize.max(1);
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// The worth of a fee, rounded up; `None` without a rate.
pub fn worth(gateway: &Gateway, fee_sats: u64, currency: Currency) -> Option<FiatView> {
    let stored = gateway.market.rates.rate_for(currency, gateway.time.now()).ok()?;
    Some(FiatView::from_minor(stored.rate.sats_to_minor_ceil(fee_sats, currency)?, currency))
}

pub fn check_rate(fee_rate: Option<u32>) -> Result<(), CommandError> {
    match fee_rate {
        Some(rate) if !FEE_RATES.contains(&rate) => Err(CommandError::invalid(
            "feeRate",
            &ArgumentFault::FeeRate { least: 1, most: 10_000 },
        )),
        Some(_) | None => Ok(()),
    }
}
