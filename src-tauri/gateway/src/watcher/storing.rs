//! Storing what a look found, in commits of bounded size.

use std::collections::BTreeMap;
use std::sync::Arc;

use bitcoin::Txid;
use tillgate_domain::time::Timestamp;

use super::advance::Context;
use super::batches::Touched;
use super::coins::{self, Move};
use super::findings::{AffectedPayment, Findings};
use super::restored::{self, Scanned};
use super::settling::Due;
use super::{LookPermit, WatchError, advance};
use crate::chain::{Covered, TxPosition};
use crate::gateway::StaffWarning;
use crate::notifications::outbox::{self, Outbox};
use crate::store::chain::WatchedChain;
use crate::store::coins::Coin;
use crate::store::keychains::Keychain;

/// Payments, or transactions that move our coins, in one commit: the writer is never held for long.
pub(super) const PIECES_PER_COMMIT: usize = 200;

/// Outputs in one commit of transactions that may pay payees in our stead: each is matched with a payout.
const OUTPUTS_PER_COMMIT: usize = 1_000;

/// What a look stores at one stroke.
enum Piece {
    /// A payment, by its number.
    Payment(i64, AffectedPayment),
    /// The change that a transaction makes.
    Change(Txid, Arc<Move>),
    /// What a transaction does to our coins otherwise.
    Move(Txid, Arc<Move>),
    /// A transaction of ours of which this chain knows nothing, or nothing yet.
    Unknown(Txid),
}

impl Piece {
    /// In an order in which each rests on what stands before it.
    fn in_order(
        unknown: Vec<Txid>,
        payments: BTreeMap<i64, AffectedPayment>,
        moves: BTreeMap<Txid, Move>,
    ) -> Vec<Self> {
        // Nothing is settled by a place in the chain that is not known any more.
        let unknown = unknown.into_iter().map(Self::Unknown);
        // Coins are stored with the payments, and as change, before they are spent.
        let payments = payments.into_iter().map(|(seq, affected)| Self::Payment(seq, affected));
        let moves: Vec<_> = moves.into_iter().map(|(txid, moved)| (txid, Arc::new(moved))).collect();
        let changes = moves.clone().into_iter().map(|(txid, moved)| Self::Change(txid, moved));
        let moves = moves.into_iter().map(|(txid, moved)| Self::Move(txid, moved));
        unknown.chain(payments).chain(changes).chain(moves).collect()
    }

    /// How many of the first make one commit: at least one.
    fn fitting(pieces: &[Self]) -> usize {
        let mut outputs = 0usize;
        let is_fitting = |piece: &&Self| {
            let before = outputs;
            outputs = outputs.saturating_add(piece.outputs());
            before == 0 || outputs <= OUTPUTS_PER_COMMIT
        };
        pieces.iter().take(PIECES_PER_COMMIT).take_while(is_fitting).count()
    }

    /// Whether it may pay what a payout is to pay.
    fn pays_payees(&self) -> bool {
        matches!(self, Self::Move(_, moved) if !moved.pays.is_empty())
    }

    /// How many outputs it may match with payouts.
    fn outputs(&self) -> usize {
        match self {
            Self::Move(_, moved) if self.pays_payees() => moved.facts.tx.output.len(),
            Self::Payment(..) | Self::Change(..) | Self::Move(..) | Self::Unknown(_) => 0,
        }
    }

    /// Stores it; answers what staff are to be warned of, and when a payment is due next by it.
    fn store(
        &self,
        outbox: &Outbox<'_>,
        context: &Context,
        touched: &mut Touched,
    ) -> Result<(Vec<StaffWarning>, Option<Timestamp>), WatchError> {
        Ok(match self {
            Self::Payment(seq, affected) => {
                let (advance, warnings) = advance::payment(outbox, context, *seq, affected)?;
                (warnings, advance.next_due_at)
            }
            Self::Change(txid, moved) => (coins::make(outbox, txid, moved)?.into_iter().collect(), None),
            Self::Move(txid, moved) => (coins::take(outbox, txid, moved, touched)?.into_iter().collect(), None),
            Self::Unknown(txid) => {
                coins::take_unknown(outbox, txid, touched)?;
                (Vec::new(), None)
            }
        })
    }
}

impl LookPermit<'_> {
    /// Stores the look in commits of bounded size, and settles with the last what is `due`. How far the chain was watched comes with the
    /// last: after a crash in between the same look is made again, and finds done what was done. Answers whether a
    /// payment is to be looked at again at once.
    pub(super) async fn store(
        &mut self,
        findings: Findings,
        watched: WatchedChain,
        looked_at: Timestamp,
        due: Due,
    ) -> Result<bool, WatchError> {
        let mut context = self.context(looked_at, &watched.tip, false);
        context.fee_rate = findings.fee_rate;
        context.look.time_decides = !findings.more;
        let tip_height = watched.tip.height;
        let scanned = Scanned {
            from_start: findings.from_start,
            more: findings.more,
            restore: findings.restore,
            asked: findings.scan,
            covers_all: findings.covers_all,
            height: findings.seen_height,
            at: looked_at,
            skip: self.gateway.settings.snapshot().restore_skip,
        };
        let (from_start, place, watched_at) = (findings.from_start, findings.place, watched.looked_at);
        let finds_ahead = findings.scan.is_none() && self.finds_ahead(&findings)?;
        let (known_up_to, mut states) = (findings.known_up_to, findings.states);
        let mut pieces = Piece::in_order(findings.unknown, findings.payments, findings.moves);
        let mut is_due_at_once = false;
        loop {
            let rest = pieces.split_off(Piece::fitting(&pieces));
            let is_last = rest.is_empty();
            let (context, watched) = (context.clone(), watched.clone());
            // After all that they rest on.
            let states = if is_last { std::mem::take(&mut states) } else { Vec::new() };
            let due = if is_last { due.clone() } else { Due::Nothing };
            let change = move |outbox: &Outbox<'_>| {
                // Before what blocks hold is matched by it; done again it changes nothing.
                if let Some(height) = known_up_to.filter(|_| is_last || pieces.iter().any(Piece::pays_payees)) {
                    outbox.tx.lower_asked_above(height)?;
                }
                let (mut warnings, mut is_due_at_once, mut touched) = (Vec::new(), false, Touched::default());
                for piece in &pieces {
                    let (of_piece, next_due_at) = piece.store(outbox, &context, &mut touched)?;
                    warnings.extend(of_piece);
                    is_due_at_once |= next_due_at.is_some_and(|due| due <= looked_at);
                }
                warnings.extend(coins::settle(outbox, touched, due, tip_height)?);
                if is_last {
                    if from_start {
                        outbox.tx.forget_script_states()?;
                    }
                    outbox.tx.save_script_states(&states)?;
                    place.map_or(Ok(()), |place| outbox.tx.save_round_place(place))?;
                    known_up_to.map_or(Ok(()), |height| outbox.tx.lower_given_above(height))?;
                    outbox.tx.save_watched_chain(&watched)?;
                    restored::note(outbox.tx, &scanned)?;
                }
                Ok::<_, WatchError>((warnings, is_due_at_once))
            };
            let (warnings, some_are_due) = outbox::commit(self.gateway, Some(tip_height), change).await?;
            self.warn(warnings);
            is_due_at_once |= some_are_due;
            if is_last {
                self.progress.stored_looked_at = Some(watched_at);
                // What was asked first was told long ago; and what lies beyond a find was not known ahead.
                if restored::follow(self.gateway)? || finds_ahead {
                    self.doubt();
                }
                return Ok(is_due_at_once);
            }
            pieces = rest;
        }
    }

    /// Whether another copy of the wallet is found by a coin at an index that this one did not give yet, before all was told that
    /// mattered: then more matters than what was known ahead when it began to be asked about.
    fn finds_ahead(&self, findings: &Findings) -> Result<bool, WatchError> {
        let is_asked = matches!(findings.covered, Covered::Scripts(_));
        if !is_asked || self.gateway.last_look.is_all_told() {
            return Ok(false);
        }
        let next = |keychain| {
            let known = self.gateway.store.read(|reader| reader.keychain(keychain))?;
            Ok::<_, WatchError>(known.map_or(0, |(_, next_index)| next_index))
        };
        let (external, internal) = (next(Keychain::External)?, next(Keychain::Internal)?);
        let is_ahead = |coin: &Coin| match coin.keychain {
            Keychain::External => coin.index >= external,
            Keychain::Internal => coin.index >= internal,
        };
        let mut there = findings.moves.values().filter(|moved| moved.facts.position != TxPosition::Absent);
        Ok(there.any(|moved| moved.change.iter().any(is_ahead)))
    }
}

#[cfg(test)]
mod tests {
    use bitcoin::absolute::LockTime;
    use bitcoin::hashes::Hash as _;
    use bitcoin::transaction::Version;
    use bitcoin::{Amount, ScriptBuf, Transaction, TxOut};

    use super::*;
    use crate::chain::{Fact, TxFacts};
    use crate::store::payouts::AskedFor;

    /// What pays a payee so often; `None` for what is gone.
    fn piece(times: Option<usize>) -> Piece {
        let Some(times) = times else { return Piece::Unknown(Txid::all_zeros()) };
        let output = TxOut { value: Amount::from_sat(10_000), script_pubkey: ScriptBuf::new() };
        let tx = Transaction {
            version: Version::TWO,
            lock_time: LockTime::ZERO,
            input: Vec::new(),
            output: vec![output; times],
        };
        let facts = Arc::new(TxFacts {
            tx,
            position: TxPosition::Mempool { entered: Timestamp::from_ms(1) },
            conflict_in_chain: Fact::No,
            conflict_height: None,
            conflict_in_mempool: Fact::No,
            conflicts: Vec::new(),
            unconfirmed_ancestors: Fact::No,
            fee_rate: None,
        });
        let pays = vec![AskedFor { at: Timestamp::from_ms(1), above: None }];
        let moved = Move { facts, change: Vec::new(), spends: Vec::new(), pays };
        Piece::Move(Txid::all_zeros(), Arc::new(moved))
    }

    fn fitting(times: impl IntoIterator<Item = Option<usize>>) -> usize {
        Piece::fitting(&times.into_iter().map(piece).collect::<Vec<_>>())
    }

    #[test]
    fn what_pays_payees_thousands_of_times_is_stored_a_few_at_a_time() {
        assert_eq!(fitting([Some(200); 20]), 5);
        assert_eq!(fitting([None, Some(2_900), Some(1), None]), 2, "one that is longer than all others comes alone");
        assert_eq!(fitting([Some(1); 300]), PIECES_PER_COMMIT);
        assert_eq!((fitting([None; 300]), fitting([])), (PIECES_PER_COMMIT, 0));
    }
}
