//! The sums of a payout: its satoshis, their worth, and the merchant's charge.

use tillgate_told::Sum;

use crate::money::{Currency, MAX_SATS, Rate, format_btc};
use crate::time::Timestamp;

/// The longest time for which a merchant may let offers be valid, in minutes: a day.
pub const VALID_MAX_MINUTES: u32 = 1_440;

/// The unit in which a payout was requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferAmount {
    /// Satoshis, which are sent exactly.
    Btc(u64),
    /// Minor units of the payout's currency, which the record shows exactly.
    Fiat(i64),
}

/// The amount of a payout, and its worth at the payout's rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OfferWorth {
    /// The amount that the address receives. A small fiat amount may be 0 satoshis.
    pub amount_sats: u64,
    /// The amount's worth, in minor units.
    pub fiat_minor: i64,
}

/// A payout of more than all bitcoins, or with a sum too large for its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
#[error("must be worth at most {} BTC: ask for less", Sum(format_btc(MAX_SATS)))]
pub struct OfferTooLarge;

impl OfferWorth {
    /// The amount and its worth at `rate`. For Bitcoin the worth is rounded half-even to the minor
    /// unit. A fiat amount stays as it is, and its Bitcoin is rounded down to the satoshi.
    ///
    /// # Errors
    /// [`OfferTooLarge`].
    pub fn at_rate(
        amount: OfferAmount,
        rate: Rate,
        currency: Currency,
    ) -> Result<Self, OfferTooLarge> {
        let worth = match amount {
            OfferAmount::Btc(amount_sats) => rate
                .sats_to_minor_half_even(amount_sats, currency)
                .map(|fiat_minor| Self { amount_sats, fiat_minor }),
            OfferAmount::Fiat(fiat_minor) => rate
                .minor_to_sats_floor(fiat_minor, currency)
                .map(|amount_sats| Self { amount_sats, fiat_minor }),
        };
        worth.filter(|worth| worth.amount_sats <= MAX_SATS).ok_or(OfferTooLarge)
    }

    /// The merchant's charge with this network fee, in minor units: the worth of both together,
    /// rounded up.
    ///
    /// # Errors
    /// [`OfferTooLarge`].
    pub fn total_minor(
        &self,
        network_fee_sats: u64,
        rate: Rate,
        currency: Currency,
    ) -> Result<i64, OfferTooLarge> {
        let both = self.amount_sats.saturating_add(network_fee_sats);
        rate.sats_to_minor_ceil(both, currency).ok_or(OfferTooLarge)
    }
}

/// Whether an offer that expires at `expires_at` may be approved at `now`: only strictly before.
#[must_use]
pub fn is_valid_at(expires_at: Timestamp, now: Timestamp) -> bool {
    now < expires_at
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rust_decimal::Decimal;

    use super::*;
    use crate::money::SATS_PER_BTC;

    fn rate(text: &str) -> Rate {
        Rate::parse(text).unwrap()
    }

    #[test]
    fn bitcoin_is_sent_exactly_and_fiat_is_recorded_exactly() {
        let of = |amount| OfferWorth::at_rate(amount, rate("65000"), Currency::USD);
        assert_eq!(
            of(OfferAmount::Btc(15_385)),
            Ok(OfferWorth { amount_sats: 15_385, fiat_minor: 1_000 })
        );
        let fiat = of(OfferAmount::Fiat(1_000)).unwrap();
        assert_eq!(fiat, OfferWorth { amount_sats: 15_384, fiat_minor: 1_000 });
        // (15,384 + 282) sats are 10.1829 USD.
        assert_eq!(fiat.total_minor(282, rate("65000"), Currency::USD), Ok(1_019));
        assert_eq!(
            of(OfferAmount::Fiat(0)).unwrap().amount_sats,
            0,
            "the minimum refuses it later"
        );
    }

    #[test]
    fn an_amount_above_all_bitcoins_is_refused() {
        let of = |amount| OfferWorth::at_rate(amount, rate("1"), Currency::USD);
        assert!(of(OfferAmount::Fiat(2_100_000_000)).is_ok());
        assert_eq!(of(OfferAmount::Fiat(2_100_000_001)), Err(OfferTooLarge));
        assert_eq!(of(OfferAmount::Fiat(i64::MAX)), Err(OfferTooLarge));
        let huge =
            OfferWorth::at_rate(OfferAmount::Btc(MAX_SATS), rate("900000000000000"), Currency::USD);
        assert_eq!(huge, Err(OfferTooLarge));
        let all = of(OfferAmount::Btc(MAX_SATS)).unwrap();
        assert!(all.total_minor(1_000, rate("1"), Currency::USD).is_ok());
        assert_eq!(
            all.total_minor(1_000, rate("900000000000000"), Currency::USD),
            Err(OfferTooLarge)
        );
    }

    #[test]
    fn an_offer_is_valid_until_the_millisecond_before_its_end() {
        let end = Timestamp::from_ms(600_000);
        assert!(is_valid_at(end, Timestamp::from_ms(599_999)));
        assert!(!is_valid_at(end, end));
        assert!(!is_valid_at(end, Timestamp::from_ms(600_001)));
    }

    proptest! {
        #[test]
        fn each_sum_is_rounded_as_documented(
            sats in 1..=2_000_000_000_000_u64,
            fee in 1..=10_000_000_u64,
            ten_thousandths in 1_000..=100_000_000_000_000_i64,
            index in 0..Currency::ALL.len(),
        ) {
            let currency = Currency::ALL[index];
            let rate = Rate::new(Decimal::new(ten_thousandths, 4)).unwrap();
            let minor = |minor: i64| Decimal::new(minor, u32::from(currency.minor_units()));
            let exact = |sats: u64| Decimal::from(sats) * rate.decimal() / Decimal::from(SATS_PER_BTC);
            let one = minor(1);

            let offer = OfferWorth::at_rate(OfferAmount::Btc(sats), rate, currency).unwrap();
            prop_assert_eq!(offer.amount_sats, sats);
            let off = (minor(offer.fiat_minor) - exact(sats)).abs() * Decimal::TWO;
            prop_assert!(off <= one, "no other minor unit is nearer");
            prop_assert!(off < one || offer.fiat_minor % 2 == 0, "a tie is rounded to the even unit");

            let total = minor(offer.total_minor(fee, rate, currency).unwrap());
            prop_assert!(total >= exact(sats + fee) && total - one < exact(sats + fee), "the charge is rounded up");
            prop_assert!(total >= minor(offer.fiat_minor), "the fee is charged on top");
        }

        #[test]
        fn a_fiat_amount_is_rounded_down_to_the_satoshi(
            fiat in 1..=1_000_000_000_000_i64,
            fee in 1..=10_000_000_u64,
            ten_thousandths in 1_000_000..=100_000_000_000_000_i64,
            index in 0..Currency::ALL.len(),
        ) {
            let currency = Currency::ALL[index];
            let rate = Rate::new(Decimal::new(ten_thousandths, 4)).unwrap();
            let Ok(offer) = OfferWorth::at_rate(OfferAmount::Fiat(fiat), rate, currency) else { return Ok(()) };
            let price = Decimal::new(fiat, u32::from(currency.minor_units())) * Decimal::from(SATS_PER_BTC);
            prop_assert_eq!(offer.fiat_minor, fiat);
            prop_assert!(Decimal::from(offer.amount_sats) * rate.decimal() <= price);
            prop_assert!(Decimal::from(offer.amount_sats + 1) * rate.decimal() > price, "one more satoshi would be worth more");
            prop_assert!(offer.total_minor(fee, rate, currency).unwrap() >= fiat);
        }
    }
}
