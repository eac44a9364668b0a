//! Decides whether a look may close a payment by time. The clock must be trusted
//! ([`crate::checked_clock`]), and the backend must not stand still: such a backend answers, but
//! may not have seen the customer's coins. A doubt only delays the closing, for a day at most.

use crate::checked_clock::{CheckedClock, ClockFault, PUT_OFF_MAX_MS};
use crate::payment::Payment;
use crate::time::Timestamp;

/// A best block of more than this age shows that the backend stands still. Such a gap between
/// blocks comes once in eight thousand.
const OLD_BLOCK_MS: i64 = 90 * 60_000;

/// After a doubt a backend needs this long at most to hear of new blocks.
const HEARS_WITHIN_MS: i64 = 2 * 60_000;

/// After a longer pause between looks the machine may have slept, or lost its line, with its
/// backend.
const PAUSE_MS: i64 = 5 * 60_000;

/// Why a node hears of no blocks and no transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutOff {
    /// Its network is switched off.
    SwitchedOff,
    /// It has no connections to other nodes.
    NoConnections,
}

/// Why a backend stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standstill {
    /// The node is cut off from the network.
    CutOff(CutOff),
    /// Its best block is old.
    OldBlock {
        /// The age of the best block.
        age_ms: i64,
    },
}

/// The facts of a look that cause doubts.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    /// Start of the look.
    pub at: Timestamp,
    /// Header time of the best block.
    pub tip_time: Timestamp,
    /// As in [`CheckedClock::look`].
    pub median_time: Option<Timestamp>,
    /// As in [`CheckedClock::look`].
    pub servers_ahead_ms: Option<i64>,
    /// As the backend reports it.
    pub cut_off: Option<CutOff>,
}

/// The doubts that people are told of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Doubts {
    /// The evidence against the clock.
    pub clock: Option<ClockFault>,
    /// Why the backend stands still.
    pub standstill: Option<Standstill>,
}

/// The evidence of the looks so far. There is none on a regtest chain, which has blocks only on
/// demand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Closing {
    clock: CheckedClock,
    standstill: Option<Standstill>,
    /// Start of the last look.
    looked_at: Option<Timestamp>,
    /// Start of the last look that found the backend at a standstill, or that was the first after a
    /// start or a pause.
    doubted_at: Option<Timestamp>,
}

impl Standstill {
    /// Whether a backend with this best block stands still at `now`. `now` is a time that servers
    /// confirm, if any do.
    #[must_use]
    pub fn detect(cut_off: Option<CutOff>, tip_time: Timestamp, now: Timestamp) -> Option<Self> {
        let age_ms = now.ms().saturating_sub(tip_time.ms());
        let is_old = age_ms > OLD_BLOCK_MS;
        cut_off.map(Self::CutOff).or_else(|| is_old.then_some(Self::OldBlock { age_ms }))
    }
}

impl Closing {
    /// Takes in the facts of a look. Returns the doubts.
    pub fn look(&mut self, seen: &Seen) -> Doubts {
        let &Seen { at, tip_time, median_time, servers_ahead_ms, cut_off } = seen;
        let clock = self.clock.look(at, tip_time, median_time, servers_ahead_ms);
        self.standstill =
            Standstill::detect(cut_off, tip_time, at.plus_ms(servers_ahead_ms.unwrap_or(0)));
        let begins = self.looked_at.is_none_or(|before| at > before.plus_ms(PAUSE_MS));
        if begins || self.standstill.is_some() {
            self.doubted_at = Some(at);
        }
        self.looked_at = Some(at);
        Doubts { clock, standstill: self.standstill }
    }

    /// Whether the backend hears of new blocks and transactions at `at`. If not, nothing is
    /// accepted unconfirmed.
    #[must_use]
    pub fn hears(&self, at: Timestamp) -> bool {
        self.standstill.is_none()
            && self.doubted_at.is_some_and(|doubted_at| at >= doubted_at.plus_ms(HEARS_WITHIN_MS))
    }

    /// Whether a look at `at` with this best block may close the payment. Staff ended the time of a
    /// cancelled payment, so it needs no trusted clock.
    #[must_use]
    pub fn may_close(&self, payment: &Payment, at: Timestamp, tip_time: Timestamp) -> bool {
        let is_put_off = at <= payment.expires_at.plus_ms(PUT_OFF_MAX_MS);
        if is_put_off && !self.hears(at) {
            return false;
        }
        payment.is_cancelled() || self.clock.may_close(payment.original_deadline(), at, tip_time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advance::tests::payment;
    use crate::payment::PaymentState::New;

    const MINUTE_MS: i64 = 60_000;

    /// The judgement of a look at this minute, with a best block of this minute and a right clock.
    fn looks(
        closing: &mut Closing,
        payment: &Payment,
        (minute, tip): (i64, i64),
        cut_off: Option<CutOff>,
    ) -> bool {
        let at = |minutes: i64| payment.expires_at.plus_ms(minutes * MINUTE_MS);
        let seen = Seen {
            at: at(minute),
            tip_time: at(tip),
            median_time: None,
            servers_ahead_ms: Some(0),
            cut_off,
        };
        closing.look(&seen);
        closing.may_close(payment, at(minute), at(tip))
    }

    #[test]
    fn a_best_block_older_than_90_minutes_puts_the_closing_off_a_day() {
        let (mut closing, payment) = (Closing::default(), payment(New));
        let day = 24 * 60;
        for (minute, tip, closes) in [
            (-2, -10, false),
            (1, -89, true),
            (1, -90, false),
            (day, -90, false),
            (day + 1, -90, true),
        ] {
            assert_eq!(
                looks(&mut closing, &payment, (minute, tip), None),
                closes,
                "{minute}, block {tip}"
            );
        }
    }

    #[test]
    fn nothing_closes_for_two_minutes_after_a_start_a_pause_and_a_standstill() {
        let (mut closing, payment) = (Closing::default(), payment(New));
        for (minute, tip, cut_off, closes) in [
            (1, 0, None, false),
            (2, 0, None, false),
            (3, 0, None, true),
            (9, 0, None, false),
            (11, 0, None, true),
            (12, 0, Some(CutOff::SwitchedOff), false),
            (13, 0, Some(CutOff::NoConnections), false),
            (14, 0, None, false),
            (15, 0, None, true),
            (16, -75, None, false),
            (17, -70, None, false),
            (18, -70, None, true),
        ] {
            assert_eq!(
                looks(&mut closing, &payment, (minute, tip), cut_off),
                closes,
                "minute {minute}"
            );
        }
    }

    #[test]
    fn a_cancelled_payment_waits_for_a_backend_that_stands_still() {
        let (mut closing, mut payment) = (Closing::default(), payment(New));
        payment.expires_at = payment.created_at;
        assert!(!looks(&mut closing, &payment, (1, -91), None));
        assert!(!looks(&mut closing, &payment, (2, -1), None));
        assert!(looks(&mut closing, &payment, (3, -1), None));
    }

    #[test]
    fn the_age_of_a_block_is_told_by_servers_that_agree() {
        let at = Timestamp::from_ms(1_700_000_000_000);
        let by_ms = 3 * 3_600_000;
        let seen = Seen {
            at,
            tip_time: at.plus_ms(-by_ms),
            median_time: None,
            servers_ahead_ms: Some(-by_ms),
            cut_off: None,
        };
        assert_eq!(Closing::default().look(&seen).standstill, None);
        let alone = Seen { servers_ahead_ms: None, ..seen };
        assert_eq!(
            Closing::default().look(&alone).standstill,
            Some(Standstill::OldBlock { age_ms: by_ms })
        );
    }
}
