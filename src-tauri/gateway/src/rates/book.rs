//! The exchange rates of one environment. Each due source that the settings name is asked, all at
//! the same time. Rates that a record uses are stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use tillgate_domain::money::{Currency, Rate};
use tillgate_domain::rates::{ASKED_EVERY_MS, NoAnswer};
use tillgate_domain::time::Timestamp;
use tillgate_machine::entropy::{SystemEntropy, jitter_per_mille};
use tillgate_store::rates::StoredRate;
use tillgate_store::{Store, StoreError};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::quotes::{Quotes, RatesRow, SourceRow};
use super::rate_source::{Question, RateSource, SourceAnswer, SourceFailure};
use super::rules::RateRules;
use super::unavailable::RateUnavailable;

/// Number of stored rates whose row ids are cached. Far fewer are in use at one time.
const ROWS_REMEMBERED: usize = 1_024;

/// The exchange rates of one environment.
pub struct Rates {
    sources: Arc<Vec<Box<dyn RateSource>>>,
    rules: RwLock<Arc<RateRules>>,
    quotes: RwLock<Quotes>,
    row_ids: Mutex<BTreeMap<(Currency, StoredRate), i64>>,
    /// Locked during a round of requests, because two rounds at once would ask a source twice.
    asking: tokio::sync::Mutex<()>,
    rules_changed: Notify,
}

impl Rates {
    /// No rates yet. `rules` selects the sources that are asked.
    #[must_use]
    pub fn new(sources: Vec<Box<dyn RateSource>>, rules: RateRules) -> Self {
        Self {
            sources: Arc::new(sources),
            rules: RwLock::new(Arc::new(rules)),
            quotes: RwLock::default(),
            row_ids: Mutex::default(),
            asking: tokio::sync::Mutex::default(),
            rules_changed: Notify::new(),
        }
    }

    /// Applies changed settings. If the currencies, sources, fixed rates or proxy differ, sources
    /// that are no longer used lose their quotes, all are due at once, and a waiter for
    /// [`Self::rules_changed`] wakes. Returns whether they differ.
    pub fn follow(&self, rules: RateRules) -> bool {
        let before = self.rules();
        if *before == rules {
            return false;
        }
        let asks_otherwise = !rules.asks_like(&before);
        let rules = Arc::new(rules);
        *self.rules.write() = Arc::clone(&rules);
        if asks_otherwise {
            let names: Vec<&'static str> =
                self.chosen(&rules).map(|(_, source)| source.name()).collect();
            self.quotes.write().keep_sources(&names);
            self.rules_changed.notify_one();
        }
        asks_otherwise
    }

    /// Waits until [`Self::follow`] changes what is asked.
    pub async fn rules_changed(&self) {
        self.rules_changed.notified().await;
    }

    /// Reads the last known rates from the database, after a restart.
    pub fn load_last_known(&self, store: &Store) -> Result<(), StoreError> {
        let rates = store.read(|reader| reader.last_rates())?;
        let mut quotes = self.quotes.write();
        for (currency, known) in rates {
            quotes.remember(currency, known);
        }
        Ok(())
    }

    /// Asks every due source once, all at the same time, and stores new rates as last known where
    /// that is due. A source that fails keeps its earlier quotes until they are stale.
    ///
    /// # Errors
    /// A last known rate cannot be stored. The new rates are still used, from memory.
    pub async fn refresh_once(&self, store: &Store, now: Timestamp) -> Result<(), StoreError> {
        let _one_round = self.asking.lock().await;
        let rules = self.rules();
        let mut asked = self.ask_due(&rules, now);
        let mut to_store = BTreeMap::new();
        while let Some(answer) = asked.join_next().await {
            let (index, answer) = match answer {
                Ok(answer) => answer,
                Err(error) => {
                    tracing::error!(%error, "a source of exchange rates could not be asked");
                    continue;
                }
            };
            let Some(source) = self.sources.get(index) else { continue };
            to_store.extend(self.take(source.as_ref(), answer, &rules, now));
        }
        // A rate ends without an answer if its last source was removed from the settings.
        to_store.extend(self.quotes.write().follow_last_known(now, rules.min_fresh_sources));
        for (currency, rate) in to_store {
            let stored_at = rate.at;
            store.write(move |tx| tx.store_last_known_rate(currency, &rate)).await?;
            self.quotes.write().stored(currency, stored_at);
        }
        Ok(())
    }

    /// Time of the next due request, between a second and [`ASKED_EVERY_MS`] from now, so that
    /// failing requests leave a pause.
    #[must_use]
    pub fn next_round_at(&self, now: Timestamp) -> Timestamp {
        let rules = self.rules();
        let quotes = self.quotes.read();
        let due = self.chosen(&rules).filter_map(|(_, source)| quotes.due_at(source.name())).min();
        due.unwrap_or_else(|| now.plus_ms(ASKED_EVERY_MS))
            .clamp(now.plus_ms(1_000), now.plus_ms(ASKED_EVERY_MS))
    }

    /// The fresh rate for a price, without spread.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn rate_for(
        &self,
        currency: Currency,
        now: Timestamp,
    ) -> Result<StoredRate, RateUnavailable> {
        let wanted = self.rules().min_fresh_sources;
        self.quotes.read().rate_for(currency, now, wanted)
    }

    /// The last known rate, of any age.
    #[must_use]
    pub fn last_known(&self, currency: Currency) -> Option<StoredRate> {
        self.quotes.read().last_known(currency).cloned()
    }

    /// The last known rates of all currencies that ever had one.
    #[must_use]
    pub fn last_known_rates(&self) -> Vec<(Currency, Rate)> {
        self.quotes.read().last_known_rates()
    }

    /// Stores a used rate, unless it is stored already. Returns the id of its row.
    pub async fn row_id(
        &self,
        store: &Store,
        currency: Currency,
        rate: &StoredRate,
    ) -> Result<i64, StoreError> {
        let key = (currency, rate.clone());
        if let Some(id) = self.row_ids.lock().get(&key) {
            return Ok(*id);
        }
        let rate = rate.clone();
        // A separate commit: the id may be cached only once its row is durable.
        let id = store.write(move |tx| tx.store_rate(currency, &rate)).await?;
        let mut ids = self.row_ids.lock();
        if ids.len() >= ROWS_REMEMBERED {
            ids.clear();
        }
        ids.insert(key, id);
        Ok(id)
    }

    /// The lead of the sources' clocks over ours, in milliseconds, if the sources that answered
    /// lately agree.
    #[must_use]
    pub fn servers_ahead_ms(&self, now: Timestamp) -> Option<i64> {
        self.quotes.read().servers_ahead_ms(now)
    }

    /// The rates of all currencies that ever had one.
    #[must_use]
    pub fn rows(&self, now: Timestamp) -> Vec<RatesRow> {
        let wanted = self.rules().min_fresh_sources;
        let quotes = self.quotes.read();
        quotes
            .known_currencies()
            .into_iter()
            .map(|currency| quotes.row(currency, now, wanted))
            .collect()
    }

    /// One row for each of these currencies, also if it never had a rate.
    #[must_use]
    pub fn rows_of(&self, currencies: &[Currency], now: Timestamp) -> Vec<RatesRow> {
        let wanted = self.rules().min_fresh_sources;
        let quotes = self.quotes.read();
        currencies.iter().map(|currency| quotes.row(*currency, now, wanted)).collect()
    }

    /// The state of each source that the settings select.
    #[must_use]
    pub fn source_rows(&self) -> Vec<SourceRow> {
        let rules = self.rules();
        let quotes = self.quotes.read();
        self.chosen(&rules).map(|(_, source)| quotes.source(source.name())).collect()
    }

    fn rules(&self) -> Arc<RateRules> {
        Arc::clone(&self.rules.read())
    }

    fn chosen(&self, rules: &RateRules) -> impl Iterator<Item = (usize, &dyn RateSource)> {
        let all = self.sources.iter().enumerate().map(|(index, source)| (index, source.as_ref()));
        all.filter(|(_, source)| source.is_chosen(rules))
    }

    /// Starts one request to each due source. Dropping the returned set cancels the requests.
    fn ask_due(
        &self,
        rules: &Arc<RateRules>,
        now: Timestamp,
    ) -> JoinSet<(usize, Result<SourceAnswer, SourceFailure>)> {
        let due: Vec<usize> = {
            let quotes = self.quotes.read();
            let is_due = |source: &dyn RateSource| {
                source.never_stale()
                    || quotes.due_at(source.name()).is_none_or(|due_at| due_at <= now)
            };
            self.chosen(rules)
                .filter(|(_, source)| is_due(*source))
                .map(|(index, _)| index)
                .collect()
        };
        let mut asked = JoinSet::new();
        for index in due {
            let (sources, rules) = (Arc::clone(&self.sources), Arc::clone(rules));
            asked.spawn(async move {
                let answer = match sources.get(index) {
                    Some(source) => source.ask(Question { at: now, rules: &rules }).await,
                    None => Err(SourceFailure::of_text("no such source", NoAnswer::Unreachable)),
                };
                (index, answer)
            });
        }
        asked
    }

    /// Applies a source's answer. Returns the rates to store as last known.
    fn take(
        &self,
        source: &dyn RateSource,
        answer: Result<SourceAnswer, SourceFailure>,
        rules: &Arc<RateRules>,
        now: Timestamp,
    ) -> Vec<(Currency, StoredRate)> {
        let mut quotes = self.quotes.write();
        // An answer is dropped if the settings changed after the request was sent.
        let current = self.rules();
        if !current.asks_like(rules) {
            return Vec::new();
        }
        match answer {
            Ok(answered) => quotes.take(source.name(), source.never_stale(), answered, now),
            Err(failed) => {
                quotes.fail(source.name(), failed, now, jitter_per_mille(&SystemEntropy))
            }
        }
        quotes.follow_last_known(now, current.min_fresh_sources)
    }
}

#[cfg(test)]
mod tests;
