//! API keys: one live key to a name, revoked ones kept.

use rusqlite::{Row, params};
use tillgate_domain::time::Timestamp;

use super::{Reader, StoreError, Tx, values};
use crate::api_keys::ApiKey;

const COLUMNS: &str = "key_id, name, secret_sha256, permissions, notification_url_optional, created_at, revoked_at";

impl Reader<'_> {
    /// All keys ever made, live ones first, newest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn api_keys(&self) -> Result<Vec<ApiKey>, StoreError> {
        self.select_api_keys("ORDER BY revoked_at IS NOT NULL, key_id DESC")
    }

    /// The keys that were not revoked.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn live_api_keys(&self) -> Result<Vec<ApiKey>, StoreError> {
        self.select_api_keys("WHERE revoked_at IS NULL")
    }

    /// The live key of this name.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn live_api_key(&self, name: &str) -> Result<Option<ApiKey>, StoreError> {
        let mut query = self
            .connection
            .prepare_cached(&format!("SELECT {COLUMNS} FROM api_keys WHERE name = ?1 AND revoked_at IS NULL"))?;
        let mut rows = query.query([name])?;
        rows.next()?.map(read).transpose()
    }

    fn select_api_keys(&self, rest: &str) -> Result<Vec<ApiKey>, StoreError> {
        let mut query = self.connection.prepare(&format!("SELECT {COLUMNS} FROM api_keys {rest}"))?;
        let mut rows = query.query([])?;
        let mut keys = Vec::new();
        while let Some(row) = rows.next()? {
            keys.push(read(row)?);
        }
        Ok(keys)
    }
}

impl Tx<'_> {
    /// Inserts a live key (its `key_id` is ignored) and answers its number.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn insert_api_key(&self, key: &ApiKey) -> Result<i64, StoreError> {
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO api_keys (name, secret_sha256, permissions, notification_url_optional, created_at) \
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        Ok(insert.insert(params![
            key.name,
            key.secret_sha256,
            key.permissions.to_string(),
            key.notification_url_optional,
            key.created_at.ms(),
        ])?)
    }

    /// Revokes a key.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn revoke_api_key(&self, key_id: i64, at: Timestamp) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("UPDATE api_keys SET revoked_at = ?2 WHERE key_id = ?1 AND revoked_at IS NULL")?
            .execute(params![key_id, at.ms()])?;
        Ok(())
    }
}

fn read(row: &Row<'_>) -> Result<ApiKey, StoreError> {
    Ok(ApiKey {
        key_id: row.get("key_id")?,
        name: row.get("name")?,
        secret_sha256: row.get("secret_sha256")?,
        permissions: values::parsed(row, "permissions")?,
        notification_url_optional: row.get("notification_url_optional")?,
        created_at: values::time(row, "created_at")?,
        revoked_at: values::optional_time(row, "revoked_at")?,
    })
}
