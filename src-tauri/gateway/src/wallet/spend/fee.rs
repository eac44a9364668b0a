//! The fee that a transaction pays.

use bitcoin::FeeRate;

/// The lowest rate that nodes relay, and the least that a replacement adds for its own relay.
pub(super) const RELAY_RATE: FeeRate = FeeRate::BROADCAST_MIN;

/// Far above any rate ever seen. Up to it no sum of fees overflows.
pub(super) const MAX_RATE: FeeRate = FeeRate::from_sat_per_vb_u32(100_000);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FeeWanted {
    /// For the transaction's own size. Below 1 sat/vB it counts as 1 sat/vB.
    pub rate: FeeRate,
    /// Added for unconfirmed ancestors that pay less than the rate themselves.
    pub for_ancestors_sats: u64,
    /// The fees of all replaced transactions; `None` if it replaces none. A replacement pays at least these and 1
    /// sat/vB of its own size (BIP125).
    pub replaced_sats: Option<u64>,
}

/// Fee and size of a signed transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Paid {
    pub fee_sats: u64,
    pub vsize: u64,
}

impl FeeWanted {
    /// A rate and no other parts.
    pub(crate) const fn at(rate: FeeRate) -> Self {
        Self { rate, for_ancestors_sats: 0, replaced_sats: None }
    }

    /// Adds the satoshis that its unconfirmed ancestors lack in all to pay this rate.
    pub(crate) fn lifting(self, ancestors: Paid) -> Self {
        Self { for_ancestors_sats: self.lacking(ancestors), ..self }
    }

    /// Satoshis that transactions lack in all to pay this rate.
    pub(super) fn lacking(&self, ancestors: Paid) -> u64 {
        self.by_rate(ancestors.vsize).saturating_sub(ancestors.fee_sats)
    }

    /// Raises the fee to replace any of these versions: above their highest fee, at above their highest rate. A node
    /// then accepts the new version whichever old one it has.
    pub(crate) fn replacing(self, versions: &[Paid]) -> Self {
        // The next rate above theirs, in satoshis for a thousand weight units.
        let above = |paid: &Paid| paid.fee_sats.saturating_mul(250) / paid.vsize.max(1) + 1;
        let rate =
            versions.iter().map(above).max().map_or(self.rate, |above| self.rate.max(FeeRate::from_sat_per_kwu(above)));
        Self { rate, replaced_sats: versions.iter().map(|paid| paid.fee_sats).max(), ..self }
    }

    /// Raises the fee to replace transactions that pay these fees in all: those that rest on a replaced one are
    /// replaced too.
    pub(crate) fn above(self, fees_sats: u64) -> Self {
        Self { replaced_sats: self.replaced_sats.max(Some(fees_sats)), ..self }
    }

    /// The fee of a transaction of this size, rounded up.
    pub(crate) fn sats(&self, vsize: u64) -> u64 {
        self.by_rate(vsize).saturating_add(self.for_ancestors_sats).max(self.for_replacement(vsize))
    }

    /// The part of the fee that the rate gives, rounded up.
    pub(super) fn by_rate(&self, vsize: u64) -> u64 {
        sats(self.own_rate(), vsize)
    }

    /// The least fee of a replacement of this size; 0 if it replaces nothing.
    pub(super) fn for_replacement(&self, vsize: u64) -> u64 {
        self.replaced_sats.map_or(0, |replaced| replaced.saturating_add(sats(RELAY_RATE, vsize)))
    }

    /// The most that is paid beyond the rate's part, for any size from this one on.
    pub(super) fn fixed(&self, smallest_vsize: u64) -> u64 {
        // The rate is at least that of a replacement's own size, so a larger size lacks less. One more satoshi covers
        // the rounding of the rate.
        let missing = self.sats(smallest_vsize).saturating_sub(self.by_rate(smallest_vsize));
        missing.saturating_add(u64::from(self.replaced_sats.is_some()))
    }

    pub(super) fn own_rate(&self) -> FeeRate {
        self.rate.max(RELAY_RATE)
    }
}

/// The fee of a size at a rate, rounded up.
pub(super) fn sats(rate: FeeRate, vsize: u64) -> u64 {
    rate.to_sat_per_kwu().saturating_mul(vsize.saturating_mul(4)).div_ceil(1000)
}
