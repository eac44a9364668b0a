//! The book of quotes: asking the sources, and answering with rates.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use rust_decimal::Decimal;
use tillgate_domain::money::{Currency, Rate};
use tillgate_domain::rates::{self, Quote};
use tillgate_domain::time::Timestamp;

use super::{RateSource, RateUnavailable};
use crate::store::rates::KeptRate;
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
    kept: KeptRate,
    /// While the quotes that it was made of are the fresh ones; `None` where they make no rate any more.
    stands: Option<Stands>,
    /// `at` of the one that the database holds.
    stored_at: Option<Timestamp>,
}

/// A currency's rate as the panel shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RatesRow {
    /// The currency.
    pub currency: Currency,
    /// The rate, or the last one known where none may be used.
    pub rate: Rate,
    /// Whether a price may rest on it.
    pub fresh: bool,
    /// Sources that were left out because they stray, for people.
    pub strays: Vec<&'static str>,
}

/// When combining the quotes again would give the same. New quotes end it.
#[derive(Clone, Copy)]
struct Stands {
    from: Timestamp,
    /// `None` for ever.
    until: Option<Timestamp>,
    /// How many sources had to agree.
    wanted: usize,
}

impl Stands {
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
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn load_last_known(&self, store: &Store) -> Result<(), StoreError> {
        let rates = store.read(|reader| reader.last_rates())?;
        let mut book = self.book.write().unwrap_or_else(PoisonError::into_inner);
        for (currency, kept) in rates {
            let stored_at = Some(kept.at);
            book.last_known.entry(currency).or_insert(LastKnown { kept, stands: None, stored_at });
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
            let mut book = self.book.write().unwrap_or_else(PoisonError::into_inner);
            for (source, answer) in self.sources.iter().zip(answers) {
                book.take(source.as_ref(), answer, now);
            }
            book.follow_last_known(now, self.min_fresh_sources.load(Ordering::Relaxed))
        };
        for (currency, kept) in to_store {
            let stored_at = kept.at;
            store.write(move |tx| tx.keep_last_known_rate(currency, &kept)).await?;
            let mut book = self.book.write().unwrap_or_else(PoisonError::into_inner);
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
    pub fn rate_for(&self, currency: Currency, now: Timestamp) -> Result<KeptRate, RateUnavailable> {
        let book = self.book.read().unwrap_or_else(PoisonError::into_inner);
        let wanted = self.min_fresh_sources.load(Ordering::Relaxed);
        if let Some(last) = book.last_known.get(&currency)
            && last.stands.is_some_and(|stands| stands.at(now, wanted))
        {
            return Ok(last.kept.clone());
        }
        let (kept, _) = book.combine(currency, now, wanted)?;
        Ok(kept)
    }

    /// The last rate known, however old.
    #[must_use]
    pub fn last_known(&self, currency: Currency) -> Option<KeptRate> {
        let book = self.book.read().unwrap_or_else(PoisonError::into_inner);
        book.last_known.get(&currency).map(|last| last.kept.clone())
    }

    /// Stores a rate that is used, once, and answers its row.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub async fn row_id(&self, store: &Store, currency: Currency, kept: &KeptRate) -> Result<i64, StoreError> {
        let key = (currency, kept.at, kept.rate);
        if let Some(id) = self.row_ids.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(*id);
        }
        let kept = kept.clone();
        // A commit of its own: an id is remembered only once its row is sure to stay.
        let id = store.write(move |tx| tx.keep_rate(currency, &kept)).await?;
        let mut ids = self.row_ids.lock().unwrap_or_else(PoisonError::into_inner);
        if ids.len() >= ROWS_REMEMBERED {
            ids.clear();
        }
        ids.insert(key, id);
        Ok(id)
    }

    /// Every currency that ever had a rate.
    #[must_use]
    pub fn rows(&self, now: Timestamp) -> Vec<RatesRow> {
        let book = self.book.read().unwrap_or_else(PoisonError::into_inner);
        let min_fresh = self.min_fresh_sources.load(Ordering::Relaxed);
        let row = |(currency, last): (&Currency, &LastKnown)| match book.combine(*currency, now, min_fresh) {
            Ok((kept, strays)) => RatesRow { currency: *currency, rate: kept.rate, fresh: true, strays },
            Err(_) => RatesRow { currency: *currency, rate: last.kept.rate, fresh: false, strays: Vec::new() },
        };
        book.last_known.iter().map(row).collect()
    }

    /// The sources that did not answer last time, and why.
    #[must_use]
    pub fn failures(&self) -> Vec<(&'static str, String)> {
        let book = self.book.read().unwrap_or_else(PoisonError::into_inner);
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
            // One that never goes stale and is unchanged keeps its time, and so its stored row.
            let at = match before.get(&currency) {
                Some(known) if never_stale && known.price == price => known.at,
                _ => now,
            };
            let quote = Quote { source: name, price, at, never_stale };
            self.quotes.entry(currency).or_default().insert(name, quote);
        }
    }

    fn combine(
        &self,
        currency: Currency,
        now: Timestamp,
        wanted: usize,
    ) -> Result<(KeptRate, Vec<&'static str>), RateUnavailable> {
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
        Ok((KeptRate { rate, at, sources: serde_json::Value::Object(sources).to_string() }, strays))
    }

    /// Remembers each rate of this moment, and answers those that the database should learn.
    fn follow_last_known(&mut self, now: Timestamp, wanted: usize) -> Vec<(Currency, KeptRate)> {
        let currencies: Vec<Currency> = self.quotes.keys().copied().collect();
        let mut to_store = Vec::new();
        for currency in currencies {
            let Ok((kept, _)) = self.combine(currency, now, wanted) else {
                if let Some(last) = self.last_known.get_mut(&currency) {
                    last.stands = None;
                }
                continue;
            };
            let stored_at = self.last_known.get(&currency).and_then(|last| last.stored_at);
            let stands = Some(Stands { from: now, until: self.first_stale(currency, now), wanted });
            let due = stored_at.is_none_or(|at| kept.at >= at.plus_ms(LAST_KNOWN_STORED_EVERY_MS));
            let never_stale = self.quotes.get(&currency).is_some_and(|all| all.values().all(|known| known.never_stale));
            if due || (never_stale && stored_at != Some(kept.at)) {
                to_store.push((currency, kept.clone()));
            }
            self.last_known.insert(currency, LastKnown { kept, stands, stored_at });
        }
        to_store
    }

    /// The last moment at which all quotes that are fresh now still are.
    fn first_stale(&self, currency: Currency, now: Timestamp) -> Option<Timestamp> {
        let quotes = self.quotes.get(&currency).into_iter().flat_map(BTreeMap::values);
        quotes.filter(|known| known.is_fresh(now)).filter_map(Quote::fresh_until).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60_000;

    /// A source that says what a test told it to.
    struct Told {
        name: &'static str,
        never_stale: bool,
        answer: Arc<Mutex<Result<BTreeMap<Currency, Decimal>, String>>>,
    }

    type Answer = Arc<Mutex<Result<BTreeMap<Currency, Decimal>, String>>>;

    impl RateSource for Told {
        fn name(&self) -> &'static str {
            self.name
        }

        fn quotes(&self) -> Result<BTreeMap<Currency, Decimal>, String> {
            self.answer.lock().unwrap().clone()
        }

        fn never_stale(&self) -> bool {
            self.never_stale
        }
    }

    fn usd() -> Currency {
        Currency::from_code("USD").unwrap()
    }

    fn says(answer: &Answer, price: Option<i64>) {
        *answer.lock().unwrap() = Ok(price.map(|price| (usd(), Decimal::from(price))).into_iter().collect());
    }

    fn source(name: &'static str, never_stale: bool, price: i64) -> (Box<dyn RateSource>, Answer) {
        let answer: Answer = Arc::new(Mutex::new(Ok(BTreeMap::new())));
        says(&answer, Some(price));
        (Box::new(Told { name, never_stale, answer: Arc::clone(&answer) }), answer)
    }

    fn store(folder: &tempfile::TempDir) -> Store {
        Store::open(&folder.path().join("gateway.db")).unwrap()
    }

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_ms(minutes * MINUTE)
    }

    fn price(rates: &Rates, now: Timestamp) -> Option<String> {
        rates.rate_for(usd(), now).ok().map(|kept| kept.rate.format())
    }

    #[tokio::test]
    async fn a_quote_is_stale_after_five_minutes_and_still_the_last_known() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        let (told, answer) = source("a", false, 65_000);
        let rates = Rates::new(vec![told], 1);
        rates.refresh_once(&store, at(0)).await.unwrap();
        *answer.lock().unwrap() = Err("no route".to_owned());
        rates.refresh_once(&store, at(1)).await.unwrap();
        assert_eq!(price(&rates, at(5)).as_deref(), Some("65000.0000"));
        assert_eq!(price(&rates, at(5).plus_ms(1)), None);
        assert_eq!(rates.last_known(usd()).unwrap().at, at(0));
        assert_eq!(rates.failures(), [("a", "no route".to_owned())]);
        assert!(!rates.rows(at(6))[0].fresh);
    }

    #[tokio::test]
    async fn a_simulated_rate_stays_until_it_is_withdrawn() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        let (told, answer) = source("sandbox", true, 65_000);
        let rates = Rates::new(vec![told], 1);
        rates.refresh_once(&store, at(0)).await.unwrap();
        let first = rates.row_id(&store, usd(), &rates.rate_for(usd(), at(1)).unwrap()).await.unwrap();
        rates.refresh_once(&store, at(600)).await.unwrap();
        let kept = rates.rate_for(usd(), at(10_000)).unwrap();
        assert_eq!(rates.row_id(&store, usd(), &kept).await.unwrap(), first, "an unchanged rate is one row");
        says(&answer, None);
        rates.refresh_once(&store, at(10_001)).await.unwrap();
        assert_eq!(price(&rates, at(10_001)), None);
    }

    #[tokio::test]
    async fn the_last_known_rate_survives_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let (told, answer) = source("sandbox", true, 65_000);
        {
            let store = store(&folder);
            let rates = Rates::new(vec![told], 1);
            rates.refresh_once(&store, at(0)).await.unwrap();
            says(&answer, Some(66_000));
            rates.refresh_once(&store, at(1)).await.unwrap();
        }
        let store = store(&folder);
        let rates = Rates::new(Vec::new(), 1);
        rates.load_last_known(&store).unwrap();
        assert_eq!(rates.last_known(usd()).unwrap().rate.format(), "66000.0000");
        assert_eq!(price(&rates, at(1)), None, "no price rests on it");
    }

    #[tokio::test]
    async fn a_rate_that_nothing_uses_takes_the_place_of_the_one_before_and_one_in_use_stays() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        let (told, answer) = source("a", false, 65_000);
        let rates = Rates::new(vec![told], 1);
        let stored = || store.read(|reader| reader.stored_rates(usd())).unwrap();
        let mut used = None;
        for round in 0..6 {
            says(&answer, Some(65_000 + round));
            rates.refresh_once(&store, at(10 * round)).await.unwrap();
            if round == 2 {
                let kept = rates.rate_for(usd(), at(10 * round)).unwrap();
                used = Some(rates.row_id(&store, usd(), &kept).await.unwrap());
            }
        }
        let used = (used.unwrap(), "65002.0000".to_owned());
        assert_eq!(stored().len(), 2, "{:?}", stored());
        assert!(stored().contains(&used) && stored().iter().any(|(_, rate)| rate == "65005.0000"), "{:?}", stored());
        let after_a_restart = Rates::new(Vec::new(), 1);
        after_a_restart.load_last_known(&store).unwrap();
        assert_eq!(after_a_restart.last_known(usd()).unwrap().rate.format(), "65005.0000");
    }

    #[tokio::test]
    async fn production_waits_for_two_sources() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        let (one, _) = source("a", false, 65_000);
        let (other, answer) = source("b", false, 65_100);
        says(&answer, None);
        let rates = Rates::new(vec![one, other], 2);
        rates.refresh_once(&store, at(0)).await.unwrap();
        let refusal = rates.rate_for(usd(), at(0)).unwrap_err();
        assert!(refusal.to_string().contains("1 of the 2"), "{refusal}");
        says(&answer, Some(65_100));
        rates.refresh_once(&store, at(1)).await.unwrap();
        let kept = rates.rate_for(usd(), at(1)).unwrap();
        assert_eq!(kept.rate.format(), "65050.0000");
        assert_eq!(kept.sources, r#"{"a":"65000","b":"65100"}"#);
    }

    #[tokio::test]
    async fn a_rate_changes_in_the_moment_in_which_one_of_its_quotes_is_stale() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        let (one, answer) = source("a", false, 65_000);
        let (other, _) = source("b", false, 65_100);
        let rates = Rates::new(vec![one, other], 1);
        rates.refresh_once(&store, at(0)).await.unwrap();
        *answer.lock().unwrap() = Err("no route".to_owned());
        rates.refresh_once(&store, at(3)).await.unwrap();
        assert_eq!(price(&rates, at(5)).as_deref(), Some("65050.0000"));
        assert_eq!(price(&rates, at(5).plus_ms(1)).as_deref(), Some("65100.0000"));
        assert_eq!(price(&rates, at(2)).as_deref(), Some("65050.0000"), "a clock that was set back");
        rates.set_min_fresh_sources(3);
        assert_eq!(price(&rates, at(3)), None, "the setting holds at once");
    }
}
