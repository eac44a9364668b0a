//! What the merchant demands of a payment, frozen with it at its creation.

/// What an overpayment by a single transaction does to the payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overpayment {
    /// The payment follows its way as paid; an anomaly tells of the surplus.
    Confirm,
    /// The payment becomes INVALID instead of CONFIRMED.
    Invalidate,
}

/// The rules of one payment, frozen at its creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Confirmations that counting coins need; 0 accepts them unconfirmed under conditions.
    pub confirmations: u32,
    /// With `confirmations` 0: how long a transaction and its conflicts must have been quiet.
    pub zero_conf_quiet_ms: i64,
    /// How much less than the amount is enough, per mille of the amount, rounded down (0 to 100).
    pub tolerance_per_mille: u16,
    /// What a single overpaying transaction does.
    pub overpayment: Overpayment,
    /// Confirmations that the coins of an anomaly need before it is raised.
    pub anomaly_confirmations: u32,
    /// How long after the deadline coins may have appeared and still be in time, when the
    /// closing look finds them.
    pub offline_grace_ms: i64,
}
