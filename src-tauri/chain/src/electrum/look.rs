//! One answer of a look: the best chain, the changed scripts, and the changed transactions.

mod new_transactions;
mod subscriptions;
mod tracked;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use bitcoin::{Network, ScriptBuf, Txid};
use serde::de::IgnoredAny;
use serde_json::json;
use tillgate_domain::chain::{ScriptState, Tip};

use super::calls::{ScriptHash, call, subscribe_tip};
use super::connection::Asker;
use super::header_chain::follow;
use super::state::{self, State, Watched};
use crate::checks::bounds::AnswerBudget;
use crate::checks::conflicts::parents_first;
use crate::checks::errors::tip_changed;
use crate::checks::header_rules::MEDIAN_REACHES;
use crate::checks::token::Token;
use crate::port::{ChainDown, Covered, LookAnswer, LookRequest, TxFacts};
use subscriptions::{ElectrumLook, FETCHED_AT_ONCE};

/// Limit of histories read for one answer.
const HISTORIES_MAX: usize = 300;

/// Limit of cold scripts in one look: few enough for public servers.
const COLD_MAX: usize = 5;

pub fn look(
    asker: Asker<'_>,
    network: Network,
    state: &mut State,
    request: &LookRequest<'_>,
) -> Result<LookAnswer, ChainDown> {
    // The answer follows all pending notifications, and shows that the server is alive.
    asker.one::<IgnoredAny>(subscribe_tip())?;
    let tip = asker.connection.session.tip().ok_or_else(tip_changed)?;
    let written = state.written.take();
    let goes_on = written.is_some() && written.as_deref() == request.token;
    let known = if goes_on { state.chain.take() } else { request.token.and_then(Token::read) };
    let followed = follow(&asker, network, &mut state.retained.headers, known.as_ref(), tip)?;
    let last_known = known.as_ref().and_then(Token::last).map(|block| block.id);
    let fork = followed.fork;
    let left_above = known.as_ref().and_then(|known| known.left_above(fork));
    let mut look = ElectrumLook { asker, network, state, request, tip };
    let is_resumed = !goes_on || fork != last_known;
    if is_resumed {
        look.resume(fork.map(|block| block.height), known.clone());
    }
    if last_known != Some(tip.id()) {
        look.state.retry_refused(tip.height);
    }
    look.read_requested();
    let cold = look.take_cold();
    look.subscribe()?;
    let (processed, mut txs) = look.read_histories()?;
    txs.extend(tracked::of_tracked(&mut look, &processed)?);
    let states = look.states(&processed);
    look.state.forget_histories();
    let more = !look.state.pending.is_empty();
    let covered = look.covered(&cold);
    let refused = look.refused();
    look.forget_unneeded(more)?;
    let recent = (tip.height.saturating_sub(MEDIAN_REACHES)..=tip.height).collect();
    look.state.retained.headers.fetch_linked(&asker, network, &recent)?;
    let is_new =
        is_resumed || more || !txs.is_empty() || !states.is_empty() || last_known != Some(tip.id());
    let mut chain = followed.token;
    if !more {
        // A refused script leaves a gap in the current round, even if the script no longer matters
        // when the round ends.
        let is_refused = |watched: &Watched| watched.is_ours && watched.is_refused;
        if look.state.scripts.values().any(is_refused) {
            chain.round_from = 0;
        }
        chain.note_round(&request.scripts, cold.len(), &covered);
    }
    let token = look.state.next_token(chain, is_new, more);
    Ok(LookAnswer {
        token,
        from_start: fork.is_none(),
        left_above,
        more,
        tip: Tip { height: tip.height, hash: tip.id().hash, time: tip.time() },
        seen_height: if more {
            last_known.map_or(0, |block| block.height).min(tip.height)
        } else {
            tip.height
        },
        median_time: look.state.retained.headers.median_time(tip.height),
        txs: ordered(txs),
        unknown: Vec::new(),
        covered,
        refused,
        cold_taken: cold.len(),
        states,
    })
}

impl ElectrumLook<'_> {
    /// Restarts above the fork, or with the whole chain if there is no fork.
    fn resume(&mut self, fork: Option<u32>, before: Option<Token>) {
        let retained = std::mem::take(&mut self.state.retained);
        let stored_up_to = fork.unwrap_or(0);
        *self.state = State {
            retained,
            before,
            is_new_chain: fork.is_none(),
            stored_up_to,
            ..State::default()
        };
        for tx in self.request.watch.unsettled(fork.unwrap_or(u32::MAX)) {
            self.state.track(tx);
        }
    }

    /// Takes over the scripts to ask about. Watched scripts of unreported transactions are read in
    /// any case.
    fn read_requested(&mut self) {
        let scripts = self.request.scripts;
        let changes = scripts.hot.changes_since(self.state.mark);
        self.state.mark = Some(changes.mark);
        if changes.is_all {
            self.state.scripts.values_mut().for_each(|watched| watched.is_ours = false);
        }
        for script in &changes.cooled {
            if let Some(watched) = self.state.scripts.get_mut(&ScriptHash::from_script(script)) {
                watched.is_ours = false;
            }
        }
        for (script, _) in &changes.hot {
            self.watch(script);
        }
        for script in scripts.required {
            self.watch(script);
        }
        for tracked in self.state.tracked.values_mut().filter(|tracked| tracked.reported.is_none())
        {
            for output in &tracked.tx.output {
                let hash = ScriptHash::from_script(&output.script_pubkey);
                if let Some(watched) = self.state.scripts.get(&hash)
                    && watched.history.is_none()
                {
                    tracked.scripts.insert(hash);
                    self.state.pending.insert(hash);
                }
            }
        }
    }

    fn watch(&mut self, script: &ScriptBuf) -> ScriptHash {
        let hash = ScriptHash::from_script(script);
        if self.state.scripts.get(&hash).is_some_and(|watched| watched.is_ours) {
            return hash;
        }
        let stored = self.request.scripts.known.state(script).filter(|_| !self.state.is_new_chain);
        let reported = match stored.as_deref().map(state::parse_status) {
            Some(reported) => reported,
            // On a chain that was watched all along, a missing state means an empty history.
            None => (!self.state.is_new_chain).then_some(None),
        };
        let history = self.state.scripts.remove(&hash).and_then(|before| before.history);
        let watched = Watched { is_ours: true, reported, history, ..Watched::new(script.clone()) };
        self.state.scripts.insert(hash, watched);
        self.state.pending.insert(hash);
        hash
    }

    /// The next cold scripts, unless too many scripts are pending.
    fn take_cold(&mut self) -> Vec<ScriptHash> {
        let is_busy = self.state.pending.len() > HISTORIES_MAX;
        let cold = if is_busy { &[] } else { self.request.scripts.cold };
        cold.iter().take(COLD_MAX).map(|script| self.watch(script)).collect()
    }

    /// Reads the changed histories. Returns the scripts that were fully reported, and their
    /// confirmed transactions.
    fn read_histories(&mut self) -> Result<(Vec<ScriptHash>, Vec<TxFacts>), ChainDown> {
        let moving: BTreeSet<ScriptHash> =
            self.state.tracked.values().flat_map(|it| &it.scripts).copied().collect();
        let awaited: BTreeSet<ScriptHash> =
            self.request.scripts.required.iter().map(|it| ScriptHash::from_script(it)).collect();
        let session = &self.asker.connection.session;
        let is_changed = |hash: &ScriptHash| {
            self.state.scripts.get(hash).is_some_and(|watched| {
                let is_reported =
                    watched.reported.is_some() && watched.reported == session.status(hash);
                !watched.is_refused
                    && (!is_reported || (watched.history.is_none() && moving.contains(hash)))
            })
        };
        let changed: Vec<ScriptHash> =
            self.state.pending.iter().filter(|hash| is_changed(hash)).copied().collect();
        let (first, then): (Vec<_>, Vec<_>) =
            changed.into_iter().partition(|hash| awaited.contains(hash));
        let mut wanted: Vec<ScriptHash> = first.into_iter().chain(then).collect();
        let rest = wanted.split_off(wanted.len().min(HISTORIES_MAX));
        self.state.pending = rest.into_iter().collect();
        let (mut processed, mut txs, mut budget) =
            (Vec::new(), Vec::new(), AnswerBudget::default());
        for some in wanted.chunks(FETCHED_AT_ONCE) {
            if budget.is_spent() {
                self.state.pending.extend(some);
                continue;
            }
            let mut fetched = self.fetch(some)?;
            let new = self.new_transactions(&fetched)?;
            let reported = self.report(new, &mut budget)?;
            budget.note(self.bytes_of_histories(&fetched));
            self.note_refused(&reported);
            fetched
                .retain(|hash| !reported.cut.contains(hash) && !reported.overfull.contains(hash));
            processed.extend(fetched);
            txs.extend(reported.txs);
        }
        Ok((processed, txs))
    }

    fn bytes_of_histories(&self, hashes: &[ScriptHash]) -> usize {
        let histories =
            hashes.iter().filter_map(|hash| self.state.scripts.get(hash)?.history.as_ref());
        histories.map(|history| std::mem::size_of_val(history.entries.as_slice())).sum()
    }

    /// States to store for scripts whose histories were reported.
    fn states(&self, processed: &[ScriptHash]) -> Vec<ScriptState> {
        let known = self.request.scripts.known;
        let ours = processed
            .iter()
            .filter_map(|hash| self.state.scripts.get(hash))
            .filter(|watched| watched.is_ours);
        let states = ours.filter_map(|watched| {
            let state = state::write(watched.reported?);
            match known.state(&watched.script) {
                // On another chain all stored states are dropped, so even an equal state is stored
                // again.
                Some(stored) if stored == state && !self.state.is_new_chain => None,
                // An empty history needs no state.
                None if watched.reported == Some(None) => None,
                Some(_) | None => Some(ScriptState { script: watched.script.clone(), state }),
            }
        });
        states.collect()
    }

    /// The required and cold scripts of this look whose transactions are all known.
    fn covered(&self, cold: &[ScriptHash]) -> Covered {
        let session = &self.asker.connection.session;
        let awaited =
            self.request.scripts.required.iter().map(|script| ScriptHash::from_script(script));
        let is_reported = |hash: &ScriptHash| {
            let watched = self.state.scripts.get(hash)?;
            let is_reported = !watched.is_refused
                && watched.reported.is_some()
                && watched.reported == session.status(hash);
            (is_reported && !self.state.pending.contains(hash)).then(|| watched.script.clone())
        };
        let scripts: HashSet<ScriptBuf> =
            awaited.chain(cold.iter().copied()).filter_map(|hash| is_reported(&hash)).collect();
        Covered::Scripts(scripts)
    }

    /// The required and hot scripts whose histories the server refuses.
    fn refused(&self) -> HashSet<ScriptBuf> {
        let scripts = self.request.scripts;
        let refused =
            self.state.scripts.values().filter(|watched| watched.is_ours && watched.is_refused);
        let refused = refused.map(|watched| &watched.script);
        // A cold script is asked about in a few looks only, so it would come and go.
        refused
            .filter(|script| scripts.hot.contains(script) || scripts.required.contains(script))
            .cloned()
            .collect()
    }

    /// After the last answer of a look, drops the scripts that only this look needed.
    fn forget_unneeded(&mut self, more: bool) -> Result<(), ChainDown> {
        if more {
            return Ok(());
        }
        self.state.is_new_chain = false;
        self.state.asked.clear();
        self.state.partly_reported.clear();
        self.state.stored_up_to = u32::MAX;
        for script in self.request.scripts.required.iter().chain(self.request.scripts.cold) {
            if !self.request.scripts.hot.contains(script)
                && let Some(watched) = self.state.scripts.get_mut(&ScriptHash::from_script(script))
            {
                watched.is_ours = false;
            }
        }
        let unneeded = self.state.drop_unneeded();
        let unneeded: Vec<_> =
            unneeded.iter().filter(|hash| self.asker.connection.session.forget(hash)).collect();
        if self.asker.connection.version.is_at_least(&[1, 4, 2]) {
            let leave = |hash: &ScriptHash| {
                call("blockchain.scripthash.unsubscribe", json!([hash.to_string()]))
            };
            // A server that refuses keeps notifying; the session ignores these notifications.
            self.asker.tries(&unneeded.into_iter().map(leave).collect::<Vec<_>>())?;
        }
        Ok(())
    }
}

/// Orders parents before children. Keeps the later of two reports on one transaction.
fn ordered(txs: Vec<TxFacts>) -> Vec<TxFacts> {
    let txs: BTreeMap<Txid, TxFacts> =
        txs.into_iter().map(|facts| (facts.tx.compute_txid(), facts)).collect();
    parents_first(txs, |facts| &facts.tx)
}
