//! One answer of a look: the headers since the last, the scripts that there are questions for, and where our transactions
//! stand.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use bitcoin::{ScriptBuf, Transaction, Txid};

use super::chain_of::Begun;
use super::history::{self, History, Sight, Sights};
use super::questions::{self, About, Question};
use super::server::NoAnswer;
use super::state::{self, Pages, Seen, State};
use super::{Asking, chain_of, facts, positions};
use crate::chain::facts::{Facts, parents_first, unfollowed};
use crate::chain::refusals::tip_changed;
use crate::chain::room::{AnswerRoom, Room, is_relayed};
use crate::chain::token::answer_number;
use crate::chain::{
    AskedPayee, ChainDown, Covered, KnownScripts, LookRequest, ScriptState, Scripts, TxFacts, TxPosition, View,
    WatchList,
};

/// What one answer has found so far.
#[derive(Default)]
struct Found {
    sights: Sights,
    /// How much more it may hold.
    room: AnswerRoom,
    /// How much more of the mempool may be followed.
    left: Room,
    /// Scripts whose history was read.
    read: Vec<Read>,
    /// Those of which a part was.
    parts: Vec<(ScriptBuf, Pages)>,
    /// What was read of payees' histories; `None` where time ran out.
    of_payees: Vec<(ScriptBuf, Option<Vec<Txid>>)>,
    /// Scripts of the round over all that were asked about.
    cold_taken: usize,
    /// Transactions of ours of which it is not proved what the server says.
    open: BTreeSet<Txid>,
    /// Nothing more is asked: the server wants to be left alone, or the look takes long.
    is_over: bool,
}

/// A history that was read to its end.
struct Read {
    script: ScriptBuf,
    txids: Vec<Txid>,
    /// It has more than one page.
    is_long: bool,
    /// More of it waits in the mempool than the server tells.
    is_cut: bool,
}

/// Looks for what a request asks.
pub(super) fn look(asking: &Asking<'_>, state: &mut State, request: &LookRequest<'_>) -> Result<View, ChainDown> {
    let Begun { from_start, left_above, more } = chain_of::follow(asking, state, request)?;
    let (tip, median_time) =
        state.headers.as_ref().and_then(|it| Some((it.tip()?, it.median_time()))).ok_or_else(tip_changed)?;
    let (mut told, mut found) = (BTreeMap::new(), Found::default());
    if !more {
        state.looks = state.looks.saturating_add(1);
        state.hear_doubt(request.scripts.hot.doubts());
        state.read_hot(request.scripts.hot);
        let questions = questions::in_order(state, &request.scripts);
        state.strangers.has_cut_short = false;
        for question in questions {
            if !ask(asking, state, request, question, &mut found)? {
                break;
            }
        }
        told = judge(asking, state, request.watch, &mut found)?;
    }
    note_told(state, &told);
    facts::forget_what_is_ruled_out(state, tip.height);
    let cold_taken = found.cold_taken;
    let (covered, states) = covered_by(state, request.scripts.known, found, from_start);
    let is_new = !told.is_empty() || !states.is_empty() || from_start || more;
    let is_untold = |script: &&ScriptBuf| state.in_vain.is_untold(script) || state.strangers.in_vain.is_untold(script);
    let untold = request.scripts.awaited().filter(is_untold).cloned().collect();
    let covered = Covered::Scripts(covered);
    let token = next_token(state, request, is_new, more, (cold_taken, &covered))?;
    let told = told.into_iter().map(|(txid, (tx, facts))| (txid, facts.of(tx))).collect();
    let txs: Vec<TxFacts> = parents_first(told, |facts: &TxFacts| &facts.tx);
    Ok(View {
        token,
        from_start,
        left_above,
        more,
        tip,
        seen_height: tip.height,
        median_time,
        txs,
        unknown: Vec::new(),
        covered,
        untold,
        all_told: !more && state.is_all_told(),
        cold_taken,
        states,
    })
}

/// The token of this answer, by which the next one goes on; that of the last answer where nothing is new. `asked` is how far
/// the round over all scripts has come.
fn next_token(
    state: &mut State,
    request: &LookRequest<'_>,
    is_new: bool,
    more: bool,
    asked: (usize, &Covered),
) -> Result<Vec<u8>, ChainDown> {
    let round_ended = !more && request.scripts.round_ended && state.ends_round();
    let token = state.token.as_mut().ok_or_else(tip_changed)?;
    let tip = token.last().ok_or_else(tip_changed)?.id;
    if is_new {
        token.answer = answer_number();
    }
    let written = if more {
        token.unended(state.before.as_ref()).write()
    } else {
        token.end();
        token.note_round(&Scripts { round_ended, ..request.scripts }, asked.0, asked.1);
        state.before = Some(token.clone());
        token.write()
    };
    state.written = Some((written.clone(), tip));
    Ok(written)
}

impl Found {
    /// What an answer says; `None` where there is none although the server can be used.
    fn take<T>(&mut self, answer: Result<T, NoAnswer>) -> Result<Option<T>, ChainDown> {
        match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(NoAnswer::Busy(_)) => {
                self.is_over = true;
                Ok(None)
            }
            Err(NoAnswer::TooMuch(why)) => {
                tracing::warn!(%why, "what is asked for is too long to be read, and is left out");
                Ok(None)
            }
            Err(NoAnswer::Failed(down) | NoAnswer::Down(down)) => Err(down),
        }
    }
}

/// Asks a question; answers whether there may be another.
fn ask(
    asking: &Asking<'_>,
    state: &mut State,
    request: &LookRequest<'_>,
    question: Question,
    found: &mut Found,
) -> Result<bool, ChainDown> {
    if found.is_over || found.room.is_spent() || asking.has_asked_long() {
        return Ok(false);
    }
    if let About::Script(script) = &question.about
        && state.passes_over(script)
    {
        // The round over all goes on behind it.
        found.cold_taken = found.cold_taken.saturating_add(usize::from(question.is_cold));
        return Ok(true);
    }
    // What is to be decided now is waited for, and what is asked in between.
    let bucket = &asking.server.bucket;
    if question.is_patient {
        bucket.wait();
    } else if !bucket.take() {
        return Ok(false);
    }
    match question.about {
        About::Script(script) => {
            ask_script(asking, state, request.scripts.known, (script, question.is_patient), found)?;
            // A server that wants to be left alone has said nothing of it.
            if question.is_cold && !found.is_over {
                found.cold_taken = found.cold_taken.saturating_add(1);
            }
        }
        About::Payee(payee) => ask_payee(asking, state, payee, found)?,
        About::Tx(txid) => ask_tracked(asking, state, txid, found)?,
    }
    Ok(!found.is_over)
}

/// Asks whether somebody paid what a payout is to pay. Strangers chose the script, and how often it was paid: a question about it that
/// takes an honest server too long fails no look.
fn ask_payee(asking: &Asking<'_>, state: &mut State, payee: AskedPayee, found: &mut Found) -> Result<(), ChainDown> {
    let mut sights = std::mem::take(&mut found.sights);
    let (bucket, script) = (&asking.server.bucket, payee.script.clone());
    let silences = bucket.silences();
    let read = history::read_of_payee(asking, &payee, (&mut sights, &mut found.room));
    found.sights = sights;
    match read {
        Ok(txids) => found.of_payees.push((script, txids)),
        Err(NoAnswer::Busy(_)) => {
            found.is_over = true;
            // Whoever broadcasts may have heard it.
            if bucket.silences() != silences {
                bucket.be_silent_briefly();
                state.strangers.hear_busy_at(script, silences, state.height());
            }
        }
        Err(NoAnswer::TooMuch(why) | NoAnswer::Failed(why)) => {
            tracing::warn!(script = %script.to_hex_string(), %why, "nothing is told of what a payee got");
            state.strangers.note_in_vain(script, state.height());
        }
        Err(NoAnswer::Down(down)) => return Err(down),
    }
    state.strangers.has_cut_short |= found.is_over || asking.has_asked_long();
    Ok(())
}

fn ask_script(
    asking: &Asking<'_>,
    state: &mut State,
    known: &dyn KnownScripts,
    (script, is_patient): (ScriptBuf, bool),
    found: &mut Found,
) -> Result<(), ChainDown> {
    state.take_known(&script, known.transactions(&script));
    if !state.is_anew_to(&script) && known.state(&script).as_deref() == Some(state::COMPLETE) {
        state.complete.insert(script.clone());
    }
    let mut sights = std::mem::take(&mut found.sights);
    let read = history::read(asking, state, (&script, is_patient), (&mut sights, &mut found.room));
    found.sights = sights;
    if let Some(hot) = state.hot.get_mut(&script) {
        hot.asked_in = state.looks;
    }
    let read = match read {
        Err(NoAnswer::Failed(why)) if history::tells_histories(asking.server) => {
            tracing::warn!(script = %script.to_hex_string(), %why, "nothing is told of a script, and it is asked about more rarely");
            state.note_late(script);
            return Ok(());
        }
        read => found.take(read)?,
    };
    match read {
        Some(History::Whole { txids, is_long, is_cut }) => found.read.push(Read { script, txids, is_long, is_cut }),
        Some(History::Part(pages)) => found.parts.push((script, pages)),
        None if !found.is_over => state.in_vain.note(script),
        // It wants to be left alone, and has said nothing of it.
        None => {}
    }
    Ok(())
}

/// Asks about a transaction of ours, if no script has told of it.
fn ask_tracked(asking: &Asking<'_>, state: &mut State, txid: Txid, found: &mut Found) -> Result<(), ChainDown> {
    if found.sights.contains_key(&txid) {
        return Ok(());
    }
    // Who pays chose how long the answer is.
    let answer = state.ask_of_strangers(asking.server, format!("/tx/{txid}"), |_| {
        history::transaction(asking.server, txid).map(Some)
    });
    let Some(Some(sight)) = found.take(answer)? else { return Ok(()) };
    let sight = match sight {
        Some(sight) if !sight.status.confirmed => {
            // Others made what it spends.
            let path = format!("/tx/{txid}/vin");
            let is_there = state.ask_of_strangers(asking.server, path, |_| positions::is_in_mempool(asking, &sight.tx));
            match found.take(is_there)? {
                Some(Some(is_there)) => is_there.then_some(sight),
                Some(None) | None => return Ok(()),
            }
        }
        sight => sight,
    };
    if let Some(sight) = sight {
        found.room.note_tx(&sight.tx);
        found.sights.insert(txid, sight);
    } else if let Some(tracked) = state.tracked.get_mut(&txid) {
        (tracked.seen, tracked.is_asked, tracked.asked_in) = (None, true, state.looks);
    }
    Ok(())
}

/// What is to be told of what was found, and of what rests on it.
fn judge(
    asking: &Asking<'_>,
    state: &mut State,
    watch: &dyn WatchList,
    found: &mut Found,
) -> Result<BTreeMap<Txid, (Transaction, Facts)>, ChainDown> {
    let tracked = state.tracked.iter().map(|(txid, one)| (txid, &one.tx, one.told.as_ref()));
    for txid in unfollowed(tracked, watch) {
        state.tracked.remove(&txid);
    }
    let sights = parents_first(std::mem::take(&mut found.sights), |sight: &Sight| &sight.tx);
    // Each is asked about: what it makes may be spent further on.
    let ours: Vec<Sight> = sights
        .into_iter()
        .filter(|sight| watch.concerns(&sight.tx) | state.tracked.contains_key(&sight.tx.compute_txid()))
        .collect();
    found.left = Room::beside(state.followed());
    let mut in_blocks = Vec::new();
    for sight in &ours {
        let known = state.proved.get(&sight.tx.compute_txid()).map(|proved| proved.height);
        let block =
            if found.is_over { known } else { found.take(positions::block_of(asking, state, sight))?.flatten() };
        match block {
            Some(height) => in_blocks.push((sight, height)),
            None => see(state, sight, found),
        }
    }
    let height = state.height();
    let txids: Vec<Txid> =
        state.tracked.iter().filter(|(_, one)| one.asked_in == state.looks).map(|(txid, _)| *txid).collect();
    for txid in txids {
        let is_in_mempool = state.tracked.get(&txid).is_some_and(|tracked| tracked.seen.is_some());
        if found.is_over || asking.is_late() {
            break;
        }
        let read = if is_in_mempool {
            facts::read_ancestors(asking, state, txid, height)
        } else {
            facts::read_rivals(asking, state, txid)
        };
        found.take(read)?;
    }
    let mut told = BTreeMap::new();
    for (sight, height) in in_blocks {
        let txid = sight.tx.compute_txid();
        if state.is_told(&txid) {
            continue;
        }
        match position(state, height) {
            Some(position) => {
                told.insert(txid, (sight.tx.clone(), facts::of_block(state, &sight.tx, position)));
            }
            // Its header was forgotten: it is proved anew.
            None => {
                state.proved.remove(&txid);
                found.open.insert(txid);
            }
        }
    }
    for (txid, facts) in facts::changed(state) {
        if let Some(tracked) = state.tracked.get(&txid) {
            told.insert(txid, (tracked.tx.clone(), facts));
        }
    }
    Ok(told)
}

/// Takes over what the server says of a transaction of ours that no block is proved to hold.
fn see(state: &mut State, sight: &Sight, found: &mut Found) {
    let txid = sight.tx.compute_txid();
    if sight.status.confirmed {
        found.open.insert(txid);
        return;
    }
    if !state.tracked.contains_key(&txid) {
        if !is_relayed(&sight.tx) {
            return;
        }
        if !found.left.take(&sight.tx) {
            tracing::warn!(%txid, "more waits in the Esplora server's mempool than is taken; what there is of it shows with the blocks");
            found.open.insert(txid);
            return;
        }
    }
    state.track(sight.tx.clone());
    let looks = state.looks;
    if let Some(tracked) = state.tracked.get_mut(&txid) {
        let before = tracked.seen.as_ref();
        tracked.seen = Some(Seen {
            fee_rate: sight.fee_rate,
            rests_on_unconfirmed: before.and_then(|seen| seen.rests_on_unconfirmed),
            found_at: before.map_or(0, |seen| seen.found_at),
        });
        (tracked.is_asked, tracked.asked_in) = (true, looks);
    }
}

fn position(state: &State, height: u32) -> Option<TxPosition> {
    let known = state.header_at(height)?;
    Some(TxPosition::Block { height, time: known.time() })
}

/// The scripts of which all that there is was judged, and what the database is to remember of them: of another chain all anew.
fn covered_by(
    state: &mut State,
    known: &dyn KnownScripts,
    found: Found,
    is_another: bool,
) -> (HashSet<ScriptBuf>, Vec<ScriptState>) {
    let Found { read, parts, of_payees, open, is_over, .. } = found;
    let (mut covered, mut states) = (HashSet::new(), Vec::new());
    for (script, pages) in parts {
        if !state.read_on(&script, &pages, &open) && !pages.is_late && !is_over {
            state.in_vain.note(script);
        }
    }
    for (script, txids) in of_payees {
        if txids.is_some_and(|txids| !txids.iter().any(|txid| open.contains(txid))) {
            state.strangers.cover(&script);
            covered.insert(script);
        } else if !is_over {
            state.strangers.note_in_vain(script, state.height());
        }
    }
    for Read { script, txids, is_long, is_cut } in read {
        if txids.iter().any(|txid| open.contains(txid)) {
            continue;
        }
        if is_cut {
            // Of its blocks all was told.
            state.complete.insert(script.clone());
            state.in_vain.note(script);
            continue;
        }
        // A short history is read at a stroke: of that nothing need be remembered.
        if is_long && (is_another || known.state(&script).as_deref() != Some(state::COMPLETE)) {
            states.push(ScriptState { script: script.clone(), state: state::COMPLETE.to_vec() });
        }
        if is_long {
            state.complete.insert(script.clone());
        }
        state.cover(&script);
        covered.insert(script);
    }
    state.let_go();
    (covered, states)
}

/// Remembers what this answer tells.
fn note_told(state: &mut State, told: &BTreeMap<Txid, (Transaction, Facts)>) {
    for (txid, (_, facts)) in told {
        match state.proved.get_mut(txid) {
            Some(proved) => proved.told = true,
            None => {
                if let Some(tracked) = state.tracked.get_mut(txid) {
                    tracked.told = Some(facts.clone());
                }
            }
        }
    }
}
