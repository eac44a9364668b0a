//! Conversions between domain values and columns.

use std::cell::Cell;
use std::str::FromStr;

use bitcoin::hashes::Hash as _;
use bitcoin::{BlockHash, Txid};
use rusqlite::Row;
use rusqlite::types::{FromSql, ValueRef};
use tillgate_domain::batch::Position;
use tillgate_domain::chain::TxPosition;
use tillgate_domain::id::Id;
use tillgate_domain::money::{Currency, Rate};
use tillgate_domain::time::Timestamp;

use super::error::StoreError;

/// A source of columns.
pub(super) trait Columns {
    fn get_ref(&self, column: &'static str) -> Result<ValueRef<'_>, StoreError>;

    fn value<T: FromSql>(&self, column: &'static str) -> Result<T, StoreError> {
        T::column_result(self.get_ref(column)?).map_err(|_| StoreError::BadValue(column))
    }
}

/// Finds a column by comparing names.
impl Columns for Row<'_> {
    fn get_ref(&self, column: &'static str) -> Result<ValueRef<'_>, StoreError> {
        Ok(self.get_ref(column)?)
    }
}

/// Reads columns in the order of the statement, which saves a wide row hundreds of comparisons.
/// Test builds check the names.
pub(super) struct InOrder<'a> {
    row: &'a Row<'a>,
    next: Cell<usize>,
}

impl<'a> InOrder<'a> {
    pub(super) fn new(row: &'a Row<'a>) -> Self {
        Self { row, next: Cell::new(0) }
    }
}

impl Columns for InOrder<'_> {
    fn get_ref(&self, column: &'static str) -> Result<ValueRef<'_>, StoreError> {
        let index = self.next.replace(self.next.get() + 1);
        debug_assert_eq!(
            self.row.as_ref().column_name(index),
            Ok(column),
            "columns are read in the statement's order"
        );
        Ok(self.row.get_ref(index)?)
    }
}

/// Satoshis for an integer column: 21 million BTC are 2.1e15, far below its range.
pub(super) fn sats_column(sats: u64) -> i64 {
    i64::try_from(sats).unwrap_or(i64::MAX)
}

pub(super) fn sats(row: &impl Columns, column: &'static str) -> Result<u64, StoreError> {
    let value: i64 = row.value(column)?;
    u64::try_from(value).map_err(|_| StoreError::BadValue(column))
}

pub(super) fn optional_sats(
    row: &impl Columns,
    column: &'static str,
) -> Result<Option<u64>, StoreError> {
    let value: Option<i64> = row.value(column)?;
    value.map(u64::try_from).transpose().map_err(|_| StoreError::BadValue(column))
}

pub(super) fn number<T: TryFrom<i64>>(
    row: &impl Columns,
    column: &'static str,
) -> Result<T, StoreError> {
    let value: i64 = row.value(column)?;
    T::try_from(value).map_err(|_| StoreError::BadValue(column))
}

pub(super) fn time(row: &impl Columns, column: &'static str) -> Result<Timestamp, StoreError> {
    Ok(Timestamp::from_ms(row.value(column)?))
}

pub(super) fn optional_time(
    row: &impl Columns,
    column: &'static str,
) -> Result<Option<Timestamp>, StoreError> {
    let value: Option<i64> = row.value(column)?;
    Ok(value.map(Timestamp::from_ms))
}

pub(super) fn id(row: &impl Columns, column: &'static str) -> Result<Id, StoreError> {
    Ok(Id::from_bytes(row.value(column)?))
}

pub(super) fn optional_id(
    row: &impl Columns,
    column: &'static str,
) -> Result<Option<Id>, StoreError> {
    let value: Option<[u8; 20]> = row.value(column)?;
    Ok(value.map(Id::from_bytes))
}

pub(super) fn txid(row: &impl Columns, column: &'static str) -> Result<Txid, StoreError> {
    Ok(Txid::from_byte_array(row.value(column)?))
}

pub(super) fn optional_txid(
    row: &impl Columns,
    column: &'static str,
) -> Result<Option<Txid>, StoreError> {
    let value: Option<[u8; 32]> = row.value(column)?;
    Ok(value.map(Txid::from_byte_array))
}

pub(super) fn block_hash(
    row: &impl Columns,
    column: &'static str,
) -> Result<BlockHash, StoreError> {
    Ok(BlockHash::from_byte_array(row.value(column)?))
}

pub(super) fn text<'a>(row: &'a impl Columns, column: &'static str) -> Result<&'a str, StoreError> {
    row.get_ref(column)?.as_str().map_err(|_| StoreError::BadValue(column))
}

/// A value stored as its text (a state, a kind).
pub(super) fn parsed<T: FromStr>(
    row: &impl Columns,
    column: &'static str,
) -> Result<T, StoreError> {
    text(row, column)?.parse().map_err(|_| StoreError::BadValue(column))
}

pub(super) fn currency(row: &impl Columns, column: &'static str) -> Result<Currency, StoreError> {
    Currency::from_code(text(row, column)?).ok_or(StoreError::BadValue(column))
}

pub(super) fn rate(row: &impl Columns, column: &'static str) -> Result<Rate, StoreError> {
    Rate::parse(text(row, column)?).map_err(|_| StoreError::BadValue(column))
}

/// Txids one after the other, 32 bytes each.
pub(super) fn txids_column(txids: &[Txid]) -> Vec<u8> {
    txids.iter().flat_map(|txid| txid.to_byte_array()).collect()
}

pub(super) fn txids(row: &impl Columns, column: &'static str) -> Result<Vec<Txid>, StoreError> {
    let bytes: Vec<u8> = row.value(column)?;
    bytes
        .chunks(32)
        .map(|chunk| Txid::from_slice(chunk).map_err(|_| StoreError::BadValue(column)))
        .collect()
}

/// A transaction's position as the columns `position` and `block_height`.
pub(super) const fn position_columns(position: &TxPosition) -> (&'static str, Option<u32>) {
    match position {
        TxPosition::Block { height, .. } => ("block", Some(*height)),
        TxPosition::Mempool { .. } => ("mempool", None),
        TxPosition::Absent => ("absent", None),
    }
}

/// The reverse of [`position_columns`]. Reads `position` before `block_height`.
pub(super) fn batch_position(row: &impl Columns) -> Result<Position, StoreError> {
    let position = text(row, "position")?;
    let height: Option<u32> = row.value("block_height")?;
    match (position, height) {
        ("block", Some(height)) => Ok(Position::Block { height }),
        ("mempool", _) => Ok(Position::Mempool),
        ("absent", _) => Ok(Position::Absent),
        _ => Err(StoreError::BadValue("position")),
    }
}
