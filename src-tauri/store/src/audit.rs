//! The audit log: one row for each administrative act, in the transaction of the act. On a full
//! disk, storing an act empties the ballast file, because staff must be able to revoke the key that
//! fills the disk.

use std::path::Path;

use rusqlite::params;
use tillgate_domain::time::Timestamp;
use tillgate_machine::ballast;

use super::error::StoreError;
use super::reader::Reader;
use super::tx::Tx;

impl Reader<'_> {
    /// The time of the first act with this name.
    pub fn first_act(&self, act: &str) -> Result<Option<Timestamp>, StoreError> {
        let mut query =
            self.connection.prepare_cached("SELECT min(at) FROM audit WHERE act = ?1")?;
        let at: Option<i64> = query.query_row([act], |row| row.get(0))?;
        Ok(at.map(Timestamp::from_ms))
    }
}

impl Tx<'_> {
    /// Stores an act. `actor` is a person (`cli:ann`, `panel:ann`) or an API key's name. `act` is
    /// the action, such as `keys revoke`, and `subject` its object. None of them holds a secret.
    pub fn audit(
        &self,
        at: Timestamp,
        actor: &str,
        act: &str,
        subject: &str,
    ) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("INSERT INTO audit (at, actor, act, subject) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![at.ms(), actor, act, subject])?;
        // The room is needed for the commit, which follows.
        if let Some(folder) = self.connection.path().and_then(|file| Path::new(file).parent()) {
            ballast::give_up_if_full(folder);
        }
        Ok(())
    }
}
