//! The position of a transaction: mempool, block, missing or gone.

use serde::{Deserialize, Serialize};
use tillgate_domain::batch;
use tillgate_domain::receipt::{Position, Receipt};
use ts_rs::TS;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum TransactionPosition {
    Mempool,
    Block,
    /// It was seen, and is in neither the mempool nor a block now. It may come back.
    Missing,
    /// It is ruled out by another transaction, or was missing for 14 days.
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
