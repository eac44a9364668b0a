//! Where our transactions stand. That a block holds one is proved by its header; that the mempool does is the server's word.

use bitcoin::block::Header;
use bitcoin::hashes::Hash as _;
use bitcoin::{Network, OutPoint, Transaction, Txid};

use super::Asking;
use super::answers::{ProofAnswer, SpendAnswer};
use super::headers::{self, Headers, Known, forged};
use super::history::{self, Sight};
use super::server::NoAnswer;
use super::state::{Proved, State};
use crate::chain::ChainDown;
use crate::chain::headers as rules;
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

/// Whether a block is in the chain of our headers. One below those that are linked is asked for.
fn is_in_chain(asking: &Asking<'_>, state: &mut State, block: BlockId) -> Result<bool, NoAnswer> {
    if let Some(hash) = state.hash_at(block.height) {
        return Ok(hash == block.hash);
    }
    let Some(first) = state.headers.as_ref().map(Headers::first) else { return Ok(false) };
    if block.height >= first {
        // Above the best block: it came meanwhile.
        return Ok(false);
    }
    if headers::hash_at(asking.server, block.height)? != Some(block.hash) {
        return Ok(false);
    }
    let (height, known) = headers::block(asking.server, asking.network, block.hash)?;
    if height != block.height {
        return Err(forged(height, "it has another height"));
    }
    headers::check_floor(asking.network, height, &known)?;
    let linked = state.headers.as_ref().ok_or_else(tip_changed)?;
    if !lies_so_deep(asking.network, linked, height, &known) {
        return Err(forged(height, "it does not lie so deep"));
    }
    state.keep_old(height, known);
    Ok(true)
}

/// Whether a block lies below those that are linked, as it is said: it is none of them, and its time bears out how many lie
/// between. Where blocks come as one likes, it is older at least.
fn lies_so_deep(network: Network, linked: &Headers, height: u32, known: &Known) -> bool {
    let Some(first) = linked.at(linked.first()) else { return false };
    let between = linked.first().saturating_sub(height);
    let later = Header { time: first.header.time.saturating_add(rules::AHEAD_S), ..first.header };
    let is_old = match network {
        Network::Regtest => known.header.time <= later.time,
        network => rules::bears_out(network, &known.header, &later, between),
    };
    is_old && !linked.has(known.hash)
}

/// Why there is no proof: the chain changed meanwhile, or else this.
fn unproved(asking: &Asking<'_>, state: &State, why: String) -> Result<NoAnswer, NoAnswer> {
    let tip = headers::tip_hash(asking.server)?;
    let is_same = state.headers.as_ref().and_then(Headers::tip).is_some_and(|known| known.hash == tip);
    Ok(if is_same { ChainDown(why).into() } else { tip_changed().into() })
}

/// Asks where a transaction is of which nothing was told in this look. Answers nothing where no question is left.
pub(super) fn ask(asking: &Asking<'_>, txid: Txid) -> Result<Option<Option<Sight>>, NoAnswer> {
    if !asking.take_turn() {
        return Ok(None);
    }
    history::transaction(asking.server, txid).map(Some)
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

#[cfg(test)]
mod tests {
    use bitcoin::constants::genesis_block;

    use super::*;

    #[test]
    fn a_block_lies_below_the_linked_ones_where_it_is_none_of_them_and_old_enough() {
        let at = |time: u32| {
            let header = Header { time, ..genesis_block(Network::Regtest).header };
            Known { hash: header.block_hash(), header }
        };
        let first = 1_700_000_000;
        let linked = Headers::new(2_000, at(first));
        for (network, height, time, is_so) in [
            (Network::Regtest, 10, first + rules::AHEAD_S, true),
            (Network::Regtest, 10, first + rules::AHEAD_S + 1, false),
            (Network::Regtest, 10, first, false),
            (Network::Bitcoin, 1_975, first + rules::AHEAD_S - 25 * 300, true),
            (Network::Bitcoin, 1_975, first + rules::AHEAD_S - 25 * 300 + 1, false),
            (Network::Bitcoin, 10, first - 1, false),
        ] {
            assert_eq!(lies_so_deep(network, &linked, height, &at(time)), is_so, "{network} {height} {time}");
        }
    }
}
