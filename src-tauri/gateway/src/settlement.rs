//! Applies the domain's rules to the findings of a look, such as a new block. The database
//! transaction that stores the findings also stores the results. Settling twice changes nothing.
//! The effects are stored in this order:
//!
//! 1. Transactions that the chain no longer holds lose their place ([`coins::mark_absent`]).
//! 2. Each payment that a transaction concerns is recomputed, with its anomalies and notifications
//!    ([`payment::settle`]).
//! 3. New change is stored, then the coins that transactions spend ([`coins::store_created`],
//!    [`coins::store_spends`]).
//! 4. Twins are matched with the payouts that they pay ([`twins::match_mined`]).
//! 5. Payouts become sent, confirmed or failed, first those without a batch ([`batches`]).
//! 6. The ledger books the twins ([`twin_ledger`]).
//!
//! `watcher/storing.rs` takes the first three steps; [`settle`] takes the others.

pub mod batches;
pub mod coins;
mod conflict_height;
pub mod payment;
mod touched;
mod twin_ledger;
pub mod twins;

use std::collections::BTreeSet;

use crate::gateway::StaffWarning;
use crate::notifications::outbox::{Outbox, OutboxError};

pub use touched::Touched;

/// Batches that a look settles.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Due {
    #[default]
    Nothing,
    /// Batches by their `seq`.
    Batches(Vec<i64>),
    /// All pending batches and twins. `before` is the tip height when all were last settled; `None`
    /// before the first time.
    All { before: Option<u32> },
}

/// Recomputes the touched and the due batches and twins. Returns warnings for staff. After a new
/// best block, a batch is due as soon as the backend has reported the scripts of its inputs.
pub fn settle(
    outbox: &Outbox<'_>,
    mut touched: Touched,
    due: Due,
    tip_height: u32,
) -> Result<Vec<StaffWarning>, OutboxError> {
    let (mut since, mut is_all) = (tip_height, false);
    match due {
        Due::Nothing => {}
        Due::Batches(batches) => touched.batches.extend(batches),
        Due::All { before } => {
            touched.batches.extend(outbox.tx.pending_batches()?);
            (since, is_all) = (before.map_or(tip_height, |before| before.min(tip_height)), true);
        }
    }
    if is_all || !touched.batches.is_empty() {
        // A twin that was pending at the last full settling is settled once more, even if blocks
        // since then have decided it.
        let looked_height = outbox.tx.tip_height()?.min(since);
        touched.twins.extend(outbox.tx.pending_twins(looked_height)?);
    }
    let (mut warnings, mut alone) = (Vec::new(), BTreeSet::new());
    for txid in &touched.twins {
        twins::match_mined(outbox.tx, txid)?;
        for (payout_seq, batch_seq) in outbox.tx.payouts_of_twin(txid)? {
            match batch_seq {
                Some(batch_seq) => touched.batches.insert(batch_seq),
                None => alone.insert(payout_seq),
            };
        }
    }
    for payout_seq in alone {
        if let Some(payout) = outbox.tx.payout_by_seq(payout_seq)? {
            warnings.extend(batches::settle_alone(outbox, payout, tip_height, &mut touched.twins)?);
        }
    }
    for batch_seq in touched.batches {
        warnings.extend(batches::settle_noting(outbox, batch_seq, tip_height, &mut touched.twins)?);
        // The cost of a twin depends on whether the batch that spends the same coins has SENT
        // payouts, so it is booked last.
        for outpoint in outbox.tx.inputs_of_batch(batch_seq)? {
            let spender = outbox.tx.coin_facts(&outpoint)?.and_then(|coin| coin.spent_by);
            if let Some(spender) = spender
                && outbox.tx.is_twin(&spender)?
            {
                touched.twins.insert(spender);
            }
        }
    }
    for txid in &touched.twins {
        twin_ledger::book(outbox, txid)?;
    }
    Ok(warnings)
}
