//! The reasons why approved payouts wait. They name no remedy, because the panel and the command
//! line have different ones.

use std::sync::Arc;

use tillgate_domain::money::format_btc;
use tillgate_domain::payout::PayoutState;
use tillgate_domain::time::Timestamp;
use tillgate_gateway::gateway::{Gateway, Wait, WaitCause, Waits};
use tillgate_gateway::settings::Settings;
use tillgate_gateway::{funds, sender};
use tillgate_store::payouts::PayoutRow;
use tillgate_store::sender_hold::Hold;
use tillgate_store::{Reader, StoreError};
use tillgate_told::{Sum, Told as _};

/// The sender's reason for not sending, and the facts that relate it to one payout.
pub struct Waiting {
    /// The reason why the sender does not send.
    pub why: Wait,
    /// The sum of the spendable coins; 0 unless the cause is a lack of coins.
    spendable_sats: u64,
    settings: Arc<Settings>,
    now: Timestamp,
}

/// The facts that the waits of all approved payouts share.
pub struct Queue {
    is_served: bool,
    now: Timestamp,
    hold: Option<Hold>,
    waiting: Option<Waiting>,
    /// When the next batch is due, computed from the oldest approval without a transaction.
    due_at: Option<Timestamp>,
}

/// The facts about one payout that explain its wait.
pub struct Standing {
    /// It was abandoned, and it is not decided yet whether it FAILED or was sent after all.
    pub is_being_given_up: bool,
    /// Its signed transaction must not be broadcast.
    pub is_held_back: bool,
    /// The reason why nothing is signed, if another copy of the wallet may pay the payout.
    pub copy_pays: Option<Wait>,
}

impl Waiting {
    /// The reason why the sender does not send; `None` if it sends.
    pub fn load(gateway: &Gateway, reader: &Reader<'_>) -> Result<Option<Self>, StoreError> {
        let Some(mut why) = gateway.sending.waits_for() else { return Ok(None) };
        // The sender may now hold for another reason.
        if let Some(hold) = reader.sender_hold()?.filter(|_| why.cause.is_hold()) {
            why = WaitCause::from(hold.cause).because(&hold.reason);
        }
        let settings = gateway.settings.snapshot();
        let now = gateway.time.now();
        if why.cause != WaitCause::Coins {
            return Ok(Some(Self { why, spendable_sats: 0, settings, now }));
        }
        let fee_rate = funds::fee_rate_known(gateway, &settings);
        let address_type = funds::address_type(&gateway.wallet, &settings);
        let spendable_sats = funds::spendable_sats(reader, &settings, fee_rate, address_type)?;
        let needed_sats = reader.waiting_payouts_sats()?;
        if let Some((spendable, needed)) = too_few(spendable_sats, needed_sats) {
            why = WaitCause::Coins.because(&Waits::AllNeed { spendable, needed });
        }
        Ok(Some(Self { why, spendable_sats, settings, now }))
    }

    /// The sender's reason as it concerns this approved payout; `None` if it does not concern it.
    fn concerns(&self, row: &PayoutRow) -> Option<Wait> {
        let Wait { cause, reason } = &self.why;
        // The sender's reason comes from the first payout that was due. It may not apply to a
        // payout that was not due.
        let was_due = || {
            row.approved_at
                .is_some_and(|at| sender::due_at(at, &self.settings, self.now) <= self.now)
        };
        let reason = match cause {
            WaitCause::PaidByCopy => None,
            WaitCause::Coins => {
                let needed_sats = row.amount_sats.saturating_add(row.network_fee_sats);
                let too_few = too_few(self.spendable_sats, needed_sats);
                let this_needs = too_few
                    .map(|(spendable, needed)| Waits::ThisNeeds { spendable, needed }.telling());
                this_needs.or_else(|| was_due().then(|| reason.clone()))
            }
            WaitCause::Block | WaitCause::SmallCoins => was_due().then(|| reason.clone()),
            WaitCause::Turn
            | WaitCause::Gateway
            | WaitCause::Hold
            | WaitCause::HoldRestored
            | WaitCause::Restored
            | WaitCause::RestoreStopped
            | WaitCause::Keyring
            | WaitCause::Fees
            | WaitCause::NoEstimate
            | WaitCause::Chain
            | WaitCause::Node
            | WaitCause::OtherCopy
            | WaitCause::GivenUp
            | WaitCause::Other => Some(reason.clone()),
        };
        reason.map(|reason| Wait { cause: *cause, reason })
    }
}

impl Queue {
    pub fn load(gateway: &Gateway, reader: &Reader<'_>) -> Result<Self, StoreError> {
        let (settings, now) = (gateway.settings.snapshot(), gateway.time.now());
        Ok(Self {
            is_served: gateway.served.get().is_some(),
            now,
            hold: reader.sender_hold()?,
            waiting: Waiting::load(gateway, reader)?,
            due_at: reader.oldest_unsent_approval()?.map(|at| sender::due_at(at, &settings, now)),
        })
    }

    /// The reason why a payout waits; `None` unless it is QUEUED or being abandoned.
    pub fn why(&self, row: &PayoutRow, standing: Standing) -> Option<Wait> {
        let why = |cause: WaitCause, reason: &Waits| Some(cause.because(reason));
        if standing.is_being_given_up {
            return why(WaitCause::GivenUp, &Waits::GivenUp);
        }
        if row.state != PayoutState::Queued {
            return None;
        }
        if row.batch_seq.is_some() {
            if standing.is_held_back {
                return why(WaitCause::OtherCopy, &Waits::OtherCopy);
            }
            return why(WaitCause::Node, &Waits::NoNode);
        }
        if let Some(hold) = &self.hold {
            return why(hold.cause.into(), &Waits::Held(hold.reason.clone()));
        }
        if let Some(wait) = standing.copy_pays {
            return Some(wait);
        }
        if let Some(why) = self.waiting.as_ref().and_then(|waiting| waiting.concerns(row)) {
            return Some(why);
        }
        if !self.is_served {
            return why(WaitCause::Gateway, &Waits::NoGateway);
        }
        let at = self.due_at?.max(self.now).into();
        why(WaitCause::Turn, &Waits::Turn { at })
    }
}

/// The spendable and the needed sum in BTC, if the coins are too few.
fn too_few(spendable_sats: u64, needed_sats: u64) -> Option<(Sum, Sum)> {
    (spendable_sats < needed_sats)
        .then(|| (Sum(format_btc(spendable_sats)), Sum(format_btc(needed_sats))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_coins_are_reported_in_btc() {
        assert_eq!(too_few(1_000, 1_000), None);
        let sums = (Sum("0.00001000".to_owned()), Sum("2.50000000".to_owned()));
        assert_eq!(too_few(1_000, 250_000_000), Some(sums));
    }
}
