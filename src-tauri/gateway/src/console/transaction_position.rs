//! The place of a transaction, as people know it.

use serde::{Deserialize, Serialize};
use tillgate_domain::batch;
use tillgate_domain::receipt::{Position, Receipt};
use ts_rs::TS;

/// The place of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum TransactionPosition {
    /// It waits for a block.
    Mempool,
    /// It is in a block.
    Block,
    /// It was seen and is in neither now; it may come back.
    Missing,
    /// It will not come back.
    Gone,
}

impl From<&Receipt> for TransactionPosition {
    fn from(receipt: &Receipt) -> Self {
        match receipt.position {
            _ if receipt.gone => Self::Gone,
            Position::Block { .. } => Self::Block,
            Position::Mempool => Self::Mempool,
            Position::Absent { .. } => Self::Missing,
        }
    }
}

impl From<batch::Position> for TransactionPosition {
    fn from(position: batch::Position) -> Self {
        match position {
            batch::Position::Block { .. } => Self::Block,
            batch::Position::Mempool => Self::Mempool,
            batch::Position::Absent => Self::Missing,
        }
    }
}
