//! A payment and its states (interface, section 2). [`crate::advance`] decides which look leads to
//! which state.

mod history;
mod price;
mod state;

use crate::id::Id;
use crate::money::{self, Currency, Rate};
use crate::policy::{Policy, PolicySettings};
use crate::time::Timestamp;

pub use history::{Cause, ConflictChange, NotACause, NotAConflictChange, WhyInvalid};
pub use price::{Price, PriceRefusal};
pub use state::{NotAPaymentState, PaymentState, TRANSITIONS};

/// Time that a customer has to pay, in milliseconds.
pub const LIFETIME_MS: i64 = 30 * 60 * 1_000;

/// A payment: its terms, and the decisions so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    /// Its identifier.
    pub id: Id,
    /// The current state.
    pub state: PaymentState,
    /// The amount to pay.
    pub amount_sats: u64,
    /// The least that an output to its address may hold, in satoshis. Nodes relay no smaller
    /// output.
    pub dust_limit_sats: u64,
    /// The price in minor units of `currency`.
    pub price_minor: i64,
    /// The currency of the price.
    pub currency: Currency,
    /// The exchange rate for all arithmetic of this payment.
    pub rate: Rate,
    /// Creation, cut to the second.
    pub created_at: Timestamp,
    /// `created_at` + 30 minutes, plus any later forward jumps of the clock.
    pub expires_at: Timestamp,
    /// The merchant's rules, frozen at creation.
    pub policy: Policy,
    /// When the closing look happened, if it has.
    pub closed_at: Option<Timestamp>,
    /// The sum that staff accepted, if they did.
    pub accepted_sats: Option<u64>,
    /// When it first became CONFIRMED; never changes.
    pub confirmed_at: Option<Timestamp>,
    /// The sum of the coins that counted at the last look.
    pub paid_sats: u64,
    /// Whether the last look saw a conflict that takes back coins of the CONFIRMED payment.
    pub conflict_seen: bool,
}

impl Payment {
    /// Makes a NEW payment at `now` under the merchant's present rules. The confirmations that it
    /// needs follow from two rates: `usd` is the last known rate of the US dollar, and `small` the
    /// fresh rate of the currency of [`PolicySettings::zero_conf_up_to`].
    #[must_use]
    pub fn open(
        id: Id,
        price: &Price,
        settings: &PolicySettings,
        usd: Option<Rate>,
        small: Option<Rate>,
        now: Timestamp,
    ) -> Self {
        let &Price { minor, currency, rate, amount_sats, dust_limit_sats } = price;
        let created_at = now.cut_to_second();
        let price_in =
            |other, rate_of_other| money::equivalent(minor, currency, rate, other, rate_of_other);
        let in_usd = price_in(Currency::USD, usd);
        let in_small = price_in(settings.zero_conf_up_to.currency(), small);
        Self {
            id,
            state: PaymentState::New,
            amount_sats,
            dust_limit_sats,
            price_minor: minor,
            currency,
            rate,
            created_at,
            expires_at: created_at.plus_ms(LIFETIME_MS),
            policy: Policy::freeze(settings, in_usd, in_small),
            closed_at: None,
            accepted_sats: None,
            confirmed_at: None,
            paid_sats: 0,
            conflict_seen: false,
        }
    }

    /// The deadline at the creation, without extensions by later clock jumps. Times of other
    /// clocks, such as block times, are compared with it.
    #[must_use]
    pub const fn original_deadline(&self) -> Timestamp {
        self.created_at.plus_ms(LIFETIME_MS)
    }

    /// The first time at which the payment may change without coins: a look after the deadline
    /// closes it.
    #[must_use]
    pub const fn first_due_at(&self) -> Timestamp {
        self.expires_at.plus_ms(1)
    }

    /// Whether staff cancelled it: nothing else moves a deadline forward.
    #[must_use]
    pub const fn is_cancelled(&self) -> bool {
        self.expires_at.ms() < self.original_deadline().ms()
    }

    /// Whether its coins may count before a block holds them (interface, `zeroConfUpTo`).
    #[must_use]
    pub const fn may_be_accepted_unconfirmed(&self) -> bool {
        self.policy.confirmations == 0 && self.paid_sats > 0 && !self.state.is_final()
    }

    /// The deadline of a payment that staff cancels at `now`: the present second, never before the
    /// creation and never later than it was (interface, section 2).
    #[must_use]
    pub fn deadline_if_cancelled(&self, now: Timestamp) -> Timestamp {
        now.cut_to_second().clamp(self.created_at, self.expires_at)
    }

    /// The amount that the payment page requests now: the remainder, but at least the dust limit.
    #[must_use]
    pub fn asked_sats(&self) -> u64 {
        self.amount_sats.saturating_sub(self.paid_sats).max(self.dust_limit_sats)
    }

    /// The least sum that is too much (interface, section 3). A surplus below the dust limit is
    /// not, because it could never be sent back.
    #[must_use]
    pub const fn too_much_sats(&self) -> u64 {
        self.amount_sats.saturating_add(self.dust_limit_sats)
    }

    /// The sum that was paid too much; 0 if the payment is not overpaid.
    #[must_use]
    pub const fn surplus_sats(&self) -> u64 {
        if self.paid_sats >= self.too_much_sats() {
            self.paid_sats.saturating_sub(self.amount_sats)
        } else {
            0
        }
    }

    /// The least sum that pays the payment: the amount less the tolerance (per mille of the amount,
    /// rounded down). After an acceptance by staff, it is at most the accepted sum.
    #[must_use]
    pub fn enough_sats(&self) -> u64 {
        let tolerance =
            u128::from(self.amount_sats) * u128::from(self.policy.tolerance_per_mille) / 1_000;
        let tolerance_sats = u64::try_from(tolerance).unwrap_or(u64::MAX);
        let wanted = self.amount_sats.saturating_sub(tolerance_sats);
        self.accepted_sats.map_or(wanted, |accepted| wanted.min(accepted))
    }

    /// The amount left to pay, in satoshis; negative when overpaid. `amount = paid + remaining`,
    /// always.
    #[must_use]
    pub fn remaining_sats(&self) -> i64 {
        let difference = i128::from(self.amount_sats) - i128::from(self.paid_sats);
        i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
    }

    /// Why it is INVALID; `None` in every other state.
    #[must_use]
    pub const fn why_invalid(&self) -> Option<WhyInvalid> {
        WhyInvalid::in_state(
            self.state,
            self.confirmed_at.is_some(),
            self.too_much_sats(),
            self.paid_sats,
        )
    }

    /// The amount paid, in minor units at the payment's rate (see [`money::paid_minor`]).
    #[must_use]
    pub fn paid_minor(&self) -> i64 {
        money::paid_minor(
            self.price_minor,
            self.amount_sats,
            self.paid_sats,
            self.rate,
            self.currency,
        )
    }

    /// The amount left to pay, in minor units; negative when overpaid. `price = paid + remaining`,
    /// always.
    #[must_use]
    pub fn remaining_minor(&self) -> i64 {
        self.price_minor.saturating_sub(self.paid_minor())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::policy::{Policy, PolicySettings};

    fn payment(amount_sats: u64, paid_sats: u64) -> Payment {
        Payment {
            id: Id::from_bytes([1; 20]),
            state: PaymentState::New,
            amount_sats,
            dust_limit_sats: 294,
            price_minor: 1_000,
            currency: Currency::USD,
            rate: Rate::parse("65000").unwrap(),
            created_at: Timestamp::from_ms(0),
            expires_at: Timestamp::from_ms(1_800_000),
            policy: Policy::freeze(&PolicySettings::default(), None, None),
            closed_at: None,
            accepted_sats: None,
            confirmed_at: None,
            paid_sats,
            conflict_seen: false,
        }
    }

    #[test]
    fn a_state_reads_back_its_name() {
        for state in PaymentState::ALL {
            assert_eq!(state.to_string().parse(), Ok(state));
        }
        for text in ["", "new", "PAID"] {
            assert_eq!(text.parse::<PaymentState>(), Err(NotAPaymentState), "{text}");
        }
    }

    #[test]
    fn the_transition_table_has_no_duplicate_and_no_self_loop() {
        for (index, (from, to)) in TRANSITIONS.iter().enumerate() {
            assert_ne!(from, to);
            assert!(!TRANSITIONS[..index].contains(&(*from, *to)), "{from} to {to} twice");
        }
        let out_of_confirmed =
            TRANSITIONS.iter().filter(|(from, _)| *from == PaymentState::Confirmed);
        assert_eq!(out_of_confirmed.count(), 1, "CONFIRMED is left for INVALID alone");
    }

    #[test]
    fn tolerance_rounds_down_and_acceptance_lowers_the_enough_sum() {
        let mut payment = payment(15_385, 0);
        assert_eq!(payment.enough_sats(), 15_385);
        payment.policy.tolerance_per_mille = 10;
        assert_eq!(payment.enough_sats(), 15_385 - 153);
        payment.accepted_sats = Some(20_000);
        assert_eq!(payment.enough_sats(), 15_385 - 153);
        payment.accepted_sats = Some(7);
        assert_eq!(payment.enough_sats(), 7);
    }

    #[test]
    fn a_payment_opens_on_a_second_and_is_due_after_its_deadline() {
        let price = Price::at(Rate::parse("65000").unwrap(), 0, 1_000, Currency::USD, 294).unwrap();
        let now = Timestamp::from_ms(1_700_000_000_999);
        let payment = Payment::open(
            Id::from_bytes([1; 20]),
            &price,
            &PolicySettings::default(),
            None,
            None,
            now,
        );
        let created_at = Timestamp::from_ms(1_700_000_000_000);
        assert_eq!(
            (payment.state, payment.amount_sats, payment.price_minor),
            (PaymentState::New, 15_385, 1_000)
        );
        assert_eq!(
            (payment.created_at, payment.expires_at),
            (created_at, created_at.plus_ms(1_800_000))
        );
        assert_eq!(payment.dust_limit_sats, 294);
        assert_eq!(payment.first_due_at(), created_at.plus_ms(1_800_001));
        assert_eq!(
            payment.policy.confirmations, 1,
            "the tier of 10 USD, whatever the last known rate"
        );
    }

    #[test]
    fn the_requested_amount_is_at_least_the_dust_limit() {
        for (paid_sats, asked_sats) in
            [(0, 15_385), (15_000, 385), (15_200, 294), (15_385, 294), (20_000, 294)]
        {
            assert_eq!(payment(15_385, paid_sats).asked_sats(), asked_sats, "{paid_sats}");
        }
    }

    #[test]
    fn too_much_begins_at_the_dust_limit() {
        for (paid_sats, surplus_sats) in
            [(0, 0), (15_385, 0), (15_385 + 293, 0), (15_385 + 294, 294), (20_000, 4_615)]
        {
            assert_eq!(payment(15_385, paid_sats).surplus_sats(), surplus_sats, "{paid_sats}");
        }
    }

    #[test]
    fn the_remainder_is_negative_when_overpaid() {
        let payment = payment(15_385, 15_385 + 15_385);
        assert_eq!((payment.remaining_sats(), payment.remaining_minor()), (-15_385, -1_000));
    }

    proptest! {
        #[test]
        fn paid_and_remaining_make_the_amount(amount in 0..=money::MAX_SATS, paid in 0..=money::MAX_SATS) {
            let payment = payment(amount, paid);
            let sum = i128::from(payment.paid_sats) + i128::from(payment.remaining_sats());
            prop_assert_eq!(sum, i128::from(amount));
            prop_assert_eq!(payment.paid_minor() + payment.remaining_minor(), payment.price_minor);
        }
    }
}
