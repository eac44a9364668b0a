//! Where our transactions stand. That a block holds one is proved by its header; that the mempool does is the server's word.

use bitcoin::hashes::Hash as _;
use bitcoin::{OutPoint, Transaction, Txid};

use super::Asking;
use super::answers::{ProofAnswer, SpendAnswer};
use super::headers::{self, Headers, Known};
use super::history::{self, Sight};
use super::server::NoAnswer;
use super::state::{Proved, State};
use crate::chain::ChainDown;
use crate::chain::proof;
use crate::chain::refusals::tip_changed;
use crate::chain::token::BlockId;

/// The height of the block that holds a transaction, as far as that is proved; `None` where the server says something else than our headers
/// do, which the next look makes up for, and where no question is left.
pub(super) fn block_of(asking: &Asking<'_>, state: &mut State, sight: &Sight) -> Result<Option<u32>, NoAnswer> {
    let txid = sight.tx.compute_txid();
    // What was proved holds, whatever the server says, as long as the block is there.
    if let Some(Proved { height, .. }) = state.proved.get(&txid) {
        return Ok(Some(*height));
    }
    // Nobody lies who says where one stands that cannot be proved to stand there, and nobody knows it.
    if !proof::is_provable(&sight.tx) {
        return Ok(None);
    }
    let status = sight.status;
    let (true, Some(height), Some(hash)) = (status.confirmed, status.block_height, status.block_hash) else {
        return Ok(None);
    };
    if !is_in_chain(asking, state, BlockId { height, hash })? || !asking.take_turn() {
        return Ok(None);
    }
    let answer: Option<ProofAnswer> = asking.server.json(&format!("/tx/{txid}/merkle-proof"))?;
    let Some(answer) = answer else {
        let why = format!(
            "the server at {} does not prove that block {height} holds transaction {txid}: set another server as backendUrl",
            asking.server.host
        );
        return Err(unproved(asking, state, why)?);
    };
    let root = state.header_at(height).map(|known| known.header.merkle_root);
    let leads = root.is_some_and(|root| proof::leads(&sight.tx, answer.pos, &answer.merkle, root));
    if answer.block_height != height || !leads {
        let why = format!(
            "the server says that block {height} holds transaction {txid}, and its proof does not lead there; do not trust this server"
        );
        return Err(unproved(asking, state, why)?);
    }
    state.prove(txid, &sight.tx, height, false);
    Ok(Some(height))
}

/// Whether a block is in the chain of our headers.
fn is_in_chain(asking: &Asking<'_>, state: &mut State, block: BlockId) -> Result<bool, NoAnswer> {
    Ok(find(asking, state, block.height)? && state.hash_at(block.height) == Some(block.hash))
}

/// Finds out which block of the chain of our headers has a height; [`State::header_at`] knows it then. `false` where nobody knows, or no
/// question is left.
fn find(asking: &Asking<'_>, state: &mut State, height: u32) -> Result<bool, NoAnswer> {
    if state.header_at(height).is_some() {
        return Ok(true);
    }
    // One above the best block came meanwhile. However old: a wallet may have coins from before the birthday that was named.
    if state.headers.as_ref().is_none_or(|headers| height >= headers.first()) {
        return Ok(false);
    }
    while let Some((lowest, known)) = state.lowest().filter(|(lowest, _)| *lowest > height) {
        let Some(below) = below(asking, lowest, &known)? else { return Ok(false) };
        state.deep.put_below(lowest, &below);
        take(state, (lowest, &below), height);
    }
    if state.header_at(height).is_some() {
        return Ok(true);
    }
    let (above, known) = match state.deep.remembered_from(height) {
        Some((above, hash)) => {
            if !asking.take_turn() {
                return Ok(false);
            }
            (above, headers::block(asking.server, asking.network, hash)?.1)
        }
        None => {
            let headers = state.headers.as_ref();
            let Some(first) = headers.and_then(|it| Some((it.first(), *it.at(it.first())?))) else { return Ok(false) };
            first
        }
    };
    if above == height {
        state.deep.keep(height, known);
    } else if let Some(below) = below(asking, above, &known)? {
        take(state, (above, &below), height);
    }
    Ok(state.header_at(height).is_some())
}

/// Some blocks below one that is linked; `None` where no question is left.
fn below(asking: &Asking<'_>, height: u32, known: &Known) -> Result<Option<Vec<Known>>, NoAnswer> {
    if !asking.take_turn() {
        return Ok(None);
    }
    headers::below(asking.server, asking.network, height, known).map(Some)
}

/// Keeps the block of a height, where it is one of those `below`, the highest first.
fn take(state: &mut State, (above, below): (u32, &[Known]), height: u32) {
    if let Some((_, known)) = (0..above).rev().zip(below).find(|(at, _)| *at == height) {
        state.deep.keep(height, *known);
    }
}

/// Why there is no proof: the chain changed meanwhile, or else this.
fn unproved(asking: &Asking<'_>, state: &State, why: String) -> Result<NoAnswer, NoAnswer> {
    let tip = headers::tip_hash(asking.server)?;
    let is_same = state.headers.as_ref().and_then(Headers::tip).is_some_and(|known| known.hash == tip);
    Ok(if is_same { ChainDown(why).into() } else { tip_changed().into() })
}

/// Asks where a stranger's transaction is of which nothing was told in this look. Answers nothing where the server knows nothing of it or
/// fails at it, and where no question is left.
pub(super) fn ask(asking: &Asking<'_>, state: &mut State, txid: Txid) -> Result<Option<Sight>, NoAnswer> {
    state.ask_of_strangers(asking.server, format!("/tx/{txid}"), |_| {
        if asking.take_turn() { history::transaction(asking.server, txid) } else { Ok(None) }
    })
}

/// Whether the mempool holds a transaction of which the server says by its id that no block holds it; `None` where nobody knows.
/// By their ids servers go on telling what stood in a block that was left, wherever that is now; what spends an output they
/// tell of the best chain and the mempool alone (`lookup_txn` and `lookup_spend` in `src/new_index` of `mempool/electrs`).
pub(super) fn is_in_mempool(asking: &Asking<'_>, tx: &Transaction) -> Result<Option<bool>, NoAnswer> {
    let Some(needed) = tx.input.first().map(|input| input.previous_output).filter(|needed| !needed.is_null()) else {
        return Ok(Some(false));
    };
    if !asking.take_turn() {
        return Ok(None);
    }
    let OutPoint { txid, vout } = needed;
    let spend: Option<SpendAnswer> = asking.server.json(&format!("/tx/{txid}/outspend/{vout}"))?;
    Ok(spend.map(|spend| spend.spent && spend.txid == Some(tx.compute_txid())))
}

/// Whether a transaction spends what a block makes.
pub(super) fn is_coinbase_input(txid: &Txid) -> bool {
    *txid == Txid::all_zeros()
}
