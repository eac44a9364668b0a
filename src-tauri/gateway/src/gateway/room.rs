//! Free room on the disk, below which new records are refused.

use tillgate_machine::disk::DiskNearlyFull;

use super::resources::Gateway;

/// Bytes that an open payment may still need on the disk: its expiry with a notification, and all
/// attempts at the notification with the answers of the shop's server. The largest payment needs
/// 57 kB (`the_largest_payments_use_no_more_than_their_reserved_space`). Other changes, and the
/// attempts for payments that have ended, are left to the reserve.
const OPEN_PAYMENT_BYTES: u64 = 60_000;

impl Gateway {
    /// The free bytes below which new records are refused: the reserve, and the room for as many
    /// open payments as all keys may have, and as many again for staff. Without a bound
    /// (`keyOpenPayments` 0) it is the reserve alone.
    #[must_use]
    pub fn kept_bytes(&self) -> u64 {
        let makers = self.access.keys.live_count().saturating_add(1);
        let open_payments =
            u64::from(self.settings.snapshot().key_open_payments).saturating_mul(makers);
        self.machine
            .disk
            .reserve_bytes()
            .saturating_add(open_payments.saturating_mul(OPEN_PAYMENT_BYTES))
    }

    /// Whether the disk has room for a new record.
    ///
    /// # Errors
    /// [`DiskNearlyFull`]; never if the system does not tell how much is free.
    pub fn check_room(&self) -> Result<(), DiskNearlyFull> {
        self.machine.disk.check_room(self.kept_bytes())
    }
}
