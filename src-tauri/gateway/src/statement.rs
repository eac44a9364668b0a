//! The statement: the ledger's rows of a period, with their values in a currency and their sums.

use std::collections::BTreeMap;

use tillgate_domain::money::{Currency, Rate};
use tillgate_domain::time::Timestamp;
use tillgate_store::ledger::{Entry, LedgerKind, LedgerPart, Place};
use tillgate_store::{Reader, StoreError};

/// Number of characters of the date in an ISO 8601 time, and of the year and month.
const DATE: usize = "2026-01-12".len();
const MONTH: usize = "2026-01".len();

/// A page of a period's movements, with their sums.
#[derive(Debug)]
pub struct Statement {
    /// The movements, oldest first.
    pub lines: Vec<Line>,
    /// Sums of the UTC days with movements.
    pub by_day: Vec<Total>,
    /// Sums of the UTC months with movements.
    pub by_month: Vec<Total>,
    /// The sum of all lines.
    pub sats: i64,
    /// The next page, if there may be more movements.
    pub next: Option<LedgerPart>,
}

/// The balance before and after a period, and the sums of its movements.
#[derive(Debug, PartialEq, Eq)]
pub struct Sums {
    pub opening_sats: i64,
    pub closing_sats: i64,
    /// The kinds with movements.
    pub by_kind: Vec<KindSum>,
    /// The network fees paid.
    pub fee_sats: i64,
}

/// The sum of the movements of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KindSum {
    pub kind: LedgerKind,
    /// The number of movements.
    pub count: u64,
    pub sats: i64,
    /// `None` if a movement has no worth.
    pub worth_minor: Option<i64>,
}

/// Rates that were read already, by the `seq` of their row in `ledger_rates`.
type Moments = BTreeMap<i64, Option<Rate>>;

/// One movement.
#[derive(Debug)]
pub struct Line {
    pub entry: Entry,
    /// `None` if no rate was known.
    pub rate: Option<Rate>,
    /// The amount at the rate, rounded half to even in minor units, with the amount's sign.
    pub worth_minor: Option<i64>,
    /// The network fee in the movement, positive if paid.
    pub fee_sats: Option<i64>,
}

/// The sum of the movements of a day or a month.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Total {
    /// `2026-01-12` or `2026-01`.
    pub period: String,
    pub sats: i64,
    /// `None` if a movement has no worth.
    pub worth_minor: Option<i64>,
    pub fee_sats: i64,
}

/// A page of the ledger, valued in one currency. Rows that are written later are on none of the
/// following pages.
pub fn page(
    reader: &Reader<'_>,
    part: LedgerPart,
    currency: Currency,
) -> Result<Statement, StoreError> {
    let last_seq = part.last_seq.map_or_else(|| reader.ledger_last_seq(), Ok)?;
    let part = LedgerPart { last_seq: Some(last_seq), ..part };
    let entries = reader.ledger_page(&part)?;
    let is_full = u32::try_from(entries.len()).is_ok_and(|length| length == part.limit);
    let next = entries.last().filter(|_| is_full).map(|last| {
        let after = Place { at: last.at, seq: last.seq };
        LedgerPart { after: Some(after), ..part }
    });
    let mut moments = Moments::new();
    let mut lines = Vec::with_capacity(entries.len());
    for entry in entries {
        let of_moment = rate_of_moment(reader, &mut moments, &entry, currency)?;
        lines.push(Line::new(entry, currency, of_moment));
    }
    Ok(Statement {
        by_day: totals(&lines, DATE),
        by_month: totals(&lines, MONTH),
        sats: lines.iter().fold(0, |sum, line| sum.saturating_add(line.entry.sats)),
        lines,
        next,
    })
}

/// The sums of the movements from `from` until `to`, valued in one currency. They are read in parts
/// of `limit` rows, so that a long period needs little memory.
pub fn sums(
    reader: &Reader<'_>,
    (from, to): (Option<Timestamp>, Option<Timestamp>),
    currency: Currency,
    limit: u32,
) -> Result<Sums, StoreError> {
    let mut by_kind: BTreeMap<LedgerKind, KindSum> = BTreeMap::new();
    let mut fee_sats: i64 = 0;
    let mut part = Some(LedgerPart { from, to, limit, ..LedgerPart::default() });
    while let Some(asked) = part {
        let page = page(reader, asked, currency)?;
        for line in &page.lines {
            let kind = line.entry.kind;
            let nothing = KindSum { kind, count: 0, sats: 0, worth_minor: Some(0) };
            by_kind.entry(kind).or_insert(nothing).add(line);
            fee_sats = fee_sats.saturating_add(line.fee_sats.unwrap_or(0));
        }
        part = page.next;
    }
    let before = |at| reader.ledger_sats_before(at);
    Ok(Sums {
        opening_sats: from.map_or(Ok(0), before)?,
        closing_sats: to.map_or_else(|| reader.ledger_sats(), before)?,
        by_kind: by_kind.into_values().collect(),
        fee_sats,
    })
}

impl KindSum {
    fn add(&mut self, line: &Line) {
        self.count += 1;
        self.sats = self.sats.saturating_add(line.entry.sats);
        self.worth_minor = with_worth(self.worth_minor, line.worth_minor);
    }
}

/// The sum of two worths; `None` if one of them is unknown.
fn with_worth(sum: Option<i64>, worth: Option<i64>) -> Option<i64> {
    sum.zip(worth).map(|(sum, worth)| sum.saturating_add(worth))
}

impl Line {
    fn new(entry: Entry, currency: Currency, of_moment: Option<Rate>) -> Self {
        let rate = rate_of_record(&entry, currency).or(of_moment);
        let worth_minor = rate.and_then(|rate| {
            let minor = rate.sats_to_minor_half_even(entry.sats.unsigned_abs(), currency)?;
            Some(if entry.sats < 0 { minor.saturating_neg() } else { minor })
        });
        let fee_sats = match entry.kind {
            LedgerKind::Fee | LedgerKind::FeeDifference => Some(entry.sats.saturating_neg()),
            // A transaction that gives payouts up pays ourselves, so its fee is all that it costs.
            LedgerKind::Other if entry.gives_up => Some(entry.sats.saturating_neg()),
            LedgerKind::Payment | LedgerKind::Anomaly | LedgerKind::Payout | LedgerKind::Other => {
                None
            }
        };
        Self { entry, rate, worth_minor, fee_sats }
    }
}

/// The rate of the movement's payout or payment, if it is in this currency.
fn rate_of_record(entry: &Entry, currency: Currency) -> Option<Rate> {
    let of_record =
        [entry.payout, entry.payment].into_iter().flatten().find(|(_, its, _)| *its == currency);
    of_record.map(|(_, _, rate)| rate)
}

/// The rate at the time when a movement was booked. Many movements share a row of rates, which is
/// read once.
fn rate_of_moment(
    reader: &Reader<'_>,
    moments: &mut Moments,
    entry: &Entry,
    currency: Currency,
) -> Result<Option<Rate>, StoreError> {
    let Some(seq) = entry.rates_seq.filter(|_| rate_of_record(entry, currency).is_none()) else {
        return Ok(None);
    };
    if let Some(known) = moments.get(&seq) {
        return Ok(*known);
    }
    let rate = reader.ledger_rates(seq)?.and_then(|rates| rate_among(&rates, currency));
    moments.insert(seq, rate);
    Ok(rate)
}

fn rate_among(rates: &str, currency: Currency) -> Option<Rate> {
    let rates: serde_json::Value = serde_json::from_str(rates).ok()?;
    Rate::parse(rates.get(currency.code())?.as_str()?).ok()
}

/// Sums of the lines whose times have the same first `characters` characters.
fn totals(lines: &[Line], characters: usize) -> Vec<Total> {
    let mut totals: Vec<Total> = Vec::new();
    for line in lines {
        let time = line.entry.at.iso_seconds();
        let period = time.get(..characters).unwrap_or(&time);
        match totals.last_mut().filter(|total| total.period == period) {
            Some(total) => total.add(line),
            None => {
                let mut total =
                    Total { period: period.to_owned(), sats: 0, worth_minor: Some(0), fee_sats: 0 };
                total.add(line);
                totals.push(total);
            }
        }
    }
    totals
}

impl Total {
    fn add(&mut self, line: &Line) {
        self.sats = self.sats.saturating_add(line.entry.sats);
        self.worth_minor = with_worth(self.worth_minor, line.worth_minor);
        self.fee_sats = self.fee_sats.saturating_add(line.fee_sats.unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use tillgate_domain::id::Id;

    use super::*;

    fn entry(time: &str, kind: LedgerKind, sats: i64) -> Entry {
        let at = Timestamp::parse_iso(time).unwrap();
        let (payment, payout) = (None, None);
        Entry {
            seq: 1,
            at,
            kind,
            sats,
            txid: None,
            payment,
            payout,
            anomaly_id: None,
            rates_seq: None,
            gives_up: false,
        }
    }

    fn line(entry: Entry, code: &str) -> Line {
        let currency = Currency::from_code(code).unwrap();
        let of_moment = rate_among(r#"{"EUR":"46000.0000","USD":"50000.0000"}"#, currency);
        Line::new(entry, currency, of_moment)
    }

    fn rate_in(code: &str, rate: &str) -> Option<(Id, Currency, Rate)> {
        Some((
            Id::from_bytes([1; 20]),
            Currency::from_code(code).unwrap(),
            Rate::parse(rate).unwrap(),
        ))
    }

    #[test]
    fn a_row_is_valued_at_its_records_rate_or_at_the_booked_rates() {
        let payment = || Entry {
            payment: rate_in("USD", "60000"),
            ..entry("2026-01-12T12:00:00Z", LedgerKind::Payment, 100_000_000)
        };
        assert_eq!(line(payment(), "USD").worth_minor, Some(6_000_000));
        assert_eq!(line(payment(), "EUR").worth_minor, Some(4_600_000));
        assert_eq!(line(payment(), "JPY").worth_minor, None, "no rate was known");
        assert_eq!(Line::new(payment(), Currency::from_code("EUR").unwrap(), None).rate, None);
    }

    #[test]
    fn a_worth_has_its_amounts_sign_and_is_rounded_half_to_even() {
        for (sats, minor) in [(1, 0), (-1, 0), (3, 2), (-3, -2), (5, 2), (-5, -2)] {
            let half_a_cent = Entry {
                payout: rate_in("USD", "500000"),
                ..entry("2026-01-12T12:00:00Z", LedgerKind::Payout, sats)
            };
            assert_eq!(line(half_a_cent, "USD").worth_minor, Some(minor), "{sats}");
        }
    }

    #[test]
    fn paid_fees_are_positive() {
        let fee = |kind, sats| line(entry("2026-01-12T12:00:00Z", kind, sats), "USD").fee_sats;
        assert_eq!(fee(LedgerKind::Fee, -282), Some(282));
        assert_eq!(fee(LedgerKind::FeeDifference, 100), Some(-100));
        assert_eq!(fee(LedgerKind::Payout, -1), None);
        assert_eq!(fee(LedgerKind::Other, -500), None, "a spend of another copy has no known fee");
        let given_up =
            Entry { gives_up: true, ..entry("2026-01-12T12:00:00Z", LedgerKind::Other, -500) };
        assert_eq!(line(given_up, "USD").fee_sats, Some(500));
    }

    #[test]
    fn a_days_or_months_sum_with_an_unknown_value_has_no_value() {
        let mut lines: Vec<Line> = [
            ("2026-01-12T23:59:59.999Z", LedgerKind::Payment, 300),
            ("2026-01-13T00:00:00Z", LedgerKind::Payout, -200),
            ("2026-01-13T12:00:00Z", LedgerKind::Fee, -10),
            ("2026-02-01T00:00:00Z", LedgerKind::Payment, 1_000),
        ]
        .map(|(time, kind, sats)| line(entry(time, kind, sats), "USD"))
        .into();
        let sums = |totals: Vec<Total>| -> Vec<(String, i64, i64)> {
            totals.into_iter().map(|total| (total.period, total.sats, total.fee_sats)).collect()
        };
        let expected = [("2026-01-12", 300, 0), ("2026-01-13", -210, 10), ("2026-02-01", 1_000, 0)];
        assert_eq!(
            sums(totals(&lines, DATE)),
            expected.map(|(day, sats, fee)| (day.to_owned(), sats, fee))
        );
        let expected = [("2026-01", 90, 10), ("2026-02", 1_000, 0)];
        assert_eq!(
            sums(totals(&lines, MONTH)),
            expected.map(|(month, sats, fee)| (month.to_owned(), sats, fee))
        );
        lines[0].worth_minor = None;
        let months: Vec<Option<i64>> =
            totals(&lines, MONTH).into_iter().map(|total| total.worth_minor).collect();
        assert_eq!((months[0], months[1].is_some()), (None, true));
    }
}
