//! Following the server's chain: from the last answer, or anew from what the token says.

use super::Asking;
use super::headers::{self, Followed, Headers, LINKED_MAX, behind, changed, check_floor};
use super::server::NoAnswer;
use super::state::{self, State};
use crate::chain::core::state::answer_number;
use crate::chain::core::token::{BlockId, Token};
use crate::chain::{ChainDown, LookRequest};

/// Blocks that are kept below the wallet's birth, for the chain that was there may have been another.
const BEFORE_BIRTH: u32 = 100;

/// Blocks that are read below the best one in any case.
const BEFORE_TIP: u32 = 10;

/// Brings the headers up to the server's best block, as far as they go into one answer. Answers whether the look begins with
/// the first block, and whether there is more.
pub(super) fn follow(
    asking: &Asking<'_>,
    state: &mut State,
    request: &LookRequest<'_>,
) -> Result<(bool, bool), ChainDown> {
    let from_start = !goes_on(state, request.token) && resume(asking, state, request)?;
    // Whatever fails on the way leaves the headers and the token as they fit each other.
    let mut moved = state.headers.clone().ok_or_else(changed)?;
    match headers::follow(asking.server, asking.network, &mut moved)? {
        Followed::To { fork, more } => {
            if let Some(fork) = fork {
                state.take_back(fork);
                request.watch.unsettled(fork).into_iter().for_each(|tx| state.track(tx));
            }
            let token = state.token.as_mut().ok_or_else(changed)?;
            state::advance(token, &moved, fork);
            state.headers = Some(moved);
            Ok((from_start, more))
        }
        Followed::Lost => {
            *state = State::default();
            Err(changed())
        }
    }
}

/// Whether what is remembered is what the last answer left.
fn goes_on(state: &State, token: Option<&[u8]>) -> bool {
    let known = state.token.as_ref().filter(|_| state.headers.is_some());
    known.is_some_and(|known| token == Some(&state::write(known)))
}

/// Begins anew where the token and the server's chain have a block in common; else where the wallet began, which is answered.
fn resume(asking: &Asking<'_>, state: &mut State, request: &LookRequest<'_>) -> Result<bool, ChainDown> {
    let mut fresh = state.untold();
    let known = request.token.and_then(state::read);
    let tip = headers::tip_hash(asking.server)?;
    let (height, block) = headers::block(asking.server, asking.network, tip)?;
    check_floor(asking.network, height, &block)?;
    let fork = known.as_ref().map(|known| last_common(asking, fresh.headers.as_ref(), &known.blocks, height));
    let fork = fork.transpose()?.flatten();
    if let Some(last) = known.as_ref().and_then(|known| known.blocks.last())
        && fork != Some(*last)
        && height <= last.height
    {
        return Err(behind(height, last.height).into());
    }
    let start = match (fork, request.birth_height) {
        (Some(fork), _) => fork.height,
        (None, Some(birth)) => birth.saturating_sub(BEFORE_BIRTH).min(height),
        (None, None) => height,
    };
    // So many that the time by the blocks is known, and no more than are kept.
    let start = start.min(height.saturating_sub(BEFORE_TIP)).max(height.saturating_sub(LINKED_MAX.saturating_sub(1)));
    let is_there = |headers: &Headers| fork.is_some_and(|fork| headers.holds(&fork));
    if !fresh.headers.as_ref().is_some_and(is_there) {
        let (first, known) = begin(asking, start)?;
        fresh.headers = Some(Headers::new(first, known));
    }
    let mut blocks = known.filter(|_| fork.is_some()).map_or_else(Vec::new, |known| known.blocks);
    blocks.retain(|block| fork.is_some_and(|fork| block.height <= fork.height));
    if let Some(headers) = &fresh.headers
        && blocks.last().is_none_or(|last| last.height < headers.first())
    {
        let first = headers.at(headers.first()).ok_or_else(changed)?;
        blocks.push(BlockId { height: headers.first(), hash: first.hash });
    }
    fresh.token = Some(Token { answer: answer_number(), work: [0; 32], blocks });
    let above = fork.map_or(u32::MAX, |fork| fork.height);
    request.watch.unsettled(above).into_iter().for_each(|tx| fresh.track(tx));
    fresh.is_anew |= fork.is_none();
    *state = fresh;
    Ok(fork.is_none())
}

/// Which of these blocks, the lowest first, is the last of the chain that is known, or else of the server's.
fn last_common(
    asking: &Asking<'_>,
    headers: Option<&Headers>,
    blocks: &[BlockId],
    height: u32,
) -> Result<Option<BlockId>, NoAnswer> {
    for block in blocks.iter().rev() {
        let is_known = headers.is_some_and(|headers| headers.holds(block));
        if is_known || (block.height <= height && headers::hash_at(asking.server, block.height)? == Some(block.hash)) {
            return Ok(Some(*block));
        }
    }
    Ok(None)
}

/// The block at a height, checked as far as one alone can be.
fn begin(asking: &Asking<'_>, height: u32) -> Result<(u32, headers::Known), NoAnswer> {
    let hash = headers::hash_at(asking.server, height)?.ok_or_else(changed)?;
    let (said, known) = headers::block(asking.server, asking.network, hash)?;
    if said != height {
        return Err(headers::forged(said, "it has another height"));
    }
    check_floor(asking.network, height, &known)?;
    Ok((height, known))
}
