//! The fee rate that a server names.

use std::collections::BTreeMap;

use bitcoin::FeeRate;
use rust_decimal::Decimal;
use serde_json::Number;

use super::server::{NoAnswer, Server};

/// A rate above this is a mistake: 100,000 sat/vB.
const RATE_MAX_SAT_VB: i64 = 100_000;

/// The estimate for a confirmation within so many blocks: that of the nearest number of blocks which is no larger, else of the
/// smallest there is. `None` where the server has no estimate.
pub(super) fn fee_rate(server: &Server, blocks: u16) -> Result<Option<FeeRate>, NoAnswer> {
    server.bucket.take_in_any_case();
    let answer: Option<BTreeMap<u16, Number>> = server.short_json("/fee-estimates")?;
    let estimates = answer.ok_or_else(|| server.nonsense("/fee-estimates", "it has no estimates"))?;
    let rates: Option<Vec<(u16, FeeRate)>> =
        estimates.iter().map(|(target, rate)| Some((*target, rate_of(rate)?))).collect();
    let rates = rates.ok_or_else(|| server.nonsense("/fee-estimates", "a rate makes no sense"))?;
    let nearest = rates.iter().rev().find(|(target, _)| *target <= blocks).or(rates.first());
    Ok(nearest.map(|(_, rate)| *rate))
}

/// From satoshis for one vB, which are four weight units; rounded up, so that what pays it is not below.
fn rate_of(rate: &Number) -> Option<FeeRate> {
    let text = rate.as_str();
    let sat_vb = text.parse::<Decimal>().or_else(|_| Decimal::from_scientific(text)).ok()?;
    if sat_vb.is_sign_negative() || sat_vb > Decimal::from(RATE_MAX_SAT_VB) {
        return None;
    }
    let sat_kwu = sat_vb.checked_mul(Decimal::from(250))?.ceil();
    u64::try_from(sat_kwu).ok().map(FeeRate::from_sat_per_kwu)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_from_their_text_and_rounded_up() {
        let of = |text: &str| rate_of(&serde_json::from_str(text).ok()?);
        assert_eq!(of("87.882"), Some(FeeRate::from_sat_per_kwu(21_971)));
        assert_eq!(of("1"), Some(FeeRate::from_sat_per_vb_u32(1)));
        assert_eq!(of("1e1"), Some(FeeRate::from_sat_per_vb_u32(10)));
        for wrong in ["-1", "1e9", "\"5\"", "null", "true"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
