//! Reads a node's chain: its synchronisation state, its fork from the known chain, and its blocks.
//! Each block is checked before it is used.

use crate::down::Down;
use bitcoin::block::Header;
use bitcoin::consensus::encode::deserialize_hex;
use bitcoin::{Block, BlockHash, Network};
use serde_json::json;
use tillgate_domain::time::Timestamp;

use super::results::{ChainInfo, MempoolInfo, NetworkInfo, Reach};
use super::rpc::{RawResult, Refused, Rpc, call, typed};
use crate::checks::errors::tip_changed;
use crate::checks::header_rules::HeaderFault;
use crate::checks::token::{BlockId, WeighedBlock};
use crate::checks::{errors, header_rules};
use crate::port::ChainDown;

/// Core's code for a height above the best block's.
const OUT_OF_RANGE: i64 = -8;

/// The fault of a block whose transactions do not match its header.
const ITS_TRANSACTIONS: &str = "its transactions do not match its header";

/// The best chain of a synchronised node.
#[derive(Debug, Clone, Copy)]
pub struct Synced {
    pub tip: BlockId,
    /// The lowest block that the node still holds.
    pub kept_from: u32,
    pub reach: Reach,
}

pub fn info(rpc: &Rpc) -> Result<ChainInfo, ChainDown> {
    rpc.ask(call("getblockchaininfo", json!([])))
}

/// The best chain; fails while the node is catching up with the network.
pub fn synced(rpc: &Rpc) -> Result<Synced, ChainDown> {
    let calls = ["getblockchaininfo", "getmempoolinfo", "getnetworkinfo"]
        .map(|method| call(method, json!([])));
    let mut replies = rpc.batch(&calls)?.into_iter().zip(calls.iter().map(|call| call.method));
    let mut next = || {
        let (reply, method) = replies.next().unwrap_or((Ok(RawResult::nothing()), "a batch"));
        reply.map_err(|refused| refused.down(method))
    };
    let info: ChainInfo = typed("getblockchaininfo", &next()?)?;
    let mempool: MempoolInfo = typed("getmempoolinfo", &next()?)?;
    let network: NetworkInfo = typed("getnetworkinfo", &next()?)?;
    if info.initialblockdownload {
        return Err(Down::Downloading { blocks: info.blocks, headers: info.headers }.into());
    }
    if info.headers > info.blocks {
        return Err(Down::CatchingUp { blocks: info.blocks, headers: info.headers }.into());
    }
    if !mempool.loaded {
        return Err(Down::LoadingMempool.into());
    }
    let tip = BlockId { height: info.blocks, hash: info.bestblockhash };
    Ok(Synced { tip, kept_from: info.pruneheight.unwrap_or(0), reach: Reach::from(&network) })
}

/// Fetches a block's header. Checks its hash, and the work that its height requires.
pub fn header(rpc: &Rpc, network: Network, block: BlockId) -> Result<Header, ChainDown> {
    let header = one_header(rpc, block)?;
    header_rules::check_alone(network, block.height, &header)
        .map_err(|why| forged(block.height, why))?;
    Ok(header)
}

fn one_header(rpc: &Rpc, block: BlockId) -> Result<Header, ChainDown> {
    headers_of(rpc, &[block])?.pop().ok_or_else(tip_changed)
}

/// Fetches the headers of blocks, and checks their hashes only.
pub fn headers_of(rpc: &Rpc, blocks: &[BlockId]) -> Result<Vec<Header>, ChainDown> {
    let calls: Vec<_> =
        blocks.iter().map(|block| call("getblockheader", json!([block.hash, false]))).collect();
    let read = |(reply, block): (Result<RawResult, Refused>, &BlockId)| {
        let told = reply.map_err(|refused| refused.down("getblockheader"))?;
        let hex: String = typed("getblockheader", &told)?;
        let header: Header =
            deserialize_hex(&hex).map_err(|_| forged(block.height, "its header cannot be read"))?;
        if header.block_hash() == block.hash {
            Ok(header)
        } else {
            Err(forged(block.height, "its header has another hash"))
        }
    };
    rpc.batch(&calls)?.into_iter().zip(blocks).map(read).collect()
}

pub fn height_before(rpc: &Rpc, network: Network, at: Timestamp) -> Result<u32, ChainDown> {
    header_rules::height_before(at, info(rpc)?.blocks, |height| {
        let hash = hashes(rpc, std::iter::once(height))?.pop().flatten();
        let hash = hash.ok_or_else(|| {
            ChainDown::of_text("the node's chain became shorter: try again".to_owned())
        })?;
        let block = BlockId { height, hash };
        // `header` refuses every block below `lowest`, for too little work.
        let header = if height < header_rules::lowest(network) {
            one_header(rpc, block)?
        } else {
            header(rpc, network, block)?
        };
        Ok(header_rules::time(&header))
    })
}

/// The hashes of the best chain's blocks at these heights; `None` above the best block.
pub fn hashes(
    rpc: &Rpc,
    heights: impl Iterator<Item = u32>,
) -> Result<Vec<Option<BlockHash>>, ChainDown> {
    let calls: Vec<_> = heights.map(|height| call("getblockhash", json!([height]))).collect();
    let read = |reply| match reply {
        Ok(hash) => typed("getblockhash", &hash).map(Some),
        Err(Refused { code: OUT_OF_RANGE, .. }) => Ok(None),
        Err(refused) => Err(refused.down("getblockhash")),
    };
    rpc.batch(&calls)?.into_iter().map(read).collect()
}

/// The last of these blocks, lowest first, that is in the best chain.
pub fn last_common(rpc: &Rpc, blocks: &[WeighedBlock]) -> Result<Option<WeighedBlock>, ChainDown> {
    let hashes = hashes(rpc, blocks.iter().map(|block| block.id.height))?;
    let pairs = blocks.iter().zip(hashes).rev();
    Ok(pairs.filter(|(block, hash)| *hash == Some(block.id.hash)).map(|(block, _)| *block).next())
}

pub fn pruned(height: u32) -> ChainDown {
    ChainDown::of_text(format!(
        "the node has pruned block {height}, which the gateway still has to read: let it download the chain again (-reindex) and keep blocks longer (-prune), or set another backend"
    ))
}

/// Reads a block and checks its hash, its link to `before`, its height, its work and its
/// transactions. `first` is the header at [`header_rules::period_before`], if there is one.
pub fn block(
    rpc: &Rpc,
    network: Network,
    id: BlockId,
    (first, before): (Option<&Header>, &Header),
) -> Result<Block, ChainDown> {
    let block = read_block(rpc, id)?;
    let at = || BlockId { height: id.height.saturating_sub(1), hash: before.block_hash() };
    header_rules::check_next(network, id.height, (first, before), &block.header)
        .map_err(|why| unlinked(rpc, at(), why))?;
    if !block.check_witness_commitment() {
        return Err(forged(id.height, ITS_TRANSACTIONS));
    }
    header_rules::check_height(network, id.height, block.txdata.first())
        .map_err(|why| forged(id.height, why))?;
    Ok(block)
}

/// Checks the height of a block that is linked to no block of known height.
pub fn prove_height(rpc: &Rpc, network: Network, id: BlockId) -> Result<(), ChainDown> {
    // The genesis block was already compared in `identity`.
    if id.height == 0 {
        return Ok(());
    }
    let block = read_block(rpc, id)?;
    header_rules::check_height(network, id.height, block.txdata.first())
        .map_err(|why| forged(id.height, why))
}

/// The reason why a block does not follow `before`: the node's chain changed, or the node lies.
pub fn unlinked(rpc: &Rpc, before: BlockId, why: HeaderFault) -> ChainDown {
    match hashes(rpc, std::iter::once(before.height)) {
        Ok(now) if now != [Some(before.hash)] => tip_changed(),
        Ok(_) => forged(before.height.saturating_add(1), why),
        Err(down) => down,
    }
}

/// Reads a block, and checks its hash and its transactions without their witnesses.
fn read_block(rpc: &Rpc, BlockId { height, hash }: BlockId) -> Result<Block, ChainDown> {
    let hex: String = match rpc.try_ask(call("getblock", json!([hash, 0])))? {
        Ok(told) => typed("getblock", &told)?,
        Err(refused) if refused.message.contains("pruned") => return Err(pruned(height)),
        Err(refused) => return Err(refused.down("getblock")),
    };
    let block: Block = deserialize_hex(&hex).map_err(|_| forged(height, "it cannot be read"))?;
    if block.block_hash() != hash {
        return Err(forged(height, "it has another hash"));
    }
    if block.check_merkle_root() { Ok(block) } else { Err(forged(height, ITS_TRANSACTIONS)) }
}

pub fn forged(height: u32, why: &str) -> ChainDown {
    errors::forged("node", height, why)
}
