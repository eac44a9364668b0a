//! Identifier of the HMAC key that signs notifications. The keys themselves are in the secret
//! store.

use rusqlite::OptionalExtension as _;
use tillgate_domain::id::Id;

use super::error::StoreError;
use super::reader::Reader;
use super::tx::Tx;

impl Tx<'_> {
    /// Selects the key that signs from now on. It must be in the secret store already.
    pub fn set_hmac_key_id(&self, key_id: &Id) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("INSERT OR REPLACE INTO hmac_key (one, key_id) VALUES (1, ?1)")?
            .execute([key_id.as_bytes()])?;
        Ok(())
    }
}

impl Reader<'_> {
    /// The key that signs; `None` if there never was one.
    pub fn hmac_key_id(&self) -> Result<Option<Id>, StoreError> {
        Ok(self
            .connection
            .prepare_cached("SELECT key_id FROM hmac_key")?
            .query_row([], |row| row.get(0).map(Id::from_bytes))
            .optional()?)
    }
}
