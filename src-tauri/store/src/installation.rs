//! The single row that identifies the installation that owns the database.

use rusqlite::{OptionalExtension, params};
use tillgate_domain::id::Id;
use tillgate_domain::time::Timestamp;
use tillgate_machine::environment::Environment;

use super::error::StoreError;
use super::reader::Reader;
use super::tx::Tx;

/// Identity of the database. It is created once, and changed only in a restored copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Installation {
    /// Names the entries of this installation in the OS keyring.
    pub installation_id: Id,
    pub merchant_id: Id,
    pub environment: Environment,
}

impl Reader<'_> {
    pub fn installation(&self) -> Result<Option<Installation>, StoreError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT installation_id, merchant_id, environment FROM installation")?;
        let row: Option<([u8; 20], [u8; 20], String)> = statement
            .query_row([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?;
        row.map(|(installation, merchant, environment)| {
            Ok(Installation {
                installation_id: Id::from_bytes(installation),
                merchant_id: Id::from_bytes(merchant),
                environment: environment
                    .parse()
                    .map_err(|_| StoreError::BadValue("installation.environment"))?,
            })
        })
        .transpose()
    }
}

impl Tx<'_> {
    /// Gives a restored copy its own installation, so that it shares no secrets.
    pub fn move_to_installation(&self, installation_id: &Id) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("UPDATE installation SET installation_id = ?1")?
            .execute([installation_id.as_bytes()])?;
        Ok(())
    }

    /// Stores the installation unless one is stored. Returns the stored installation.
    pub fn ensure_installation(
        &self,
        new: Installation,
        at: Timestamp,
    ) -> Result<Installation, StoreError> {
        if let Some(known) = self.installation()? {
            return Ok(known);
        }
        self.connection
            .prepare_cached(
                "INSERT INTO installation (one, installation_id, merchant_id, environment, created_at)
                 VALUES (1, ?1, ?2, ?3, ?4)",
            )?
            .execute(params![
                new.installation_id.as_bytes(),
                new.merchant_id.as_bytes(),
                new.environment.as_str(),
                at.ms()
            ])?;
        Ok(new)
    }
}
