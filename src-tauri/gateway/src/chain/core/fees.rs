//! Fee rates and mempool fees from a node.

use bitcoin::{FeeRate, Txid};
use serde_json::json;

use super::results::{self, Entry, Estimate, MempoolInfo};
use super::rpc::{RawResult, Refused, Rpc, call, typed};
use crate::chain::checks::relay_policy::of_sat_kvb;
use crate::chain::port::ChainDown;

/// The highest number of blocks for Core's estimate.
const BLOCKS_MAX: u16 = 1_008;

/// Core's code for a transaction that the mempool does not hold.
const NOT_FOUND: i64 = -5;

/// The estimated fee rate for a confirmation within `blocks` blocks, at least this node's mempool minimum. Without an
/// estimate, the minimum.
pub(super) fn fee_rate(rpc: &Rpc, blocks: u16) -> Result<FeeRate, ChainDown> {
    let blocks = blocks.clamp(1, BLOCKS_MAX);
    let calls = [call("estimatesmartfee", json!([blocks])), call("getmempoolinfo", json!([]))];
    let mut replies = rpc.batch(&calls)?.into_iter();
    let (estimate, mempool) = (replies.next(), replies.next());
    let mempool = mempool.and_then(Result::ok).unwrap_or_else(RawResult::nothing);
    let mempool: MempoolInfo = typed("getmempoolinfo", &mempool)?;
    let floor = [&mempool.mempoolminfee, &mempool.minrelaytxfee].map(results::sats);
    let [Some(mempool_min), Some(relay_min)] = floor else {
        return Err(ChainDown("the fee rates that the node names in getmempoolinfo make no sense".to_owned()));
    };
    // A node that cannot estimate yet returns an error or no rate.
    let estimate =
        estimate.and_then(Result::ok).map(|told| typed::<Estimate>("estimatesmartfee", &told)).transpose()?;
    let estimate = estimate.and_then(|estimate| estimate.feerate).and_then(|rate| results::sats(&rate)).unwrap_or(0);
    Ok(of_sat_kvb(estimate.max(mempool_min).max(relay_min)))
}

pub(super) fn with_descendants(rpc: &Rpc, txids: &[Txid]) -> Result<Option<u64>, ChainDown> {
    const ENTRY: &str = "getmempoolentry";
    let calls: Vec<_> = txids.iter().map(|txid| call(ENTRY, json!([txid]))).collect();
    let mut highest = None;
    for reply in rpc.batch(&calls)? {
        match reply {
            Ok(entry) => highest = highest.max(results::sats(&typed::<Entry>(ENTRY, &entry)?.fees.descendant)),
            Err(Refused { code: NOT_FOUND, .. }) => {}
            Err(refused) => return Err(refused.down(ENTRY)),
        }
    }
    Ok(highest)
}
