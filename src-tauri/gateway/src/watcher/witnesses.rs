//! Witnesses as somebody else tells them. No id covers a witness: whoever tells a transaction first decides which is stored, and with one
//! that is none nobody takes it when it is broadcast again. So what is shown to have none is asked for with each block, and what is
//! not known to have one once another backend is set: a few after one look, until all had their turn.

use std::collections::BTreeSet;
use std::sync::Arc;

use bitcoin::{BlockHash, Txid};

use super::WatchError;
use super::asked::SETTLED_AFTER;
use super::ours::FOLLOWED_FOR_MS;
use crate::chain::{Fact, Tip};
use crate::gateway::Gateway;
use crate::store::{Reader, StoreError, Tx};

/// Transactions that are asked for at once: looks wait for it.
const ASKED_MAX: usize = 50;

/// Bytes that are read in one look to see which signatures hold: of a transaction its length, once for each input. That takes less than half
/// a second; of a wallet that was emptied with hundreds of inputs a transaction, all would take minutes.
const JUDGED_BYTES: usize = 32 << 20;

/// When witnesses were last asked for, and whom.
#[derive(Debug, Default)]
pub(super) struct Witnesses {
    /// Which backend was set; `None` at the start.
    choice: Option<u64>,
    /// The best block then; `None` where nobody answered.
    tip: Option<BlockHash>,
    /// Twins of which it is not seen yet since then whether their signatures hold.
    unjudged: BTreeSet<Txid>,
    /// Those whose signatures do. What is stored gives way to nothing worse.
    good: BTreeSet<Txid>,
    /// What is to be asked for, and has not had its turn since.
    open: BTreeSet<Txid>,
}

impl Witnesses {
    /// Whether something has not had its turn, whatever a look finds.
    pub(super) fn is_owed(&self) -> bool {
        !self.open.is_empty() || !self.unjudged.is_empty()
    }

    /// Asks for what is to be told again, and stores it where it is no worse. Answers whether another backend is asked than before.
    /// One that is silent is asked again after the next look that finds anything; one that `rests` is asked for what is new alone.
    pub(super) async fn mend(&mut self, gateway: &Arc<Gateway>, tip: &Tip, rests: bool) -> Result<bool, WatchError> {
        let choice = gateway.chain.choice();
        let before = self.choice.replace(choice);
        let is_other = before.is_some_and(|before| before != choice);
        let above = tip.height.saturating_sub(SETTLED_AFTER);
        if self.tip.replace(tip.hash) != Some(tip.hash) || is_other {
            let since = gateway.clock.now().plus_ms(-FOLLOWED_FOR_MS);
            let (pending, unsettled) = gateway.store.read(|reader| {
                let mut unsettled = BTreeSet::new();
                for tx in if is_other { reader.unsettled_transactions(above, since)? } else { Vec::new() } {
                    let txid = tx.compute_txid();
                    if reader.batch_of_version(&txid)?.is_none() {
                        unsettled.insert(txid);
                    }
                }
                Ok::<_, StoreError>((reader.pending_twins(tip.height)?, unsettled))
            })?;
            self.note_pending(pending);
            self.open.extend(unsettled);
        } else if rests {
            return Ok(false);
        }
        gateway.store.read(|reader| self.judge_some(|txid| judge(reader, txid)))?;
        let wanted = self.next();
        if wanted.is_empty() {
            return Ok(is_other);
        }
        let asking = Arc::clone(gateway);
        let told = move || asking.chain.recent(&wanted, above);
        let told = match tokio::task::spawn_blocking(told).await.map_err(|_| WatchError::BrokenOff)? {
            Ok(told) => told,
            Err(error) => {
                tracing::debug!(%error, "the backend does not tell again what it, or another, told of transactions");
                (self.choice, self.tip) = (before, None);
                (self.open, self.unjudged) = Default::default();
                return Ok(is_other);
            }
        };
        let mend = move |tx: &Tx<'_>| {
            let are_those = told.txs.iter().filter(|(txid, told)| told.compute_txid() == **txid);
            are_those.into_iter().try_for_each(|(txid, told)| tx.mend_transaction(told, txid))
        };
        gateway.store.write(mend).await?;
        Ok(is_other)
    }

    /// Twins of which a block may still decide something: it is seen anew whether the signatures hold of all that had none, or of which that
    /// was not known.
    fn note_pending(&mut self, pending: Vec<Txid>) {
        let pending: BTreeSet<Txid> = pending.into_iter().collect();
        self.good = self.good.intersection(&pending).copied().collect();
        self.unjudged = pending.difference(&self.good).copied().collect();
    }

    /// Sees of some whether their signatures hold, of one at least, and asks for those of which they do not. `judge` answers how many bytes it
    /// read for that.
    fn judge_some<E>(&mut self, judge: impl Fn(&Txid) -> Result<(usize, Fact), E>) -> Result<(), E> {
        let mut read = 0usize;
        while read < JUDGED_BYTES
            && let Some(txid) = self.unjudged.pop_first()
        {
            let (bytes, holds) = judge(&txid)?;
            read = read.saturating_add(bytes);
            match holds {
                Fact::Yes => self.good.insert(txid),
                Fact::No => self.open.insert(txid),
                Fact::Unknown => false,
            };
        }
        Ok(())
    }

    /// Those that have their turn.
    fn next(&mut self) -> Vec<Txid> {
        (0..ASKED_MAX).map_while(|_| self.open.pop_first()).collect()
    }
}

/// Whether the stored signatures of a twin hold, and how many bytes are read to see it. What customers spend is known of few.
fn judge(reader: &Reader<'_>, txid: &Txid) -> Result<(usize, Fact), StoreError> {
    let Some(twin) = reader.twin(txid)? else { return Ok((0, Fact::Unknown)) };
    let bytes = twin.tx.total_size().saturating_mul(twin.tx.input.len());
    Ok((bytes, reader.has_good_witness(&twin.tx)?))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use bitcoin::hashes::Hash as _;

    use super::*;

    #[test]
    fn of_many_that_are_told_with_broken_signatures_each_has_its_turn() {
        let txids = || (0u8..120).map(|number| Txid::from_byte_array([number; 32]));
        let mut witnesses = Witnesses { open: txids().collect(), ..Witnesses::default() };
        let mut asked = Vec::new();
        for _ in 0..3 {
            assert!(witnesses.is_owed());
            asked.extend(witnesses.next());
        }
        assert!(!witnesses.is_owed() && asked.into_iter().eq(txids()));
    }
    #[test]
    fn of_a_wallet_that_was_emptied_elsewhere_few_transactions_are_verified_in_a_look_and_none_once_more_that_holds() {
        let txid = |number: u8| Txid::from_byte_array([number; 32]);
        let pending = || (0..9).map(txid).collect::<Vec<_>>();
        // Each has hundreds of inputs; one was told with signatures that fail, and of one nobody knows.
        let judged = Cell::new(0);
        let judge = |of: &Txid| {
            judged.set(judged.get() + 1);
            let holds = if *of == txid(3) {
                Fact::No
            } else if *of == txid(4) {
                Fact::Unknown
            } else {
                Fact::Yes
            };
            Ok::<_, StoreError>((JUDGED_BYTES / 2, holds))
        };
        let mut witnesses = Witnesses::default();
        witnesses.note_pending(pending());
        for looks in 1..=5 {
            assert!(witnesses.is_owed(), "the next look goes on");
            witnesses.judge_some(judge).unwrap();
            assert_eq!(judged.get(), (2 * looks).min(9));
        }
        assert_eq!(witnesses.next(), [txid(3)]);
        assert!(!witnesses.is_owed());
        // With the next block.
        witnesses.note_pending(pending());
        witnesses.judge_some(judge).unwrap();
        assert_eq!((judged.get(), witnesses.next()), (9 + 2, vec![txid(3)]));
        assert!(!witnesses.is_owed());
    }
}
