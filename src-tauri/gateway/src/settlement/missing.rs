//! The disk quota of absent transactions that paid this wallet.

/// Disk quota for the missing transactions that paid one script. Without a quota, endless replacements or transactions
/// forged by a server could fill the disk. Above the quota, an unconfirmed replacement is ignored until mined.
pub(super) const MISSING_BYTES_MAX: u64 = 4 * 1_024 * 1_024;
