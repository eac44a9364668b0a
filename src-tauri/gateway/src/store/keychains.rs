//! The wallet's public descriptors, and the derivation indices that were given.

use bitcoin::Txid;
use bitcoin::hashes::Hash as _;
use rusqlite::{OptionalExtension, params};

use super::payment_lists::UNINDEXED_PAYMENTS;
use super::{Reader, StoreError, Tx};

/// Runs of indices behind which our change may go on.
const ENDS_MAX: u32 = 5;

/// A keychain of the wallet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keychain {
    /// Addresses for customers.
    External,
    /// Our own change.
    Internal,
}

impl Keychain {
    /// The wallet's other keychain.
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

    /// The column has no other values than 0 and 1.
    pub(super) const fn of_column(column: i64) -> Self {
        if column == 0 { Self::External } else { Self::Internal }
    }
}

impl Reader<'_> {
    /// The public descriptor of a keychain and the next index never given; `None` before a wallet exists.
    pub fn keychain(&self, keychain: Keychain) -> Result<Option<(String, u32)>, StoreError> {
        let of_unindexed = match keychain {
            Keychain::External => format!("(SELECT max(derivation_index) + 1 FROM {UNINDEXED_PAYMENTS})"),
            Keychain::Internal => "NULL".to_owned(),
        };
        let mut query = self.connection.prepare_cached(&format!(
            "SELECT descriptor, max(next_index, ifnull({of_unindexed}, 0)) FROM keychains WHERE keychain = ?1"
        ))?;
        Ok(query.query_row([keychain.column()], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
    }

    /// Ranges of the external keychain's indices, both ends included, that were given to no payment here.
    pub fn skipped_addresses(&self) -> Result<Vec<(u32, u32)>, StoreError> {
        let mut query = self.connection.prepare_cached("SELECT first_index, last_index FROM skipped_addresses")?;
        Ok(query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?)
    }

    /// Whether an index of the external keychain is given to nobody here: it was passed over, as another copy of the wallet may
    /// have given it.
    pub fn is_skipped_address(&self, index: u32) -> Result<bool, StoreError> {
        // Ranges do not overlap: it can lie in the last one alone that begins before it.
        let mut query = self.connection.prepare_cached(
            "SELECT last_index >= ?1 FROM skipped_addresses WHERE first_index <= ?1 ORDER BY first_index DESC LIMIT 1",
        )?;
        Ok(query.query_row([index], |row| row.get(0)).optional()?.unwrap_or(false))
    }

    /// Whether a stored transaction of ours pays its change to this index of the internal keychain.
    pub fn is_change_index_of_ours(&self, index: u32) -> Result<bool, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT 1 FROM coins AS c JOIN versions AS v ON v.txid = c.txid WHERE c.payment_seq IS NULL AND c.keychain = 1 \
             AND c.derivation_index = ?1",
        )?;
        Ok(query.exists([index])?)
    }

    /// Whether a block holds a transaction other than this one that pays to this index of the internal keychain.
    pub fn is_change_paid_by_another(&self, index: u32, txid: &Txid) -> Result<bool, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT 1 FROM coins WHERE keychain = 1 AND derivation_index = ?1 AND payment_seq IS NULL AND txid <> ?2 \
             AND position = 'block'",
        )?;
        Ok(query.exists(params![index, txid.as_byte_array()])?)
    }

    /// The highest index that got a coin and that nothing stored here ever used: another copy of the wallet did, or this one
    /// before it was restored.
    pub fn highest_strange_index(&self, keychain: Keychain) -> Result<Option<u32>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT max(c.derivation_index) FROM coins AS c WHERE c.keychain = ?1 AND c.payment_seq IS NULL \
             AND NOT EXISTS (SELECT 1 FROM versions AS v WHERE v.txid = c.txid AND c.keychain = 1)",
        )?;
        Ok(query.query_row([keychain.column()], |row| row.get(0))?)
    }

    /// The first index of our change behind each run of those that have a coin, the latest few: where an index was skipped for
    /// what another copy of the wallet may use, it goes on behind an earlier run.
    pub fn ends_of_change(&self) -> Result<Vec<u32>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT DISTINCT c.derivation_index + 1 AS behind FROM coins AS c WHERE c.keychain = ?1 AND NOT EXISTS \
             (SELECT 1 FROM coins AS d WHERE d.keychain = ?1 AND d.derivation_index = c.derivation_index + 1) \
             ORDER BY behind DESC LIMIT ?2",
        )?;
        let rows = query.query_map(params![Keychain::Internal.column(), ENDS_MAX], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The longest run of indices without a coin below one that has one in the chain or the mempool.
    pub fn longest_unused_run(&self, keychain: Keychain) -> Result<u32, StoreError> {
        // Counted from index 0, which need not have one.
        let mut query = self.connection.prepare_cached(
            "SELECT ifnull(max(used - before - 1), 0) FROM (SELECT derivation_index AS used, \
             ifnull(lag(derivation_index) OVER (ORDER BY derivation_index), -1) AS before \
             FROM coins WHERE keychain = ?1 AND position <> 'absent')",
        )?;
        let longest: i64 = query.query_row([keychain.column()], |row| row.get(0))?;
        Ok(u32::try_from(longest.max(0)).unwrap_or(u32::MAX))
    }

    /// The height up to which blocks hold nothing of the wallet's; `None` where it never gave an address, or there is none.
    pub fn birth_height(&self) -> Result<Option<u32>, StoreError> {
        let mut query = self.connection.prepare_cached("SELECT min(birth_height) FROM keychains")?;
        Ok(query.query_row([], |row| row.get(0))?)
    }

    /// Whether a wallet exists.
    pub fn has_wallet(&self) -> Result<bool, StoreError> {
        let mut statement = self.connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM keychains)")?;
        Ok(statement.query_row([], |row| row.get(0))?)
    }
}

impl Tx<'_> {
    /// Stores a wallet's public descriptor.
    ///
    /// # Errors
    /// When it cannot be stored, and when the keychain has one.
    pub fn insert_keychain(&self, keychain: Keychain, descriptor: &str) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("INSERT INTO keychains (keychain, descriptor, next_index) VALUES (?1, ?2, 0)")?
            .execute((keychain.column(), descriptor))?;
        Ok(())
    }

    /// Notes that an index of the external keychain that no payment has was seen in use: it and those before it that are
    /// still free are given to no payment any more.
    pub fn skip_addresses_to(&self, index: u32) -> Result<(), StoreError> {
        let next_index = self.keychain(Keychain::External)?.map_or(0, |(_, next_index)| next_index);
        if index < next_index {
            return Ok(());
        }
        // A range that ends where this one begins is made longer: a restored wallet has very many.
        let longer = self
            .connection
            .prepare_cached(
                "UPDATE skipped_addresses SET last_index = ?2 WHERE last_index = ?1 - 1 \
                 AND first_index = (SELECT max(first_index) FROM skipped_addresses)",
            )?
            .execute((next_index, index))?;
        if longer == 0 {
            self.connection
                .prepare_cached("INSERT INTO skipped_addresses (first_index, last_index) VALUES (?1, ?2)")?
                .execute((next_index, index))?;
        }
        self.connection
            .prepare_cached("UPDATE keychains SET next_index = ?1 + 1 WHERE keychain = ?2")?
            .execute((index, Keychain::External.column()))?;
        Ok(())
    }

    /// Says at which height the wallet began: a restored one may have coins from there on.
    #[cfg(test)]
    pub fn set_birth_height(&self, height: u32) -> Result<(), StoreError> {
        self.connection.prepare_cached("UPDATE keychains SET birth_height = ?1")?.execute([height])?;
        Ok(())
    }

    /// Notes at which height the wallet began, where that is not known yet: at the tip of the last look before it gave an
    /// address, for without a look none is given. `tip_height` is that of the first look.
    pub(super) fn note_birth(&self, tip_height: u32) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(
                "UPDATE keychains SET birth_height = ifnull((SELECT tip_height FROM chain), ?1) WHERE birth_height IS NULL",
            )?
            .execute([tip_height])?;
        Ok(())
    }

    /// Notes that the external indices of the payments after number `after`, up to number `last`, are given.
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
