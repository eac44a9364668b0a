//! Following the server's chain: from the last answer, or anew from what the token says.

use super::Asking;
use super::headers::{self, Followed, Headers, Known, LINKED_MAX, check_floor, forged};
use super::server::NoAnswer;
use super::state::{self, State};
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
    let (from_start, left_above) =
        if goes_on(state, request.token) { (false, None) } else { resume(asking, state, request)? };
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
    if let Some(height) = state::advance(token, &moved, fork) {
        *state = State::default();
        return Err(forged(height, "it is another than the server says elsewhere").into());
    }
    if !more && token.is_behind() {
        let before = state.before.as_ref().unwrap_or(token);
        let down = behind("server", moved.height(), before);
        *state = state.forget_told();
        return Err(down);
    }
    state.take_headers(moved);
    let left_above = [left_above, fork].into_iter().flatten().min();
    Ok(Begun { from_start, left_above, more })
}

/// Whether what is remembered is what the last answer left.
fn goes_on(state: &State, token: Option<&[u8]>) -> bool {
    let (Some((written, tip)), Some(chain), Some(_)) = (&state.written, &state.token, &state.headers) else {
        return false;
    };
    token == Some(written) && chain.last().map(|last| last.id) == Some(*tip)
}

/// Begins anew where the token and the server's chain have a block in common; else where the wallet began. Answers whether it
/// is there, and above which height blocks were left.
fn resume(asking: &Asking<'_>, state: &mut State, request: &LookRequest<'_>) -> Result<(bool, Option<u32>), ChainDown> {
    let mut fresh = state.forget_told();
    let known = request.token.and_then(Token::read);
    let tip = headers::tip_hash(asking.server)?;
    let (height, block) = headers::block(asking.server, asking.network, tip)?;
    check_floor(asking.network, height, &block)?;
    let fork = known.as_ref().map(|known| last_common(asking, fresh.headers.as_ref(), known.blocks(), height));
    let fork = fork.transpose()?.flatten();
    if let (Some(known), None) = (&known, fork) {
        refuse_less_work(known, height, &block)?;
    }
    let left_above = known.as_ref().and_then(|known| known.left_above(fork.map(|fork| fork.id)));
    let start = match (fork, request.birth_height) {
        (Some(fork), _) => fork.id.height,
        (None, Some(birth)) => birth.saturating_sub(BEFORE_BIRTH).min(height),
        (None, None) => height.saturating_sub(BEFORE_BIRTH),
    };
    // So many that the time by the blocks is known, and no more than are kept, where what is left out need not be linked.
    let mut start = start.min(height.saturating_sub(rules::MEDIAN_REACHES));
    let linked = height.saturating_sub(LINKED_MAX.saturating_sub(1));
    if start < linked && may_leave_out(asking, fork, height, &block)? {
        start = linked;
    }
    let is_there = |headers: &Headers| fork.is_some_and(|fork| headers.holds(&fork.id));
    if !fresh.headers.as_ref().is_some_and(is_there) {
        let (first, known) = begin(asking, start)?;
        headers::prove_height(asking.server, first, &known)?;
        fresh.headers = Some(Headers::new(first, known));
        fresh.old.clear();
    }
    let headers = fresh.headers.as_ref().ok_or_else(tip_changed)?;
    fresh.token = Some(begun(known.as_ref().zip(fork), headers)?);
    fresh.before = known;
    let above = fork.map_or(u32::MAX, |fork| fork.id.height);
    request.watch.unsettled(above).into_iter().for_each(|tx| fresh.track(tx));
    fresh.is_anew |= fork.is_none();
    *state = fresh;
    Ok((fork.is_none(), left_above))
}

/// Whether the blocks between a fork and the server's best one may be left out: their times bear out that so many lie between. Without
/// a fork nothing rests on how many there are.
fn may_leave_out(asking: &Asking<'_>, fork: Option<Weighed>, height: u32, tip: &Known) -> Result<bool, NoAnswer> {
    let Some(Weighed { id, .. }) = fork else { return Ok(true) };
    let (_, known) = headers::block(asking.server, asking.network, id.hash)?;
    Ok(rules::bears_out(asking.network, &known.header, &tip.header, height.saturating_sub(id.height)))
}

/// The chain up to a fork, as a token knows it, or from the first header on where there is none.
fn begun(known: Option<(&Token, Weighed)>, headers: &Headers) -> Result<Token, ChainDown> {
    let lowest = headers.at(headers.first()).ok_or_else(tip_changed)?;
    let id = BlockId { height: headers.first(), hash: lowest.hash };
    let Some((known, fork)) = known else { return Ok(Token::begin(id)) };
    let mut token = known.clone();
    token.answer = answer_number();
    token.cut(fork.id.height);
    // What lies between was not looked at. Nobody owes its work: how much it is, the server alone says.
    if id.height > fork.id.height {
        token.push(id, 0);
    }
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

/// Which of these blocks, the lowest first, is the last of the chain that is known, or else of the server's.
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
