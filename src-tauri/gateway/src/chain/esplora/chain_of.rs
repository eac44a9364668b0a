//! Following the server's chain: from the last answer, or anew from what the token says.

use super::Asking;
use super::deep::Deep;
use super::headers::{self, Followed, Headers, Known, LINKED_MAX, check_floor, forged};
use super::server::NoAnswer;
use super::state::{self, Resumed, State};
use crate::chain::headers as rules;
use crate::chain::refusals::{behind, tip_changed};
use crate::chain::token::{BlockId, Token, Weighed, answer_number, counted};
use crate::chain::{BEFORE_BIRTH, ChainDown, LookRequest};

/// Where an answer goes on from.
pub(super) struct Begun {
    /// The wallet's beginning: the chain is another.
    pub from_start: bool,
    /// See [`crate::chain::View::left_above`].
    pub left_above: Option<u32>,
    /// The server has more headers.
    pub more: bool,
}

/// Brings the headers up to the server's best block, as far as they go into one answer.
pub(super) fn follow(asking: &Asking<'_>, state: &mut State, request: &LookRequest<'_>) -> Result<Begun, ChainDown> {
    if !goes_on(state, request.token) {
        resume(asking, state, request)?;
    }
    // Whatever fails on the way leaves the headers and the token as they fit each other.
    let mut moved = state.headers.clone().ok_or_else(tip_changed)?;
    let Followed::To { fork, more } = headers::follow(asking.server, asking.network, &mut moved)? else {
        *state = State::default();
        return Err(tip_changed());
    };
    if let Some(fork) = fork {
        state.take_back(fork);
        request.watch.unsettled(fork).into_iter().for_each(|tx| state.track(tx));
    }
    let token = state.token.as_mut().ok_or_else(tip_changed)?;
    match state::advance(token, state.before.as_ref(), &moved, fork) {
        Ok(joined) => note_joined(state, joined, fork),
        Err(height) => {
            // Where it has another best block by now, it may have told of each chain what was so.
            let said_at = state.resumed.map(|resumed| resumed.tip.hash);
            let has_moved = said_at.is_some_and(|said_at| moved.tip().is_some_and(|tip| tip.hash != said_at));
            *state = State::default();
            return Err(match has_moved {
                true => tip_changed(),
                false => forged(height, "it is another than the server says elsewhere").into(),
            });
        }
    }
    if !more && state.token.as_ref().is_some_and(Token::is_behind) {
        let before = state.before.as_ref().or(state.token.as_ref());
        let down = before.map_or_else(tip_changed, |before| behind("server", moved.height(), before));
        *state = state.forget_told();
        return Err(down);
    }
    let height = moved.height();
    state.take_headers(moved);
    let (from_start, left_above) = parted(state, request, (height, more));
    Ok(Begun { from_start, left_above: [left_above, fork].into_iter().flatten().min(), more })
}

/// Notes the highest block that is linked and that was known before. Blocks above `fork` were taken back.
fn note_joined(state: &mut State, joined: Option<BlockId>, fork: Option<u32>) {
    let Some(resumed) = &mut state.resumed else { return };
    if let Some(fork) = fork
        && resumed.fork.is_some_and(|block| block.height > fork)
    {
        let known = state.before.iter().flat_map(Token::blocks);
        resumed.fork = known.map(|block| block.id).rev().find(|block| block.height <= fork);
    }
    let Some(joined) = joined else { return };
    // What came since it said so is nothing that it denied.
    if joined.height <= resumed.tip.height && resumed.said != Some(joined) && !resumed.is_denied {
        resumed.is_denied = true;
        tracing::warn!(height = joined.height, "the server denied a block that its chain holds: its word is not taken");
    }
    resumed.fork = Some(joined);
}

/// What a look that was begun anew tells of the blocks that were known, once its headers are linked to beyond them all: whether the chain
/// is another, and above which height blocks were left. What the server says of single blocks only shows from where on to link.
fn parted(state: &mut State, request: &LookRequest<'_>, (height, more): (u32, bool)) -> (bool, Option<u32>) {
    let Some(resumed) = &mut state.resumed else { return (false, None) };
    let fork = resumed.fork;
    let is_beyond = state.before.as_ref().and_then(Token::last).is_none_or(|last| last.id.height <= height);
    let tells_now = !resumed.is_told && (is_beyond || !more);
    resumed.is_told |= tells_now;
    if !more {
        state.resumed = None;
    }
    if !tells_now {
        return (false, None);
    }
    let above = fork.map_or(u32::MAX, |fork| fork.height);
    request.watch.unsettled(above).into_iter().for_each(|tx| state.track(tx));
    if fork.is_none() {
        state.begin_anew();
    }
    (fork.is_none(), state.before.as_ref().and_then(|known| known.left_above(fork)))
}

/// Whether what is remembered is what the last answer left.
fn goes_on(state: &State, token: Option<&[u8]>) -> bool {
    let (Some((written, tip)), Some(chain), Some(_)) = (&state.written, &state.token, &state.headers) else {
        return false;
    };
    token == Some(written) && chain.last().map(|last| last.id) == Some(*tip)
}

/// Begins anew where the token and the server's chain have a block in common, as far as the server says; else with the token's first
/// block, or where the wallet began.
fn resume(asking: &Asking<'_>, state: &mut State, request: &LookRequest<'_>) -> Result<(), ChainDown> {
    let mut fresh = state.forget_told();
    let known = request.token.and_then(Token::read);
    let tip = headers::tip_hash(asking.server)?;
    let (height, block) = headers::block(asking.server, asking.network, tip)?;
    check_floor(asking.network, height, &block)?;
    let fork = known.as_ref().map(|known| last_common(asking, fresh.headers.as_ref(), known.blocks(), height));
    let said = fork.transpose()?.flatten();
    if let (Some(known), None) = (&known, said) {
        refuse_less_work(known, height, &block)?;
    }
    let first = known.as_ref().and_then(Token::first);
    let start = match (said.map(|said| said.id).or(first), request.birth_height) {
        // All is linked from there on: it shows what of the token is in the chain.
        (Some(linked_from), _) => linked_from.height.min(height),
        // No more than are kept: nothing rests on how many there are.
        (None, birth) => {
            let linked = height.saturating_sub(LINKED_MAX.saturating_sub(1));
            birth.map_or(height, |birth| birth.min(height)).saturating_sub(BEFORE_BIRTH).max(linked)
        }
    };
    // So many that the time by the blocks is known.
    let start = start.min(height.saturating_sub(rules::MEDIAN_REACHES));
    let is_there = |headers: &Headers| said.is_some_and(|said| headers.holds(&said.id));
    if !fresh.headers.as_ref().is_some_and(is_there) {
        let (first, block) = begin(asking, start)?;
        headers::prove_height(asking.server, first, &block)?;
        fresh.headers = Some(Headers::new(first, block));
        fresh.deep = Deep::default();
    }
    let headers = fresh.headers.as_ref().ok_or_else(tip_changed)?;
    // It may be there all the same.
    let fork = said.or_else(|| known.as_ref()?.blocks().first().filter(|first| headers.holds(&first.id)).copied());
    fresh.token = Some(begun(known.as_ref(), fork, headers)?);
    let (said, fork) = (said.map(|said| said.id), fork.map(|fork| fork.id));
    let tip = BlockId { height, hash: tip };
    fresh.resumed = Some(Resumed { said, fork, is_denied: false, tip, is_told: false });
    fresh.before = known;
    *state = fresh;
    Ok(())
}

/// The chain up to a fork, as a token knows it, or from the first header on where there is none.
fn begun(known: Option<&Token>, fork: Option<Weighed>, headers: &Headers) -> Result<Token, ChainDown> {
    let lowest = headers.at(headers.first()).ok_or_else(tip_changed)?;
    let id = BlockId { height: headers.first(), hash: lowest.hash };
    let Some((known, fork)) = known.zip(fork) else {
        let mut token = Token::begin(id);
        token.most = known.map_or(0, |known| known.most);
        return Ok(token);
    };
    let mut token = known.clone();
    token.answer = answer_number();
    token.cut(fork.id.height);
    // A token that is younger than the headers knows no fork below it. The work up to it is owed by nobody.
    if token.first().is_some_and(|first| first.height > id.height) {
        token.begin_at(id, fork, 0);
    }
    Ok(token)
}

/// Refuses another chain that has less work than the one that was looked at before, as far as that can be told by its best
/// block: as if each had been as hard to find.
fn refuse_less_work(known: &Token, height: u32, tip: &Known) -> Result<(), ChainDown> {
    let first = known.first().map_or(0, |first| first.height);
    let work = u128::from(height.saturating_sub(first)).saturating_mul(counted(tip.header.work()));
    if work < known.most { Err(behind("server", height, known)) } else { Ok(()) }
}

/// Which of these blocks, the lowest first, is the last of the chain that is known, or else of the server's, as that says.
fn last_common(
    asking: &Asking<'_>,
    headers: Option<&Headers>,
    blocks: &[Weighed],
    height: u32,
) -> Result<Option<Weighed>, NoAnswer> {
    for block in blocks.iter().rev() {
        let id = block.id;
        let is_known = headers.is_some_and(|headers| headers.holds(&id));
        if is_known || (id.height <= height && headers::hash_at(asking.server, id.height)? == Some(id.hash)) {
            return Ok(Some(*block));
        }
    }
    Ok(None)
}

/// The block at a height, checked as far as one alone can be.
fn begin(asking: &Asking<'_>, height: u32) -> Result<(u32, Known), NoAnswer> {
    let known = headers::at(asking.server, asking.network, height)?;
    check_floor(asking.network, height, &known)?;
    Ok((height, known))
}
