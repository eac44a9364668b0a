//! Coins: all outputs of ours, customers' payments and our change, and their spends.

use bitcoin::hashes::Hash as _;
use bitcoin::{OutPoint, Txid};
use rusqlite::{OptionalExtension as _, params};
use tillgate_domain::batch::Position;
use tillgate_domain::chain::TxPosition;

use super::error::StoreError;
use super::keychains::Keychain;
use super::reader::Reader;
use super::receipts::BYTES_OF_ROWS;
use super::tx::Tx;
use super::values::{self, position_columns, sats_column};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coin {
    pub outpoint: OutPoint,
    pub keychain: Keychain,
    pub index: u32,
    /// The payment that it pays; `None` for our change, and for other coins at our addresses.
    pub payment_seq: Option<i64>,
    pub amount_sats: u64,
    /// Whether it is a block's reward, which cannot be spent for 100 blocks.
    pub is_coinbase: bool,
}

/// A coin's position and conflicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoinFacts {
    pub keychain: Keychain,
    pub amount_sats: u64,
    pub position: Position,
    /// The transaction in a block or the mempool that spends it.
    pub spent_by: Option<Txid>,
    /// Height of the spending transaction's block.
    pub spent_height: Option<u32>,
    /// Lowest height of a block that rules out the coin's own transaction.
    pub conflict_height: Option<u32>,
    /// Amount booked in the ledger.
    pub booked_sats: i64,
}

/// A coin that a transaction could spend now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnspentCoin {
    pub outpoint: OutPoint,
    pub keychain: Keychain,
    pub index: u32,
    pub amount_sats: u64,
    /// Height of its block; `None` for our unconfirmed change.
    pub height: Option<u32>,
}

/// Confirmations that a block's reward needs before it may be spent.
const COINBASE_MATURITY: u32 = 100;

/// Limit of the oldest coins, and limit of the largest coins, to choose from. A transaction of ours
/// has fewer inputs.
pub const CHOICE_MAX: u32 = 1_500;

const COLUMNS: &str = "c.txid AS txid, c.vout AS vout, c.keychain AS keychain, c.derivation_index AS derivation_index, \
     c.amount_sats AS amount_sats, c.block_height AS block_height";

/// SQL condition for spendable coins in blocks, with the parameters of [`usable_from`]. A
/// stranger's payment to our change can be reversed like a customer's coin, so it needs as many
/// confirmations.
const USABLE: &str = "c.spent_by IS NULL AND c.block_height <= ?1 AND (c.block_height <= ?2 \
     OR (c.keychain = 1 AND EXISTS (SELECT 1 FROM versions AS v WHERE v.txid = c.txid))) \
     AND (c.is_coinbase = 0 OR c.block_height <= ?3) \
     AND NOT EXISTS (SELECT 1 FROM batch_inputs AS i WHERE i.txid = c.txid AND i.vout = c.vout AND i.live = 1)";

const UNCONFIRMED_CHANGE: &str = "batches AS b JOIN versions AS v ON v.batch_seq = b.seq JOIN coins AS c ON c.txid = v.txid \
     WHERE b.pending = 1 AND b.live = 1 AND c.keychain = 1 AND c.block_height IS NULL AND c.spent_by IS NULL \
     AND v.accepted_at IS NOT NULL AND v.pays = 1 AND c.conflict_height IS NULL \
     AND NOT EXISTS (SELECT 1 FROM batch_inputs AS p JOIN coins AS pc ON pc.txid = p.txid AND pc.vout = p.vout \
     WHERE p.batch_seq = b.seq AND (pc.conflict_height IS NOT NULL \
     OR (pc.spent_by IS NOT NULL AND pc.spent_by <> v.txid))) \
     AND NOT EXISTS (SELECT 1 FROM versions AS o WHERE o.batch_seq = b.seq AND o.txid <> v.txid) \
     AND NOT EXISTS (SELECT 1 FROM batch_inputs AS i WHERE i.txid = c.txid AND i.vout = c.vout AND i.live = 1)";

/// Sums of the wallet's coins, in satoshis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CoinSums {
    /// Inputs of our transactions that are in no block yet. Change of such a transaction is left
    /// out, since the inputs of that transaction are counted.
    pub locked_sats: u64,
    /// Customers' coins in no block yet.
    pub pending_sats: u64,
}

impl Reader<'_> {
    /// Whether an output is ours.
    pub fn has_coin(&self, outpoint: &OutPoint) -> Result<bool, StoreError> {
        let mut query =
            self.connection.prepare_cached("SELECT 1 FROM coins WHERE txid = ?1 AND vout = ?2")?;
        Ok(query.exists(params![outpoint.txid.as_byte_array(), outpoint.vout])?)
    }

    /// Bytes stored for missing transactions that paid a wallet address without a payment, rows
    /// included.
    pub fn missing_bytes_at(&self, keychain: Keychain, index: u32) -> Result<u64, StoreError> {
        let mut query = self.connection.prepare_cached(&format!(
            "SELECT ifnull(sum(length(raw) + {BYTES_OF_ROWS}), 0) AS bytes FROM transactions WHERE txid IN \
             (SELECT txid FROM coins WHERE payment_seq IS NULL AND keychain = ?1 AND derivation_index = ?2 AND position = 'absent')",
        ))?;
        query
            .query_row(params![keychain.column(), index], |row| Ok(values::number(row, "bytes")))?
    }

    /// The payment of a stored coin, if it pays one; the outer `None` means that the coin is not
    /// stored.
    pub fn payee_of_coin(&self, outpoint: &OutPoint) -> Result<Option<Option<i64>>, StoreError> {
        let mut query = self
            .connection
            .prepare_cached("SELECT payment_seq FROM coins WHERE txid = ?1 AND vout = ?2")?;
        Ok(query
            .query_row(params![outpoint.txid.as_byte_array(), outpoint.vout], |row| row.get(0))
            .optional()?)
    }

    pub fn coin_facts(&self, outpoint: &OutPoint) -> Result<Option<CoinFacts>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT position, block_height, keychain, amount_sats, spent_by, spent_height, conflict_height, booked_sats \
             FROM coins WHERE txid = ?1 AND vout = ?2",
        )?;
        let mut rows = query.query(params![outpoint.txid.as_byte_array(), outpoint.vout])?;
        rows.next()?
            .map(|row| {
                Ok(CoinFacts {
                    position: values::batch_position(row)?,
                    keychain: Keychain::of_column(row.get("keychain")?),
                    amount_sats: values::sats(row, "amount_sats")?,
                    spent_by: values::optional_txid(row, "spent_by")?,
                    spent_height: row.get("spent_height")?,
                    conflict_height: row.get("conflict_height")?,
                    booked_sats: row.get("booked_sats")?,
                })
            })
            .transpose()
    }

    /// The coins that a transaction could spend now, oldest first, without the inputs of live
    /// batches:
    /// - customers' coins with `confirmations` confirmations
    /// - confirmed change of our own transactions
    /// - unconfirmed change of an accepted transaction with a single version
    ///
    /// If there are very many, only the oldest and the largest are returned: no transaction of ours
    /// has so many inputs.
    pub fn unspent_coins(
        &self,
        tip_height: u32,
        confirmations: u32,
    ) -> Result<Vec<UnspentCoin>, StoreError> {
        let mut query = self.connection.prepare_cached(&format!(
            "SELECT * FROM (SELECT {COLUMNS} FROM coins AS c INDEXED BY coins_unspent WHERE {USABLE} \
             ORDER BY c.block_height, c.txid, c.vout LIMIT {CHOICE_MAX}) \
             UNION SELECT * FROM (SELECT {COLUMNS} FROM coins AS c INDEXED BY coins_by_amount WHERE {USABLE} \
             ORDER BY c.amount_sats DESC, c.txid DESC, c.vout DESC LIMIT {CHOICE_MAX}) \
             UNION SELECT {COLUMNS} FROM {UNCONFIRMED_CHANGE} ORDER BY 6 NULLS LAST, 1, 2"
        ))?;
        query
            .query_and_then(usable_from(tip_height, confirmations), |row| {
                Ok(UnspentCoin {
                    outpoint: OutPoint { txid: values::txid(row, "txid")?, vout: row.get("vout")? },
                    keychain: Keychain::of_column(row.get("keychain")?),
                    index: row.get("derivation_index")?,
                    amount_sats: values::sats(row, "amount_sats")?,
                    height: row.get("block_height")?,
                })
            })?
            .collect()
    }

    /// The sum of all coins that a transaction could spend now.
    pub fn unspent_sats(&self, tip_height: u32, confirmations: u32) -> Result<u64, StoreError> {
        let mut query = self.connection.prepare_cached(&format!(
            "SELECT (SELECT ifnull(sum(c.amount_sats), 0) FROM coins AS c WHERE {USABLE}) \
             + (SELECT ifnull(sum(c.amount_sats), 0) FROM {UNCONFIRMED_CHANGE}) AS sats"
        ))?;
        let mut rows = query.query(usable_from(tip_height, confirmations))?;
        rows.next()?.map_or(Ok(0), |row| values::sats(row, "sats"))
    }

    /// The coin behind an input of a stored transaction.
    pub fn coin_of_input(&self, outpoint: &OutPoint) -> Result<Option<UnspentCoin>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT keychain, derivation_index, amount_sats, block_height FROM coins WHERE txid = ?1 AND vout = ?2",
        )?;
        let mut rows = query.query(params![outpoint.txid.as_byte_array(), outpoint.vout])?;
        rows.next()?
            .map(|row| {
                Ok(UnspentCoin {
                    outpoint: *outpoint,
                    keychain: Keychain::of_column(row.get("keychain")?),
                    index: row.get("derivation_index")?,
                    amount_sats: values::sats(row, "amount_sats")?,
                    height: row.get("block_height")?,
                })
            })
            .transpose()
    }

    pub fn coin_sums(&self) -> Result<CoinSums, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT (SELECT ifnull(sum(c.amount_sats), 0) FROM batches AS b JOIN batch_inputs AS i ON i.batch_seq = b.seq \
             JOIN coins AS c ON c.txid = i.txid AND c.vout = i.vout WHERE b.pending = 1 AND i.live = 1 AND NOT EXISTS \
             (SELECT 1 FROM versions AS v WHERE v.batch_seq = b.seq AND v.position = 'block') AND NOT \
             (c.block_height IS NULL AND EXISTS (SELECT 1 FROM versions AS v WHERE v.txid = c.txid))) AS locked, \
             (SELECT ifnull(sum(amount_sats), 0) FROM coins WHERE keychain = 0 AND position = 'mempool' \
             AND spent_by IS NULL) AS pending",
        )?;
        query
            .query_row([], |row| Ok((row.get("locked")?, row.get("pending")?)))
            .map_err(StoreError::from)
            .and_then(|(locked, pending): (i64, i64)| {
                let sats =
                    |value| u64::try_from(value).map_err(|_| StoreError::BadValue("amount_sats"));
                Ok(CoinSums { locked_sats: sats(locked)?, pending_sats: sats(pending)? })
            })
    }

    /// Block rewards paid to customers' addresses that are too young to spend at this height.
    pub fn immature_sats(&self, tip_height: u32) -> Result<u64, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT ifnull(sum(amount_sats), 0) AS sats FROM coins WHERE keychain = 0 AND is_coinbase = 1 \
             AND spent_by IS NULL AND block_height > ?1",
        )?;
        let [.., mature] = usable_from(tip_height, 1);
        let sats: i64 = query.query_row([mature], |row| row.get("sats"))?;
        u64::try_from(sats).map_err(|_| StoreError::BadValue("amount_sats"))
    }

    /// Position of a transaction that created coins of ours; `None` for any other.
    pub fn position_of_coins(&self, txid: &Txid) -> Result<Option<Position>, StoreError> {
        let mut query = self
            .connection
            .prepare_cached("SELECT position, block_height FROM coins WHERE txid = ?1 LIMIT 1")?;
        let mut rows = query.query([txid.as_byte_array()])?;
        rows.next()?.map(values::batch_position).transpose()
    }

    /// Coins of a transaction that pay no payment: our change, and addresses not given to any
    /// payment here.
    pub fn change_coins(&self, txid: &Txid) -> Result<Vec<(OutPoint, CoinFacts)>, StoreError> {
        let mut query = self
            .connection
            .prepare_cached("SELECT vout FROM coins WHERE txid = ?1 AND payment_seq IS NULL")?;
        let vouts = query
            .query_map([txid.as_byte_array()], |row| row.get("vout"))?
            .collect::<Result<Vec<u32>, _>>()?;
        let outpoints = vouts.into_iter().map(|vout| OutPoint { txid: *txid, vout });
        outpoints
            .filter_map(|it| {
                self.coin_facts(&it).map(|facts| facts.map(|facts| (it, facts))).transpose()
            })
            .collect()
    }

    /// The sum of [`Self::change_coins`].
    pub fn change_of_sats(&self, txid: &Txid) -> Result<u64, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT ifnull(sum(amount_sats), 0) AS sats FROM coins WHERE txid = ?1 AND payment_seq IS NULL",
        )?;
        let mut rows = query.query([txid.as_byte_array()])?;
        rows.next()?.map_or(Ok(0), |row| values::sats(row, "sats"))
    }

    /// The txids of all stored transactions, and of all transactions that spend a coin.
    pub fn known_transactions(&self) -> Result<Vec<Txid>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT txid FROM transactions UNION SELECT spent_by FROM coins WHERE spent_by IS NOT NULL",
        )?;
        let rows = query.query_map([], |row| row.get::<_, [u8; 32]>(0))?;
        rows.map(|txid| Ok(Txid::from_byte_array(txid?))).collect()
    }
}

#[cfg(any(test, feature = "testing"))]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCoin {
    pub coin: Coin,
    /// `block`, `mempool` or `absent`.
    pub position: String,
    pub block_height: Option<u32>,
    pub spent_by: Option<Txid>,
}

#[cfg(any(test, feature = "testing"))]
impl Reader<'_> {
    /// All coins, in no particular order.
    pub fn coins(&self) -> Result<Vec<StoredCoin>, StoreError> {
        let mut query = self.connection.prepare_cached("SELECT * FROM coins")?;
        let mut rows = query.query([])?;
        let mut coins = Vec::new();
        while let Some(row) = rows.next()? {
            let coin = Coin {
                outpoint: OutPoint { txid: values::txid(row, "txid")?, vout: row.get("vout")? },
                keychain: Keychain::of_column(row.get("keychain")?),
                index: row.get("derivation_index")?,
                payment_seq: row.get("payment_seq")?,
                amount_sats: values::sats(row, "amount_sats")?,
                is_coinbase: row.get("is_coinbase")?,
            };
            let (position, block_height) = (row.get("position")?, row.get("block_height")?);
            coins.push(StoredCoin {
                coin,
                position,
                block_height,
                spent_by: values::optional_txid(row, "spent_by")?,
            });
        }
        Ok(coins)
    }
}

impl Tx<'_> {
    /// Stores a coin and its position. Call this after its transaction is stored.
    pub fn store_coin(&self, coin: &Coin, position: &TxPosition) -> Result<(), StoreError> {
        let (position, height) = position_columns(position);
        let mut upsert = self.connection.prepare_cached(
            "INSERT INTO coins (txid, vout, keychain, derivation_index, payment_seq, amount_sats, position, block_height, \
             is_coinbase) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) \
             ON CONFLICT (txid, vout) DO UPDATE SET position = ?7, block_height = ?8, conflict_height = NULL",
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
            coin.is_coinbase,
        ])?;
        Ok(())
    }

    /// Marks a coin as spent by a transaction in the chain or the mempool; `height` is that of its
    /// block.
    pub fn spend_coin(
        &self,
        outpoint: &OutPoint,
        by: &Txid,
        height: Option<u32>,
    ) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(
                "UPDATE coins SET spent_by = ?3, spent_height = ?4 WHERE txid = ?1 AND vout = ?2",
            )?
            .execute(params![
                outpoint.txid.as_byte_array(),
                outpoint.vout,
                by.as_byte_array(),
                height
            ])?;
        Ok(())
    }

    /// Marks a transaction as absent: its coins are absent, and its spends are undone.
    /// `conflict_height` is the height of a block that rules it out.
    pub fn take_back_coins(
        &self,
        txid: &Txid,
        conflict_height: Option<u32>,
    ) -> Result<(), StoreError> {
        let txid = txid.as_byte_array();
        self.connection
            .prepare_cached(
                "UPDATE coins SET position = 'absent', block_height = NULL, conflict_height = ?2 WHERE txid = ?1",
            )?
            .execute(params![txid, conflict_height])?;
        self.connection
            .prepare_cached(
                "UPDATE coins SET spent_by = NULL, spent_height = NULL WHERE spent_by = ?1",
            )?
            .execute([txid])?;
        Ok(())
    }

    pub fn book_coin(&self, outpoint: &OutPoint, sats: i64) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("UPDATE coins SET booked_sats = ?3 WHERE txid = ?1 AND vout = ?2")?
            .execute(params![outpoint.txid.as_byte_array(), outpoint.vout, sats])?;
        Ok(())
    }

    /// Marks the change indices up to `index` as given.
    pub fn use_change_index(&self, index: u32) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(
                "UPDATE keychains SET next_index = ?1 + 1 WHERE keychain = 1 AND next_index <= ?1",
            )?
            .execute([index])?;
        Ok(())
    }

    pub fn take_change_index(&self) -> Result<u32, StoreError> {
        let mut update = self.connection.prepare_cached(
            "UPDATE keychains SET next_index = next_index + 1 WHERE keychain = 1 RETURNING next_index - 1 AS given",
        )?;
        Ok(update.query_row([], |row| row.get("given"))?)
    }
}

/// The heights up to which our change, customers' coins and block rewards are spendable. A coin in
/// the best block has one confirmation.
fn usable_from(tip_height: u32, confirmations: u32) -> [i64; 3] {
    let with = |confirmations: u32| i64::from(tip_height) + 1 - i64::from(confirmations);
    [with(1), with(confirmations), with(COINBASE_MATURITY)]
}

#[cfg(test)]
mod tests {
    use crate::{Store, StoreError};

    #[test]
    fn unspent_coins_are_found_by_an_index_without_spent_ones() {
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
