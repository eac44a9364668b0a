//! Finds the block after which an answer begins: the last block of the previous answer, or the last
//! block that the node's chain shares with the known chain. The node's claims about single blocks
//! only suggest the first header to link.

use bitcoin::Network;

use super::blocks::{self, Synced};
use super::linked_headers::link;
use super::rpc::Rpc;
use super::state::State;
use crate::checks::errors::{behind, denied, tip_changed};
use crate::checks::header_rules;
use crate::checks::token::{Token, WeighedBlock, answer_number};
use crate::port::{BEFORE_BIRTH, ChainDown, LookRequest};

/// Blocks below the fork that are read again when the memory is lost, as after a restart. They show
/// at which height a block ruled out one of our transactions.
const READ_AGAIN: u32 = 10;

pub struct Resumed {
    /// There is no token, or the node shows another chain: the look starts at the wallet's birth.
    pub from_start: bool,
    /// See [`crate::LookAnswer::left_above`].
    pub left_above: Option<u32>,
}

/// Sets `state` to the block after which this answer begins, and links the headers from there to
/// the best block.
pub fn begin(
    rpc: &Rpc,
    network: Network,
    state: &mut State,
    request: &LookRequest<'_>,
    synced: &Synced,
) -> Result<Resumed, ChainDown> {
    if !continues(rpc, state, request.token, synced)? {
        return resume(rpc, network, state, request, synced);
    }
    let fresh = std::mem::take(&mut state.fresh_others);
    state.others.extend(fresh);
    link_to_tip(rpc, network, state, synced)?;
    Ok(Resumed { from_start: false, left_above: None })
}

/// Whether the state belongs to the request's token, and the node's chain still holds its last
/// block.
fn continues(
    rpc: &Rpc,
    state: &State,
    token: Option<&[u8]>,
    synced: &Synced,
) -> Result<bool, ChainDown> {
    let Some(last) = state.token.as_ref().and_then(Token::last) else { return Ok(false) };
    if token.is_none() || token != state.written.as_deref() {
        return Ok(false);
    }
    Ok(last.id == synced.tip || blocks::last_common(rpc, &[last])?.is_some())
}

/// Links the headers up to a new best block before the blocks below it are read, because
/// confirmations are counted from the best block.
fn link_to_tip(
    rpc: &Rpc,
    network: Network,
    state: &mut State,
    synced: &Synced,
) -> Result<(), ChainDown> {
    let tip = synced.tip;
    let last = state.last_block().ok_or_else(tip_changed)?;
    // The link of the next block is checked when that block is read.
    let is_next = tip == last || tip.height == last.height.saturating_add(1);
    if is_next || state.linked == Some(tip) {
        return Ok(());
    }
    let from = state
        .linked
        .filter(|linked| (last.height..tip.height).contains(&linked.height))
        .unwrap_or(last);
    let mut linked = link(rpc, network, from.height, tip)?;
    if linked.id(from.height) != Some(from) && from != last {
        linked = link(rpc, network, last.height, tip)?;
    }
    if linked.id(from.height) != Some(from) && linked.id(last.height) != Some(last) {
        return Err(tip_changed());
    }
    state.linked = Some(tip);
    Ok(())
}

/// Restarts at the last block that the token and the node's chain share, or else at the wallet's
/// birth.
fn resume(
    rpc: &Rpc,
    network: Network,
    state: &mut State,
    request: &LookRequest<'_>,
    synced: &Synced,
) -> Result<Resumed, ChainDown> {
    let tip = synced.tip;
    let lowest = header_rules::lowest(network).min(tip.height);
    // A token that ends below `lowest` is useless: it ends below every block that may hold a coin
    // of ours.
    let known = request.token.and_then(Token::read);
    let known = known.filter(|known| known.last().is_some_and(|last| last.id.height >= lowest));
    let claimed_fork =
        known.as_ref().map(|known| blocks::last_common(rpc, known.blocks())).transpose()?.flatten();
    let first =
        known.as_ref().and_then(Token::first).map_or(tip.height, |first| first.height).max(lowest);
    if let Some(known) = known.as_ref().filter(|_| claimed_fork.is_none() && first > tip.height) {
        return Err(behind("node", tip.height, known));
    }
    let start =
        start(known.as_ref(), claimed_fork, request.birth_height, synced).clamp(lowest, tip.height);
    // Checked before linking, so that a look that must fail links no headers.
    if start < tip.height && start.saturating_add(1) < synced.kept_from {
        return Err(blocks::pruned(start.saturating_add(1)));
    }
    // If the token and the node's chain share no block, their work is compared from `first`, the
    // height of the token's first block, so the headers are linked from there.
    let base = start.saturating_sub(BEFORE_BIRTH).max(lowest);
    let linked = link(
        rpc,
        network,
        claimed_fork.map_or(first, |claimed_fork| claimed_fork.id.height).min(base),
        tip,
    )?;
    let fork = known.as_ref().map(|known| linked.last_known(known)).transpose()?.flatten();
    if fork != claimed_fork {
        return Err(fork.map_or_else(tip_changed, |fork| denied("node", fork.id.height)));
    }
    if let Some(known) = &known {
        let (above, before) = fork.map_or((first, 0), |fork| (fork.id.height, fork.work));
        if before.saturating_add(linked.work(above, tip.height)) < known.most {
            return Err(behind("node", tip.height, known));
        }
    }
    let left_above = known.as_ref().and_then(|known| known.left_above(fork.map(|fork| fork.id)));
    let before = known.clone().filter(|_| left_above.is_some());
    let start = linked.id(start).ok_or_else(tip_changed)?;
    let mut token = match (known, fork) {
        (Some(mut known), Some(fork)) => {
            known.cut(fork.id.height);
            known.begin_at(start, fork, linked.work(start.height, fork.id.height));
            known.answer = answer_number();
            known
        }
        (known, _) => {
            if start == tip {
                blocks::prove_height(rpc, network, start)?;
            }
            // The token also lists the block at `base`, below the start: after a reorganisation of
            // the start the chains still share a listed block.
            let mut token = Token::begin(linked.id(base).ok_or_else(tip_changed)?);
            if base < start.height {
                token.push(start, linked.work(base, start.height));
            }
            let most = |known: Token| known.most.saturating_add(linked.work(base, first));
            token.most = known.map_or(0, most).saturating_sub(linked.work(first, base));
            token
        }
    };
    (token.whole_up_to, token.read_up_to, token.round_from) = (start.height, start.height, 0);
    let above = if fork.is_some() { start.height } else { u32::MAX };
    let others = if request.token.is_some() {
        std::mem::take(&mut state.others)
    } else {
        Default::default()
    };
    let headers =
        linked.last(start.height, header_rules::MEDIAN_REACHES.saturating_add(1)).to_vec();
    *state = State {
        token: Some(token),
        before,
        headers,
        linked: Some(tip),
        others,
        ..State::default()
    };
    request.watch.unsettled(above).into_iter().for_each(|tx| state.track(tx));
    Ok(Resumed { from_start: fork.is_none(), left_above })
}

/// The height above which blocks are read.
fn start(
    known: Option<&Token>,
    fork: Option<WeighedBlock>,
    birth: Option<u32>,
    synced: &Synced,
) -> u32 {
    match (known, fork, birth) {
        (Some(known), Some(fork), birth) => {
            let first = known.first().map_or(0, |block| block.height);
            let again = fork.id.height.saturating_sub(READ_AGAIN).max(first).min(fork.id.height);
            // Blocks above `read_up_to` were seen only through an Electrum server and are read
            // again. Blocks that the node has pruned are skipped if the server was asked about all
            // scripts up to there (`whole_up_to`).
            let answered_up_to = known.whole_up_to.min(synced.kept_from.saturating_sub(1));
            again.min(known.read_up_to.max(answered_up_to).max(birth.unwrap_or(u32::MAX)))
        }
        // A margin below the birth, smaller if the node has pruned blocks of the margin.
        (_, _, Some(birth)) => {
            let kept = synced.kept_from.saturating_sub(1).min(birth);
            birth.saturating_sub(BEFORE_BIRTH).max(kept)
        }
        (_, _, None) => synced.tip.height,
    }
}
