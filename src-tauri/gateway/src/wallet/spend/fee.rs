//! The fee that a transaction pays.

use bitcoin::FeeRate;

/// The lowest fee rate that nodes relay.
pub const RELAY_RATE: FeeRate = FeeRate::BROADCAST_MIN;

/// The highest accepted fee rate, far above any real rate. Up to this rate no sum of fees
/// overflows.
pub const MAX_RATE: FeeRate = FeeRate::from_sat_per_vb_u32(100_000);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeeWanted {
    /// The rate for the transaction's own size. A rate below 1 sat/vB counts as 1 sat/vB.
    pub rate: FeeRate,
    /// Satoshis added for unconfirmed ancestors that pay less than the rate (child pays for
    /// parent).
    pub for_ancestors_sats: u64,
    /// The fees of all replaced transactions; `None` if it replaces none. A replacement pays at
    /// least these and the rate `increment` for its own size (BIP125, rule 4).
    pub replaced_sats: Option<u64>,
    pub increment: FeeRate,
}

/// Fee and size of a signed transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paid {
    pub fee_sats: u64,
    pub vsize: u64,
}

impl FeeWanted {
    /// A fee by the rate alone.
    pub const fn at(rate: FeeRate) -> Self {
        Self { rate, for_ancestors_sats: 0, replaced_sats: None, increment: RELAY_RATE }
    }

    /// Adds the satoshis that the unconfirmed ancestors together lack to pay this rate.
    pub fn paying_for_ancestors(self, ancestors: Paid) -> Self {
        Self { for_ancestors_sats: self.shortfall_sats(ancestors), ..self }
    }

    /// Satoshis that transactions together lack to pay this rate.
    pub fn shortfall_sats(&self, ancestors: Paid) -> u64 {
        self.by_rate(ancestors.vsize).saturating_sub(ancestors.fee_sats)
    }

    /// Raises the fee above the highest fee and the highest rate of these versions. A node then
    /// accepts the new version, whichever of them it has.
    pub fn replacing(self, versions: &[Paid]) -> Self {
        // The next rate above that of a version, in satoshis per thousand weight units.
        let above = |paid: &Paid| paid.fee_sats.saturating_mul(250) / paid.vsize.max(1) + 1;
        let rate = versions
            .iter()
            .map(above)
            .max()
            .map_or(self.rate, |above| self.rate.max(FeeRate::from_sat_per_kwu(above)));
        Self { rate, replaced_sats: versions.iter().map(|paid| paid.fee_sats).max(), ..self }
    }

    /// Raises the fee to replace transactions that together pay these fees: a version and its
    /// descendants, which a node evicts with it.
    pub fn replacing_fees(self, fees_sats: u64) -> Self {
        Self { replaced_sats: self.replaced_sats.max(Some(fees_sats)), ..self }
    }

    /// Sets the rate that a replacement adds.
    pub const fn adding(self, increment: FeeRate) -> Self {
        Self { increment, ..self }
    }

    /// The fee of a transaction of this size, rounded up.
    pub fn sats(&self, vsize: u64) -> u64 {
        self.by_rate(vsize).saturating_add(self.for_ancestors_sats).max(self.for_replacement(vsize))
    }

    /// The fee by the rate alone, rounded up.
    pub fn by_rate(&self, vsize: u64) -> u64 {
        sats(self.own_rate(), vsize)
    }

    /// The least fee of a replacement of this size; 0 if it replaces nothing.
    pub fn for_replacement(&self, vsize: u64) -> u64 {
        self.replaced_sats
            .map_or(0, |replaced| replaced.saturating_add(sats(self.increment, vsize)))
    }

    /// The most that is paid beyond [`Self::by_rate`], for any vsize of at least `smallest_vsize`.
    pub fn max_beyond_rate(&self, smallest_vsize: u64) -> u64 {
        // The rate of a replacement is at least the increment, so this part shrinks as the vsize
        // grows. One more satoshi covers the rounding of the rate.
        let missing = self.sats(smallest_vsize).saturating_sub(self.by_rate(smallest_vsize));
        missing.saturating_add(u64::from(self.replaced_sats.is_some()))
    }

    pub fn own_rate(&self) -> FeeRate {
        let least = self.replaced_sats.map_or(RELAY_RATE, |_| self.increment.max(RELAY_RATE));
        self.rate.max(least)
    }
}

/// The fee of a size at a rate, rounded up.
pub fn sats(rate: FeeRate, vsize: u64) -> u64 {
    rate.to_sat_per_kwu().saturating_mul(vsize.saturating_mul(4)).div_ceil(1000)
}
