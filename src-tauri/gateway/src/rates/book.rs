//! The newest quotes of all sources, and the rates that are made of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Mutex, RwLock};
use rust_decimal::Decimal;
use tillgate_domain::money::{Currency, Rate};
use tillgate_domain::rates::{self, Quote};
use tillgate_domain::time::Timestamp;

use super::{RateSource, RateUnavailable};
use crate::store::rates::StoredRate;
use crate::store::{Store, StoreError};

/// A rate that nothing used is stored at most this often, for the time after a restart.
const LAST_KNOWN_STORED_EVERY_MS: i64 = 10 * 60_000;

/// Stored rates whose row is remembered; far more than are in use at one time.
const ROWS_REMEMBERED: usize = 1_024;

/// The exchange rates of one environment.
pub struct Rates {
    sources: Arc<Vec<Box<dyn RateSource>>>,
    min_fresh_sources: AtomicUsize,
    book: RwLock<Book>,
    row_ids: Mutex<BTreeMap<(Currency, Timestamp, Rate), i64>>,
}

#[derive(Default)]
struct Book {
    quotes: BTreeMap<Currency, BTreeMap<&'static str, Quote>>,
    last_known: BTreeMap<Currency, LastKnown>,
    failures: BTreeMap<&'static str, String>,
}

struct LastKnown {
    known: StoredRate,
    /// While it may be answered as it is; `None` where the quotes make no rate any more.
    holds: Option<Holds>,
    /// `at` of the one that the database holds.
    stored_at: Option<Timestamp>,
}

/// A currency's rate at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RatesRow {
    pub currency: Currency,
    /// The rate, or the last one known where none may be used.
    pub rate: Rate,
    /// Whether a price may rest on it.
    pub fresh: bool,
    /// Sources that were left out because they stray too far from the others.
    pub strays: Vec<&'static str>,
}

/// From when until when the quotes combined anew would give the same rate. New quotes end it.
#[derive(Clone, Copy)]
struct Holds {
    from: Timestamp,
    /// `None` for ever.
    until: Option<Timestamp>,
    /// How many sources had to agree.
    wanted: usize,
}

impl Holds {
    fn at(&self, now: Timestamp, wanted: usize) -> bool {
        self.wanted == wanted && self.from <= now && self.until.is_none_or(|until| now <= until)
    }
}

impl Rates {
    /// An empty book over `sources`, of which `min_fresh_sources` must agree on a rate.
    #[must_use]
    pub fn new(sources: Vec<Box<dyn RateSource>>, min_fresh_sources: usize) -> Self {
        Self {
            sources: Arc::new(sources),
            min_fresh_sources: AtomicUsize::new(min_fresh_sources),
            book: RwLock::default(),
            row_ids: Mutex::default(),
        }
    }

    /// Follows the setting `minFreshSources`.
    pub fn set_min_fresh_sources(&self, count: usize) {
        self.min_fresh_sources.store(count, Ordering::Relaxed);
    }

    /// Takes the last rates known before a restart from the database.
    pub fn load_last_known(&self, store: &Store) -> Result<(), StoreError> {
        let rates = store.read(|reader| reader.last_rates())?;
        let mut book = self.book.write();
        for (currency, known) in rates {
            let stored_at = Some(known.at);
            book.last_known.entry(currency).or_insert(LastKnown { known, holds: None, stored_at });
        }
        Ok(())
    }

    /// Asks every source once and stores what is new and worth it. A source that fails keeps its
    /// earlier quotes until they are stale.
    ///
    /// # Errors
    /// When the last known rates cannot be stored; the book holds the new ones all the same.
    pub async fn refresh_once(&self, store: &Store, now: Timestamp) -> Result<(), StoreError> {
        let sources = Arc::clone(&self.sources);
        let ask = move || -> Vec<_> { sources.iter().map(|source| source.quotes()).collect() };
        let answers = match tokio::task::spawn_blocking(ask).await {
            Ok(answers) => answers,
            Err(error) => {
                tracing::error!(%error, "the rate sources could not be asked");
                return Ok(());
            }
        };
        let to_store = {
            let mut book = self.book.write();
            for (source, answer) in self.sources.iter().zip(answers) {
                book.take(source.as_ref(), answer, now);
            }
            book.follow_last_known(now, self.min_fresh_sources.load(Ordering::Relaxed))
        };
        for (currency, rate) in to_store {
            let stored_at = rate.at;
            store.write(move |tx| tx.store_last_known_rate(currency, &rate)).await?;
            let mut book = self.book.write();
            if let Some(last) = book.last_known.get_mut(&currency) {
                last.stored_at = Some(stored_at);
            }
        }
        Ok(())
    }

    /// The rate that a price may rest on, without spread.
    ///
    /// # Errors
    /// Why there is none.
    pub fn rate_for(&self, currency: Currency, now: Timestamp) -> Result<StoredRate, RateUnavailable> {
        let book = self.book.read();
        let wanted = self.min_fresh_sources.load(Ordering::Relaxed);
        if let Some(last) = book.last_known.get(&currency)
            && last.holds.is_some_and(|holds| holds.at(now, wanted))
        {
            return Ok(last.known.clone());
        }
        Ok(book.combine(currency, now, wanted)?.0)
    }

    /// The last rate known, however old.
    #[must_use]
    pub fn last_known(&self, currency: Currency) -> Option<StoredRate> {
        let book = self.book.read();
        book.last_known.get(&currency).map(|last| last.known.clone())
    }

    /// The last rate known of every currency that ever had one.
    #[must_use]
    pub fn last_known_rates(&self) -> Vec<(Currency, Rate)> {
        let book = self.book.read();
        book.last_known.iter().map(|(currency, last)| (*currency, last.known.rate)).collect()
    }

    /// Stores a rate that is used, once, and answers its row.
    pub async fn row_id(&self, store: &Store, currency: Currency, rate: &StoredRate) -> Result<i64, StoreError> {
        let key = (currency, rate.at, rate.rate);
        if let Some(id) = self.row_ids.lock().get(&key) {
            return Ok(*id);
        }
        let rate = rate.clone();
        // A commit of its own: an id is remembered only once its row is sure to stay.
        let id = store.write(move |tx| tx.store_rate(currency, &rate)).await?;
        let mut ids = self.row_ids.lock();
        if ids.len() >= ROWS_REMEMBERED {
            ids.clear();
        }
        ids.insert(key, id);
        Ok(id)
    }

    /// Every currency that ever had a rate.
    #[must_use]
    pub fn rows(&self, now: Timestamp) -> Vec<RatesRow> {
        let book = self.book.read();
        let min_fresh = self.min_fresh_sources.load(Ordering::Relaxed);
        let row = |(currency, last): (&Currency, &LastKnown)| match book.combine(*currency, now, min_fresh) {
            Ok((of_now, strays)) => RatesRow { currency: *currency, rate: of_now.rate, fresh: true, strays },
            Err(_) => RatesRow { currency: *currency, rate: last.known.rate, fresh: false, strays: Vec::new() },
        };
        book.last_known.iter().map(row).collect()
    }

    /// The sources that did not answer last time, and why.
    #[must_use]
    pub fn failures(&self) -> Vec<(&'static str, String)> {
        let book = self.book.read();
        book.failures.iter().map(|(source, why)| (*source, why.clone())).collect()
    }
}

impl Book {
    fn take(&mut self, source: &dyn RateSource, answer: Result<BTreeMap<Currency, Decimal>, String>, now: Timestamp) {
        let name = source.name();
        let prices = match answer {
            Ok(prices) => prices,
            Err(why) => {
                if self.failures.insert(name, why.clone()).is_none() {
                    tracing::warn!(source = name, why, "a source of exchange rates does not answer");
                }
                return;
            }
        };
        if self.failures.remove(name).is_some() {
            tracing::info!(source = name, "the source of exchange rates answers again");
        }
        let mut before = BTreeMap::new();
        for (currency, quotes) in &mut self.quotes {
            if let Some(known) = quotes.remove(name) {
                before.insert(*currency, known);
            }
        }
        let never_stale = source.never_stale();
        for (currency, price) in prices.into_iter().filter(|(_, price)| price.is_sign_positive() && !price.is_zero()) {
            // One that never goes stale and is unchanged has the same time, and so the same stored row.
            let at = match before.get(&currency) {
                Some(known) if never_stale && known.price == price => known.at,
                _ => now,
            };
            let quote = Quote { source: name, price, at, never_stale };
            self.quotes.entry(currency).or_default().insert(name, quote);
        }
    }

    /// The rate that the fresh quotes make, and the sources that stray from it.
    fn combine(
        &self,
        currency: Currency,
        now: Timestamp,
        wanted: usize,
    ) -> Result<(StoredRate, Vec<&'static str>), RateUnavailable> {
        let unavailable = |reason: String| RateUnavailable { currency: currency.code().to_owned(), reason };
        let fresh: Vec<Quote> = match self.quotes.get(&currency) {
            Some(quotes) => quotes.values().filter(|quote| quote.is_fresh(now)).copied().collect(),
            None => Vec::new(),
        };
        let combined = rates::combine(&fresh, wanted).map_err(|why| unavailable(why.to_string()))?;
        let rate = Rate::new(combined.median).ok_or_else(|| unavailable("the quotes are no rate".to_owned()))?;
        let at = combined.used.iter().map(|quote| quote.at).min().unwrap_or(now);
        let sources: serde_json::Map<_, _> =
            combined.used.iter().map(|quote| (quote.source.to_owned(), quote.price.to_string().into())).collect();
        let strays = combined.strays.iter().map(|quote| quote.source).collect();
        Ok((StoredRate { rate, at, sources: serde_json::Value::Object(sources).to_string() }, strays))
    }

    /// Remembers each rate of this moment, and answers those that are to be stored.
    fn follow_last_known(&mut self, now: Timestamp, wanted: usize) -> Vec<(Currency, StoredRate)> {
        let currencies: Vec<Currency> = self.quotes.keys().copied().collect();
        let mut to_store = Vec::new();
        for currency in currencies {
            let Ok((known, _)) = self.combine(currency, now, wanted) else {
                if let Some(last) = self.last_known.get_mut(&currency) {
                    last.holds = None;
                }
                continue;
            };
            let stored_at = self.last_known.get(&currency).and_then(|last| last.stored_at);
            let holds = Some(Holds { from: now, until: self.first_stale(currency, now), wanted });
            let due = stored_at.is_none_or(|at| known.at >= at.plus_ms(LAST_KNOWN_STORED_EVERY_MS));
            let never_stale = self.quotes.get(&currency).is_some_and(|all| all.values().all(|quote| quote.never_stale));
            if due || (never_stale && stored_at != Some(known.at)) {
                to_store.push((currency, known.clone()));
            }
            self.last_known.insert(currency, LastKnown { known, holds, stored_at });
        }
        to_store
    }

    /// The last moment at which all quotes that are fresh now still are.
    fn first_stale(&self, currency: Currency, now: Timestamp) -> Option<Timestamp> {
        let quotes = self.quotes.get(&currency).into_iter().flat_map(BTreeMap::values);
        quotes.filter(|quote| quote.is_fresh(now)).filter_map(Quote::fresh_until).min()
    }
}

#[cfg(test)]
mod tests;
