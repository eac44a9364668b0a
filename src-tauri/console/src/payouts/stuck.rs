//! Sentences about stuck payouts, which were signed but do not arrive. The panel and the command
//! line each add their own remedy.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tillgate_chain::{may_a_higher_fee_help, quoted};
use tillgate_domain::batch::FINAL_CONFIRMATIONS;
use tillgate_domain::id::Id;
use tillgate_gateway::funds;
use tillgate_gateway::gateway::Gateway;
use tillgate_gateway::sender::{self, Stuck, StuckCause, may_bump};
use tillgate_store::payouts::PayoutRow;
use tillgate_store::{Reader, StoreError};
use tillgate_told::{Sum, Telling, Time, Told};
use ts_rs::TS;

use super::fee_rate::rate_shown;
use crate::btc::BtcView;

/// The most stuck payouts named in one answer. The list of payouts shows all of them.
const NAMED_MAX: usize = 20;

/// Fee rates are computed for this many virtual bytes, so that no decimal is lost.
const RATE_VBYTES: u64 = 1_000;

/// The sentence about a stuck payout.
#[derive(Debug, thiserror::Error, Told)]
pub enum StuckSentence {
    #[error("payout {id} of {amount} BTC to {address} was sent {hours} {} ago and is in no block. {pays}", noun(*.hours))]
    Unconfirmed { id: Id, amount: Sum, address: String, hours: u64, pays: StuckPays },
    #[error(
        "the Bitcoin backend refused the transaction of payout {id} of {amount} BTC to {address}: {words}. It is offered again after each block. {pays}"
    )]
    Refused { id: Id, amount: Sum, address: String, words: String, pays: StuckPays },
    #[error(
        "the Bitcoin backend refused the transaction of payout {id} of {amount} BTC to {address}, because another transaction spends its coins. It is offered again after each block. {pays}"
    )]
    Spent { id: Id, amount: Sum, address: String, pays: StuckPays },
    #[error(
        "the Bitcoin backend took the transaction of payout {id} of {amount} BTC to {address} at {at}, and its mempool does not show it. It is offered again after each block. A node with -privatebroadcast shows it once another node sends it back. {pays}"
    )]
    Unseen { id: Id, amount: Sum, address: String, at: Time, pays: StuckPays },
    #[error(
        "payout {id} of {amount} BTC to {address} can never arrive: block {height} holds another transaction that spends its coins. The payout fails once that block has {FINAL_CONFIRMATIONS} confirmations; then request a new payout"
    )]
    RuledOut { id: Id, amount: Sum, address: String, height: u32 },
}

/// The fee of a stuck payout, as a sentence of its own.
#[derive(Debug, thiserror::Error, Told)]
pub enum StuckPays {
    #[error(
        "No higher fee helps: too many unconfirmed transactions belong to it, and a block must hold some of them first"
    )]
    NoFeeHelps,
    #[error("It is being cancelled")]
    Cancelled,
    #[error("It pays {rate} sat/vB; the present fee rate is {wanted} sat/vB")]
    Less { rate: Sum, wanted: Sum },
    #[error("It pays {rate} sat/vB")]
    Rate { rate: Sum },
}

const fn noun(hours: u64) -> &'static str {
    if hours == 1 { "hour" } else { "hours" }
}

/// The reason why a payout is stuck.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StuckReason {
    /// It was sent hours ago, and its transaction is still unconfirmed.
    Unconfirmed,
    /// The backend refused its transaction, which is broadcast again after each block.
    Refused,
    /// The backend accepted its transaction, but does not show it in its mempool.
    Unseen,
    /// A block holds another transaction that spends its coins.
    RuledOut,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StuckItem {
    pub payout_id: String,
    /// The recipient's amount.
    pub amount: BtcView,
    pub address: String,
    pub reason: StuckReason,
    /// The fee rate of its transaction, in satoshis per virtual byte, cut to 2 decimals.
    pub fee_rate: String,
    /// The fee rate that a new transaction would pay; absent if the backend has estimated none
    /// since the start.
    pub fee_rate_wanted: Option<String>,
    /// Whether its fee can be raised now.
    pub can_bump: bool,
    /// The facts in sentences, without the remedy and without the last full stop.
    pub message: Telling,
}

#[derive(Debug, Default)]
pub struct StuckPayouts {
    /// At most [`NAMED_MAX`] stuck payouts.
    pub named: Vec<StuckItem>,
    /// The number of all stuck payouts.
    pub count: u64,
}

impl StuckPayouts {
    /// Asks the backend for its fee rate if a payout is stuck, so that `fee_rate_wanted` is known.
    /// A database error is ignored here, because the caller reads the database again and returns
    /// the error.
    pub async fn learn_wanted_rate(gateway: &Arc<Gateway>) {
        let reading = Arc::clone(gateway);
        let read = move || reading.store.read(|reader| Self::load(&reading, reader));
        if let Ok(Ok(stuck)) = tokio::task::spawn_blocking(read).await
            && stuck.count > 0
        {
            gateway.fee_rates_of_offers().await;
        }
    }

    pub fn load(gateway: &Gateway, reader: &Reader<'_>) -> Result<Self, StoreError> {
        let stuck = sender::stuck(reader, &gateway.settings.snapshot(), gateway.time.now())?;
        let named =
            stuck.iter().take(NAMED_MAX).map(|stuck| StuckItem::new(gateway, reader, stuck));
        Ok(Self { named: named.collect::<Result<_, _>>()?, count: stuck.len() as u64 })
    }
}

impl StuckItem {
    /// The item of a payout; `None` if the payout is not stuck.
    pub fn of_payout(
        gateway: &Gateway,
        reader: &Reader<'_>,
        row: &PayoutRow,
    ) -> Result<Option<Self>, StoreError> {
        let stuck =
            sender::stuck_of(reader, row, &gateway.settings.snapshot(), gateway.time.now())?;
        stuck.map(|stuck| Self::new(gateway, reader, &stuck)).transpose()
    }

    fn new(gateway: &Gateway, reader: &Reader<'_>, stuck: &Stuck) -> Result<Self, StoreError> {
        let Stuck { payout, cause, offered } = stuck;
        let fee_rate = rate_shown(offered.fee_sats, offered.vsize);
        let fee_rate_wanted = wanted(gateway).map(|rate| rate_shown(rate, RATE_VBYTES));
        Ok(Self {
            payout_id: payout.id.to_string(),
            amount: BtcView::from_sats(payout.amount_sats),
            address: payout.address.clone(),
            reason: match cause {
                StuckCause::Unconfirmed { .. } => StuckReason::Unconfirmed,
                StuckCause::Refused { .. } => StuckReason::Refused,
                StuckCause::Unseen { .. } => StuckReason::Unseen,
                StuckCause::RuledOut { .. } => StuckReason::RuledOut,
            },
            can_bump: may_a_fee_help(cause) && may_bump(reader, payout).is_ok(),
            message: sentence(stuck, &fee_rate, fee_rate_wanted.clone()).telling(),
            fee_rate,
            fee_rate_wanted,
        })
    }

    /// The sentence and the remedy at the command line.
    pub fn at_the_command_line(&self) -> String {
        let Self { payout_id, message, can_bump, .. } = self;
        if *can_bump {
            format!("{message}. `tillgate payouts bump {payout_id}` raises its fee")
        } else {
            message.to_string()
        }
    }
}

/// The backend's last fee rate, in satoshis for [`RATE_VBYTES`].
fn wanted(gateway: &Gateway) -> Option<u64> {
    let rate = funds::fee_rate_wanted(gateway, &gateway.settings.snapshot())?;
    Some(rate.to_sat_per_kwu().saturating_mul(4))
}

/// Whether a higher fee may get the transaction into a mempool or a block.
fn may_a_fee_help(cause: &StuckCause) -> bool {
    match cause {
        StuckCause::Refused { words: Some(words) } => may_a_higher_fee_help(words),
        StuckCause::Refused { words: None }
        | StuckCause::Unconfirmed { .. }
        | StuckCause::Unseen { .. }
        | StuckCause::RuledOut { .. } => true,
    }
}

fn sentence(stuck: &Stuck, fee_rate: &str, wanted: Option<String>) -> StuckSentence {
    let Stuck { payout, cause, offered } = stuck;
    let (id, amount, address) =
        (payout.id, Sum(BtcView::from_sats(payout.amount_sats).shown), payout.address.clone());
    let rate = Sum(fee_rate.to_owned());
    let pays = match (offered.pays, wanted) {
        (true, _) if !may_a_fee_help(cause) => StuckPays::NoFeeHelps,
        (false, _) => StuckPays::Cancelled,
        (true, Some(wanted)) => StuckPays::Less { rate, wanted: Sum(wanted) },
        (true, None) => StuckPays::Rate { rate },
    };
    match cause {
        StuckCause::Unconfirmed { hours } => {
            StuckSentence::Unconfirmed { id, amount, address, hours: *hours, pays }
        }
        StuckCause::Refused { words: Some(words) } => {
            StuckSentence::Refused { id, amount, address, words: quoted(words), pays }
        }
        StuckCause::Refused { words: None } => StuckSentence::Spent { id, amount, address, pays },
        StuckCause::Unseen { taken_at } => {
            StuckSentence::Unseen { id, amount, address, at: (*taken_at).into(), pays }
        }
        StuckCause::RuledOut { height } => {
            StuckSentence::RuledOut { id, amount, address, height: *height }
        }
    }
}
