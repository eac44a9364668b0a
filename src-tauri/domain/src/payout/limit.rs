//! The daily limit of payouts, and the least amount of one payout.

use tillgate_told::{Sum, Time};

use crate::money::{Currency, Rate, format_btc};
use crate::time::Timestamp;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// A day in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UtcDay {
    /// Its first moment.
    pub begin: Timestamp,
    /// The first moment of the next day.
    pub end: Timestamp,
}

/// The daily limit, and how much of it is used at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayoutLimit {
    /// The sum that was approved on this day and did not fail.
    pub used_sats: u64,
    /// The sum that may still be approved.
    pub available_sats: u64,
    /// The minimum of one payout.
    pub minimum_sats: u64,
    /// The end of the last day on which an approval counts; as a rule, the end of this day.
    pub until: Timestamp,
}

/// A day's limit in minor units of a fiat currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FiatLimit {
    /// The sum used, rounded up.
    pub used_minor: i64,
    /// The sum left, rounded down.
    pub available_minor: i64,
    /// The least payout, rounded up.
    pub minimum_minor: i64,
}

/// Why an amount may not be paid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
pub enum LimitRefusal {
    /// It is more than the rest of the day's limit.
    #[error(
        "Payout above daily limit: {} BTC are left of it until {}. Ask for less, wait, or have the limit raised (the setting dailyLimitBtc)",
        Sum(format_btc(*.available_sats)), Time::from(*.until)
    )]
    AboveDailyLimit {
        /// The rest of the limit.
        available_sats: u64,
        /// When the limit resets.
        until: Timestamp,
    },
    /// The refund is below the dust limit of its address.
    #[error("Refund is dust: the network relays no output below {} BTC to this address. Dismiss the anomaly", Sum(format_btc(*.dust_sats)))]
    Dust {
        /// The least that an output to the address may hold, in satoshis.
        dust_sats: u64,
    },
    /// It is less than the least payout.
    #[error("Payout below minimum: a payout is {} BTC at least. Ask for more", Sum(format_btc(*.minimum_sats)))]
    BelowMinimum {
        /// The minimum.
        minimum_sats: u64,
    },
}

impl UtcDay {
    /// The day of a moment.
    #[must_use]
    pub const fn of(at: Timestamp) -> Self {
        let begin = at.plus_ms(-at.ms().rem_euclid(DAY_MS));
        Self { begin, end: begin.plus_ms(DAY_MS) }
    }
}

impl PayoutLimit {
    /// The limit when `used_sats` of `limit_sats` are used. No satoshis are left if the limit was
    /// lowered below the used sum. `until` is the end of the last day to which an approval in the
    /// used sum belongs.
    #[must_use]
    pub const fn after(
        used_sats: u64,
        limit_sats: u64,
        minimum_sats: u64,
        until: Timestamp,
    ) -> Self {
        Self {
            used_sats,
            available_sats: limit_sats.saturating_sub(used_sats),
            minimum_sats,
            until,
        }
    }

    /// The reasons not to pay out this amount; amounts equal to a bound are allowed.
    #[must_use]
    pub fn refusals(&self, amount_sats: u64) -> Vec<LimitRefusal> {
        let Self { available_sats, minimum_sats, until, .. } = *self;
        let above = (amount_sats > available_sats)
            .then_some(LimitRefusal::AboveDailyLimit { available_sats, until });
        let below =
            (amount_sats < minimum_sats).then_some(LimitRefusal::BelowMinimum { minimum_sats });
        above.into_iter().chain(below).collect()
    }

    /// The reasons not to pay out this refund. Its only minimum is the dust limit of its address.
    #[must_use]
    pub fn refusals_of_refund(&self, amount_sats: u64, dust_sats: u64) -> Vec<LimitRefusal> {
        let mut refusals = Self { minimum_sats: 0, ..*self }.refusals(amount_sats);
        refusals.extend((amount_sats < dust_sats).then_some(LimitRefusal::Dust { dust_sats }));
        refusals
    }

    /// The limit's worth at a rate: the available sum rounded down, the used sum and the minimum
    /// rounded up. Saturates.
    #[must_use]
    pub fn worth(&self, rate: Rate, currency: Currency) -> FiatLimit {
        let up = |sats| rate.sats_to_minor_ceil(sats, currency).unwrap_or(i64::MAX);
        FiatLimit {
            used_minor: up(self.used_sats),
            available_minor: rate.worth_minor(self.available_sats, currency),
            minimum_minor: up(self.minimum_sats),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rust_decimal::Decimal;
    use tillgate_told::{TellingValue, Told as _};

    use super::*;

    #[test]
    fn a_day_begins_at_midnight_in_utc() {
        let day = UtcDay::of(Timestamp::parse_iso("2026-01-12T23:59:59.999Z").unwrap());
        assert_eq!(
            (day.begin.iso_seconds(), day.end.iso_seconds()),
            ("2026-01-12T00:00:00Z".to_owned(), "2026-01-13T00:00:00Z".to_owned())
        );
        assert_eq!(UtcDay::of(day.end).begin, day.end);
        assert_eq!(UtcDay::of(day.begin), day);
        assert_eq!(UtcDay::of(Timestamp::from_ms(-1)).end, Timestamp::from_ms(0));
    }

    #[test]
    fn amounts_at_a_bound_pass_and_beyond_it_are_refused_by_name() {
        let until = Timestamp::parse_iso("2026-01-13T00:00:00Z").unwrap();
        let limit = PayoutLimit::after(400, 1_000, 100, until);
        let above = LimitRefusal::AboveDailyLimit { available_sats: 600, until };
        let below = LimitRefusal::BelowMinimum { minimum_sats: 100 };
        for (amount, refusals) in
            [(100, vec![]), (600, vec![]), (601, vec![above]), (99, vec![below]), (0, vec![below])]
        {
            assert_eq!(limit.refusals(amount), refusals, "{amount}");
        }
        let lowered = PayoutLimit::after(1_000, 900, 100, until);
        assert_eq!(lowered.available_sats, 0);
        assert_eq!(lowered.refusals(50).len(), 2, "both refusals are reported");
        assert!(
            above.to_string().starts_with("Payout above daily limit: 0.00000600 BTC"),
            "{above}"
        );
        let values = above.telling().values;
        assert_eq!(values["availableSats"], TellingValue::Sum { sum: "0.00000600".to_owned() });
        assert_eq!(values["until"], TellingValue::Time { time: "2026-01-13T00:00:00Z".to_owned() });
        assert!(above.to_string().contains("until 2026-01-13T00:00:00Z"), "{above}");
        assert!(below.to_string().starts_with("Payout below minimum"), "{below}");
        assert_eq!(limit.refusals_of_refund(99, 99), []);
        assert_eq!(limit.refusals_of_refund(98, 99), [LimitRefusal::Dust { dust_sats: 99 }]);
        assert_eq!(limit.refusals_of_refund(601, 99), [above], "refunds count in the day's limit");
    }

    proptest! {
        #[test]
        fn a_limit_in_fiat_never_exceeds_the_limit_in_bitcoin(
            used in 0..=10_000_000_000_u64,
            limit in 0..=10_000_000_000_u64,
            minimum in 1..=1_000_000_u64,
            ten_thousandths in 1_000..=10_000_000_000_i64,
            index in 0..Currency::ALL.len(),
        ) {
            let currency = Currency::ALL[index];
            let rate = Rate::new(Decimal::new(ten_thousandths, 4)).unwrap();
            let limit = PayoutLimit::after(used, limit, minimum, Timestamp::from_ms(0));
            let worth = limit.worth(rate, currency);
            prop_assert!(rate.minor_to_sats_floor(worth.available_minor, currency).unwrap() <= limit.available_sats);
            prop_assert!(rate.price_to_sats(worth.minimum_minor, currency).unwrap() >= limit.minimum_sats);
            prop_assert!(rate.price_to_sats(worth.used_minor, currency).unwrap() >= limit.used_sats);
            prop_assert_eq!(limit.refusals(limit.available_sats).is_empty(), limit.available_sats >= minimum);
        }

        #[test]
        fn every_moment_is_on_one_day(ms in -4_000_000_000_000..=4_000_000_000_000_i64) {
            let at = Timestamp::from_ms(ms);
            let day = UtcDay::of(at);
            prop_assert!(day.begin <= at && at < day.end);
            prop_assert_eq!(day.begin.ms() % DAY_MS, 0);
        }
    }
}
