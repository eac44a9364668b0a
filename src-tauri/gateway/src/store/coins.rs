//! Coins: every output of ours, a customer's payment or our own change, and what spends it.

use bitcoin::hashes::Hash as _;
use bitcoin::{OutPoint, Txid};
use rusqlite::params;

use super::keychains::Keychain;
use super::values::sats_column;
use super::{Reader, StoreError, Tx};
use crate::chain::TxPosition;

/// An output of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coin {
    /// The transaction and output that hold it.
    pub outpoint: OutPoint,
    /// The keychain of its script.
    pub keychain: Keychain,
    /// The derivation index of its script.
    pub index: u32,
    /// The number of the payment that it pays; `None` for our own change.
    pub payment_seq: Option<i64>,
    pub amount_sats: u64,
}

impl Reader<'_> {
    /// Whether an output is ours.
    pub fn has_coin(&self, outpoint: &OutPoint) -> Result<bool, StoreError> {
        let mut query = self.connection.prepare_cached("SELECT 1 FROM coins WHERE txid = ?1 AND vout = ?2")?;
        Ok(query.exists(params![outpoint.txid.as_byte_array(), outpoint.vout])?)
    }

    /// The ids of all transactions that are stored, and of those that spend a coin.
    pub fn known_transactions(&self) -> Result<Vec<Txid>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT txid FROM transactions UNION SELECT spent_by FROM coins WHERE spent_by IS NOT NULL",
        )?;
        let rows = query.query_map([], |row| row.get::<_, [u8; 32]>(0))?;
        rows.map(|txid| Ok(Txid::from_byte_array(txid?))).collect()
    }
}

/// A coin as it is stored.
#[cfg(test)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCoin {
    pub coin: Coin,
    /// `block`, `mempool` or `absent`.
    pub position: String,
    pub block_height: Option<u32>,
    /// The transaction that spends it.
    pub spent_by: Option<Txid>,
}

#[cfg(test)]
impl Reader<'_> {
    /// All coins, in an order of no meaning.
    pub fn coins(&self) -> Result<Vec<StoredCoin>, StoreError> {
        use super::values;

        let mut query = self.connection.prepare_cached("SELECT * FROM coins")?;
        let mut rows = query.query([])?;
        let mut coins = Vec::new();
        while let Some(row) = rows.next()? {
            let keychain: i64 = row.get("keychain")?;
            let coin = Coin {
                outpoint: OutPoint { txid: values::txid(row, "txid")?, vout: row.get("vout")? },
                keychain: if keychain == 0 { Keychain::External } else { Keychain::Internal },
                index: row.get("derivation_index")?,
                payment_seq: row.get("payment_seq")?,
                amount_sats: values::sats(row, "amount_sats")?,
            };
            let (position, block_height) = (row.get("position")?, row.get("block_height")?);
            coins.push(StoredCoin { coin, position, block_height, spent_by: values::optional_txid(row, "spent_by")? });
        }
        Ok(coins)
    }
}

impl Tx<'_> {
    /// Stores a coin and its position. Its transaction is stored already.
    pub fn store_coin(&self, coin: &Coin, position: &TxPosition) -> Result<(), StoreError> {
        let (position, height) = columns(position);
        let mut upsert = self.connection.prepare_cached(
            "INSERT INTO coins (txid, vout, keychain, derivation_index, payment_seq, amount_sats, position, block_height) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) \
             ON CONFLICT (txid, vout) DO UPDATE SET position = ?7, block_height = ?8",
        )?;
        upsert.execute(params![
            coin.outpoint.txid.as_byte_array(),
            coin.outpoint.vout,
            coin.keychain.column(),
            coin.index,
            coin.payment_seq,
            sats_column(coin.amount_sats),
            position,
            height,
        ])?;
        Ok(())
    }

    /// Notes that a transaction in the chain or the mempool spends a coin.
    pub fn spend_coin(&self, outpoint: &OutPoint, by: &Txid) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("UPDATE coins SET spent_by = ?3 WHERE txid = ?1 AND vout = ?2")?
            .execute(params![outpoint.txid.as_byte_array(), outpoint.vout, by.as_byte_array()])?;
        Ok(())
    }

    /// Notes that a transaction is in neither chain nor mempool: the coins that it made are absent, those that it spent
    /// are not spent.
    pub fn take_back_coins(&self, txid: &Txid) -> Result<(), StoreError> {
        let txid = txid.as_byte_array();
        self.connection
            .prepare_cached("UPDATE coins SET position = 'absent', block_height = NULL WHERE txid = ?1")?
            .execute([txid])?;
        self.connection.prepare_cached("UPDATE coins SET spent_by = NULL WHERE spent_by = ?1")?.execute([txid])?;
        Ok(())
    }
}

const fn columns(position: &TxPosition) -> (&'static str, Option<u32>) {
    match position {
        TxPosition::Block { height, .. } => ("block", Some(*height)),
        TxPosition::Mempool { .. } => ("mempool", None),
        TxPosition::Absent => ("absent", None),
    }
}

#[cfg(test)]
mod tests {
    use crate::store::{Store, StoreError};

    #[test]
    fn what_is_unspent_is_found_without_passing_over_what_is_spent() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("gateway.db")).unwrap();
        let plan = store.read(|reader| {
            let mut query = reader.connection.prepare(
                "EXPLAIN QUERY PLAN SELECT txid, vout FROM coins WHERE spent_by IS NULL AND block_height <= ?1",
            )?;
            Ok::<String, StoreError>(query.query_row([1], |row| row.get("detail"))?)
        });
        assert!(plan.unwrap().contains("coins_unspent"));
    }
}
