//! What is remembered from one answer to the next.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bitcoin::{BlockHash, FeeRate, OutPoint, ScriptBuf, Transaction, Txid};

use super::deep::Deep;
use super::headers::{Headers, Known};
use super::in_vain::InVain;
use super::server::{NoAnswer, Server};
use super::strangers::{self, Strangers};
use crate::chain::facts::{Facts, needs};
use crate::chain::hot::{HotMark, Urgency};
use crate::chain::token::{BlockId, Token, counted};
use crate::chain::untold::Untold;
use crate::chain::{HotScripts, KnownPosition};

/// Proofs that are kept: beyond that all are made anew, which costs questions and nothing else.
const PROVED_MAX: usize = 200_000;

/// Long histories of which it is remembered how far they were read.
const RUNS_MAX: usize = 10_000;

/// What the database remembers of a script of which the whole history was read once, and that is long. No other backend's
/// state of a script begins with this number.
pub(super) const COMPLETE: &[u8] = &[2, 1];

/// What is remembered. Headers are true whoever asks; the rest belongs to the answer whose token it holds.
#[derive(Default)]
pub(super) struct State {
    /// The chain as the last answer saw it; `None` at the start.
    pub token: Option<Token>,
    /// The token as that answer told it, and the best block then; `None` where there was none.
    pub written: Option<(Vec<u8>, BlockId)>,
    /// The chain before the look that is under way.
    pub before: Option<Token>,
    /// That look was begun anew from what a token says, and is not at its end.
    pub resumed: Option<Resumed>,
    pub headers: Option<Headers>,
    /// Blocks below those.
    pub deep: Deep,
    /// Transactions of ours that no block holds, as far as is proved.
    pub tracked: BTreeMap<Txid, Tracked>,
    /// Transactions that a block holds.
    pub proved: HashMap<Txid, Proved>,
    /// Which transaction of the block at which height spends an output that a tracked one needs.
    pub spent: HashMap<OutPoint, (u32, Txid)>,
    /// Scripts of which the whole history was read once.
    pub complete: BTreeSet<ScriptBuf>,
    /// What was read and told of long histories that were not read to their ends yet.
    pub runs: HashMap<ScriptBuf, Run>,
    /// Another chain is there than the one that the database knew.
    pub is_anew: bool,
    /// The scripts of which all was told since, each with the look that told it: of these the database knows this chain.
    pub told_anew: HashMap<ScriptBuf, u64>,
    /// What matters now, and how far that was read.
    pub hot: HashMap<ScriptBuf, Hot>,
    pub mark: Option<HotMark>,
    /// The look in which the round over all others began that is under way; `None` where it began before what matters was known.
    pub round_began: Option<u64>,
    /// Looks so far.
    pub looks: u64,
    /// The last doubt that was heard of ([`HotScripts::doubts`]), and the look since which all that mattered in it is to be told
    /// again; `None` before the first look.
    pub doubt: Option<(u64, u64)>,
    /// Scripts of which not all was told though they matter.
    pub in_vain: InVain,
    /// Those at which the server failed or was late, however often it was asked, while it told other histories: a customer may have made a page
    /// of theirs too long for a slow line.
    pub late: Untold<ScriptBuf>,
    /// The look in which it last was late at one.
    pub late_in: Option<u64>,
    pub strangers: Strangers,
}

/// Where a look that was begun anew parts from the chain before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Resumed {
    /// The highest block that both chains have, as the server says.
    pub said: Option<BlockId>,
    /// The same as far as headers are linked that show it.
    pub fork: Option<BlockId>,
    /// The server was found to deny a block that it has.
    pub is_denied: bool,
    /// The server's best block when it said so.
    pub tip: BlockId,
    /// It was told what is left of the chain before.
    pub is_told: bool,
}

/// A script that matters now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hot {
    pub urgency: Urgency,
    /// The look since which it matters.
    pub since: u64,
    /// The look in which it was last asked about.
    pub asked_in: u64,
    /// The look that last told all of it: a server may refuse what is too long, and prove nothing.
    pub covered_in: Option<u64>,
    /// It matters no more, and is asked about until all of it was told: the round may have passed it over while it mattered.
    pub is_let_go: bool,
}

/// What was read of a history that takes several looks: transactions of blocks, the latest first.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Pages {
    /// What came since the looks before read a part of it.
    pub above: Vec<Txid>,
    /// That part was met, or there is none.
    pub meets: bool,
    /// What lies behind it.
    pub below: Vec<Txid>,
    /// There was no time for more.
    pub is_late: bool,
}

/// Transactions of a history, one behind the other, of which each was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    /// The latest.
    pub first: Txid,
    /// The oldest: the next look goes on behind it.
    pub last: Txid,
}

/// A transaction that a block holds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Proved {
    /// The block's height.
    pub height: u32,
    /// Whether that was told.
    pub told: bool,
}

/// A transaction of ours that no block holds.
pub(super) struct Tracked {
    pub tx: Transaction,
    /// Unconfirmed transactions that it rests on, as far as they are known.
    pub ancestors: BTreeMap<Txid, Transaction>,
    /// What the server says of it, while its mempool holds it.
    pub seen: Option<Seen>,
    /// Whether the server said in this look or an earlier one where it is.
    pub is_asked: bool,
    /// What else spends what it needs, while it is nowhere.
    pub rivals: Rivals,
    /// What was last told of it.
    pub told: Option<Facts>,
    /// The look in which it was last asked about.
    pub asked_in: u64,
}

/// What the mempool says of a transaction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub fee_rate: Option<FeeRate>,
    /// `None` where nobody knows.
    pub rests_on_unconfirmed: Option<bool>,
    /// The height at which that was found.
    pub found_at: u32,
}

/// What else spends the outputs that a transaction needs.
#[derive(Debug, Clone, Default)]
pub(super) struct Rivals {
    /// Transactions of the mempool that spend them.
    pub in_mempool: BTreeSet<(OutPoint, Txid)>,
    /// Outputs of which it is known what became of them.
    pub known: BTreeSet<OutPoint>,
}

impl State {
    /// What is still true where nobody has what was told: the chain. What mattered while another
    /// was asked nobody knows, so that the round begins anew.
    pub(super) fn forget_told(&mut self) -> Self {
        let Self { headers, deep, is_anew, mut told_anew, mut hot, mark, looks, doubt, in_vain, strangers, .. } =
            std::mem::take(self);
        // Only the last answer can have come to nobody.
        hot.values_mut().for_each(|hot| hot.covered_in = hot.covered_in.filter(|it| *it < looks));
        told_anew.retain(|_, told_in| *told_in < looks);
        Self { headers, deep, is_anew, told_anew, hot, mark, looks, doubt, in_vain, strangers, ..Self::default() }
    }

    /// Has found another chain than the one that the database knows.
    pub(super) fn begin_anew(&mut self) {
        self.is_anew = true;
        self.told_anew.clear();
    }

    /// Whether what the database has of a script may be of another chain.
    pub(super) fn is_anew_to(&self, script: &ScriptBuf) -> bool {
        self.is_anew && !self.told_anew.contains_key(script)
    }

    /// Follows a transaction from now on, unless a block holds it.
    pub(super) fn track(&mut self, tx: Transaction) {
        let txid = tx.compute_txid();
        if !self.proved.contains_key(&txid) {
            self.tracked.entry(txid).or_insert_with(|| Tracked {
                tx,
                ancestors: BTreeMap::new(),
                seen: None,
                is_asked: false,
                rivals: Rivals::default(),
                told: None,
                asked_in: 0,
            });
        }
    }

    /// All that is followed: those of ours that no block holds, and what they rest on.
    pub(super) fn followed(&self) -> impl Iterator<Item = &Transaction> {
        self.tracked.values().flat_map(|tracked| std::iter::once(&tracked.tx).chain(tracked.ancestors.values()))
    }

    /// Takes over what became of the scripts that matter now.
    pub(super) fn read_hot(&mut self, hot: &HotScripts) {
        let changes = hot.changes_since(self.mark);
        let mut cooled = changes.cooled;
        if changes.is_all {
            let still: BTreeSet<&ScriptBuf> = changes.hot.iter().map(|(script, _)| script).collect();
            cooled.extend(self.hot.keys().filter(|script| !still.contains(script)).cloned());
        }
        for (script, urgency) in changes.hot {
            // What a customer may be paying to has its turn at once.
            let asked_in = if urgency == Urgency::Possible { self.looks } else { 0 };
            let new = Hot { urgency, since: self.looks, asked_in, covered_in: None, is_let_go: false };
            let hot = self.hot.entry(script).or_insert(new);
            (hot.urgency, hot.is_let_go) = (urgency, false);
        }
        for script in &cooled {
            if let Some(hot) = self.hot.get_mut(script) {
                (hot.urgency, hot.is_let_go) = (Urgency::Possible, true);
            }
        }
        self.let_go();
        self.mark = Some(changes.mark);
    }

    /// Begins to tell all that matters in this look once more, where it was doubted.
    pub(super) fn hear_doubt(&mut self, doubts: u64) {
        if self.doubt.is_none_or(|(heard, _)| heard != doubts) {
            self.doubt = Some((doubts, self.looks));
            self.in_vain.clear();
            self.late = Untold::default();
            self.strangers.in_vain.clear();
        }
    }

    /// Whether nothing is asked about a script in this look: the server was late at one in the last, and now all else has its turn; or it was
    /// so often late at this one that it rests.
    pub(super) fn passes_over(&self, script: &ScriptBuf) -> bool {
        let was_late = self.late_in.is_some_and(|late_in| late_in.saturating_add(1) == self.looks);
        self.late.holds(script, self.height()) || (was_late && self.in_vain.times(script).is_some())
    }

    /// The server was late or failed at a script, and not at another.
    pub(super) fn note_late(&mut self, script: ScriptBuf) {
        self.in_vain.note(script.clone());
        self.late_in = Some(self.looks);
        if self.in_vain.is_untold(&script) {
            self.late.note(&script, self.height());
        }
    }

    /// The height of the best block, as far as headers were followed.
    pub(super) fn height(&self) -> u32 {
        self.headers.as_ref().map_or(0, Headers::height)
    }

    /// Asks what strangers chose; `None` where nobody knows, for the server fails at it, or wants to be left alone at it and at nothing else.
    pub(super) fn ask_of_strangers<T>(
        &mut self,
        server: &Server,
        path: String,
        ask: impl FnOnce(&mut Self) -> Result<Option<T>, NoAnswer>,
    ) -> Result<Option<T>, NoAnswer> {
        let height = self.height();
        if self.strangers.rests(&path, height) {
            return Ok(None);
        }
        let silences = server.bucket.silences();
        let answer = strangers::meant(server, silences, ask(self));
        self.strangers.hear(path, height, answer)
    }

    /// Whether all that mattered when the last doubt was heard was told since then, as far as the server tells it. What came to
    /// matter later was asked about as something else, or is new: whoever watches doubts again where it is neither.
    pub(super) fn is_all_told(&self) -> bool {
        self.doubt.is_some()
            && !self.hot.iter().any(|(script, hot)| self.is_doubted(script, hot))
            && !self.tracked.values().any(|tracked| self.is_doubted_tx(tracked))
    }

    /// Whether a script mattered when the last doubt was heard, and was not told since then though the server may tell it.
    pub(super) fn is_doubted(&self, script: &ScriptBuf, hot: &Hot) -> bool {
        let is_open = |(_, heard)| hot.since <= heard && hot.covered_in.is_none_or(|covered| covered < heard);
        !hot.is_let_go && self.doubt.is_some_and(is_open) && !self.in_vain.is_untold(script)
    }

    /// Whether it was not told since the last doubt where a transaction of ours stands that no block holds.
    pub(super) fn is_doubted_tx(&self, tracked: &Tracked) -> bool {
        !tracked.is_asked || self.doubt.is_some_and(|(_, heard)| tracked.asked_in < heard)
    }

    /// Notes how far a long history was read and told, where these were not proved; answers whether that is further than before.
    pub(super) fn read_on(&mut self, script: &ScriptBuf, pages: &Pages, open: &BTreeSet<Txid>) -> bool {
        let before = self.runs.get(script).copied();
        if !pages.meets || pages.above.iter().any(|txid| open.contains(txid)) {
            return false;
        }
        let told = pages.below.iter().take_while(|txid| !open.contains(*txid)).last();
        let last = told.copied().or(before.map(|run| run.last));
        let first = pages.above.first().copied().or(before.map(|run| run.first)).or(pages.below.first().copied());
        let (Some(first), Some(last)) = (first, last) else { return false };
        if self.runs.len() >= RUNS_MAX {
            self.runs.clear();
        }
        self.runs.insert(script.clone(), Run { first, last });
        before.is_none_or(|run| run.last != last)
    }

    /// Notes that all of a script was told.
    pub(super) fn cover(&mut self, script: &ScriptBuf) {
        self.in_vain.forget(script);
        self.late.forget(script);
        self.runs.remove(script);
        if self.is_anew {
            if self.told_anew.len() >= PROVED_MAX {
                self.told_anew.clear();
            }
            self.told_anew.insert(script.clone(), self.looks);
        }
        if let Some(hot) = self.hot.get_mut(script) {
            hot.covered_in = Some(self.looks);
        }
    }

    /// Forgets what matters no more, as far as it was told of since the round began and since the last doubt: should it matter
    /// again, it did so all along.
    pub(super) fn let_go(&mut self) {
        let began = self.round_began.max(self.doubt.map(|(_, heard)| heard));
        self.hot.retain(|_, hot| !hot.is_let_go || hot.covered_in < began);
    }

    /// A round over all others came to its end: answers whether it is one over all. As long as something that mattered was not told
    /// of since it began, it goes on with the next.
    pub(super) fn ends_round(&mut self) -> bool {
        match self.round_began {
            Some(_) if self.hot.values().any(|hot| hot.covered_in < self.round_began) => return false,
            Some(_) => {}
            None => {
                if let Some(token) = &mut self.token {
                    token.round_from = 0;
                }
            }
        }
        self.round_began = Some(self.looks);
        true
    }

    /// Takes over what the database has of a script. A block that held a transaction holds it as long as it is there.
    pub(super) fn take_known(&mut self, script: &ScriptBuf, known: Vec<(Transaction, KnownPosition)>) {
        let is_anew = self.is_anew_to(script);
        for (tx, position) in known {
            let txid = tx.compute_txid();
            match position {
                KnownPosition::Block(height) if !is_anew && !self.tracked.contains_key(&txid) => {
                    if !self.proved.contains_key(&txid) {
                        self.prove(txid, &tx, height, true);
                    }
                }
                KnownPosition::Block(_) | KnownPosition::Mempool => self.track(tx),
            }
        }
    }

    /// Notes that a block holds a transaction, and what that spends.
    pub(super) fn prove(&mut self, txid: Txid, tx: &Transaction, height: u32, told: bool) {
        if self.proved.len() >= PROVED_MAX {
            self.proved.retain(|_, proved| !proved.told);
        }
        self.proved.insert(txid, Proved { height, told });
        self.tracked.remove(&txid);
        let is_needed = |outpoint: &OutPoint| {
            let mut needed = self.tracked.values().flat_map(|tracked| needs(&tracked.tx, &tracked.ancestors));
            needed.any(|(needed, _)| needed == *outpoint)
        };
        let spent: Vec<OutPoint> = tx.input.iter().map(|input| input.previous_output).filter(is_needed).collect();
        self.spent.extend(spent.into_iter().map(|outpoint| (outpoint, (height, txid))));
    }

    /// Forgets what blocks above a height hold, which are not there any more.
    pub(super) fn take_back(&mut self, fork: u32) {
        self.proved.retain(|_, proved| proved.height <= fork);
        self.spent.retain(|_, (height, _)| *height <= fork);
        self.tracked.values_mut().for_each(|tracked| {
            tracked.rivals = Rivals::default();
            // What such a block ruled out is told anew, if only to say that another one does.
            tracked.told = None;
            if let Some(seen) = &mut tracked.seen {
                seen.rests_on_unconfirmed = None;
            }
        });
        // What was read to its end then, or in part, may have more in it now.
        self.complete.clear();
        self.runs.clear();
    }

    /// The lowest header that is linked up to the best one, with its height.
    pub(super) fn lowest(&self) -> Option<(u32, Known)> {
        let kept = || self.headers.as_ref().and_then(|headers| Some((headers.first(), *headers.at(headers.first())?)));
        self.deep.lowest().or_else(kept)
    }

    /// Takes over how far the headers were followed. What they keep no more stays linked to what was found below.
    pub(super) fn take_headers(&mut self, moved: Headers) {
        if let Some(before) = self.headers.as_ref().filter(|_| self.deep.lowest().is_some()) {
            let dropped = (before.first()..moved.first()).map_while(|height| Some((height, before.at(height)?.hash)));
            dropped.for_each(|(height, hash)| self.deep.note(height, hash));
        }
        self.headers = Some(moved);
    }

    /// The block of a height, where it is kept whole.
    pub(super) fn header_at(&self, height: u32) -> Option<&Known> {
        let linked = self.headers.as_ref().and_then(|headers| headers.at(height));
        linked.or_else(|| self.deep.at(height))
    }

    /// The hash that is known of a height.
    pub(super) fn hash_at(&self, height: u32) -> Option<BlockHash> {
        self.header_at(height).map(|known| known.hash)
    }

    /// Whether a block is proved to hold a transaction.
    pub(super) fn is_proved(&self, txid: &Txid) -> bool {
        self.proved.contains_key(txid)
    }

    /// Whether it was told that a block holds a transaction.
    pub(super) fn is_told(&self, txid: &Txid) -> bool {
        self.proved.get(txid).is_some_and(|proved| proved.told)
    }
}

/// Takes the best chain over into the blocks of a token, of which those above `fork` are not there any more. Answers the highest block
/// on the way that was known `before`, if any; `Err` with the height at which both have another block: then nothing was taken over.
pub(super) fn advance(
    token: &mut Token,
    before: Option<&Token>,
    headers: &Headers,
    fork: Option<u32>,
) -> Result<Option<BlockId>, u32> {
    if let Some(fork) = fork {
        token.cut(fork);
    }
    let last = token.last().map(|last| last.id);
    let other = last.filter(|last| headers.at(last.height).is_some_and(|known| known.hash != last.hash));
    if let Some(other) = other {
        return Err(other.height);
    }
    let from = token.last().map_or(headers.first(), |last| last.id.height.saturating_add(1).max(headers.first()));
    let mut joined = None;
    for height in from..=headers.height() {
        let Some(known) = headers.at(height) else { continue };
        let id = BlockId { height, hash: known.hash };
        if before.is_some_and(|before| token.rejoin(before, id)) {
            joined = Some(id);
        } else {
            token.push(id, counted(known.header.work()));
        }
    }
    Ok(joined)
}

#[cfg(test)]
mod tests;
