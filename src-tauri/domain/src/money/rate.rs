//! Exchange rates, and every rounding between Bitcoin and fiat. Rounding never favours the payer.

use rust_decimal::{Decimal, RoundingStrategy};

use super::bitcoin::SATS_PER_BTC;
use super::currency::Currency;
use super::error::AmountError;
use super::number::Number;

/// Decimals of a rate.
const RATE_DECIMALS: u32 = 4;

/// The product of a rate in ten-thousandths and satoshis, divided by this, is in units of the
/// currency.
const RATE_UNIT: i128 = 10_000 * SATS_PER_BTC as i128;

/// An exchange rate: units of a currency for one Bitcoin, positive, rounded half-even to 4
/// decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(Decimal);

impl Rate {
    /// Rounds half-even to 4 decimals. `None` if the result is not positive or is beyond 9 × 10^14;
    /// all arithmetic fits below that bound, and no currency's rate comes near it.
    #[must_use]
    pub fn new(rate: Decimal) -> Option<Self> {
        let mut rounded =
            rate.round_dp_with_strategy(RATE_DECIMALS, RoundingStrategy::MidpointNearestEven);
        rounded.rescale(RATE_DECIMALS);
        let fits = rounded.scale() == RATE_DECIMALS
            && i64::try_from(rounded.mantissa()).is_ok_and(|units| units > 0);
        fits.then_some(Self(rounded))
    }

    /// Reads a rate such as `65000.00` (the grammar of a JSON number), then rounds as
    /// [`Rate::new`].
    ///
    /// # Errors
    /// The fault of the text.
    pub fn parse(text: &str) -> Result<Self, AmountError> {
        let rate = Number::parse(text)?.decimal()?;
        Self::new(rate).ok_or(if rate < Decimal::ONE {
            AmountError::NotPositive
        } else {
            AmountError::TooLarge
        })
    }

    /// The rate for payments: lowered by the merchant's spread, so that the customer pays a little
    /// more Bitcoin. Rounded half-even to 4 decimals; `None` if the result is not positive.
    #[must_use]
    pub fn less_spread(&self, per_mille: u16) -> Option<Self> {
        let rest = 1_000_u16.checked_sub(per_mille)?;
        Self::new(self.0.checked_mul(Decimal::new(i64::from(rest), 3))?)
    }

    /// The rate with its 4 decimals.
    #[must_use]
    pub const fn decimal(&self) -> Decimal {
        self.0
    }

    /// Plain decimal notation with exactly 4 decimals.
    #[must_use]
    pub fn format(&self) -> String {
        self.0.to_string()
    }

    /// A price in satoshis: price / rate, rounded **up**, so that the merchant never gets less.
    /// `None` if it does not fit or is negative.
    #[must_use]
    pub fn price_to_sats(&self, price_minor: i64, currency: Currency) -> Option<u64> {
        let dividend = i128::from(u64::try_from(price_minor).ok()?) * RATE_UNIT;
        let divisor = self.0.mantissa() * currency.minor_per_unit();
        let up = i128::from(dividend % divisor != 0);
        u64::try_from(dividend / divisor + up).ok()
    }

    /// The worth of Bitcoin in fiat, rounded **down** to the minor unit. `None` if it does not fit.
    #[must_use]
    pub fn sats_to_minor_floor(&self, sats: u64, currency: Currency) -> Option<i64> {
        i64::try_from(self.worth_in_rate_units(sats, currency)? / RATE_UNIT).ok()
    }

    /// The worth of Bitcoin in fiat, rounded **half-even** to the minor unit, as a payout shows it.
    /// `None` if it does not fit.
    #[must_use]
    pub fn sats_to_minor_half_even(&self, sats: u64, currency: Currency) -> Option<i64> {
        let worth = self.worth_in_rate_units(sats, currency)?;
        let (whole, twice_rest) = (worth / RATE_UNIT, worth % RATE_UNIT * 2);
        let up = twice_rest > RATE_UNIT || (twice_rest == RATE_UNIT && whole % 2 != 0);
        i64::try_from(whole + i128::from(up)).ok()
    }

    /// The worth of Bitcoin in fiat, rounded **up** to the minor unit, as the merchant is charged.
    /// `None` if it does not fit.
    #[must_use]
    pub fn sats_to_minor_ceil(&self, sats: u64, currency: Currency) -> Option<i64> {
        let worth = self.worth_in_rate_units(sats, currency)?;
        i64::try_from(worth / RATE_UNIT + i128::from(worth % RATE_UNIT != 0)).ok()
    }

    /// The satoshis that a sum buys: sum / rate, rounded **down**, so that the merchant never sends
    /// more. `None` if it does not fit or is negative.
    #[must_use]
    pub fn minor_to_sats_floor(&self, minor: i64, currency: Currency) -> Option<u64> {
        let dividend = i128::from(u64::try_from(minor).ok()?) * RATE_UNIT;
        u64::try_from(dividend / (self.0.mantissa() * currency.minor_per_unit())).ok()
    }

    /// The same as [`Self::sats_to_minor_floor`], limited to the largest number.
    #[must_use]
    pub fn worth_minor(&self, sats: u64, currency: Currency) -> i64 {
        self.sats_to_minor_floor(sats, currency).unwrap_or(i64::MAX)
    }

    /// The worth of Bitcoin, not rounded, in parts of a minor unit: [`RATE_UNIT`] of them make one.
    fn worth_in_rate_units(&self, sats: u64, currency: Currency) -> Option<i128> {
        i128::from(sats).checked_mul(self.0.mantissa())?.checked_mul(currency.minor_per_unit())
    }
}

/// The worth of a payment's coins in fiat (interface, section 2): `floor(paid × rate)` while less
/// than the amount is paid, else the price plus `floor(surplus × rate)`. So it equals the price
/// exactly when the amount is paid exactly. Limited to the largest number.
#[must_use]
pub fn paid_minor(
    price_minor: i64,
    amount_sats: u64,
    paid_sats: u64,
    rate: Rate,
    currency: Currency,
) -> i64 {
    match paid_sats.checked_sub(amount_sats) {
        Some(surplus) => price_minor.saturating_add(rate.worth_minor(surplus, currency)),
        None => rate.worth_minor(paid_sats, currency),
    }
}

/// A price in another currency, unrounded: `price ÷ rate × last known rate of the other`. It
/// decides how many confirmations a payment needs. `None` while no rate of the other is known.
#[must_use]
pub fn equivalent(
    price_minor: i64,
    currency: Currency,
    rate: Rate,
    other: Currency,
    rate_of_other: Option<Rate>,
) -> Option<Decimal> {
    let price = Decimal::new(price_minor, u32::from(currency.minor_units()));
    if currency == other {
        return Some(price);
    }
    // Multiplied first: a quotient cut off at 28 digits could fall just short of a tier's bound.
    price.checked_mul(rate_of_other?.0)?.checked_div(rate.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rate(text: &str) -> Rate {
        Rate::parse(text).unwrap()
    }

    fn currency(code: &str) -> Currency {
        Currency::from_code(code).unwrap()
    }

    #[test]
    fn a_rate_rounds_half_to_even_at_four_decimals() {
        for (text, shown) in [
            ("65000", "65000.0000"),
            ("1.00005", "1.0000"),
            ("1.00015", "1.0002"),
            ("1.000150001", "1.0002"),
            ("6.5e4", "65000.0000"),
            ("0.0001", "0.0001"),
        ] {
            assert_eq!(rate(text).format(), shown, "{text}");
        }
    }

    #[test]
    fn a_text_that_is_no_rate_is_refused() {
        assert_eq!(Rate::parse("0.00005"), Err(AmountError::NotPositive));
        assert_eq!(Rate::parse("0"), Err(AmountError::NotPositive));
        assert_eq!(Rate::parse("1e400"), Err(AmountError::TooLarge));
        assert_eq!(Rate::parse("1e20"), Err(AmountError::TooLarge));
        assert_eq!(Rate::parse("rate"), Err(AmountError::NotANumber));
        assert_eq!(Rate::new(-Decimal::ONE), None);
    }

    #[test]
    fn a_spread_lowers_the_rate() {
        assert_eq!(rate("65000").less_spread(10).unwrap().format(), "64350.0000");
        assert_eq!(rate("0.0005").less_spread(500).unwrap().format(), "0.0002");
        assert_eq!(rate("65000").less_spread(0), Some(rate("65000")));
        assert_eq!(rate("65000").less_spread(1_000), None);
        assert_eq!(rate("65000").less_spread(1_001), None);
    }

    #[test]
    fn a_price_is_rounded_up_to_the_satoshi() {
        assert_eq!(rate("65000").price_to_sats(1_000, Currency::USD), Some(15_385));
        assert_eq!(rate("50000").price_to_sats(1_000, Currency::USD), Some(20_000));
        assert_eq!(rate("10000000").price_to_sats(1_500, currency("JPY")), Some(15_000));
        assert_eq!(rate("20000").price_to_sats(1, currency("KWD")), Some(5));
        assert_eq!(rate("0.0001").price_to_sats(i64::MAX, Currency::USD), None);
        assert_eq!(rate("1").price_to_sats(-1, Currency::USD), None);
    }

    #[test]
    fn a_payouts_worth_is_rounded_half_to_even_and_its_charge_up() {
        for (text, sats, half_even, ceil) in [
            // 1 sat at 500,000 USD is worth half a cent.
            ("500000", 1, 0, 1),
            ("500000", 3, 2, 2),
            ("500000", 5, 2, 3),
            ("500001", 1, 1, 1),
            ("499999", 1, 0, 1),
            ("65000", 100_000_000, 6_500_000, 6_500_000),
        ] {
            let rate = rate(text);
            assert_eq!(
                rate.sats_to_minor_half_even(sats, Currency::USD),
                Some(half_even),
                "{text} {sats}"
            );
            assert_eq!(rate.sats_to_minor_ceil(sats, Currency::USD), Some(ceil), "{text} {sats}");
        }
        assert_eq!(rate("65000").minor_to_sats_floor(1_000, Currency::USD), Some(15_384));
        assert_eq!(rate("65000").minor_to_sats_floor(-1, Currency::USD), None);
        assert_eq!(
            rate("900000000000000").sats_to_minor_ceil(2_100_000_000_000_000, Currency::USD),
            None
        );
        assert_eq!(
            rate("900000000000000").sats_to_minor_half_even(2_100_000_000_000_000, Currency::USD),
            None
        );
    }

    #[test]
    fn exactly_the_amount_is_worth_exactly_the_price() {
        let (price, rate) = (1_000, rate("65000"));
        let worth = |paid| paid_minor(price, 15_385, paid, rate, Currency::USD);
        assert_eq!([worth(0), worth(15_384), worth(15_385)], [0, 999, 1_000]);
        assert_eq!(worth(15_385 + 15_385), 2_000);
        assert_eq!(
            paid_minor(price, 15_385, u64::MAX, self::rate("900000000000000"), Currency::USD),
            i64::MAX
        );
    }

    #[test]
    fn a_price_in_another_currency_uses_both_rates() {
        let eur = currency("EUR");
        assert_eq!(
            equivalent(1_000, Currency::USD, rate("1"), Currency::USD, None),
            Some(Decimal::TEN)
        );
        assert_eq!(
            equivalent(90_000, eur, rate("58500"), Currency::USD, Some(rate("65000"))),
            Some(Decimal::ONE_THOUSAND)
        );
        assert_eq!(equivalent(90_000, eur, rate("58500"), Currency::USD, None), None);
    }

    proptest! {
        #[test]
        fn conversions_never_round_in_the_payers_favour(
            price in 1..=10_000_000_000_i64,
            ten_thousandths in 1_000_000..=100_000_000_000_000_i64,
            index in 0..Currency::ALL.len(),
            part in 0..=2_000_u64,
        ) {
            let currency = Currency::ALL[index];
            let rate = Rate::new(Decimal::new(ten_thousandths, 4)).unwrap();
            let amount = rate.price_to_sats(price, currency).unwrap();
            let exact = |sats: u64| Decimal::from(sats) * rate.decimal();
            let price_sats = Decimal::new(price, u32::from(currency.minor_units())) * Decimal::from(SATS_PER_BTC);
            prop_assert!(exact(amount) >= price_sats, "the amount is worth the price");
            prop_assert!(exact(amount - 1) < price_sats, "one satoshi less is not");

            let paid = u64::try_from(u128::from(amount) * u128::from(part) / 1_000).unwrap();
            let worth = paid_minor(price, amount, paid, rate, currency);
            prop_assert_eq!(worth < price, paid < amount, "paid in full in fiat exactly when in Bitcoin");
            prop_assert_eq!(paid_minor(price, amount, amount, rate, currency), price);
            let fair = Decimal::new(worth, u32::from(currency.minor_units())) * Decimal::from(SATS_PER_BTC);
            let surplus_free = if paid >= amount { exact(paid - amount) + price_sats } else { exact(paid) };
            prop_assert!(fair <= surplus_free, "coins are never credited above their worth");
        }

        #[test]
        fn a_rate_reads_back_as_shown(ten_thousandths in 1..=i64::MAX) {
            let rate = Rate::new(Decimal::new(ten_thousandths, 4)).unwrap();
            prop_assert_eq!(Rate::parse(&rate.format()), Ok(rate));
        }
    }
}
