//! Exchange rates that were used or last known.

use rusqlite::{Row, params};
use tillgate_domain::money::{Currency, Rate};
use tillgate_domain::time::Timestamp;

use super::error::StoreError;
use super::reader::Reader;
use super::tx::Tx;
use super::values;

/// A rate and its sources.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoredRate {
    /// The median of the fresh quotes, without spread.
    pub rate: Rate,
    /// Time from which the age of its oldest quote counts.
    pub at: Timestamp,
    /// The certificate: all known quotes, as JSON.
    pub sources: String,
}

impl Reader<'_> {
    /// The newest rate of each currency.
    pub fn last_rates(&self) -> Result<Vec<(Currency, StoredRate)>, StoreError> {
        // The query steps from currency to currency along the index, since the table grows with
        // every used rate.
        let mut statement = self.connection.prepare_cached(
            "WITH RECURSIVE known(currency) AS (
                 SELECT min(currency) FROM rates
                 UNION ALL SELECT (SELECT min(currency) FROM rates WHERE currency > known.currency) FROM known
                 WHERE known.currency IS NOT NULL)
             SELECT r.currency AS currency, r.rate AS rate, r.at AS at, r.sources AS sources FROM known JOIN rates r ON r.rate_id = (
                 SELECT rate_id FROM rates WHERE currency = known.currency ORDER BY at DESC, rate_id DESC LIMIT 1)",
        )?;
        statement.query_and_then([], rate_row)?.collect()
    }

    /// The rate of a payment before the spread, with its certificate.
    pub fn rate_of_payment(&self, payment_seq: i64) -> Result<Option<StoredRate>, StoreError> {
        self.rate_by(
            "SELECT r.* FROM payments p JOIN rates r USING (rate_id) WHERE p.seq = ?1",
            payment_seq,
        )
    }

    /// The rate of a payout, with its certificate.
    pub fn rate_of_payout(&self, payout_seq: i64) -> Result<Option<StoredRate>, StoreError> {
        self.rate_by(
            "SELECT r.* FROM payouts p JOIN rates r USING (rate_id) WHERE p.seq = ?1",
            payout_seq,
        )
    }

    fn rate_by(&self, query: &str, seq: i64) -> Result<Option<StoredRate>, StoreError> {
        let mut statement = self.connection.prepare_cached(query)?;
        let row = statement.query_and_then([seq], rate_row)?.next().transpose()?;
        Ok(row.map(|(_, rate)| rate))
    }
}

impl Tx<'_> {
    /// Stores a used rate, unless it is stored. Returns the `rate_id` of its row, which never
    /// changes.
    pub fn store_rate(&self, currency: Currency, stored: &StoredRate) -> Result<i64, StoreError> {
        let rate = stored.rate.format();
        let key = params![currency.code(), rate, stored.at.ms(), stored.sources];
        let id = "SELECT rate_id FROM rates WHERE currency = ?1 AND rate = ?2 AND at = ?3 AND sources = ?4";
        self.connection
            .prepare_cached(
                "INSERT INTO rates (currency, rate, at, sources, used) VALUES (?1, ?2, ?3, ?4, 1) \
                 ON CONFLICT (currency, at, rate, sources) DO UPDATE SET used = 1",
            )?
            .execute(key)?;
        Ok(self.connection.prepare_cached(id)?.query_row(key, |row| row.get(0))?)
    }

    /// Stores the last known rate of a currency. It replaces the previous one, unless that is used.
    pub fn store_last_known_rate(
        &self,
        currency: Currency,
        stored: &StoredRate,
    ) -> Result<(), StoreError> {
        // An equal stored rate may be in use, so it stays.
        self.connection
            .prepare_cached(
                "INSERT INTO rates (currency, rate, at, sources, used) SELECT ?1, ?2, ?3, ?4, 0 \
                 WHERE NOT EXISTS (SELECT 1 FROM rates WHERE currency = ?1 AND rate = ?2 AND at = ?3 AND sources = ?4) \
                 ON CONFLICT (currency) WHERE used = 0 DO UPDATE SET rate = ?2, at = ?3, sources = ?4",
            )?
            .execute(params![currency.code(), stored.rate.format(), stored.at.ms(), stored.sources])?;
        Ok(())
    }
}

fn rate_row(row: &Row<'_>) -> Result<(Currency, StoredRate), StoreError> {
    let rate = StoredRate {
        rate: values::rate(row, "rate")?,
        at: values::time(row, "at")?,
        sources: row.get("sources")?,
    };
    Ok((values::currency(row, "currency")?, rate))
}
