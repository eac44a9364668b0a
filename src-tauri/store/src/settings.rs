//! Settings that differ from their defaults.

use super::error::StoreError;
use super::reader::Reader;
use super::tx::Tx;

impl Reader<'_> {
    pub fn settings(&self) -> Result<Vec<(String, String)>, StoreError> {
        let mut statement =
            self.connection.prepare_cached("SELECT name, value FROM settings ORDER BY name")?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

impl Tx<'_> {
    pub fn put_setting(&self, name: &str, value: &str) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(
                "INSERT INTO settings (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2",
            )?
            .execute([name, value])?;
        Ok(())
    }

    /// Removes a stored setting, so that its default applies again.
    pub fn remove_setting(&self, name: &str) -> Result<(), StoreError> {
        self.connection.prepare_cached("DELETE FROM settings WHERE name = ?1")?.execute([name])?;
        Ok(())
    }
}
