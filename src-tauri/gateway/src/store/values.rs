//! How the domain's values stand in columns, in both directions.

use std::str::FromStr;

use bitcoin::hashes::Hash as _;
use bitcoin::{BlockHash, Txid};
use rusqlite::Row;
use tillgate_domain::id::Id;
use tillgate_domain::money::{Currency, Rate};
use tillgate_domain::time::Timestamp;

use super::StoreError;

/// Satoshis for an integer column: 21 million BTC are 2.1e15, far below its range.
pub(super) fn sats_column(sats: u64) -> i64 {
    i64::try_from(sats).unwrap_or(i64::MAX)
}

pub(super) fn sats(row: &Row<'_>, column: &'static str) -> Result<u64, StoreError> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|_| StoreError::BadValue(column))
}

pub(super) fn optional_sats(row: &Row<'_>, column: &'static str) -> Result<Option<u64>, StoreError> {
    let value: Option<i64> = row.get(column)?;
    value.map(u64::try_from).transpose().map_err(|_| StoreError::BadValue(column))
}

pub(super) fn number<T: TryFrom<i64>>(row: &Row<'_>, column: &'static str) -> Result<T, StoreError> {
    let value: i64 = row.get(column)?;
    T::try_from(value).map_err(|_| StoreError::BadValue(column))
}

pub(super) fn time(row: &Row<'_>, column: &'static str) -> Result<Timestamp, StoreError> {
    Ok(Timestamp::from_ms(row.get(column)?))
}

pub(super) fn optional_time(row: &Row<'_>, column: &'static str) -> Result<Option<Timestamp>, StoreError> {
    let value: Option<i64> = row.get(column)?;
    Ok(value.map(Timestamp::from_ms))
}

pub(super) fn id(row: &Row<'_>, column: &'static str) -> Result<Id, StoreError> {
    Ok(Id::from_bytes(row.get(column)?))
}

pub(super) fn optional_id(row: &Row<'_>, column: &'static str) -> Result<Option<Id>, StoreError> {
    let value: Option<[u8; 20]> = row.get(column)?;
    Ok(value.map(Id::from_bytes))
}

pub(super) fn txid(row: &Row<'_>, column: &'static str) -> Result<Txid, StoreError> {
    Ok(Txid::from_byte_array(row.get(column)?))
}

pub(super) fn optional_txid(row: &Row<'_>, column: &'static str) -> Result<Option<Txid>, StoreError> {
    let value: Option<[u8; 32]> = row.get(column)?;
    Ok(value.map(Txid::from_byte_array))
}

pub(super) fn block_hash(row: &Row<'_>, column: &'static str) -> Result<BlockHash, StoreError> {
    Ok(BlockHash::from_byte_array(row.get(column)?))
}

/// A value that stands as its text (a state, a kind).
pub(super) fn parsed<T: FromStr>(row: &Row<'_>, column: &'static str) -> Result<T, StoreError> {
    let text: String = row.get(column)?;
    text.parse().map_err(|_| StoreError::BadValue(column))
}

pub(super) fn currency(row: &Row<'_>, column: &'static str) -> Result<Currency, StoreError> {
    let text: String = row.get(column)?;
    Currency::from_code(&text).ok_or(StoreError::BadValue(column))
}

pub(super) fn rate(row: &Row<'_>, column: &'static str) -> Result<Rate, StoreError> {
    let text: String = row.get(column)?;
    Rate::parse(&text).map_err(|_| StoreError::BadValue(column))
}

/// Transaction ids one after the other, 32 bytes each.
pub(super) fn txids_column(txids: &[Txid]) -> Vec<u8> {
    txids.iter().flat_map(|txid| txid.to_byte_array()).collect()
}

pub(super) fn txids(row: &Row<'_>, column: &'static str) -> Result<Vec<Txid>, StoreError> {
    let bytes: Vec<u8> = row.get(column)?;
    bytes.chunks(32).map(|chunk| Txid::from_slice(chunk).map_err(|_| StoreError::BadValue(column))).collect()
}
