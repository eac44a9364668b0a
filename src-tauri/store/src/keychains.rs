//! The wallet's public descriptors, and the given derivation indices.

use rusqlite::{OptionalExtension, params};

use super::error::StoreError;
use super::payment_lists::UNINDEXED_PAYMENTS;
use super::reader::Reader;
use super::tx::Tx;

/// Most runs of used change indices to consider: change of another copy may continue after each.
const ENDS_MAX: u32 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keychain {
    /// Addresses for customers.
    External,
    /// Our own change.
    Internal,
}

impl Keychain {
    pub const fn other(self) -> Self {
        match self {
            Self::External => Self::Internal,
            Self::Internal => Self::External,
        }
    }

    pub(super) const fn column(self) -> i64 {
        match self {
            Self::External => 0,
            Self::Internal => 1,
        }
    }

    /// The column holds only 0 or 1.
    pub(super) const fn of_column(column: i64) -> Self {
        if column == 0 { Self::External } else { Self::Internal }
    }
}

impl Reader<'_> {
    /// Public descriptor and next free index of a keychain; `None` before a wallet exists.
    pub fn keychain(&self, keychain: Keychain) -> Result<Option<(String, u32)>, StoreError> {
        let of_unindexed = match keychain {
            Keychain::External => {
                format!("(SELECT max(derivation_index) + 1 FROM {UNINDEXED_PAYMENTS})")
            }
            Keychain::Internal => "NULL".to_owned(),
        };
        let mut query = self.connection.prepare_cached(&format!(
            "SELECT descriptor, max(next_index, ifnull({of_unindexed}, 0)) FROM keychains WHERE keychain = ?1"
        ))?;
        Ok(query.query_row([keychain.column()], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
    }

    /// Ranges of external indices, both ends included, not given to any payment here.
    pub fn skipped_addresses(&self) -> Result<Vec<(u32, u32)>, StoreError> {
        let mut query = self
            .connection
            .prepare_cached("SELECT first_index, last_index FROM skipped_addresses")?;
        Ok(query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?)
    }

    /// Whether an external index was skipped because another copy of the wallet may have given it.
    pub fn is_skipped_address(&self, index: u32) -> Result<bool, StoreError> {
        // Ranges do not overlap, so only the last range that begins before the index can hold it.
        let mut query = self.connection.prepare_cached(
            "SELECT last_index >= ?1 FROM skipped_addresses WHERE first_index <= ?1 ORDER BY first_index DESC LIMIT 1",
        )?;
        Ok(query.query_row([index], |row| row.get(0)).optional()?.unwrap_or(false))
    }

    /// Whether the wallet ever had a coin.
    pub fn has_any_coin(&self) -> Result<bool, StoreError> {
        Ok(self.connection.prepare_cached("SELECT 1 FROM coins")?.exists([])?)
    }

    /// Whether a coin at this change index was ever seen.
    pub fn is_change_known(&self, index: u32) -> Result<bool, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT 1 FROM coins WHERE keychain = 1 AND derivation_index = ?1 AND payment_seq IS NULL",
        )?;
        Ok(query.exists([index])?)
    }

    /// The highest index with a coin that belongs to no payment and to no transaction of ours.
    /// Another copy of the wallet used it, or this copy before its restore.
    pub fn highest_strange_index(&self, keychain: Keychain) -> Result<Option<u32>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT max(c.derivation_index) FROM coins AS c WHERE c.keychain = ?1 AND c.payment_seq IS NULL \
             AND NOT EXISTS (SELECT 1 FROM versions AS v WHERE v.txid = c.txid AND c.keychain = 1)",
        )?;
        Ok(query.query_row([keychain.column()], |row| row.get(0))?)
    }

    /// The index after each run of change indices with coins, for the highest runs. If this copy
    /// skipped indices because of another copy, that one continues after a lower run.
    pub fn ends_of_change(&self) -> Result<Vec<u32>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT DISTINCT c.derivation_index + 1 AS behind FROM coins AS c WHERE c.keychain = ?1 AND NOT EXISTS \
             (SELECT 1 FROM coins AS d WHERE d.keychain = ?1 AND d.derivation_index = c.derivation_index + 1) \
             ORDER BY behind DESC LIMIT ?2",
        )?;
        let rows =
            query.query_map(params![Keychain::Internal.column(), ENDS_MAX], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The longest run of unused indices below a used one; a used index has a coin in the chain or
    /// the mempool.
    pub fn longest_unused_run(&self, keychain: Keychain) -> Result<u32, StoreError> {
        // The first run starts at index 0.
        let mut query = self.connection.prepare_cached(
            "SELECT ifnull(max(used - before - 1), 0) FROM (SELECT derivation_index AS used, \
             ifnull(lag(derivation_index) OVER (ORDER BY derivation_index), -1) AS before \
             FROM coins WHERE keychain = ?1 AND position <> 'absent')",
        )?;
        let longest: i64 = query.query_row([keychain.column()], |row| row.get(0))?;
        Ok(u32::try_from(longest.max(0)).unwrap_or(u32::MAX))
    }

    /// Height up to which no block concerns the wallet; `None` without a wallet, or before its
    /// first address.
    pub fn birth_height(&self) -> Result<Option<u32>, StoreError> {
        let mut query =
            self.connection.prepare_cached("SELECT min(birth_height) FROM keychains")?;
        Ok(query.query_row([], |row| row.get(0))?)
    }

    pub fn has_wallet(&self) -> Result<bool, StoreError> {
        let mut statement =
            self.connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM keychains)")?;
        Ok(statement.query_row([], |row| row.get(0))?)
    }
}

impl Tx<'_> {
    /// Stores the public descriptor of a keychain.
    ///
    /// # Errors
    /// Fails when the keychain has one, or the database cannot be written.
    pub fn insert_keychain(&self, keychain: Keychain, descriptor: &str) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(
                "INSERT INTO keychains (keychain, descriptor, next_index) VALUES (?1, ?2, 0)",
            )?
            .execute((keychain.column(), descriptor))?;
        Ok(())
    }

    /// Skips the free external indices up to `index`, so that no payment gets them. Another copy of
    /// the wallet used `index`.
    pub fn skip_addresses_to(&self, index: u32) -> Result<(), StoreError> {
        let next_index = self.keychain(Keychain::External)?.map_or(0, |(_, next_index)| next_index);
        if index < next_index {
            return Ok(());
        }
        // The last range is extended if it ends just before: a restored wallet would have very many
        // ranges otherwise.
        let longer = self
            .connection
            .prepare_cached(
                "UPDATE skipped_addresses SET last_index = ?2 WHERE last_index = ?1 - 1 \
                 AND first_index = (SELECT max(first_index) FROM skipped_addresses)",
            )?
            .execute((next_index, index))?;
        if longer == 0 {
            self.connection
                .prepare_cached(
                    "INSERT INTO skipped_addresses (first_index, last_index) VALUES (?1, ?2)",
                )?
                .execute((next_index, index))?;
        }
        self.connection
            .prepare_cached("UPDATE keychains SET next_index = ?1 + 1 WHERE keychain = ?2")?
            .execute((index, Keychain::External.column()))?;
        Ok(())
    }

    /// Sets the height up to which no block concerns the restored wallet.
    #[cfg(any(test, feature = "testing"))]
    pub fn set_birth_height(&self, height: u32) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("UPDATE keychains SET birth_height = ?1")?
            .execute([height])?;
        Ok(())
    }

    /// Stores the birth height of the wallet if it is unknown: the stored tip, or at the first look
    /// that look's own `tip_height`. No address is given before the first look.
    pub(super) fn note_birth(&self, tip_height: u32) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(
                "UPDATE keychains SET birth_height = ifnull((SELECT tip_height FROM chain), ?1) WHERE birth_height IS NULL",
            )?
            .execute([tip_height])?;
        Ok(())
    }

    /// Marks the external indices of the payments with `seq` after `after` and up to `last` as
    /// given.
    pub(super) fn give_indices(&self, after: i64, last: i64) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(
                "UPDATE keychains SET next_index = max(next_index, ifnull( \
                 (SELECT max(derivation_index) + 1 FROM payments WHERE seq > ?1 AND seq <= ?2), 0)) WHERE keychain = ?3",
            )?
            .execute((after, last, Keychain::External.column()))?;
        Ok(())
    }
}
