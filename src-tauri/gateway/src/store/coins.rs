//! Coins: every output of ours, a customer's payment or our own change, and what spends it.

use bitcoin::hashes::Hash as _;
use bitcoin::{OutPoint, Transaction, Txid};
use rusqlite::{OptionalExtension as _, params};
use tillgate_domain::batch::Position;

use super::keychains::Keychain;
use super::receipts::BYTES_OF_ROWS;
use super::values::{self, position_columns, sats_column};
use super::{Reader, StoreError, Tx};
use tillgate_domain::chain::TxPosition;

/// An output of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coin {
    /// The transaction and output that hold it.
    pub outpoint: OutPoint,
    /// The keychain of its script.
    pub keychain: Keychain,
    /// The derivation index of its script.
    pub index: u32,
    /// The number of the payment that it pays; `None` for our own change, and for what came to an address otherwise.
    pub payment_seq: Option<i64>,
    pub amount_sats: u64,
    /// Whether a block's reward made it: nobody may spend it before 100 blocks.
    pub is_coinbase: bool,
}

/// Where a coin stands, and what speaks against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoinFacts {
    pub keychain: Keychain,
    pub amount_sats: u64,
    pub position: Position,
    /// The transaction in a block or the mempool that spends it.
    pub spent_by: Option<Txid>,
    /// The height of that one's block.
    pub spent_height: Option<u32>,
    /// The lowest height of a block with a transaction that rules out the one that makes it.
    pub conflict_height: Option<u32>,
    /// What the ledger holds of it.
    pub booked_sats: i64,
}

/// A coin that a transaction could spend now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnspentCoin {
    pub outpoint: OutPoint,
    pub keychain: Keychain,
    pub index: u32,
    pub amount_sats: u64,
    /// The height of its block; `None` for our own change that is in no block.
    pub height: Option<u32>,
}

/// Blocks on top of a block's reward before it may be spent.
const COINBASE_MATURITY: u32 = 100;

/// Coins of each kind, oldest and largest, among which a transaction chooses: more inputs than one of ours can have.
pub(crate) const CHOICE_MAX: u32 = 1_500;

const COLUMNS: &str = "c.txid AS txid, c.vout AS vout, c.keychain AS keychain, c.derivation_index AS derivation_index, \
     c.amount_sats AS amount_sats, c.block_height AS block_height";

/// Coins in a block that may be spent, by [`usable_from`]. What others pay to our change is theirs to take back for as
/// long as a customer's coin.
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

/// What the wallet holds, in satoshis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CoinSums {
    /// Inputs of our stored transactions that are in no block. Change of such a transaction is left out, because its own
    /// inputs count already.
    pub locked_sats: u64,
    /// Customers' coins that are in no block yet.
    pub pending_sats: u64,
}

impl Reader<'_> {
    /// Whether an output is ours.
    pub fn has_coin(&self, outpoint: &OutPoint) -> Result<bool, StoreError> {
        let mut query = self.connection.prepare_cached("SELECT 1 FROM coins WHERE txid = ?1 AND vout = ?2")?;
        Ok(query.exists(params![outpoint.txid.as_byte_array(), outpoint.vout])?)
    }

    /// Bytes that the database holds for transactions that paid an address of this wallet which no payment has, and that are in neither
    /// mempool nor chain, with those of their rows.
    pub fn missing_bytes_at(&self, keychain: Keychain, index: u32) -> Result<u64, StoreError> {
        let mut query = self.connection.prepare_cached(&format!(
            "SELECT ifnull(sum(length(raw) + {BYTES_OF_ROWS}), 0) AS bytes FROM transactions WHERE txid IN \
             (SELECT txid FROM coins WHERE payment_seq IS NULL AND keychain = ?1 AND derivation_index = ?2 AND position = 'absent')",
        ))?;
        query.query_row(params![keychain.column(), index], |row| Ok(values::number(row, "bytes")))?
    }

    /// Whether a transaction spends an output of ours.
    pub fn spends_a_coin(&self, tx: &Transaction) -> Result<bool, StoreError> {
        for input in &tx.input {
            if self.has_coin(&input.previous_output)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Which payment a stored output of ours pays, if it pays one; `None` where none is stored.
    pub fn payee_of_coin(&self, outpoint: &OutPoint) -> Result<Option<Option<i64>>, StoreError> {
        let mut query =
            self.connection.prepare_cached("SELECT payment_seq FROM coins WHERE txid = ?1 AND vout = ?2")?;
        Ok(query.query_row(params![outpoint.txid.as_byte_array(), outpoint.vout], |row| row.get(0)).optional()?)
    }

    /// Where an output of ours stands.
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

    /// The coins that a transaction could spend now, the oldest first: customers' coins with so many confirmations, change of our own transactions in a block, and unconfirmed change of a transaction that has a single version and was taken by a backend.
    /// None that belongs to a live batch. Of many, the oldest and the largest: no transaction of ours has so many inputs.
    pub fn unspent_coins(&self, tip_height: u32, confirmations: u32) -> Result<Vec<UnspentCoin>, StoreError> {
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

    /// What all coins come to that a transaction could spend now, however many there are.
    pub fn unspent_sats(&self, tip_height: u32, confirmations: u32) -> Result<u64, StoreError> {
        let mut query = self.connection.prepare_cached(&format!(
            "SELECT (SELECT ifnull(sum(c.amount_sats), 0) FROM coins AS c WHERE {USABLE}) \
             + (SELECT ifnull(sum(c.amount_sats), 0) FROM {UNCONFIRMED_CHANGE}) AS sats"
        ))?;
        let mut rows = query.query(usable_from(tip_height, confirmations))?;
        rows.next()?.map_or(Ok(0), |row| values::sats(row, "sats"))
    }

    /// A coin that is the input of a stored transaction, as one that could be spent.
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

    /// What is locked, and what is on its way to us.
    pub fn coin_sums(&self) -> Result<CoinSums, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT (SELECT ifnull(sum(c.amount_sats), 0) FROM batches AS b JOIN batch_inputs AS i ON i.batch_seq = b.seq \
             JOIN coins AS c ON c.txid = i.txid AND c.vout = i.vout WHERE b.pending = 1 AND i.live = 1 AND NOT EXISTS \
             (SELECT 1 FROM versions AS v WHERE v.batch_seq = b.seq AND v.position = 'block') AND NOT \
             (c.block_height IS NULL AND EXISTS (SELECT 1 FROM versions AS v WHERE v.txid = c.txid))) AS locked, \
             (SELECT ifnull(sum(amount_sats), 0) FROM coins WHERE keychain = 0 AND position = 'mempool' \
             AND spent_by IS NULL) AS pending",
        )?;
        query.query_row([], |row| Ok((row.get("locked")?, row.get("pending")?))).map_err(StoreError::from).and_then(
            |(locked, pending): (i64, i64)| {
                let sats = |value| u64::try_from(value).map_err(|_| StoreError::BadValue("amount_sats"));
                Ok(CoinSums { locked_sats: sats(locked)?, pending_sats: sats(pending)? })
            },
        )
    }

    /// Rewards of blocks that were paid to customers' addresses and are too young to be spent, with a chain of this height.
    pub fn immature_sats(&self, tip_height: u32) -> Result<u64, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT ifnull(sum(amount_sats), 0) AS sats FROM coins WHERE keychain = 0 AND is_coinbase = 1 \
             AND spent_by IS NULL AND block_height > ?1",
        )?;
        let [.., mature] = usable_from(tip_height, 1);
        let sats: i64 = query.query_row([mature], |row| row.get("sats"))?;
        u64::try_from(sats).map_err(|_| StoreError::BadValue("amount_sats"))
    }

    /// Where the transaction stands that makes coins of ours; `None` where it makes none.
    pub fn position_of_coins(&self, txid: &Txid) -> Result<Option<Position>, StoreError> {
        let mut query =
            self.connection.prepare_cached("SELECT position, block_height FROM coins WHERE txid = ?1 LIMIT 1")?;
        let mut rows = query.query([txid.as_byte_array()])?;
        rows.next()?.map(values::batch_position).transpose()
    }

    /// What a transaction pays to this wallet and to no payment: our change, and addresses that were given to no payment here.
    pub fn change_coins(&self, txid: &Txid) -> Result<Vec<(OutPoint, CoinFacts)>, StoreError> {
        let mut query =
            self.connection.prepare_cached("SELECT vout FROM coins WHERE txid = ?1 AND payment_seq IS NULL")?;
        let vouts = query.query_map([txid.as_byte_array()], |row| row.get("vout"))?.collect::<Result<Vec<u32>, _>>()?;
        let outpoints = vouts.into_iter().map(|vout| OutPoint { txid: *txid, vout });
        outpoints
            .filter_map(|it| self.coin_facts(&it).map(|facts| facts.map(|facts| (it, facts))).transpose())
            .collect()
    }

    /// The sum of the same.
    pub fn change_of_sats(&self, txid: &Txid) -> Result<u64, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT ifnull(sum(amount_sats), 0) AS sats FROM coins WHERE txid = ?1 AND payment_seq IS NULL",
        )?;
        let mut rows = query.query([txid.as_byte_array()])?;
        rows.next()?.map_or(Ok(0), |row| values::sats(row, "sats"))
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
            coins.push(StoredCoin { coin, position, block_height, spent_by: values::optional_txid(row, "spent_by")? });
        }
        Ok(coins)
    }
}

impl Tx<'_> {
    /// Stores a coin and its position. Its transaction is stored already.
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

    /// Notes that a transaction in the chain or the mempool spends a coin; `height` is that of its block.
    pub fn spend_coin(&self, outpoint: &OutPoint, by: &Txid, height: Option<u32>) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("UPDATE coins SET spent_by = ?3, spent_height = ?4 WHERE txid = ?1 AND vout = ?2")?
            .execute(params![outpoint.txid.as_byte_array(), outpoint.vout, by.as_byte_array(), height])?;
        Ok(())
    }

    /// Notes that a transaction is in neither chain nor mempool: the coins that it made are absent, those that it spent
    /// are not spent. `conflict_height` is that of a block with a transaction that rules it out.
    pub fn take_back_coins(&self, txid: &Txid, conflict_height: Option<u32>) -> Result<(), StoreError> {
        let txid = txid.as_byte_array();
        self.connection
            .prepare_cached(
                "UPDATE coins SET position = 'absent', block_height = NULL, conflict_height = ?2 WHERE txid = ?1",
            )?
            .execute(params![txid, conflict_height])?;
        self.connection
            .prepare_cached("UPDATE coins SET spent_by = NULL, spent_height = NULL WHERE spent_by = ?1")?
            .execute([txid])?;
        Ok(())
    }

    /// Notes what the ledger holds of a coin.
    pub fn book_coin(&self, outpoint: &OutPoint, sats: i64) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("UPDATE coins SET booked_sats = ?3 WHERE txid = ?1 AND vout = ?2")?
            .execute(params![outpoint.txid.as_byte_array(), outpoint.vout, sats])?;
        Ok(())
    }

    /// Notes that the indices of our change up to this one are given: one was seen in use.
    pub fn use_change_index(&self, index: u32) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("UPDATE keychains SET next_index = ?1 + 1 WHERE keychain = 1 AND next_index <= ?1")?
            .execute([index])?;
        Ok(())
    }

    /// Takes the next index of our change.
    pub fn take_change_index(&self) -> Result<u32, StoreError> {
        let mut update = self.connection.prepare_cached(
            "UPDATE keychains SET next_index = next_index + 1 WHERE keychain = 1 RETURNING next_index - 1 AS given",
        )?;
        Ok(update.query_row([], |row| row.get("given"))?)
    }
}

/// The highest blocks of our change, of customers' coins and of blocks' rewards that may be spent. A coin with one
/// confirmation is in the best block itself.
fn usable_from(tip_height: u32, confirmations: u32) -> [i64; 3] {
    let with = |confirmations: u32| i64::from(tip_height) + 1 - i64::from(confirmations);
    [with(1), with(confirmations), with(COINBASE_MATURITY)]
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
