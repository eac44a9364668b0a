//! A payment and the states it passes through (interface, section 2).

use crate::id::Id;
use crate::money::{Currency, Rate};
use crate::policy::Policy;
use crate::time::Timestamp;

/// The state of a payment. See [`crate::advance`] for what leads from one to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PaymentState {
    /// No coins count yet.
    New,
    /// Coins count, not enough.
    Underpaid,
    /// Enough counts, not yet confirmed as wanted.
    Unconfirmed,
    /// Enough counts and is confirmed as wanted.
    Confirmed,
    /// Closed with nothing that counts.
    Expired,
    /// Closed with too little, overpaid under `invalidate`, or reversed by the chain.
    Invalid,
}

/// A payment as the rules see it: what was asked, and what was decided so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    /// Its identifier.
    pub id: Id,
    /// The state before the look.
    pub state: PaymentState,
    /// What the customer was asked to pay.
    pub amount_sats: u64,
    /// The price in minor units of `currency`.
    pub price_minor: i64,
    /// The currency of the price.
    pub currency: Currency,
    /// The rate of all arithmetic of this payment.
    pub rate: Rate,
    /// Creation, cut to the second.
    pub created_at: Timestamp,
    /// `created_at` + 30 minutes.
    pub expires_at: Timestamp,
    /// The merchant's rules, frozen at creation.
    pub policy: Policy,
    /// When the closing look was, once there was one.
    pub closed_at: Option<Timestamp>,
    /// The sum that staff accepted, once they did.
    pub accepted_sats: Option<u64>,
    /// When it first became CONFIRMED; stays.
    pub confirmed_at: Option<Timestamp>,
    /// The sum of what counted at the last look.
    pub paid_sats: u64,
}
