//! Takings: the confirmed payments of each day, and their sums over longer periods.

use std::cmp::Reverse;

use tillgate_domain::money::Currency;
use tillgate_domain::time::Timestamp;
use tillgate_store::takings::TakingsRow;
use tillgate_store::{Reader, StoreError};

/// The most days of one request: those of a leap year, and some more. Home shows 30.
pub const DAYS_MAX: usize = 400;
const WEEK_DAYS: usize = 7;

/// The bounds of consecutive days or longer periods. The caller knows the time zone, so that each
/// day may have another length.
#[derive(Debug, Clone)]
pub struct Bounds(Vec<Timestamp>);

/// Consecutive days.
#[derive(Debug, Clone)]
pub struct Days {
    bounds: Bounds,
    /// The number of the last days that make up the present week.
    week: usize,
}

/// The reason why times do not bound days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
pub enum NotDays {
    #[error(
        "must hold the beginning of each day and the end of the last one, at most {DAYS_MAX} days"
    )]
    Count,
    #[error("must hold times that ascend")]
    Order,
    #[error("must be from 1 to {WEEK_DAYS}, and at most the number of days")]
    Week,
}

/// The takings in one currency.
#[derive(Debug)]
pub struct Takings {
    pub currency: Currency,
    /// The sum of each day.
    pub days: Vec<TakingsRow>,
    pub today: TakingsRow,
    pub yesterday: TakingsRow,
    pub week: TakingsRow,
    /// The sum of the whole week before the present one.
    pub last_week: TakingsRow,
    /// The sum of the first days of that week: as many days as the present week has.
    pub last_week_so_far: TakingsRow,
    /// The sum of all days.
    pub all: TakingsRow,
}

impl Takings {
    /// The price of the present week minus that of the same days of the week before; `None` if
    /// those had no takings.
    pub fn week_change_minor(&self) -> Option<i64> {
        let before = &self.last_week_so_far;
        (before.payments > 0).then(|| self.week.price_minor.saturating_sub(before.price_minor))
    }
}

/// The takings in all currencies.
#[derive(Debug)]
pub struct AllTakings {
    /// The shop's currency. If nothing was taken in it, the currency with the most payments.
    pub main: Takings,
    /// The other currencies with payments, the most payments first.
    pub others: Vec<Takings>,
}

impl Bounds {
    /// The beginning of each period, and then the end of the last one.
    pub fn new(times: Vec<Timestamp>) -> Result<Self, NotDays> {
        if !(1..=DAYS_MAX).contains(&times.len().saturating_sub(1)) {
            return Err(NotDays::Count);
        }
        if !times.is_sorted_by(|one, next| one < next) {
            return Err(NotDays::Order);
        }
        Ok(Self(times))
    }

    /// The beginning and the end of each period.
    pub fn periods(&self) -> impl Iterator<Item = (Timestamp, Timestamp)> {
        self.0.iter().copied().zip(self.0.iter().copied().skip(1))
    }

    /// The beginning of the first period and the end of the last one.
    pub fn whole(&self) -> Option<(Timestamp, Timestamp)> {
        self.0.first().copied().zip(self.0.last().copied())
    }
}

impl Days {
    /// Days from their bounds; the last `week` days make up the present week.
    pub fn new(bounds: Vec<Timestamp>, week: usize) -> Result<Self, NotDays> {
        let bounds = Bounds::new(bounds)?;
        if !(1..=WEEK_DAYS.min(bounds.periods().count())).contains(&week) {
            return Err(NotDays::Week);
        }
        Ok(Self { bounds, week })
    }
}

/// The takings of these days in each currency. `own` is the shop's currency.
pub fn load(reader: &Reader<'_>, days: &Days, own: Currency) -> Result<AllTakings, StoreError> {
    let mut taken = Vec::new();
    for currency in reader.currencies_taken()? {
        let takings = in_currency(reader, days, currency)?;
        if takings.all.payments > 0 {
            taken.push(takings);
        }
    }
    taken.sort_by_key(|takings| Reverse((takings.currency == own, takings.all.payments)));
    let mut others = taken.into_iter();
    let main = others.next().map_or_else(|| in_currency(reader, days, own), Ok)?;
    Ok(AllTakings { main, others: others.collect() })
}

/// The value at the top of a chart of these days: 1, 2, 4, 6 or 8 times a power of ten, and no day
/// is above it. Its half is a whole number of minor units.
pub fn top_of_chart(days: &[TakingsRow]) -> i64 {
    let highest = days.iter().map(|day| day.price_minor).max().unwrap_or(0);
    let mut power: i64 = 10;
    loop {
        let round = [1, 2, 4, 6, 8].map(|factor| power.saturating_mul(factor));
        if let Some(top) = round.into_iter().find(|top| *top >= highest) {
            return top;
        }
        power = power.saturating_mul(10);
    }
}

/// The takings of each period.
pub fn of_periods(
    reader: &Reader<'_>,
    bounds: &Bounds,
    currency: Currency,
) -> Result<Vec<TakingsRow>, StoreError> {
    bounds.periods().map(|(from, to)| reader.takings(currency, from, to)).collect()
}

fn in_currency(
    reader: &Reader<'_>,
    days: &Days,
    currency: Currency,
) -> Result<Takings, StoreError> {
    let rows = of_periods(reader, &days.bounds, currency)?;
    Ok(Takings {
        currency,
        today: rows.last().copied().unwrap_or_default(),
        yesterday: rows.iter().rev().nth(1).copied().unwrap_or_default(),
        week: sum(rows.iter().rev().take(days.week)),
        last_week: sum(rows.iter().rev().skip(days.week).take(WEEK_DAYS)),
        last_week_so_far: sum(rows.iter().rev().skip(WEEK_DAYS).take(days.week)),
        all: sum(rows.iter()),
        days: rows,
    })
}

/// The sum of these takings.
pub fn sum<'a>(rows: impl Iterator<Item = &'a TakingsRow>) -> TakingsRow {
    rows.fold(TakingsRow::default(), |sum, row| TakingsRow {
        payments: sum.payments.saturating_add(row.payments),
        price_minor: sum.price_minor.saturating_add(row.price_minor),
        paid_sats: sum.paid_sats.saturating_add(row.paid_sats),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_top_of_a_chart_is_round_and_above_each_day() {
        let top = |minor: i64| {
            top_of_chart(&[TakingsRow { price_minor: minor, ..TakingsRow::default() }])
        };
        for (highest, expected) in [
            (0, 10),
            (10, 10),
            (11, 20),
            (21, 40),
            (59_999, 60_000),
            (60_001, 80_000),
            (80_001, 100_000),
        ] {
            assert_eq!(top(highest), expected, "{highest}");
        }
        assert_eq!(top(i64::MAX), i64::MAX);
        assert_eq!(top_of_chart(&[]), 10);
    }

    #[test]
    fn days_ascend_and_contain_their_week() {
        let days = |times: &[i64], week| {
            Days::new(times.iter().map(|ms| Timestamp::from_ms(*ms)).collect(), week).err()
        };
        assert_eq!(days(&[0, 1], 1), None);
        assert_eq!(days(&[0, 82_800_000, 169_200_000], 2), None, "a day of 23 hours");
        assert_eq!(days(&[0], 1), Some(NotDays::Count));
        assert_eq!(days(&(0..=401).collect::<Vec<_>>(), 1), Some(NotDays::Count));
        assert_eq!(days(&[0, 2, 2], 1), Some(NotDays::Order));
        assert_eq!(days(&[0, 1, 2], 3), Some(NotDays::Week));
        assert_eq!(days(&(0..=20).collect::<Vec<_>>(), 8), Some(NotDays::Week));
    }
}
