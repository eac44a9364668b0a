//! Backups that this installation made, each with the id of its file. Only these backups are
//! removed when they are old. Times are of the machine's clock.

use std::fmt;
use std::str::FromStr;

use rusqlite::{OptionalExtension as _, Row, params};
use tillgate_domain::time::Timestamp;
use tillgate_told::Telling;

use super::error::StoreError;
use super::reader::Reader;
use super::telling;
use super::tx::Tx;
use super::values;

/// Most rows kept for removed files, so that the table stays small.
const REMOVED_KEPT: u32 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackupState {
    /// Its file may exist, complete or not.
    Writing,
    /// Its file was complete, and was read back.
    Good,
    /// There is no file.
    Failed,
    /// Its file was removed because newer ones replaced it.
    Removed,
}

const TRANSITIONS: &[(BackupState, BackupState)] = {
    use BackupState::{Failed, Good, Removed, Writing};
    &[(Writing, Good), (Writing, Failed), (Good, Removed)]
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
#[error("not a state of a backup")]
pub struct NotABackupState;

impl BackupState {
    const ALL: [Self; 4] = [Self::Writing, Self::Good, Self::Failed, Self::Removed];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Writing => "WRITING",
            Self::Good => "GOOD",
            Self::Failed => "FAILED",
            Self::Removed => "REMOVED",
        }
    }
}

impl fmt::Display for BackupState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for BackupState {
    type Err = NotABackupState;

    fn from_str(text: &str) -> Result<Self, NotABackupState> {
        Self::ALL.into_iter().find(|state| state.as_str() == text).ok_or(NotABackupState)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupRow {
    pub seq: i64,
    pub file_id: [u8; 32],
    pub path: String,
    /// Whether it was made in the folder of nightly backups, whose old files are removed.
    pub nightly: bool,
    pub state: BackupState,
    pub begun_at: Timestamp,
    /// When it became GOOD or FAILED.
    pub done_at: Option<Timestamp>,
    pub size_bytes: Option<u64>,
    /// When its file was last read from end to end.
    pub checked_at: Option<Timestamp>,
    pub failure: Option<Telling>,
    /// The mark file that its folder should have had.
    pub missing_mark: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub why: Telling,
    /// The mark file that the folder lacked, if that was the reason.
    pub missing_mark: Option<String>,
}

impl From<&str> for Failure {
    fn from(why: &str) -> Self {
        Self { why: Telling::of_text(why), missing_mark: None }
    }
}

/// The last configured folder of nightly backups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderRow {
    pub path: String,
    /// Name of the mark file that identifies the folder.
    pub mark: String,
}

const COLUMNS: &str = "seq, file_id, path, nightly, state, begun_at, done_at, size_bytes, checked_at, failure, missing_mark";

impl Reader<'_> {
    pub fn last_backup(&self, state: BackupState) -> Result<Option<BackupRow>, StoreError> {
        self.backup_rows("state = ?1 ORDER BY seq DESC LIMIT 1", state)
            .map(|rows| rows.into_iter().next())
    }

    pub fn last_nightly_backup(&self, state: BackupState) -> Result<Option<BackupRow>, StoreError> {
        self.backup_rows("state = ?1 AND nightly = 1 ORDER BY seq DESC LIMIT 1", state)
            .map(|rows| rows.into_iter().next())
    }

    /// The nightly backups whose files should exist, newest first.
    pub fn nightly_backups(&self) -> Result<Vec<BackupRow>, StoreError> {
        self.backup_rows("state = ?1 AND nightly = 1 ORDER BY seq DESC", BackupState::Good)
    }

    /// Backups in state WRITING, whose files may be complete.
    pub fn backups_being_written(&self) -> Result<Vec<BackupRow>, StoreError> {
        self.backup_rows("state = ?1 ORDER BY seq", BackupState::Writing)
    }

    /// Paths of all backups whose file may have been written.
    pub fn backup_paths(&self) -> Result<Vec<String>, StoreError> {
        let mut query =
            self.connection.prepare_cached("SELECT path FROM backups WHERE state <> 'FAILED'")?;
        let rows = query.query_map([], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The last configured folder of nightly backups; `None` if it was configured before folders
    /// had marks.
    pub fn backup_folder(&self) -> Result<Option<FolderRow>, StoreError> {
        let mut query = self.connection.prepare_cached("SELECT path, mark FROM backup_folder")?;
        let row = query.query_row([], |row| Ok(FolderRow { path: row.get(0)?, mark: row.get(1)? }));
        Ok(row.optional()?)
    }

    /// Time since which the secrets hold a key for nightly backups.
    pub fn backup_passphrase_set_at(&self) -> Result<Option<Timestamp>, StoreError> {
        let mut query = self.connection.prepare_cached("SELECT set_at FROM backup_passphrase")?;
        Ok(query.query_row([], |row| row.get(0)).optional()?.map(Timestamp::from_ms))
    }

    fn backup_rows(
        &self,
        condition: &str,
        state: BackupState,
    ) -> Result<Vec<BackupRow>, StoreError> {
        let mut query = self
            .connection
            .prepare_cached(&format!("SELECT {COLUMNS} FROM backups WHERE {condition}"))?;
        query.query_and_then([state.as_str()], row_of)?.collect()
    }

    fn backup_state(&self, file_id: &[u8; 32]) -> Result<Option<BackupState>, StoreError> {
        let mut query =
            self.connection.prepare_cached("SELECT state FROM backups WHERE file_id = ?1")?;
        query.query_and_then([file_id], |row| values::parsed(row, "state"))?.next().transpose()
    }
}

impl Tx<'_> {
    /// Stores a backup that is about to be written.
    pub fn begin_backup(
        &self,
        file_id: &[u8; 32],
        path: &str,
        nightly: bool,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(
                "INSERT INTO backups (file_id, path, nightly, state, begun_at) VALUES (?1, ?2, ?3, 'WRITING', ?4)",
            )?
            .execute(params![file_id, path, nightly, at.ms()])?;
        Ok(())
    }

    /// Marks a backup as good: its file is complete, and was read back.
    pub fn finish_backup(
        &self,
        file_id: &[u8; 32],
        size_bytes: u64,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        if !self.may_become(file_id, BackupState::Good)? {
            return Ok(());
        }
        let size = i64::try_from(size_bytes).unwrap_or(i64::MAX);
        self.connection
            .prepare_cached(
                "UPDATE backups SET state = 'GOOD', done_at = ?2, checked_at = ?2, size_bytes = ?3 WHERE file_id = ?1",
            )?
            .execute(params![file_id, at.ms(), size])?;
        self.connection
            .prepare_cached(
                "DELETE FROM backups WHERE state = 'REMOVED' AND seq NOT IN \
                 (SELECT seq FROM backups WHERE state = 'REMOVED' ORDER BY seq DESC LIMIT ?1)",
            )?
            .execute([REMOVED_KEPT])?;
        Ok(())
    }

    /// Marks a backup as failed; only the last failure is kept.
    pub fn fail_backup(
        &self,
        file_id: &[u8; 32],
        failure: &Failure,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        if !self.may_become(file_id, BackupState::Failed)? {
            return Ok(());
        }
        self.connection.prepare_cached("DELETE FROM backups WHERE state = 'FAILED'")?.execute([])?;
        self.connection
            .prepare_cached(
                "UPDATE backups SET state = 'FAILED', done_at = ?2, failure = ?3, missing_mark = ?4 WHERE file_id = ?1",
            )?
            .execute(params![file_id, at.ms(), telling::written(&failure.why), failure.missing_mark])?;
        Ok(())
    }

    pub fn remove_backup(&self, file_id: &[u8; 32]) -> Result<(), StoreError> {
        if self.may_become(file_id, BackupState::Removed)? {
            self.connection
                .prepare_cached("UPDATE backups SET state = 'REMOVED' WHERE file_id = ?1")?
                .execute([file_id])?;
        }
        Ok(())
    }

    /// Deletes an unfinished backup whose failure was reported to the caller.
    pub fn forget_backup(&self, file_id: &[u8; 32]) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("DELETE FROM backups WHERE file_id = ?1 AND state = 'WRITING'")?
            .execute([file_id])?;
        Ok(())
    }

    /// Deletes all rows: a restored copy removes no file of another installation.
    pub fn forget_all_backups(&self) -> Result<(), StoreError> {
        self.connection.prepare_cached("DELETE FROM backups")?.execute([])?;
        Ok(())
    }

    /// Stores when the file of a backup was read again from end to end.
    pub fn note_backup_checked(&self, file_id: &[u8; 32], at: Timestamp) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(
                "UPDATE backups SET checked_at = ?2 WHERE file_id = ?1 AND state = 'GOOD'",
            )?
            .execute(params![file_id, at.ms()])?;
        Ok(())
    }

    pub fn put_backup_folder(&self, folder: &FolderRow) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(
                "INSERT OR REPLACE INTO backup_folder (one, path, mark) VALUES (1, ?1, ?2)",
            )?
            .execute([&folder.path, &folder.mark])?;
        Ok(())
    }

    /// Stores the time since which the secrets hold a key for nightly backups.
    pub fn set_backup_passphrase_at(&self, at: Timestamp) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(
                "INSERT OR REPLACE INTO backup_passphrase (one, set_at) VALUES (1, ?1)",
            )?
            .execute([at.ms()])?;
        Ok(())
    }

    fn may_become(&self, file_id: &[u8; 32], next: BackupState) -> Result<bool, StoreError> {
        Ok(self.backup_state(file_id)?.is_some_and(|state| TRANSITIONS.contains(&(state, next))))
    }
}

fn row_of(row: &Row<'_>) -> Result<BackupRow, StoreError> {
    let size_bytes: Option<i64> = row.get("size_bytes")?;
    Ok(BackupRow {
        seq: row.get("seq")?,
        file_id: row.get("file_id")?,
        path: row.get("path")?,
        nightly: row.get("nightly")?,
        state: values::parsed(row, "state")?,
        begun_at: values::time(row, "begun_at")?,
        done_at: values::optional_time(row, "done_at")?,
        size_bytes: size_bytes
            .map(u64::try_from)
            .transpose()
            .map_err(|_| StoreError::BadValue("size_bytes"))?,
        checked_at: values::optional_time(row, "checked_at")?,
        failure: row.get::<_, Option<String>>("failure")?.map(telling::from_column),
        missing_mark: row.get("missing_mark")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;

    #[tokio::test]
    async fn failed_and_removed_are_final_and_the_last_failure_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("gateway.db")).unwrap();
        let at = Timestamp::from_ms(1_000);
        let step = store.write(move |tx| -> Result<(), StoreError> {
            for number in 1..=3 {
                tx.begin_backup(&[number; 32], "/backups/one", true, at)?;
                tx.fail_backup(&[number; 32], &"the disk is full".into(), at)?;
            }
            tx.finish_backup(&[3; 32], 7, at)?;
            tx.begin_backup(&[4; 32], "/backups/two", true, at)?;
            tx.remove_backup(&[4; 32])?;
            tx.finish_backup(&[4; 32], 7, at)?;
            tx.fail_backup(&[4; 32], &"never".into(), at)?;
            tx.begin_backup(&[5; 32], "/backups/three", true, at)?;
            tx.finish_backup(&[5; 32], 7, at)?;
            tx.remove_backup(&[5; 32])?;
            tx.finish_backup(&[5; 32], 8, at)
        });
        step.await.unwrap();
        let states = store.read(|reader| {
            let rows =
                BackupState::ALL.map(|state| reader.backup_rows("state = ?1 ORDER BY seq", state));
            rows.into_iter().collect::<Result<Vec<_>, StoreError>>()
        });
        let ids: Vec<Vec<u8>> = states
            .unwrap()
            .iter()
            .map(|rows| rows.iter().map(|row| row.file_id[0]).collect())
            .collect();
        // In the order WRITING, GOOD, FAILED, REMOVED.
        assert_eq!(ids, [vec![], vec![4], vec![3], vec![5]]);
    }
}
