//! The kind of a replacement, and the consent of staff.

use bitcoin::FeeRate;
use tillgate_domain::id::Id;
use tillgate_store::Reader;

use super::error::ReplaceError;
use super::target::{Target, abandon_target, bump_target};

#[derive(Clone, Copy)]
pub enum Kind {
    HigherFee { fee_rate: Option<FeeRate> },
    GivingUp { all: bool },
}

/// The consent of staff to a fee.
#[derive(Debug, Clone, Copy, Default)]
pub struct Agreed {
    /// Whether a bump may pay a fee above the sum that the transaction pays out.
    pub is_forced: bool,
    /// The highest fee that staff agreed to; `None` if they were shown no fee.
    pub fee_sats: Option<u64>,
}

impl Kind {
    /// The transaction to replace; `None` if the payout has none yet, which only an abandonment
    /// allows.
    pub fn target(self, reader: &Reader<'_>, id: Id) -> Result<Option<Target>, ReplaceError> {
        let payout = reader.payout(&id)?.ok_or(ReplaceError::NoSuchPayout(id))?;
        match self {
            Self::HigherFee { .. } => bump_target(reader, &payout).map(Some),
            Self::GivingUp { all } => abandon_target(reader, &payout, all),
        }
    }

    /// Whether the replacement pays the payouts. Only then it may spend further coins for its fee.
    pub const fn pays(self) -> bool {
        matches!(self, Self::HigherFee { .. })
    }

    pub const fn act(self) -> &'static str {
        match self {
            Self::HigherFee { .. } => "payouts bump",
            Self::GivingUp { .. } => "payouts abandon",
        }
    }
}
