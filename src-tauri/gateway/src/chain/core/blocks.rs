//! The chain as a node tells it: whether it is synchronised, where it forks off what is known, and its blocks, each
//! checked before anything in it is believed.

use bitcoin::block::Header;
use bitcoin::consensus::encode::deserialize_hex;
use bitcoin::{Block, BlockHash, CompactTarget, Network, Work};
use serde_json::json;
use tillgate_domain::time::Timestamp;

use super::read::{ChainInfo, HeaderInfo, MempoolInfo};
use super::rpc::{Refused, Rpc, Told, call, typed};
use crate::chain::token::{BlockId, Weighed, counted};
use crate::chain::{ChainDown, headers, refusals};

/// Core's code for a height above the best block's.
const OUT_OF_RANGE: i64 = -8;

/// A chain that can be looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Synced {
    pub tip: BlockId,
    /// The lowest block that the node still holds.
    pub kept_from: u32,
    /// All the work of its blocks.
    pub work: Work,
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
        let (reply, method) = replies.next().unwrap_or((Ok(Told::nothing()), "a batch"));
        reply.map_err(|refused| refused.down(method))
    };
    let info: ChainInfo = typed("getblockchaininfo", &next()?)?;
    let mempool: MempoolInfo = typed("getmempoolinfo", &next()?)?;
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
    let work = read_work(&info.chainwork)?;
    let tip = BlockId { height: info.blocks, hash: info.bestblockhash };
    Ok(Synced { tip, kept_from: info.pruneheight.unwrap_or(0), work, median_time })
}

/// The header of a block, which must be that block's.
pub(super) fn header(rpc: &Rpc, block: BlockId) -> Result<Header, ChainDown> {
    let hex: String = rpc.ask(call("getblockheader", json!([block.hash, false])))?;
    let header: Header = deserialize_hex(&hex).map_err(|_| forged(block.height, "its header cannot be read"))?;
    if header.block_hash() == block.hash { Ok(header) } else { Err(forged(block.height, "its header is another's")) }
}

/// The height of a block that was surely there before a time.
pub(super) fn height_before(rpc: &Rpc, at: Timestamp) -> Result<u32, ChainDown> {
    headers::height_before(at, info(rpc)?.blocks, |height| {
        let hash = hashes(rpc, std::iter::once(height))?.pop().flatten();
        let hash = hash.ok_or_else(|| ChainDown("the node's chain became shorter: try again".to_owned()))?;
        Ok(headers::time(&header(rpc, BlockId { height, hash })?))
    })
}

/// The hashes that the best chain has at these heights; `None` above its end.
pub(super) fn hashes(rpc: &Rpc, heights: impl Iterator<Item = u32>) -> Result<Vec<Option<BlockHash>>, ChainDown> {
    let calls: Vec<_> = heights.map(|height| call("getblockhash", json!([height]))).collect();
    let read = |reply| match reply {
        Ok(hash) => typed("getblockhash", &hash).map(Some),
        Err(Refused { code: OUT_OF_RANGE, .. }) => Ok(None),
        Err(refused) => Err(refused.down("getblockhash")),
    };
    rpc.batch(&calls)?.into_iter().map(read).collect()
}

/// Which of these blocks, the lowest first, is the last of the best chain.
pub(super) fn last_common(rpc: &Rpc, blocks: &[Weighed]) -> Result<Option<Weighed>, ChainDown> {
    let hashes = hashes(rpc, blocks.iter().map(|block| block.id.height))?;
    let pairs = blocks.iter().zip(hashes).rev();
    Ok(pairs.filter(|(block, hash)| *hash == Some(block.id.hash)).map(|(block, _)| *block).next())
}

/// All the work of the chain up to a block that the node knows.
pub(super) fn work_up_to(rpc: &Rpc, hash: BlockHash) -> Result<Work, ChainDown> {
    let header: HeaderInfo = rpc.ask(call("getblockheader", json!([hash, true])))?;
    read_work(&header.chainwork)
}

/// The work that was done from one block of a chain to a later one, by the work up to each.
pub(super) fn work_between(from: Work, to: Work) -> u128 {
    // A node that says otherwise has done none.
    if to > from { counted(to - from) } else { 0 }
}

fn read_work(hex: &str) -> Result<Work, ChainDown> {
    let mut bytes = [0; 32];
    let read = hex::decode_to_slice(hex, &mut bytes);
    read.map_err(|_| ChainDown("the work of the chain that the node names makes no sense".to_owned()))?;
    Ok(Work::from_be_bytes(bytes))
}

/// Reads a block and checks that it is the one, that it follows on the one before it, that work was done for it, and that
/// its transactions are those that the work was done for.
pub(super) fn block(rpc: &Rpc, network: Network, expected: &Expected) -> Result<Block, ChainDown> {
    let BlockId { height, hash } = expected.id;
    let told = rpc.try_ask(call("getblock", json!([hash, 0])))?;
    let hex: String = match told {
        Ok(told) => typed("getblock", &told)?,
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
    headers::check_work(network, header).map_err(|why| forged(height, why))?;
    if let Some(before) = expected.bits {
        headers::check_difficulty(network, height, before, header.bits).map_err(|why| forged(height, why))?;
    }
    if !block.check_merkle_root() || !block.check_witness_commitment() {
        return Err(forged(height, "its transactions are not its own"));
    }
    Ok(block)
}

fn forged(height: u32, why: &str) -> ChainDown {
    refusals::forged("node", height, why)
}
