//! Fee rates and mempool fees from a node.

use bitcoin::{FeeRate, Txid};
use serde_json::json;

use super::results::{self, Entry, Estimate, MempoolInfo};
use super::rpc::{NOT_FOUND, RawResult, Refused, Rpc, call, typed};
use crate::checks::relay_policy::of_sat_kvb;
use crate::port::{ChainDown, NodeFeeRates};

/// The highest number of blocks for Core's estimate.
const BLOCKS_MAX: u16 = 1_008;

pub fn fee_rates(rpc: &Rpc, blocks: u16) -> Result<NodeFeeRates, ChainDown> {
    let blocks = blocks.clamp(1, BLOCKS_MAX);
    let calls = [call("estimatesmartfee", json!([blocks])), call("getmempoolinfo", json!([]))];
    let mut replies = rpc.batch(&calls)?.into_iter();
    let (estimate, mempool) = (replies.next(), replies.next());
    let mempool = mempool.and_then(Result::ok).unwrap_or_else(RawResult::nothing);
    let mempool: MempoolInfo = typed("getmempoolinfo", &mempool)?;
    let named = [&mempool.mempoolminfee, &mempool.minrelaytxfee].map(results::sats);
    let [Some(mempool_min), Some(relay_min)] = named else {
        return Err(ChainDown::of_text(
            "the fee rates that the node names in getmempoolinfo make no sense".to_owned(),
        ));
    };
    // A node that cannot estimate returns an error, no rate, 0 or -1.
    let estimate = estimate
        .and_then(Result::ok)
        .map(|told| typed::<Estimate>("estimatesmartfee", &told))
        .transpose()?;
    let estimate =
        estimate.and_then(|estimate| estimate.feerate).and_then(|rate| results::sats(&rate));
    let estimate = estimate.filter(|rate| *rate > 0).map(of_sat_kvb);
    let increment = mempool.incrementalrelayfee.as_ref().and_then(results::sats).map(of_sat_kvb);
    let increment = increment.unwrap_or(FeeRate::BROADCAST_MIN);
    Ok(NodeFeeRates::of(estimate, of_sat_kvb(mempool_min.max(relay_min)), increment))
}

pub fn with_descendants(rpc: &Rpc, txids: &[Txid]) -> Result<Option<u64>, ChainDown> {
    const ENTRY: &str = "getmempoolentry";
    let calls: Vec<_> = txids.iter().map(|txid| call(ENTRY, json!([txid]))).collect();
    let mut highest = None;
    for reply in rpc.batch(&calls)? {
        match reply {
            Ok(entry) => {
                highest =
                    highest.max(results::sats(&typed::<Entry>(ENTRY, &entry)?.fees.descendant))
            }
            Err(Refused { code: NOT_FOUND, .. }) => {}
            Err(refused) => return Err(refused.down(ENTRY)),
        }
    }
    Ok(highest)
}
