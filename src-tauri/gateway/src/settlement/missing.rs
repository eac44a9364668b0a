//! The room that transactions take which paid this wallet and are gone.

/// What paid one script, and is missing by now, may take so much of the disk. Whoever replaces a payment again and again, or a server that
/// makes such transactions up, would else fill it: beyond that, what waits in their place is not taken before a block holds it.
pub(super) const MISSING_BYTES_MAX: u64 = 4 * 1_024 * 1_024;
