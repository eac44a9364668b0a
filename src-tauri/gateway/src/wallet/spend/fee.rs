//! What a transaction pays to be mined.

use bitcoin::FeeRate;

/// The lowest rate that nodes relay, and what a replacement pays at least for its own relay.
pub(super) const RELAY_RATE: FeeRate = FeeRate::BROADCAST_MIN;

/// No rate was ever near it; below it no sum of fees overflows.
pub(super) const MAX_RATE: FeeRate = FeeRate::from_sat_per_vb_u32(100_000);

/// The fee that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FeeWanted {
    /// For the transaction's own size. Below 1 sat/vB it counts as 1 sat/vB.
    pub rate: FeeRate,
    /// Paid besides, for unconfirmed ancestors that pay less than the rate themselves.
    pub for_ancestors_sats: u64,
    /// The fees of all that it replaces; `None` where it replaces nothing. A replacement pays these and 1 sat/vB of its
    /// own size more, at least (BIP125).
    pub replaced_sats: Option<u64>,
}

/// What a signed transaction pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Paid {
    pub fee_sats: u64,
    pub vsize: u64,
}

impl FeeWanted {
    /// A rate and nothing besides.
    pub(crate) const fn at(rate: FeeRate) -> Self {
        Self { rate, for_ancestors_sats: 0, replaced_sats: None }
    }

    /// The same, and besides what its unconfirmed ancestors lack together to pay this rate themselves.
    pub(crate) fn lifting(self, ancestors: Paid) -> Self {
        Self { for_ancestors_sats: self.lacking(ancestors), ..self }
    }

    /// The satoshis that transactions lack together to pay this rate.
    pub(super) fn lacking(&self, ancestors: Paid) -> u64 {
        self.by_rate(ancestors.vsize).saturating_sub(ancestors.fee_sats)
    }

    /// The same, but enough to replace any of these: more than the highest fee, at more than the highest rate. Whatever
    /// version a node knows, it takes the new one.
    pub(crate) fn replacing(self, versions: &[Paid]) -> Self {
        // In satoshis for a thousand weight units: the next above theirs.
        let above = |paid: &Paid| paid.fee_sats.saturating_mul(250) / paid.vsize.max(1) + 1;
        let rate =
            versions.iter().map(above).max().map_or(self.rate, |above| self.rate.max(FeeRate::from_sat_per_kwu(above)));
        Self { rate, replaced_sats: versions.iter().map(|paid| paid.fee_sats).max(), ..self }
    }

    /// The same, and enough to replace transactions that pay these fees together: what rests on a replaced one goes with it.
    pub(crate) fn above(self, fees_sats: u64) -> Self {
        Self { replaced_sats: self.replaced_sats.max(Some(fees_sats)), ..self }
    }

    /// The fee of a transaction of this size, rounded up.
    pub(crate) fn sats(&self, vsize: u64) -> u64 {
        self.by_rate(vsize).saturating_add(self.for_ancestors_sats).max(self.for_replacement(vsize))
    }

    /// The share of the fee that goes by the rate, rounded up.
    pub(super) fn by_rate(&self, vsize: u64) -> u64 {
        sats(self.own_rate(), vsize)
    }

    /// The least that a replacement of this size pays; 0 where it replaces nothing.
    pub(super) fn for_replacement(&self, vsize: u64) -> u64 {
        self.replaced_sats.map_or(0, |replaced| replaced.saturating_add(sats(RELAY_RATE, vsize)))
    }

    /// What is paid at most beyond the share that goes by the rate, for any size from this one on.
    pub(super) fn fixed(&self, smallest_vsize: u64) -> u64 {
        // The rate is at least what a replacement pays for its own size: the larger, the less is missing. The one more
        // is for roundings of the rate.
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
