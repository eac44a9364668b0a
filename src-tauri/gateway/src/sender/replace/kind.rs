//! The kind of a replacement, and the consent of staff.

use bitcoin::FeeRate;
use tillgate_domain::id::Id;

use super::error::ReplaceError;
use super::target::{Target, abandon_target, bump_target};
use crate::store::Reader;

#[derive(Clone, Copy)]
pub(super) enum Kind {
    HigherFee { fee_rate: Option<FeeRate> },
    GivingUp { all: bool },
}

/// The fee to which staff agreed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Agreed {
    /// A fee above the sum that the transaction pays out is allowed too.
    pub is_forced: bool,
    /// The highest fee, if they were shown one.
    pub fee_sats: Option<u64>,
}

impl Kind {
    /// The transaction to replace; `None` if none is stored yet.
    pub(super) fn target(self, reader: &Reader<'_>, id: Id) -> Result<Option<Target>, ReplaceError> {
        let payout = reader.payout(&id)?.ok_or(ReplaceError::NoSuchPayout(id))?;
        match self {
            Self::HigherFee { .. } => bump_target(reader, &payout).map(Some),
            Self::GivingUp { all } => abandon_target(reader, &payout, all),
        }
    }

    /// Whether the replacement pays the payouts, and may spend further coins for its fee.
    pub(super) const fn pays(self) -> bool {
        matches!(self, Self::HigherFee { .. })
    }

    pub(super) const fn act(self) -> &'static str {
        match self {
            Self::HigherFee { .. } => "payouts bump",
            Self::GivingUp { .. } => "payouts abandon",
        }
    }
}
