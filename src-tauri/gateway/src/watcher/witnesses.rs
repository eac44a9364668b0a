//! Witnesses as somebody else tells them. No id covers a witness: whoever tells a transaction first decides which is stored, and with one
//! that is none nobody takes it when it is broadcast again. So what is shown to have none is asked for with each block, and what is
//! not known to have one once another backend is set: a few after one look, until all had their turn.

use std::collections::BTreeSet;
use std::sync::Arc;

use bitcoin::{BlockHash, Transaction, Txid};

use super::WatchError;
use super::asked::SETTLED_AFTER;
use super::ours::FOLLOWED_FOR_MS;
use crate::chain::{Fact, Tip};
use crate::gateway::Gateway;
use crate::store::{Reader, StoreError, Tx};

/// Transactions that are asked for at once: looks wait for it.
const ASKED_MAX: usize = 50;

/// When witnesses were last asked for, and whom.
#[derive(Debug, Default)]
pub(super) struct Witnesses {
    /// Which backend was set; `None` at the start.
    choice: Option<u64>,
    /// The best block then; `None` where nobody answered.
    tip: Option<BlockHash>,
    /// What has not had its turn since.
    open: BTreeSet<Txid>,
}

impl Witnesses {
    /// Whether something has not had its turn, whatever a look finds.
    pub(super) fn is_owed(&self) -> bool {
        !self.open.is_empty()
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
            let wanted = gateway.store.read(|reader| {
                let mut wanted = shown_to_have_none(reader, tip.height)?;
                let unsettled = if is_other { reader.unsettled_transactions(above, since)? } else { Vec::new() };
                for txid in unsettled.iter().map(Transaction::compute_txid) {
                    if reader.batch_of_version(&txid)?.is_none() {
                        wanted.insert(txid);
                    }
                }
                Ok::<_, StoreError>(wanted)
            })?;
            self.open.extend(wanted);
        } else if rests {
            return Ok(false);
        }
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
                self.open.clear();
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

    /// Those that have their turn.
    fn next(&mut self) -> Vec<Txid> {
        (0..ASKED_MAX).map_while(|_| self.open.pop_first()).collect()
    }
}

/// Twins whose stored signatures fail, as long as a block may still decide something of them.
/// What customers spend is known of few.
fn shown_to_have_none(reader: &Reader<'_>, tip_height: u32) -> Result<BTreeSet<Txid>, StoreError> {
    let mut shown = BTreeSet::new();
    for txid in reader.pending_twins(tip_height)? {
        if let Some(twin) = reader.twin(&txid)?
            && reader.has_good_witness(&twin.tx)? == Fact::No
        {
            shown.insert(txid);
        }
    }
    Ok(shown)
}

#[cfg(test)]
mod tests {
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
}
