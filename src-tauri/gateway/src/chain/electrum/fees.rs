//! The fee rate of a server.

use bitcoin::FeeRate;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive as _;
use serde::Deserialize;
use serde_json::{Number, json};

use super::asker::Asker;
use super::call::{call, typed};
use crate::chain::checks::relay_policy::of_sat_kvb;
use crate::chain::port::ChainDown;

/// The highest number of blocks for which servers estimate.
const BLOCKS_MAX: u16 = 1_008;

#[derive(Deserialize)]
struct MempoolInfo {
    mempoolminfee: Number,
    minrelaytxfee: Number,
}

/// The estimate for a confirmation within so many blocks, at least the minimum of the server's node. The minimum alone
/// without an estimate, as on a young chain. `None` if the server names neither.
pub(super) fn fee_rate(asker: &Asker<'_>, blocks: u16) -> Result<Option<FeeRate>, ChainDown> {
    let estimate = call("blockchain.estimatefee", json!([blocks.clamp(1, BLOCKS_MAX)]));
    let is_new = asker.connection.version.is_at_least(&[1, 6]);
    let floor = call(if is_new { "mempool.get_info" } else { "blockchain.relayfee" }, json!([]));
    let calls = [estimate, floor];
    let methods = [calls[0].method, calls[1].method];
    let mut answers = asker.tries(&calls)?.into_iter();
    let [method, _] = methods;
    // A server that cannot estimate refuses, or answers -1.
    let estimate: Option<Number> =
        answers.next().and_then(Result::ok).map(|answer| typed(method, &answer)).transpose()?;
    let Some(Ok(floor)) = answers.next() else { return Ok(None) };
    let [_, method] = methods;
    let floors = if is_new {
        let info: MempoolInfo = typed(method, &floor)?;
        vec![info.mempoolminfee, info.minrelaytxfee]
    } else {
        vec![typed(method, &floor)?]
    };
    let makes_none = || ChainDown(format!("the fee rates that the server names in {method} make no sense"));
    let floors: Vec<u64> = floors.iter().map(sats).collect::<Option<_>>().ok_or_else(makes_none)?;
    let sat_kvb = floors.into_iter().chain(estimate.as_ref().and_then(sats)).max();
    // Relaying is never free: a server with rate 0 knows no rate.
    Ok(sat_kvb.filter(|rate| *rate > 0).map(of_sat_kvb))
}

/// Converts an amount in bitcoin to satoshis, rounded up; `None` if it is negative or more than all coins.
fn sats(btc: &Number) -> Option<u64> {
    let text = btc.to_string();
    let btc = text.parse::<Decimal>().or_else(|_| Decimal::from_scientific(&text)).ok()?;
    let sats = btc.checked_mul(Decimal::from(100_000_000))?.ceil().to_u64()?;
    (sats <= 21_000_000 * 100_000_000).then_some(sats)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_read_in_whatever_way_a_server_writes_it() {
        let of = |text: &str| sats(&serde_json::from_str(text).unwrap());
        for (text, read) in
            [("0.00001", Some(1_000)), ("1e-05", Some(1_000)), ("0.00101079", Some(101_079)), ("0.0", Some(0))]
        {
            assert_eq!(of(text), read, "{text}");
        }
        assert_eq!(of("0.000000015"), Some(2), "rounded up");
        for text in ["-1", "1e30", "22000000"] {
            assert_eq!(of(text), None, "{text}");
        }
        assert_eq!(of_sat_kvb(1_001), FeeRate::from_sat_per_kwu(251));
    }
}
