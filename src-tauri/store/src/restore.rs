//! State of a restored copy of the wallet, and the progress of its scan, in one row.

use rusqlite::{OptionalExtension as _, params};
use tillgate_domain::restore::RestoreState;
use tillgate_domain::time::Timestamp;

use super::error::StoreError;
use super::keychains::Keychain;
use super::reader::Reader;
use super::tx::Tx;
use super::values;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoreSource {
    /// Only the wallet's words: this database knows no transaction of another copy.
    Words,
    /// A backup of the database: all later transactions are unknown.
    Backup,
}

/// Parameters of a restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewRestore {
    pub source: RestoreSource,
    pub at: Timestamp,
    /// Blocks up to this height hold no coins of the wallet; `None` keeps the stored birth height.
    pub birth_height: Option<u32>,
    /// Indices of each keychain that are scanned beyond the highest used one.
    pub looks_ahead: u32,
    /// Number of addresses in a row that another copy may have given and that nobody paid.
    pub skip: u32,
    /// Whether another copy continued from the state of this copy, even if this copy was restored
    /// before.
    pub beside_another: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restore {
    pub source: RestoreSource,
    pub state: RestoreState,
    pub begun_at: Timestamp,
    /// Height at which the scan begins.
    pub birth_height: u32,
    pub looks_ahead: u32,
    /// Height of the last scanned block; `None` before the first, and during a scan by scripts.
    pub scanned_height: Option<u32>,
    /// Progress of a scan by scripts.
    pub asked: AskedIndices,
    /// Number of transactions of the wallet that the scan found and this database did not know.
    pub unknown: u32,
    /// When the scan reached the best block.
    pub looked_at: Option<Timestamp>,
    /// First external index that is given after the scan. Customers of another copy may still pay
    /// lower indices.
    pub first_given: Option<u32>,
}

/// The first index of each keychain that was not asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AskedIndices {
    pub addresses: u32,
    pub change: u32,
}

impl AskedIndices {
    /// Number of the scripts below these indices.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.addresses.saturating_add(self.change)
    }
}

impl RestoreSource {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Words => "words",
            Self::Backup => "backup",
        }
    }

    fn of_column(text: &str) -> Result<Self, StoreError> {
        match text {
            "words" => Ok(Self::Words),
            "backup" => Ok(Self::Backup),
            _ => Err(StoreError::BadValue("source")),
        }
    }
}

impl Restore {
    /// Whether the copy must not give addresses or send payouts yet.
    #[must_use]
    pub const fn is_dangerous(&self) -> bool {
        self.state.is_dangerous()
    }

    /// The restore as shown to staff during a look that has reached `height` and is not stored yet.
    #[must_use]
    pub const fn looked_up_to(self, height: u32) -> Self {
        match self.state {
            RestoreState::Awaited | RestoreState::Scanning => {
                Self { state: RestoreState::Scanning, scanned_height: Some(height), ..self }
            }
            RestoreState::Stopped | RestoreState::Looked => self,
        }
    }

    /// Whether both are the same restore, with the same first block and range.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        (self.begun_at, self.birth_height, self.looks_ahead)
            == (other.begun_at, other.birth_height, other.looks_ahead)
    }
}

impl Reader<'_> {
    /// The state of a restored copy; `None` if this copy was never restored.
    pub fn restore(&self) -> Result<Option<Restore>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT source, state, begun_at, birth_height, looks_ahead, scanned_height, next_address, next_change, \
             unknown, looked_at, first_given FROM restore",
        )?;
        let mut rows = query.query([])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let (source, state): (String, String) = (row.get("source")?, row.get("state")?);
        Ok(Some(Restore {
            source: RestoreSource::of_column(&source)?,
            state: state.parse().map_err(|_| StoreError::BadValue("state"))?,
            begun_at: values::time(row, "begun_at")?,
            birth_height: values::number(row, "birth_height")?,
            looks_ahead: values::number(row, "looks_ahead")?,
            scanned_height: row.get("scanned_height")?,
            asked: AskedIndices {
                addresses: values::number(row, "next_address")?,
                change: values::number(row, "next_change")?,
            },
            unknown: values::number(row, "unknown")?,
            looked_at: values::optional_time(row, "looked_at")?,
            first_given: row.get("first_given")?,
        }))
    }

    /// The state of a restored copy that must not give addresses or send payouts yet.
    pub fn dangerous_restore(&self) -> Result<Option<Restore>, StoreError> {
        Ok(self.restore()?.filter(Restore::is_dangerous))
    }

    /// End of a scan by scripts: `looks_ahead` indices beyond the highest given or used index of
    /// each keychain.
    pub fn indices_to_ask(&self, restore: &Restore) -> Result<AskedIndices, StoreError> {
        let end = |keychain| {
            let next_index = self.keychain(keychain)?.map_or(0, |(_, next_index)| next_index);
            let end = next_index.max(self.other_end(keychain)?);
            Ok::<_, StoreError>(end.saturating_add(restore.looks_ahead))
        };
        Ok(AskedIndices { addresses: end(Keychain::External)?, change: end(Keychain::Internal)? })
    }
}

impl Tx<'_> {
    /// Marks this copy as restored. It gives no address and sends nothing until a scan from the
    /// wallet's birth has reached the best block. Call this after the keychains are stored.
    ///
    /// # Errors
    /// Fails when there is no wallet, or the database cannot be written.
    pub fn begin_restore(&self, new: &NewRestore) -> Result<Restore, StoreError> {
        let knows_its_past =
            new.source == RestoreSource::Words && !new.beside_another && self.restore()?.is_some();
        if !knows_its_past {
            self.skip_unknown_past(new.skip)?;
        }
        self.connection
            .prepare_cached(
                "UPDATE keychains SET birth_height = coalesce(min(?1, birth_height), ?1, birth_height, \
                 (SELECT tip_height FROM chain), 0)",
            )?
            .execute([new.birth_height])?;
        self.begin_below_coins()?;
        let birth_height = self.birth_height()?.ok_or(StoreError::BadValue("birth_height"))?;
        self.connection.prepare_cached("UPDATE chain SET token = x''")?.execute([])?;
        self.forget_other_coins()?;
        self.connection
            .prepare_cached(
                "INSERT OR REPLACE INTO restore (one, source, state, begun_at, birth_height, looks_ahead) VALUES (1, ?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                new.source.as_str(),
                RestoreState::Awaited.as_str(),
                new.at.ms(),
                birth_height,
                new.looks_ahead.max(1)
            ])?;
        self.restore()?.ok_or(StoreError::BadValue("restore"))
    }

    /// Marks the scan as begun: a stored look started at the wallet's birth, or continued such a
    /// look.
    pub fn scan_restore(&self) -> Result<(), StoreError> {
        self.move_restore(RestoreState::Scanning)
    }

    pub fn note_scanned_blocks(&self, height: u32) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("UPDATE restore SET scanned_height = ?1")?
            .execute([height])?;
        Ok(())
    }

    /// Stores the progress of a scan by scripts.
    pub fn note_asked_indices(&self, asked: AskedIndices) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("UPDATE restore SET next_address = ?1, next_change = ?2")?
            .execute([asked.addresses, asked.change])?;
        Ok(())
    }

    /// Stops or resumes the scan. Returns whether its state changed.
    pub fn stop_restore(&self, stopped: bool) -> Result<bool, StoreError> {
        let Some(restore) = self.dangerous_restore()? else { return Ok(false) };
        if (restore.state == RestoreState::Stopped) == stopped {
            return Ok(false);
        }
        let has_begun =
            restore.scanned_height.is_some() || restore.asked != AskedIndices::default();
        let next = match (stopped, has_begun) {
            (true, _) => RestoreState::Stopped,
            (false, true) => RestoreState::Scanning,
            (false, false) => RestoreState::Awaited,
        };
        self.move_restore(next)?;
        Ok(true)
    }

    /// Counts an unknown transaction of the wallet, at its first sight, while a restored copy's
    /// scan has not ended. Returns whether it was counted.
    pub fn count_unknown(&self) -> Result<bool, StoreError> {
        if self.dangerous_restore()?.is_none() {
            return Ok(false);
        }
        self.connection.prepare_cached("UPDATE restore SET unknown = unknown + 1")?.execute([])?;
        Ok(true)
    }

    /// Ends the scan at the best block. Both keychains continue at least `skip` indices beyond the
    /// highest index that another copy used: its customers may still pay the indices between.
    /// Indices that this copy gave or skipped are not skipped twice.
    pub fn finish_restore(&self, at: Timestamp, skip: u32) -> Result<Restore, StoreError> {
        let last_skipped = |keychain| {
            let others =
                self.highest_strange_index(keychain)?.map_or(0, |index| index.saturating_add(1));
            Ok::<_, StoreError>(others.saturating_add(skip).checked_sub(1))
        };
        if let Some(last) = last_skipped(Keychain::External)? {
            self.skip_addresses_to(last)?;
        }
        if let Some(last) = last_skipped(Keychain::Internal)? {
            self.use_change_index(last)?;
        }
        let first_given =
            self.keychain(Keychain::External)?.map_or(0, |(_, next_index)| next_index);
        // A backend that is asked about scripts also finds coins in blocks below the birth height.
        self.begin_below_coins()?;
        self.fix_type()?;
        self.check_transition(RestoreState::Looked)?;
        self.connection
            .prepare_cached("UPDATE restore SET state = ?1, looked_at = ?2, first_given = ?3")?
            .execute(params![RestoreState::Looked.as_str(), at.ms(), first_given])?;
        self.restore()?.ok_or(StoreError::BadValue("restore"))
    }

    /// Skips indices that another copy may have given since this database was written and that may
    /// have no coins. A wallet that gave no address skips none: its indices continue after those
    /// that the scan finds.
    fn skip_unknown_past(&self, skip: u32) -> Result<(), StoreError> {
        let last = |keychain| {
            let next_index = self.keychain(keychain)?.map_or(0, |(_, next_index)| next_index);
            let is_any = next_index > 0 && skip > 0;
            Ok::<_, StoreError>(is_any.then(|| next_index.saturating_add(skip).saturating_sub(1)))
        };
        if let Some(last) = last(Keychain::External)? {
            self.skip_addresses_to(last)?;
        }
        if let Some(last) = last(Keychain::Internal)? {
            self.use_change_index(last)?;
        }
        Ok(())
    }

    /// Lowers the birth height below the blocks with the wallet's coins, whatever a person entered.
    /// A look that starts above these blocks would treat the coins as gone.
    fn begin_below_coins(&self) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(
                "UPDATE keychains SET birth_height = min(birth_height, \
                 ifnull((SELECT max(min(block_height) - 1, 0) FROM coins), birth_height), \
                 ifnull((SELECT max(min(block_height) - 1, 0) FROM receipts), birth_height))",
            )?
            .execute([])?;
        Ok(())
    }

    fn move_restore(&self, next: RestoreState) -> Result<(), StoreError> {
        if self.check_transition(next)? {
            self.connection
                .prepare_cached("UPDATE restore SET state = ?1")?
                .execute([next.as_str()])?;
        }
        Ok(())
    }

    /// Whether the state changes; a forbidden transition is an error.
    fn check_transition(&self, next: RestoreState) -> Result<bool, StoreError> {
        let mut query = self.connection.prepare_cached("SELECT state FROM restore")?;
        let state: Option<String> = query.query_row([], |row| row.get(0)).optional()?;
        let state: Option<RestoreState> = state.and_then(|state| state.parse().ok());
        match state {
            Some(state) if state == next => Ok(false),
            Some(state) if state.may_become(next) => Ok(true),
            Some(_) | None => Err(StoreError::BadValue("state")),
        }
    }
}

#[cfg(test)]
mod tests;
