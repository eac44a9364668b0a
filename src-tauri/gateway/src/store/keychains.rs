//! The wallet's public descriptors, and the derivation indices that were given.

use rusqlite::OptionalExtension;

use super::{Reader, StoreError, Tx};

/// A keychain of the wallet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keychain {
    /// Addresses for customers.
    External,
    /// Our own change.
    Internal,
}

impl Keychain {
    const fn column(self) -> i64 {
        match self {
            Self::External => 0,
            Self::Internal => 1,
        }
    }
}

impl Reader<'_> {
    /// The public descriptor of a keychain and the next index never given; `None` before a wallet exists.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn keychain(&self, keychain: Keychain) -> Result<Option<(String, u32)>, StoreError> {
        let mut query =
            self.connection.prepare_cached("SELECT descriptor, next_index FROM keychains WHERE keychain = ?1")?;
        Ok(query.query_row([keychain.column()], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
    }
}

impl Tx<'_> {
    /// Keeps a wallet's public descriptor.
    ///
    /// # Errors
    /// When it cannot be stored, and when the keychain has one.
    pub fn insert_keychain(&self, keychain: Keychain, descriptor: &str) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("INSERT INTO keychains (keychain, descriptor, next_index) VALUES (?1, ?2, 0)")?
            .execute((keychain.column(), descriptor))?;
        Ok(())
    }

    /// Notes that the derivation index `index` is given: once this is committed, neither it nor one below it is ever
    /// given again by whoever reads [`Reader::keychain`] first.
    ///
    /// # Errors
    /// When it cannot be stored, and after the last index there is.
    pub fn give_index(&self, keychain: Keychain, index: u32) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("UPDATE keychains SET next_index = max(next_index, ?2 + 1) WHERE keychain = ?1")?
            .execute((keychain.column(), index))?;
        Ok(())
    }
}
