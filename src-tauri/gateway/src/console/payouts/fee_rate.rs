//! The format of fee rates for people.

/// The rate of a fee in satoshis per virtual byte, cut to 2 decimals.
pub(super) fn rate_shown(fee_sats: u64, vsize: u64) -> String {
    let hundredths = fee_sats.saturating_mul(100) / vsize.max(1);
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}
