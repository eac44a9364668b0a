//! The newest quotes of all sources, the rates computed from them, and the time of the next request
//! to each source. They are kept only in memory.

use std::collections::BTreeMap;

use rust_decimal::Decimal;
use tillgate_domain::checked_clock::servers_ahead_ms;
use tillgate_domain::money::{Currency, Rate};
use tillgate_domain::rates::{self, ASKED_EVERY_MS, Judged, Known, Quote, Verdict, retry_delay_ms};
use tillgate_domain::time::Timestamp;
use tillgate_store::rates::StoredRate;
use tillgate_told::{Telling, Told};

use super::rate_source::{SourceAnswer, SourceFailure, SourceQuote};
use super::stored_quotes;
use super::unavailable::RateUnavailable;

/// Least time between two writes of a currency's last known rate, which is read after a restart.
const LAST_KNOWN_STORED_EVERY_MS: i64 = 10 * 60_000;

/// Time for which a server's reported time counts: three rounds of requests.
const TIME_TOLD_WITHIN_MS: i64 = 3 * ASKED_EVERY_MS;

#[derive(Default)]
pub struct Quotes {
    by_currency: BTreeMap<Currency, BTreeMap<&'static str, Quote>>,
    last_known: BTreeMap<Currency, LastKnown>,
    sources: BTreeMap<&'static str, SourceState>,
}

struct LastKnown {
    known: StoredRate,
    /// The period in which the rate can be reused without a new computation; `None` if the quotes
    /// give no rate now.
    holds: Option<Holds>,
    /// `at` of the rate in the database.
    stored_at: Option<Timestamp>,
}

/// The state of requests to a source.
#[derive(Default)]
struct SourceState {
    answered_at: Option<Timestamp>,
    /// The lead of its clock over ours at its last answer, in milliseconds.
    ahead_ms: Option<i64>,
    /// Number of failures since its last answer.
    failures: u32,
    /// The reason of the latest failure since its last answer.
    failed: Option<Telling>,
    /// Time of the next request; `None` for at once.
    due_at: Option<Timestamp>,
}

/// A currency's rate at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RatesRow {
    pub currency: Currency,
    /// The rate for prices, or the last known rate if there is none; `None` if no rate was ever
    /// known.
    pub rate: Option<Rate>,
    /// Time of the oldest quote in the rate; `None` if it may not be used for prices.
    pub fresh_at: Option<Timestamp>,
    /// Each source's quote with its verdict.
    pub quotes: Vec<(Quote, Verdict)>,
}

impl RatesRow {
    /// Sources that are left out because they differ too much from the others.
    pub fn strays(&self) -> impl Iterator<Item = &'static str> {
        self.quotes
            .iter()
            .filter(|(_, verdict)| *verdict == Verdict::Stray)
            .map(|(quote, _)| quote.source)
    }
}

/// The state of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRow {
    pub name: &'static str,
    /// Time of the last request that the source answered.
    pub answered_at: Option<Timestamp>,
    /// The reason of the latest failure since that answer.
    pub failed: Option<Telling>,
    /// Time of the next request; `None` for at once.
    pub due_at: Option<Timestamp>,
}

/// The period in which the same quotes would give the same rate. New quotes end it.
#[derive(Clone, Copy)]
struct Holds {
    from: Timestamp,
    /// `None` for no end.
    until: Option<Timestamp>,
    /// The setting `minFreshSources` at the computation.
    wanted: usize,
}

impl Holds {
    fn at(&self, now: Timestamp, wanted: usize) -> bool {
        self.wanted == wanted && self.from <= now && self.until.is_none_or(|until| now <= until)
    }
}

impl Quotes {
    /// Sets the last known rate from before a restart.
    pub fn remember(&mut self, currency: Currency, known: StoredRate) {
        let stored_at = Some(known.at);
        self.last_known.entry(currency).or_insert(LastKnown { known, holds: None, stored_at });
    }

    /// Notes the time of the last known rate that is in the database.
    pub fn stored(&mut self, currency: Currency, at: Timestamp) {
        if let Some(last) = self.last_known.get_mut(&currency) {
            last.stored_at = Some(at);
        }
    }

    /// Drops the quotes of all sources but these, and makes these due at once.
    pub fn keep_sources(&mut self, names: &[&'static str]) {
        for quotes in self.by_currency.values_mut() {
            quotes.retain(|name, _| names.contains(name));
        }
        self.by_currency.retain(|_, quotes| !quotes.is_empty());
        self.sources.retain(|name, _| names.contains(name));
        for last in self.last_known.values_mut() {
            last.holds = None;
        }
        for state in self.sources.values_mut() {
            state.due_at = None;
        }
    }

    /// Time of the next request to a source; `None` for at once.
    pub fn due_at(&self, name: &'static str) -> Option<Timestamp> {
        self.sources.get(name).and_then(|state| state.due_at)
    }

    /// Replaces a source's quotes by its answer to the request of `asked_at`. A currency that the
    /// answer lacks loses its quote.
    pub fn take(
        &mut self,
        name: &'static str,
        never_stale: bool,
        answered: SourceAnswer,
        asked_at: Timestamp,
    ) {
        let state = self.sources.entry(name).or_default();
        if state.failed.take().is_some() {
            tracing::info!(source = name, "the source of exchange rates answers again");
        }
        state.failures = 0;
        state.answered_at = Some(asked_at);
        state.ahead_ms = answered.server_time.map(|time| time.ms().saturating_sub(asked_at.ms()));
        state.due_at = Some(asked_at.plus_ms(ASKED_EVERY_MS));
        let mut before = BTreeMap::new();
        for (currency, quotes) in &mut self.by_currency {
            if let Some(known) = quotes.remove(name) {
                before.insert(*currency, known);
            }
        }
        for SourceQuote { currency, price, at } in answered.quotes {
            if !price.is_sign_positive() || price.is_zero() {
                continue;
            }
            let others: Vec<Quote> = self
                .by_currency
                .get(&currency)
                .into_iter()
                .flat_map(BTreeMap::values)
                .copied()
                .collect();
            let last_known = self.last_known.get(&currency).map(|last| known(&last.known));
            let quote =
                Quote { source: name, price, at: at.min(asked_at), never_stale, jumped_from: None };
            let quote = quote.succeed(before.get(&currency), last_known, &others);
            self.by_currency.entry(currency).or_default().insert(name, quote);
        }
    }

    /// Notes a failed request. Earlier quotes are kept until they are stale.
    pub fn fail(
        &mut self,
        name: &'static str,
        failed: SourceFailure,
        asked_at: Timestamp,
        jitter_per_mille: i64,
    ) {
        let state = self.sources.entry(name).or_default();
        state.failures = state.failures.saturating_add(1);
        state.due_at =
            Some(asked_at.plus_ms(retry_delay_ms(state.failures, failed.kind, jitter_per_mille)));
        if state.failed.replace(failed.why.clone()).is_none() {
            tracing::warn!(source = name, why = %failed.why, "a source of exchange rates does not answer");
        }
    }

    /// The fresh rate for a price.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn rate_for(
        &self,
        currency: Currency,
        now: Timestamp,
        wanted: usize,
    ) -> Result<StoredRate, RateUnavailable> {
        if let Some(last) = self.last_known.get(&currency)
            && last.holds.is_some_and(|holds| holds.at(now, wanted))
        {
            return Ok(last.known.clone());
        }
        Self::rate_of(currency, &self.judge(currency, now, wanted), now)
    }

    /// The last known rate, of any age.
    pub fn last_known(&self, currency: Currency) -> Option<&StoredRate> {
        self.last_known.get(&currency).map(|last| &last.known)
    }

    /// The last known rates of all currencies that ever had one.
    pub fn last_known_rates(&self) -> Vec<(Currency, Rate)> {
        self.last_known.iter().map(|(currency, last)| (*currency, last.known.rate)).collect()
    }

    /// A currency's rate and quotes.
    pub fn row(&self, currency: Currency, now: Timestamp, wanted: usize) -> RatesRow {
        let judged = self.judge(currency, now, wanted);
        let (rate, fresh_at) = match Self::rate_of(currency, &judged, now) {
            Ok(of_now) => (Some(of_now.rate), Some(of_now.at)),
            Err(_) => (self.last_known(currency).map(|known| known.rate), None),
        };
        RatesRow { currency, rate, fresh_at, quotes: judged.quotes }
    }

    /// Every currency that ever had a rate.
    pub fn known_currencies(&self) -> Vec<Currency> {
        self.last_known.keys().copied().collect()
    }

    /// The state of a source.
    pub fn source(&self, name: &'static str) -> SourceRow {
        let state = self.sources.get(name);
        SourceRow {
            name,
            answered_at: state.and_then(|state| state.answered_at),
            failed: state.and_then(|state| state.failed.clone()),
            due_at: state.and_then(|state| state.due_at),
        }
    }

    /// The lead of the sources' clocks over ours, in milliseconds, if they agree. Only recent
    /// answers count, because our clock may have been set since older answers. An answer later than
    /// `now` shows that our clock was set.
    pub fn servers_ahead_ms(&self, now: Timestamp) -> Option<i64> {
        let is_lately = |at: Timestamp| at <= now && now <= at.plus_ms(TIME_TOLD_WITHIN_MS);
        let lately = self.sources.values().filter(|state| state.answered_at.is_some_and(is_lately));
        servers_ahead_ms(lately.filter_map(|state| state.ahead_ms).collect())
    }

    /// Sets each currency's present rate as its last known rate. Returns the rates to store.
    pub fn follow_last_known(
        &mut self,
        now: Timestamp,
        wanted: usize,
    ) -> Vec<(Currency, StoredRate)> {
        let currencies: Vec<Currency> = self.by_currency.keys().copied().collect();
        let mut to_store = Vec::new();
        for currency in currencies {
            let Ok(known) = Self::rate_of(currency, &self.judge(currency, now, wanted), now) else {
                if let Some(last) = self.last_known.get_mut(&currency) {
                    last.holds = None;
                }
                continue;
            };
            let stored_at = self.last_known.get(&currency).and_then(|last| last.stored_at);
            let holds = Some(Holds { from: now, until: self.first_stale(currency, now), wanted });
            let due = stored_at.is_none_or(|at| known.at >= at.plus_ms(LAST_KNOWN_STORED_EVERY_MS));
            let all_never_stale = self
                .by_currency
                .get(&currency)
                .is_some_and(|all| all.values().all(|quote| quote.never_stale));
            if due || (all_never_stale && stored_at != Some(known.at)) {
                to_store.push((currency, known.clone()));
            }
            self.last_known.insert(currency, LastKnown { known, holds, stored_at });
        }
        to_store
    }

    fn judge(&self, currency: Currency, now: Timestamp, wanted: usize) -> Judged {
        let quotes: Vec<Quote> = self
            .by_currency
            .get(&currency)
            .into_iter()
            .flat_map(BTreeMap::values)
            .copied()
            .collect();
        rates::judge(&quotes, now, wanted)
    }

    fn rate_of(
        currency: Currency,
        judged: &Judged,
        now: Timestamp,
    ) -> Result<StoredRate, RateUnavailable> {
        let unavailable =
            |reason: Telling| RateUnavailable { currency: currency.code().to_owned(), reason };
        let median: Decimal =
            judged.rate.as_ref().copied().map_err(|why| unavailable(why.telling()))?;
        let rate = Rate::new(median).ok_or_else(|| unavailable(MedianOutOfRange.telling()))?;
        let used = judged.quotes.iter().filter(|(_, verdict)| *verdict == Verdict::Used);
        let at = used.map(|(quote, _)| quote.at).min().unwrap_or(now);
        Ok(StoredRate { rate, at, sources: stored_quotes::written(&judged.quotes) })
    }

    /// The last moment at which all quotes that are fresh at `now` are still fresh.
    fn first_stale(&self, currency: Currency, now: Timestamp) -> Option<Timestamp> {
        let quotes = self.by_currency.get(&currency).into_iter().flat_map(BTreeMap::values);
        quotes.filter(|quote| quote.is_fresh(now)).filter_map(Quote::fresh_until).min()
    }
}

/// A median that is no rate.
#[derive(Debug, thiserror::Error, Told)]
#[error("the median quote is out of range")]
pub struct MedianOutOfRange;

fn known(stored: &StoredRate) -> Known {
    Known { price: stored.rate.decimal(), at: stored.at }
}
