//! The chain as a node tells it: whether it is synchronised, where it forks off what is known, and its blocks, each
//! checked before anything in it is believed.

use bitcoin::block::Header;
use bitcoin::consensus::Params;
use bitcoin::consensus::encode::deserialize_hex;
use bitcoin::{Block, BlockHash, CompactTarget, Network};
use serde_json::{Value, json};
use tillgate_domain::time::Timestamp;

use super::read::{ChainInfo, MempoolInfo};
use super::rpc::{Refused, Rpc, call, typed};
use super::token::BlockId;
use crate::chain::ChainDown;

/// Core's code for a height above the best block's.
const OUT_OF_RANGE: i64 = -8;

/// Blocks between two changes of the difficulty.
const RETARGET_EVERY: u32 = 2_016;

/// A chain that can be looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Synced {
    pub tip: BlockId,
    /// The lowest block that the node still holds.
    pub kept_from: u32,
    /// All the work of its blocks.
    pub work: [u8; 32],
    /// The median time of its last eleven blocks, by the node's word.
    pub median_time: Option<Timestamp>,
}

/// What a block must fit.
pub(super) struct Expected {
    pub id: BlockId,
    pub previous: BlockHash,
    /// The difficulty of the block before it; `None` where that is not known.
    pub bits: Option<CompactTarget>,
}

/// What the node says of its chain.
pub(super) fn info(rpc: &Rpc) -> Result<ChainInfo, ChainDown> {
    rpc.ask(call("getblockchaininfo", json!([])))
}

/// The best chain, unless the node is still catching up with the network.
pub(super) fn synced(rpc: &Rpc) -> Result<Synced, ChainDown> {
    let calls = [call("getblockchaininfo", json!([])), call("getmempoolinfo", json!([]))];
    let mut replies = rpc.batch(&calls)?.into_iter().zip(calls.iter().map(|call| call.method));
    let mut next = || {
        let (reply, method) = replies.next().unwrap_or((Ok(Value::Null), "a batch"));
        reply.map_err(|refused| refused.down(method))
    };
    let info: ChainInfo = typed("getblockchaininfo", next()?)?;
    let mempool: MempoolInfo = typed("getmempoolinfo", next()?)?;
    let down = |why: String| Err(ChainDown(why));
    if info.initialblockdownload {
        return down(format!("the node is downloading the chain, it has block {} of {}", info.blocks, info.headers));
    }
    if info.headers > info.blocks {
        return down(format!("the node is catching up, it has block {} of {}", info.blocks, info.headers));
    }
    if !mempool.loaded {
        return down("the node is loading its mempool".to_owned());
    }
    let median_time = info.mediantime.map(|time| Timestamp::from_ms(i64::from(time).saturating_mul(1_000)));
    let mut work = [0; 32];
    hex::decode_to_slice(&info.chainwork, &mut work)
        .map_err(|_| ChainDown("the work of the chain that the node names makes no sense".to_owned()))?;
    let tip = BlockId { height: info.blocks, hash: info.bestblockhash };
    Ok(Synced { tip, kept_from: info.pruneheight.unwrap_or(0), work, median_time })
}

/// The header of a block, which must be that block's.
pub(super) fn header(rpc: &Rpc, block: BlockId) -> Result<Header, ChainDown> {
    let hex: String = rpc.ask(call("getblockheader", json!([block.hash, false])))?;
    let header: Header = deserialize_hex(&hex).map_err(|_| forged(block.height, "its header cannot be read"))?;
    if header.block_hash() == block.hash { Ok(header) } else { Err(forged(block.height, "its header is another's")) }
}

/// A block's header may name a time that is up to two hours ahead of its own; a day is left besides.
const BEFORE_SECONDS: i64 = 26 * 3_600;

/// The height of a block whose header's time is well before `at`: found by halving, with some twenty headers.
pub(super) fn height_before(rpc: &Rpc, at: Timestamp) -> Result<u32, ChainDown> {
    let until = (at.ms() / 1_000).saturating_sub(BEFORE_SECONDS);
    let (mut before, mut after) = (0, info(rpc)?.blocks.saturating_add(1));
    while after.saturating_sub(before) > 1 {
        let height = before + (after - before) / 2;
        let hash = hashes(rpc, std::iter::once(height))?.pop().flatten();
        let hash = hash.ok_or_else(|| ChainDown("the node's chain became shorter: try again".to_owned()))?;
        if i64::from(header(rpc, BlockId { height, hash })?.time) <= until {
            before = height;
        } else {
            after = height;
        }
    }
    Ok(before)
}

/// The hashes that the best chain has at these heights; `None` above its end.
pub(super) fn hashes(rpc: &Rpc, heights: impl Iterator<Item = u32>) -> Result<Vec<Option<BlockHash>>, ChainDown> {
    let calls: Vec<_> = heights.map(|height| call("getblockhash", json!([height]))).collect();
    let read = |reply| match reply {
        Ok(hash) => typed("getblockhash", hash).map(Some),
        Err(Refused { code: OUT_OF_RANGE, .. }) => Ok(None),
        Err(refused) => Err(refused.down("getblockhash")),
    };
    rpc.batch(&calls)?.into_iter().map(read).collect()
}

/// Which of these blocks, the lowest first, is the last of the best chain.
pub(super) fn last_common(rpc: &Rpc, blocks: &[BlockId]) -> Result<Option<BlockId>, ChainDown> {
    let hashes = hashes(rpc, blocks.iter().map(|block| block.height))?;
    let pairs = blocks.iter().zip(hashes).rev();
    Ok(pairs.filter(|(block, hash)| *hash == Some(block.hash)).map(|(block, _)| *block).next())
}

/// Reads a block and checks that it is the one, that it follows on the one before it, that work was done for it, and that
/// its transactions are those that the work was done for.
pub(super) fn block(rpc: &Rpc, network: Network, expected: &Expected) -> Result<Block, ChainDown> {
    let BlockId { height, hash } = expected.id;
    let told = rpc.try_ask(call("getblock", json!([hash, 0])))?;
    let hex: String = match told {
        Ok(told) => typed("getblock", told)?,
        Err(refused) if refused.message.contains("pruned") => {
            return Err(ChainDown(format!(
                "the node has pruned block {height}, which must be looked at: let it download the chain again (-reindex) and keep blocks longer (-prune), or set another backend"
            )));
        }
        Err(refused) => return Err(refused.down("getblock")),
    };
    let block: Block = deserialize_hex(&hex).map_err(|_| forged(height, "it cannot be read"))?;
    let header = &block.header;
    if header.block_hash() != hash {
        return Err(forged(height, "it is another block"));
    }
    if header.prev_blockhash != expected.previous {
        return Err(forged(height, "it does not follow on the block before it"));
    }
    let target = header.target();
    if target > Params::new(network).max_attainable_target || header.validate_pow(target).is_err() {
        return Err(forged(height, "no work was done for it"));
    }
    if expected.bits.is_some_and(|before| !may_follow(network, height, before, header.bits)) {
        return Err(forged(height, "its difficulty is not the one that must be"));
    }
    if !block.check_merkle_root() || !block.check_witness_commitment() {
        return Err(forged(height, "its transactions are not its own"));
    }
    Ok(block)
}

/// Whether the difficulty may be this after the one of the block before. Networks where a block may be found without much
/// work after a pause are let off.
pub(in crate::chain) fn may_follow(network: Network, height: u32, before: CompactTarget, bits: CompactTarget) -> bool {
    let params = Params::new(network);
    if params.allow_min_difficulty_blocks && !params.no_pow_retargeting {
        return true;
    }
    if params.no_pow_retargeting || !height.is_multiple_of(RETARGET_EVERY) {
        return before == bits;
    }
    let (before, now) = (bitcoin::Target::from_compact(before), bitcoin::Target::from_compact(bits));
    now <= before.max_transition_threshold(&params) && now >= before.min_transition_threshold()
}

fn forged(height: u32, why: &str) -> ChainDown {
    ChainDown(format!("the node tells a block {height} that is none: {why}; do not trust this node"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difficulty_changes_by_four_at_most_and_every_two_weeks_alone() {
        let bits = |hex: u32| CompactTarget::from_consensus(hex);
        let (before, twice, eightfold) = (bits(0x1b04_04cb), bits(0x1b08_0996), bits(0x1b20_2658));
        for (network, height, next, may) in [
            (Network::Bitcoin, 2_017, before, true),
            (Network::Bitcoin, 2_017, twice, false),
            (Network::Bitcoin, 2_016, twice, true),
            (Network::Bitcoin, 2_016, eightfold, false),
            (Network::Testnet4, 2_017, eightfold, true),
            (Network::Regtest, 2_016, twice, false),
            (Network::Signet, 2_017, twice, false),
        ] {
            assert_eq!(may_follow(network, height, before, next), may, "{network} {height}");
        }
    }
}
