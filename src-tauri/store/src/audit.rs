//! The audit log: one row for each administrative act, in the transaction of the act. No row changes
//! or is deleted. On a full disk, storing an act empties the ballast file, because staff must be able to revoke the key that
//! fills the disk.

use std::path::Path;

use rusqlite::{Row, named_params, params};
use tillgate_domain::time::Timestamp;
use tillgate_machine::ballast;

use super::error::StoreError;
use super::reader::Reader;
use super::tx::Tx;

/// An act of a person or an API key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActRow {
    pub at: Timestamp,
    /// A person (`cli:ann`, `panel:ann`) or an API key's name.
    pub actor: String,
    /// The action, such as `keys revoke`.
    pub act: String,
    /// Its object, such as the name of a key.
    pub subject: String,
}

/// The acts of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ActFilter {
    /// Only those of this actor.
    pub actor: Option<String>,
    /// Only those with this first word, such as `payouts`.
    pub about: Option<String>,
    /// Only those at or after this time.
    pub from: Option<Timestamp>,
    /// Only those before this time.
    pub to: Option<Timestamp>,
}

const MATCHES: &str = "(:actor IS NULL OR actor = :actor) \
     AND (:about IS NULL OR act = :about OR act GLOB :about || ' *') \
     AND (:from IS NULL OR at >= :from) AND (:to IS NULL OR at < :to)";

impl Reader<'_> {
    /// The acts that match, the newest first, without the first `offset` of them.
    pub fn acts_matching(
        &self,
        filter: &ActFilter,
        limit: u32,
        offset: u32,
    ) -> Result<Vec<ActRow>, StoreError> {
        let text = format!(
            "SELECT at, actor, act, subject FROM audit WHERE {MATCHES} \
             ORDER BY seq DESC LIMIT :limit OFFSET :offset"
        );
        let mut query = self.connection.prepare_cached(&text)?;
        let rows = query.query_map(
            named_params! {
                ":actor": filter.actor,
                ":about": filter.about,
                ":from": filter.from.map(|at| at.ms()),
                ":to": filter.to.map(|at| at.ms()),
                ":limit": limit,
                ":offset": offset,
            },
            ActRow::read,
        )?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The number of acts that match.
    pub fn acts_count(&self, filter: &ActFilter) -> Result<u64, StoreError> {
        let text = format!("SELECT count(*) FROM audit WHERE {MATCHES}");
        let mut query = self.connection.prepare_cached(&text)?;
        let count: i64 = query.query_row(
            named_params! {
                ":actor": filter.actor,
                ":about": filter.about,
                ":from": filter.from.map(|at| at.ms()),
                ":to": filter.to.map(|at| at.ms()),
            },
            |row| row.get(0),
        )?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// Everybody who ever acted.
    pub fn actors(&self) -> Result<Vec<String>, StoreError> {
        let mut query =
            self.connection.prepare_cached("SELECT DISTINCT actor FROM audit ORDER BY actor")?;
        let rows = query.query_map([], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

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

impl ActRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            at: Timestamp::from_ms(row.get(0)?),
            actor: row.get(1)?,
            act: row.get(2)?,
            subject: row.get(3)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payment_lists::tests::store;

    #[tokio::test]
    async fn no_act_changes_or_is_deleted() {
        let (_folder, store) = store();
        store
            .write(|tx| tx.audit(Timestamp::from_ms(1), "panel:ann", "keys revoke", "till"))
            .await
            .unwrap();
        for sql in ["DELETE FROM audit", "UPDATE audit SET actor = 'panel:nobody'"] {
            assert!(store.write(move |tx| tx.run(sql)).await.is_err(), "{sql}");
        }
        let acts = store.read(|reader| reader.acts_matching(&ActFilter::default(), 9, 0)).unwrap();
        assert_eq!(acts[0].actor, "panel:ann");
    }
}
