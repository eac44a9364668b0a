//! Broadcasts through a server, interprets the refusals of its node, and reads that node's fee
//! rate.

use bitcoin::consensus::encode::serialize_hex;
use bitcoin::{FeeRate, Transaction};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive as _;
use serde::Deserialize;
use serde_json::{Number, Value, json};

use super::calls::{Refused, call, typed};
use super::connection::Asker;
use crate::checks::relay_policy::{OF_CONFLICTS, OF_INPUTS, OF_KNOWN, of_sat_kvb};
use crate::checks::sanitized::sanitized;
use crate::port::{Broadcast, ChainDown, NodeFeeRates};

const BROADCAST: &str = "blockchain.transaction.broadcast";

/// Error codes that say nothing about a transaction: an invalid call, too many requests, or a
/// silent node. They come from JSON-RPC and from server software.
const OF_SERVERS: &[i64] = &[-32_700, -32_603, -32_602, -32_601, -32_600, -101, -102];

/// Refusals of a transaction that is in a block already.
const OF_MINED: &[&str] =
    &["already in block chain", "already in utxo set", "txn-already-confirmed"];

/// Refusals of a server or node that cannot accept any transaction now.
const OF_TROUBLE: &[&str] = &[
    "warming up",
    "loading block",
    "verifying blocks",
    "rescanning",
    "unreachable",
    "unavailable",
    "busy",
    "timed out",
    "timeout",
    "connection",
    "failed to connect",
    "excessive resource",
    "too many requests",
    "unauthorized",
    "internal error",
    "request queue",
    "in warmup",
];

#[derive(Deserialize)]
struct Package {
    success: bool,
}

/// Broadcasts a package as a whole if the server supports that. Otherwise, or after a refusal,
/// broadcasts its transactions one by one. The answer is about the last transaction, or about the
/// first that was refused.
pub fn broadcast(asker: &Asker<'_>, package: &[Transaction]) -> Result<Broadcast, ChainDown> {
    if package.len() > 1
        && asker.connection.version.is_at_least(&[1, 6])
        && is_taken_together(asker, package)?
    {
        return Ok(Broadcast::Accepted);
    }
    let mut answer = Broadcast::AlreadyKnown;
    for tx in package {
        let offered = [call(BROADCAST, json!([serialize_hex(tx)]))];
        answer = match asker.tries(&offered)?.pop().unwrap_or(Ok(None)) {
            Ok(told)
                if typed::<String>(offered[0].method, &told)? == tx.compute_txid().to_string() =>
            {
                Broadcast::Accepted
            }
            Ok(_) => {
                return Err(ChainDown::of_text(
                    "the server says that it accepted another transaction".to_owned(),
                ));
            }
            Err(refused) => meaning(refused)?,
        };
        match answer {
            Broadcast::Accepted | Broadcast::AlreadyKnown => {}
            Broadcast::Conflict(_)
            | Broadcast::InputsMissing
            | Broadcast::InputsSpent
            | Broadcast::Refused(_) => break,
        }
    }
    Ok(answer)
}

/// Broadcasts a package as a whole, and returns whether it was accepted. The reason for a refusal
/// shows when its transactions are broadcast one by one.
fn is_taken_together(asker: &Asker<'_>, package: &[Transaction]) -> Result<bool, ChainDown> {
    let raw: Vec<Value> = package.iter().map(|tx| json!(serialize_hex(tx))).collect();
    let offered = [call("blockchain.transaction.broadcast_package", json!([raw]))];
    match asker.tries(&offered)?.pop().unwrap_or(Ok(None)) {
        Ok(told) => Ok(typed::<Package>(offered[0].method, &told)?.success),
        Err(_) => Ok(false),
    }
}

/// The outcome of a refused broadcast. An error of the server itself says nothing about the
/// transaction. Any other text is the node's: electrs passes it on with a code of its own.
fn meaning(refused: Refused) -> Result<Broadcast, ChainDown> {
    let Refused::Said { code, message } = &refused else {
        return Err(refused.down(BROADCAST));
    };
    let text = message.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|words| text.contains(words));
    Ok(if says(OF_MINED) || says(OF_KNOWN) {
        Broadcast::AlreadyKnown
    } else if says(OF_CONFLICTS) {
        Broadcast::Conflict(sanitized(message))
    } else if says(OF_INPUTS) {
        Broadcast::InputsMissing
    } else if OF_SERVERS.contains(code) || says(OF_TROUBLE) {
        return Err(refused.down(BROADCAST));
    } else {
        Broadcast::Refused(sanitized(message))
    })
}

/// The longest confirmation target, in blocks, that servers estimate for.
const BLOCKS_MAX: u16 = 1_008;

/// The rate that a replacement adds. The protocol does not tell the node's.
const INCREMENT: FeeRate = FeeRate::BROADCAST_MIN;

#[derive(Deserialize)]
struct MempoolInfo {
    mempoolminfee: Number,
    minrelaytxfee: Number,
}

/// The estimate for a confirmation within `blocks` blocks, and the relay minimum of the server's
/// node; 0 if the server names none.
pub fn fee_rates(asker: &Asker<'_>, blocks: u16) -> Result<NodeFeeRates, ChainDown> {
    let estimate = call("blockchain.estimatefee", json!([blocks.clamp(1, BLOCKS_MAX)]));
    let is_new = asker.connection.version.is_at_least(&[1, 6]);
    let minimum = call(if is_new { "mempool.get_info" } else { "blockchain.relayfee" }, json!([]));
    let calls = [estimate, minimum];
    let [estimate_method, minimum_method] = [calls[0].method, calls[1].method];
    let mut answers = asker.tries(&calls)?.into_iter();
    // A server that cannot estimate refuses, or answers 0 or -1.
    let estimate: Option<Number> = answers
        .next()
        .and_then(Result::ok)
        .map(|answer| typed(estimate_method, &answer))
        .transpose()?;
    let estimate = estimate.as_ref().and_then(sats).filter(|rate| *rate > 0);
    let minimums = match answers.next() {
        Some(Ok(answer)) if is_new => {
            let info: MempoolInfo = typed(minimum_method, &answer)?;
            vec![info.mempoolminfee, info.minrelaytxfee]
        }
        Some(Ok(answer)) => vec![typed(minimum_method, &answer)?],
        Some(Err(_)) | None => Vec::new(),
    };
    let make_no_sense = || {
        ChainDown::of_text(format!(
            "the fee rates that the server names in {minimum_method} make no sense"
        ))
    };
    let minimums: Vec<u64> =
        minimums.iter().map(sats).collect::<Option<_>>().ok_or_else(make_no_sense)?;
    let minimum = minimums.into_iter().max().unwrap_or(0);
    Ok(NodeFeeRates::of(estimate.map(of_sat_kvb), of_sat_kvb(minimum), INCREMENT))
}

/// Converts an amount in bitcoin to satoshis, rounded up; `None` if it is negative or more than 21
/// million bitcoin.
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
    fn refusal_of_the_node_decides_the_broadcast_outcome() {
        let of = |code, message: &str| meaning(Refused::Said { code, message: message.to_owned() });
        let x = "the transaction was rejected by network rules.  ";
        let too_little = "insufficient fee, rejecting replacement 00ff";
        let electrs = "sendrawtransaction RPC error -26: ";
        for (code, message, meant) in [
            (1, format!("{x}bad-txns-inputs-missingorspent"), Broadcast::InputsMissing),
            (
                1,
                format!("{x}txn-mempool-conflict"),
                Broadcast::Conflict(format!("{x}txn-mempool-conflict")),
            ),
            (1, format!("{x}{too_little}"), Broadcast::Conflict(format!("{x}{too_little}"))),
            (
                2,
                "sendrawtransaction RPC error -27: Transaction already in block chain".to_owned(),
                Broadcast::AlreadyKnown,
            ),
            (1, format!("{x}Transaction outputs already in utxo set"), Broadcast::AlreadyKnown),
            (1, format!("{x}txn-already-in-mempool"), Broadcast::AlreadyKnown),
            (2, format!("{electrs}non-final"), Broadcast::Refused(format!("{electrs}non-final"))),
            // electrs 0.12 passes on the text alone.
            (
                2,
                "min relay fee not met, 0 < 71".to_owned(),
                Broadcast::Refused("min relay fee not met, 0 < 71".to_owned()),
            ),
            (2, "non-final".to_owned(), Broadcast::Refused("non-final".to_owned())),
            (
                2,
                "bad-txns-in-belowout".to_owned(),
                Broadcast::Refused("bad-txns-in-belowout".to_owned()),
            ),
            (2, "bad-txns-inputs-missingorspent".to_owned(), Broadcast::InputsMissing),
        ] {
            assert_eq!(of(code, &message), Ok(meant), "{message}");
        }
        for (code, message) in [
            (-32_601, "unknown method"),
            (-101, "excessive resource usage"),
            (2, "daemon is warming up"),
            (2, "Loading block index…"),
            (1, "daemon unreachable"),
            (1, "server busy - request timed out"),
        ] {
            assert!(of(code, message).is_err(), "{message}: says nothing about a transaction");
        }
    }

    #[test]
    fn fee_rates_are_parsed_in_every_number_format() {
        let of = |text: &str| sats(&serde_json::from_str(text).unwrap());
        for (text, read) in [
            ("0.00001", Some(1_000)),
            ("1e-05", Some(1_000)),
            ("0.00101079", Some(101_079)),
            ("0.0", Some(0)),
        ] {
            assert_eq!(of(text), read, "{text}");
        }
        assert_eq!(of("0.000000015"), Some(2), "rounded up");
        for text in ["-1", "1e30", "22000000"] {
            assert_eq!(of(text), None, "{text}");
        }
        assert_eq!(of_sat_kvb(1_001), FeeRate::from_sat_per_kwu(251));
    }
}
