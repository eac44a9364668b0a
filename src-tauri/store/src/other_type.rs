//! The coins at the other address type of a restored wallet's words, as its look found them. They
//! are told, and never counted or spent. If the words have coins at the other type alone, the
//! wallet takes that type.

use bitcoin::hashes::Hash as _;
use bitcoin::{OutPoint, Txid};
use rusqlite::{OptionalExtension as _, params};

use super::error::StoreError;
use super::keychains::Keychain;
use super::reader::Reader;
use super::restore::{NewRestore, Restore, RestoreSource};
use super::tx::Tx;

/// An output to an address of the other type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherCoin {
    pub outpoint: OutPoint,
    pub keychain: Keychain,
    pub index: u32,
    pub amount_sats: u64,
}

impl Reader<'_> {
    /// The other type's external and internal descriptors, while a look for them has not ended.
    pub fn other_descriptors(&self) -> Result<Option<(String, String)>, StoreError> {
        let of = |keychain: Keychain| {
            let mut query = self
                .connection
                .prepare_cached("SELECT descriptor FROM other_type WHERE keychain = ?1")?;
            Ok::<Option<String>, StoreError>(
                query.query_row([keychain.column()], |row| row.get(0)).optional()?,
            )
        };
        Ok(of(Keychain::External)?.zip(of(Keychain::Internal)?))
    }

    /// The sum of the unspent coins at the other type, in satoshis.
    pub fn other_sats(&self) -> Result<u64, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT ifnull(sum(amount_sats), 0) FROM other_coins WHERE NOT is_spent",
        )?;
        let sum: i64 = query.query_row([], |row| row.get(0))?;
        Ok(u64::try_from(sum).unwrap_or(0))
    }

    /// The index after the highest one with a coin of the other type.
    pub fn other_end(&self, keychain: Keychain) -> Result<u32, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT ifnull(max(derivation_index) + 1, 0) FROM other_coins WHERE keychain = ?1",
        )?;
        Ok(query.query_row([keychain.column()], |row| row.get(0))?)
    }

    pub fn has_other_coin(&self, outpoint: &OutPoint) -> Result<bool, StoreError> {
        let mut query = self
            .connection
            .prepare_cached("SELECT 1 FROM other_coins WHERE txid = ?1 AND vout = ?2")?;
        Ok(query.exists(params![outpoint.txid.as_byte_array(), outpoint.vout])?)
    }

    /// Whether the wallet takes the other type: only that type ever had a coin, and no payment has
    /// an address yet.
    fn takes_other_type(&self) -> Result<bool, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM other_type) AND EXISTS (SELECT 1 FROM other_coins) \
             AND NOT EXISTS (SELECT 1 FROM coins) AND NOT EXISTS (SELECT 1 FROM payments)",
        )?;
        Ok(query.query_row([], |row| row.get(0))?)
    }
}

impl Tx<'_> {
    /// Stores the descriptors of the other type, for the look of a restore.
    pub fn look_at_other_type(&self, external: &str, internal: &str) -> Result<(), StoreError> {
        let mut insert = self.connection.prepare_cached(
            "INSERT OR REPLACE INTO other_type (keychain, descriptor) VALUES (?1, ?2)",
        )?;
        insert.execute((Keychain::External.column(), external))?;
        insert.execute((Keychain::Internal.column(), internal))?;
        Ok(())
    }

    /// Stores coins of the other type, and then the spends of such coins.
    pub fn note_other_coins(
        &self,
        coins: &[OtherCoin],
        spends: &[OutPoint],
    ) -> Result<(), StoreError> {
        for OtherCoin { outpoint, keychain, index, amount_sats } in coins {
            self.connection
                .prepare_cached(
                    "INSERT OR IGNORE INTO other_coins (txid, vout, keychain, derivation_index, amount_sats) \
                     VALUES (?1, ?2, ?3, ?4, ?5)",
                )?
                .execute(params![
                    outpoint.txid.as_byte_array(),
                    outpoint.vout,
                    keychain.column(),
                    index,
                    i64::try_from(*amount_sats).unwrap_or(i64::MAX)
                ])?;
        }
        for OutPoint { txid, vout } in spends {
            self.note_other_spend(txid, *vout)?;
        }
        Ok(())
    }

    fn note_other_spend(&self, txid: &Txid, vout: u32) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("UPDATE other_coins SET is_spent = 1 WHERE txid = ?1 AND vout = ?2")?
            .execute(params![txid.as_byte_array(), vout])?;
        Ok(())
    }

    /// Makes the other type the wallet's, if only that type has coins, and begins the look again.
    /// The types change places. Returns whether they did.
    pub fn take_other_type(&self, restore: &Restore) -> Result<bool, StoreError> {
        if !self.takes_other_type()? {
            return Ok(false);
        }
        let (Some(other), Some((external, _)), Some((internal, _))) = (
            self.other_descriptors()?,
            self.keychain(Keychain::External)?,
            self.keychain(Keychain::Internal)?,
        ) else {
            return Ok(false);
        };
        for (keychain, descriptor) in
            [(Keychain::External, &other.0), (Keychain::Internal, &other.1)]
        {
            self.connection
                .prepare_cached(
                    "UPDATE keychains SET descriptor = ?2, next_index = 0 WHERE keychain = ?1",
                )?
                .execute(params![keychain.column(), descriptor])?;
        }
        // An earlier look that found nothing skipped indices of the former type.
        self.connection.prepare_cached("DELETE FROM skipped_addresses")?.execute([])?;
        self.look_at_other_type(&external, &internal)?;
        self.begin_restore(&NewRestore {
            source: RestoreSource::Words,
            at: restore.begun_at,
            birth_height: Some(restore.birth_height),
            looks_ahead: restore.looks_ahead,
            skip: 0,
            beside_another: false,
        })?;
        Ok(true)
    }

    /// Ends the choice between the types. The coins that were found stay, to be told.
    pub(super) fn fix_type(&self) -> Result<(), StoreError> {
        self.connection.prepare_cached("DELETE FROM other_type")?.execute([])?;
        Ok(())
    }

    /// Forgets the coins of the other type before another look.
    pub(super) fn forget_other_coins(&self) -> Result<(), StoreError> {
        self.connection.prepare_cached("DELETE FROM other_coins")?.execute([])?;
        Ok(())
    }
}
