//! Reads for tests only.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::Connection;
use tillgate_domain::id::Id;
use tillgate_domain::money::Currency;

use super::Store;
use super::error::StoreError;
use super::reader::Reader;
use super::tx::Tx;

impl Reader<'_> {
    /// All bodies ever queued for a record, oldest first.
    pub fn notification_bodies(&self, subject: &Id) -> Result<Vec<Vec<u8>>, StoreError> {
        let mut query = self
            .connection
            .prepare("SELECT body FROM notifications WHERE subject_id = ?1 ORDER BY seq")?;
        let bodies = query.query_map([subject.as_bytes()], |row| row.get(0))?;
        Ok(bodies.collect::<Result<_, _>>()?)
    }
}

impl Tx<'_> {
    /// Runs SQL without parameters.
    pub fn run(&self, sql: &str) -> Result<(), StoreError> {
        self.connection.execute(sql, [])?;
        Ok(())
    }
}

impl Reader<'_> {
    /// Actor, act and subject of all audit rows, newest first.
    pub fn acts(&self) -> Result<Vec<[String; 3]>, StoreError> {
        let mut query =
            self.connection.prepare("SELECT actor, act, subject FROM audit ORDER BY seq DESC")?;
        let acts = query.query_map([], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?]))?;
        Ok(acts.collect::<Result<_, _>>()?)
    }

    pub fn payment_scripts(&self) -> Result<Vec<bitcoin::ScriptBuf>, StoreError> {
        let mut query = self.connection.prepare("SELECT script FROM payments")?;
        let scripts = query.query_map([], |row| Ok(bitcoin::ScriptBuf::from_bytes(row.get(0)?)))?;
        Ok(scripts.collect::<Result<_, _>>()?)
    }

    /// The bytes of the database's pages in use.
    pub fn used_bytes(&self) -> Result<u64, StoreError> {
        let value =
            |name: &str| self.connection.pragma_query_value(None, name, |row| row.get::<_, u64>(0));
        Ok((value("page_count")? - value("freelist_count")?) * value("page_size")?)
    }

    /// All rows of a table as text, in the order of its key.
    pub fn rows_of(&self, table: &str) -> Result<Vec<String>, StoreError> {
        let mut query = self.connection.prepare(&format!("SELECT * FROM {table} ORDER BY 1, 2"))?;
        let columns = query.column_count();
        let rows = query.query_map([], |row| {
            let values = (0..columns).map(|column| row.get::<_, rusqlite::types::Value>(column));
            Ok(format!("{table} {:?}", values.collect::<Result<Vec<_>, _>>()?))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// `rate_id` and rate of each row of a currency.
    pub fn stored_rates(&self, currency: Currency) -> Result<Vec<(i64, String)>, StoreError> {
        let mut query =
            self.connection.prepare("SELECT rate_id, rate FROM rates WHERE currency = ?1")?;
        let rates = query.query_map([currency.code()], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rates.collect::<Result<_, _>>()?)
    }
}

impl Store {
    /// Counts the steps of SQLite's virtual machine from now on, for all writes and for sequential
    /// reads. The number of steps does not depend on the speed of the computer.
    pub fn count_steps(&self) -> Arc<AtomicU64> {
        let steps = Arc::new(AtomicU64::new(0));
        let count = |connection: &mut Connection| {
            let steps = Arc::clone(&steps);
            let step = move || {
                steps.fetch_add(1, Ordering::Relaxed);
                false
            };
            connection.progress_handler(1, Some(step)).unwrap();
        };
        count(&mut self.writer.connection());
        self.readers.prepare(count);
        steps
    }

    /// Number of the rows written so far.
    pub fn rows_written(&self) -> u64 {
        self.writer.connection().total_changes()
    }
}
