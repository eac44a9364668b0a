//! API keys: one live key per name; revoked keys stay.

use rusqlite::{Row, params};
use tillgate_domain::permission::Permissions;
use tillgate_domain::time::Timestamp;

use super::error::StoreError;
use super::notify_hosts::NotifyHosts;
use super::reader::Reader;
use super::tx::Tx;
use super::values;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    pub key_id: i64,
    /// The user name of Basic authentication and the label of its payments.
    pub name: String,
    pub secret_sha256: [u8; 32],
    pub permissions: Permissions,
    /// Whether its payments need no `notificationUrl`.
    pub notification_url_optional: bool,
    /// Whether it sees, resends and approves only its own records.
    pub own_only: bool,
    /// Hosts that may receive its notifications.
    pub notify_hosts: NotifyHosts,
    pub created_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
}

const COLUMNS: &str = "key_id, name, secret_sha256, permissions, notification_url_optional, own_only, \
     notify_hosts, created_at, revoked_at";

impl Reader<'_> {
    /// All keys ever made: live keys before revoked ones, newest first.
    pub fn api_keys(&self) -> Result<Vec<ApiKey>, StoreError> {
        self.select_api_keys("ORDER BY revoked_at IS NOT NULL, key_id DESC")
    }

    pub fn live_api_keys(&self) -> Result<Vec<ApiKey>, StoreError> {
        self.select_api_keys("WHERE revoked_at IS NULL")
    }

    pub fn live_api_key(&self, name: &str) -> Result<Option<ApiKey>, StoreError> {
        let mut query = self.connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM api_keys WHERE name = ?1 AND revoked_at IS NULL"
        ))?;
        let mut rows = query.query([name])?;
        rows.next()?.map(key_from_row).transpose()
    }

    fn select_api_keys(&self, rest: &str) -> Result<Vec<ApiKey>, StoreError> {
        let mut query =
            self.connection.prepare(&format!("SELECT {COLUMNS} FROM api_keys {rest}"))?;
        query.query_and_then([], key_from_row)?.collect()
    }
}

impl Tx<'_> {
    /// Inserts a live key, ignoring its `key_id`. Returns the new `key_id`.
    pub fn insert_api_key(&self, key: &ApiKey) -> Result<i64, StoreError> {
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO api_keys (name, secret_sha256, permissions, notification_url_optional, own_only, notify_hosts, \
             created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?;
        Ok(insert.insert(params![
            key.name,
            key.secret_sha256,
            key.permissions.to_string(),
            key.notification_url_optional,
            key.own_only,
            key.notify_hosts.to_string(),
            key.created_at.ms(),
        ])?)
    }

    pub fn revoke_api_key(&self, key_id: i64, at: Timestamp) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(
                "UPDATE api_keys SET revoked_at = ?2 WHERE key_id = ?1 AND revoked_at IS NULL",
            )?
            .execute(params![key_id, at.ms()])?;
        Ok(())
    }
}

fn key_from_row(row: &Row<'_>) -> Result<ApiKey, StoreError> {
    Ok(ApiKey {
        key_id: row.get("key_id")?,
        name: row.get("name")?,
        secret_sha256: row.get("secret_sha256")?,
        permissions: values::parsed(row, "permissions")?,
        notification_url_optional: row.get("notification_url_optional")?,
        own_only: row.get("own_only")?,
        notify_hosts: values::parsed(row, "notify_hosts")?,
        created_at: values::time(row, "created_at")?,
        revoked_at: values::optional_time(row, "revoked_at")?,
    })
}
