//! Requests about scripts: subscriptions and histories.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::{Network, ScriptBuf};

use crate::electrum::calls::{Owner, ScriptHash};
use crate::electrum::connection::{AnnouncedTip, Asker};
use crate::electrum::histories::{self, History};
use crate::electrum::state::State;
use crate::port::{ChainDown, LookRequest};

/// Scripts that are subscribed to again in each look, in case a notification was lost.
const ASKED_AGAIN: usize = 2;

/// Histories read before the budget is checked again.
pub const FETCHED_AT_ONCE: usize = 100;

/// Limit of history entries kept for others' scripts.
const OTHERS_ENTRIES_MAX: usize = 500_000;

pub struct ElectrumLook<'a> {
    pub asker: Asker<'a>,
    pub network: Network,
    pub state: &'a mut State,
    pub request: &'a LookRequest<'a>,
    pub tip: AnnouncedTip,
}

impl ElectrumLook<'_> {
    /// Subscribes to pending scripts that lack a subscription on this connection. Subscribes again
    /// to the required scripts, and to the rest in turn, since a server may forget to notify.
    pub fn subscribe(&mut self) -> Result<(), ChainDown> {
        let session = &self.asker.connection.session;
        let state = &mut *self.state;
        let awaited = self.request.scripts.required.iter().map(|it| ScriptHash::from_script(it));
        let mut asked: BTreeSet<ScriptHash> =
            awaited.filter(|hash| !state.asked.contains(hash)).collect();
        state.asked.extend(&asked);
        let unsubscribed = |hash: &ScriptHash| session.status(hash).is_none();
        if state.connection != self.asker.connection.number {
            state.pending.extend(state.scripts.keys());
        }
        asked.extend(state.pending.iter().copied().filter(unsubscribed));
        let from = state.asked_last.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
        let turn: Vec<ScriptHash> = state
            .scripts
            .range((from, std::ops::Bound::Unbounded))
            .map(|(hash, _)| *hash)
            .take(ASKED_AGAIN)
            .collect();
        state.asked_last = turn.last().copied();
        asked.extend(turn);
        asked.retain(|hash| state.scripts.get(hash).is_some_and(|watched| !watched.is_refused));
        let asked: Vec<ScriptHash> = asked.into_iter().collect();
        self.subscribe_to(&asked)?;
        let state = &mut *self.state;
        state.connection = self.asker.connection.number;
        state.pending.extend(session.take_changed());
        state.pending.retain(|hash| state.scripts.contains_key(hash));
        Ok(())
    }

    /// Subscribes to scripts, and notes which the server refuses.
    fn subscribe_to(&mut self, hashes: &[ScriptHash]) -> Result<(), ChainDown> {
        for (owner, hashes) in self.by_owner(hashes) {
            let asked = histories::subscribe(&self.asker, &hashes, owner);
            let refused = self
                .note_if_failed(asked, &hashes, owner)?
                .into_iter()
                .filter(|(_, status)| status.is_none());
            refused.for_each(|(hash, _)| self.refuse(hash));
        }
        Ok(())
    }

    /// Splits scripts into the merchant's and those of others.
    fn by_owner(&self, hashes: &[ScriptHash]) -> Vec<(Owner, Vec<ScriptHash>)> {
        let is_ours = |hash: &&ScriptHash| {
            self.state.scripts.get(hash).is_some_and(|watched| watched.is_ours)
        };
        let (ours, others): (Vec<ScriptHash>, Vec<ScriptHash>) = hashes.iter().partition(is_ours);
        let all = [(Owner::Ours, ours), (Owner::Others, others)].into_iter();
        all.filter(|(_, hashes)| !hashes.is_empty()).collect()
    }

    /// Notes a failed request about others' scripts, so that it does not fail each look.
    fn note_if_failed<T>(
        &mut self,
        asked: Result<T, ChainDown>,
        hashes: &[ScriptHash],
        owner: Owner,
    ) -> Result<T, ChainDown> {
        if owner == Owner::Others && asked.is_err() {
            self.state.retained.backoff.note_break(hashes, self.tip.height);
            self.asker.client.note_customers_fault();
        }
        asked
    }

    /// Notes that the server refuses a script.
    fn refuse(&mut self, hash: ScriptHash) {
        let Some(watched) = self.state.scripts.get_mut(&hash) else { return };
        watched.is_refused = true;
        if !watched.is_ours {
            self.state.retained.backoff.note_failure(&hash, self.tip.height);
        }
    }

    /// Reads the histories of subscribed scripts. Returns the scripts whose histories the server
    /// delivered.
    pub fn fetch(&mut self, wanted: &[ScriptHash]) -> Result<Vec<ScriptHash>, ChainDown> {
        let session = &self.asker.connection.session;
        let (empty, full): (Vec<ScriptHash>, Vec<ScriptHash>) =
            wanted.iter().partition(|hash| session.status(hash) == Some(None));
        let mut histories = BTreeMap::new();
        for (owner, hashes) in self.by_owner(&full) {
            let asked = histories::fetch(&self.asker, &hashes, owner);
            histories.extend(self.note_if_failed(asked, &hashes, owner)?);
        }
        histories.extend(empty.into_iter().map(|hash| (hash, Some(History::default()))));
        let mut delivered = Vec::new();
        for (hash, history) in histories {
            let Some(watched) = self.state.scripts.get_mut(&hash) else { continue };
            match history {
                Some(history) => {
                    watched.reported = Some(history.status);
                    watched.history = Some(history);
                    self.state.retained.backoff.forget(&hash);
                    delivered.push(hash);
                }
                None => {
                    tracing::warn!(script = %watched.script.to_hex_string(), "the Electrum server refuses the history of a script, which is probably too long");
                    self.refuse(hash);
                }
            }
        }
        Ok(delivered)
    }

    /// Reads the unknown histories of these scripts, as far as the server delivers them. Scripts of
    /// ours become pending instead.
    pub fn ask_also(&mut self, scripts: &[ScriptBuf]) -> Result<(), ChainDown> {
        let mut unread = BTreeSet::new();
        for script in scripts {
            let hash = ScriptHash::from_script(script);
            let watched = self.state.of_other(script, self.tip.height);
            if watched.history.is_none() && !watched.is_refused {
                unread.insert(hash);
            }
        }
        let session = &self.asker.connection.session;
        let unsubscribed: Vec<ScriptHash> =
            unread.iter().filter(|hash| session.status(hash).is_none()).copied().collect();
        self.subscribe_to(&unsubscribed)?;
        unread
            .retain(|hash| self.state.scripts.get(hash).is_some_and(|watched| !watched.is_refused));
        let ours =
            |hash: &ScriptHash| self.state.scripts.get(hash).is_some_and(|watched| watched.is_ours);
        // A script of ours that was not reported yet waits for its turn.
        let (later, now): (Vec<ScriptHash>, Vec<ScriptHash>) = unread.into_iter().partition(ours);
        self.state.pending.extend(later);
        for some in now.chunks(FETCHED_AT_ONCE) {
            // The fate of the remaining outputs stays unknown.
            if self.state.entries_of_others() > OTHERS_ENTRIES_MAX {
                break;
            }
            self.fetch(some)?;
        }
        Ok(())
    }
}
