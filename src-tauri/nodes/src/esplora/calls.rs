//! The calls, as Blockstream's and mempool.space's electrs answer them.

use bitcoin::consensus::encode::{deserialize_hex, serialize, serialize_hex};
use bitcoin::hex::FromHex as _;
use bitcoin::{OutPoint, Transaction, TxOut, Txid};
use serde_json::{Value, json};
use tillgate_sandbox::{Sandbox, SandboxError};

use super::fault::EsploraFault;
use super::shown::Shown;
use crate::core::calls::{UNANSWERED, refused};
use crate::http::Answer;

/// Transactions of the chain in one answer.
const CHAIN_TXS: usize = 25;

/// Transactions of the mempool in one answer.
const MEMPOOL_TXS: usize = 50;

/// Blocks in one answer.
const BLOCKS: u32 = 10;

/// Answers a question; `None` is silence. `now_ms` is when a broadcast enters the mempool.
pub(super) fn answer(
    (method, path): (&str, &str),
    body: &[u8],
    shown: &Shown<'_>,
    sandbox: &Sandbox,
    now_ms: i64,
) -> Option<Answer> {
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let found = match (method, parts.as_slice()) {
        ("POST", ["tx"]) => return post_tx(body, sandbox, now_ms),
        ("POST", ["txs", "package"]) => return post_package(body, sandbox, now_ms),
        ("GET", ["fee-estimates"]) if matches!(shown.fault, Some(EsploraFault::ManyEstimates(_))) => {
            shown.fault.map(many_estimates)
        }
        ("GET", ["fee-estimates"]) => sandbox.faults().ok().map(|faults| estimates(faults.fee_estimate_sat_vb())),
        ("GET", ["blocks", "tip", "hash"]) => shown.header(shown.height()).map(|it| text(it.block_hash().to_string())),
        ("GET", ["blocks", "tip", "height"]) => Some(text(shown.told_height().to_string())),
        ("GET", ["blocks", height]) => blocks(shown, height),
        ("GET", ["block-height", height]) => height
            .parse()
            .ok()
            .and_then(|told| shown.header(shown.meant_alone(told)?))
            .map(|it| text(it.block_hash().to_string())),
        ("GET", ["block", hash, rest @ ..]) => block(shown, hash, rest),
        ("GET", ["scripthash", hash, rest @ ..]) => script(shown, hash, rest),
        ("GET", ["tx", txid, rest @ ..]) => tx(shown, txid, rest),
        _ => None,
    };
    Some(found.unwrap_or_else(|| plain("404 Not Found", "not found".to_owned())))
}

fn block(shown: &Shown<'_>, hash: &str, rest: &[&str]) -> Option<Answer> {
    let height = shown.height_of(hash.parse().ok()?);
    match rest {
        ["header"] => Some(text(serialize_hex(&shown.header(height?)?))),
        ["status"] => {
            let next = height.and_then(|height| shown.header(height.saturating_add(1))).map(|it| it.block_hash());
            Some(json_of(shown, &json!({ "in_best_chain": height.is_some(), "height": height, "next_best": next })))
        }
        ["txid", place] => {
            let block = shown.index.blocks.get(height? as usize)?;
            Some(text(block.txids.get(place.parse::<usize>().ok()?)?.to_string()))
        }
        [] => {
            let mut value = block_value(shown, height?)?;
            if let (Some(EsploraFault::Deeper { .. }), Some(fields)) = (shown.fault, value.as_object_mut()) {
                fields.insert("height".to_owned(), json!(shown.told_alone(height?)));
            }
            Some(json_of(shown, &value))
        }
        _ => None,
    }
}

/// Ten blocks down from a height.
fn blocks(shown: &Shown<'_>, height: &str) -> Option<Answer> {
    let height: u32 = shown.meant(height.parse().ok()?)?;
    shown.header(height)?;
    let down = (height.saturating_sub(BLOCKS.saturating_sub(1))..=height).rev();
    let values: Vec<Value> = down.filter_map(|height| block_value(shown, height)).collect();
    Some(json_of(shown, &json!(values)))
}

fn block_value(shown: &Shown<'_>, height: u32) -> Option<Value> {
    let header = shown.header(height)?;
    Some(json!({
        "id": header.block_hash(),
        "height": shown.told(height),
        "version": header.version.to_consensus().cast_unsigned(),
        "timestamp": header.time,
        "tx_count": shown.index.blocks.get(height as usize)?.txids.len(),
        "size": 1_000,
        "weight": 4_000,
        "merkle_root": header.merkle_root,
        "previousblockhash": (height > 0).then_some(header.prev_blockhash),
        "mediantime": header.time,
        "nonce": header.nonce,
        "bits": header.bits.to_consensus(),
        "difficulty": 0,
    }))
}

fn script(shown: &Shown<'_>, hash: &str, rest: &[&str]) -> Option<Answer> {
    let script = <[u8; 32]>::from_hex(hash).ok()?;
    let (mempool, chain) = shown.history(&script);
    let mut txids: Vec<Txid> = mempool.iter().take(MEMPOOL_TXS).copied().collect();
    match rest {
        [] => {
            let stats = |count: usize| json!({ "tx_count": count });
            let value =
                json!({ "scripthash": hash, "chain_stats": stats(chain.len()), "mempool_stats": stats(mempool.len()) });
            return Some(json_of(shown, &value));
        }
        ["txs"] => txids.extend(chain.iter().take(CHAIN_TXS)),
        ["txs", "mempool"] => {}
        ["txs", "chain"] => txids = chain.iter().take(CHAIN_TXS).copied().collect(),
        ["txs", "chain", last] => {
            let last: Txid = last.parse().ok()?;
            let behind = chain.iter().skip_while(|txid| **txid != last).skip(1);
            txids = behind.take(CHAIN_TXS).copied().collect();
        }
        _ => return None,
    }
    let values: Vec<Value> = txids.iter().filter_map(|txid| tx_value(shown, txid)).collect();
    Some(json_of(shown, &json!(values)))
}

fn tx(shown: &Shown<'_>, txid: &str, rest: &[&str]) -> Option<Answer> {
    let txid: Txid = txid.parse().ok()?;
    let found = shown.tx(&txid);
    match rest {
        [] => Some(json_of(shown, &tx_value(shown, &txid)?)),
        // Of what it does not know the server says that it is not confirmed.
        ["status"] => Some(json_of(shown, &status(shown, found.and_then(|(_, height)| height)))),
        ["hex"] => Some(text(serialize_hex(&found?.0))),
        ["raw"] => {
            let headers = vec![("Content-Type", "application/octet-stream".to_owned())];
            Some(Answer { status: "200 OK", headers, body: serialize(&found?.0) })
        }
        ["merkle-proof"] => {
            let (height, merkle, pos) = shown.proof(&txid).filter(|_| shown.fault != Some(&EsploraFault::NoProofs))?;
            let height = shown.told_alone(height);
            Some(json_of(shown, &json!({ "block_height": height, "merkle": merkle, "pos": pos })))
        }
        ["outspends"] => {
            let count = u32::try_from(found?.0.output.len()).unwrap_or(u32::MAX);
            let spends: Vec<Value> = (0..count).map(|vout| spend(shown, OutPoint { txid, vout })).collect();
            Some(json_of(shown, &json!(spends)))
        }
        // Of what it does not know the server says that nothing spends it.
        ["outspend", vout] => Some(json_of(shown, &spend(shown, OutPoint { txid, vout: vout.parse().ok()? }))),
        _ => None,
    }
}

fn spend(shown: &Shown<'_>, outpoint: OutPoint) -> Value {
    match shown.spender(&outpoint) {
        Some((txid, vin, height)) => {
            json!({ "spent": true, "txid": txid, "vin": vin, "status": status(shown, height) })
        }
        None => json!({ "spent": false }),
    }
}

fn status(shown: &Shown<'_>, height: Option<u32>) -> Value {
    let header = height.and_then(|height| shown.header(height));
    json!({
        "confirmed": header.is_some(),
        "block_height": height.map(|height| shown.told_alone(height)),
        "block_hash": header.map(|header| header.block_hash()),
        "block_time": header.map(|header| header.time),
    })
}

fn tx_value(shown: &Shown<'_>, txid: &Txid) -> Option<Value> {
    let (tx, height) = shown.tx(txid)?;
    let output = |output: &TxOut| {
        json!({
            "scriptpubkey": output.script_pubkey.to_hex_string(),
            "scriptpubkey_asm": "",
            "scriptpubkey_type": "unknown",
            "value": output.value.to_sat(),
        })
    };
    let prevouts: Vec<Option<&TxOut>> =
        tx.input.iter().map(|input| shown.index.output(&input.previous_output)).collect();
    let paid_in: u64 = prevouts.iter().flatten().map(|output| output.value.to_sat()).sum();
    let paid_out: u64 = tx.output.iter().map(|output| output.value.to_sat()).sum();
    let inputs: Vec<Value> = tx
        .input
        .iter()
        .zip(prevouts)
        .map(|(input, prevout)| {
            let witness: Vec<String> = input.witness.iter().map(hex::encode).collect();
            let mut value = json!({
                "txid": input.previous_output.txid,
                "vout": input.previous_output.vout,
                "prevout": prevout.map(output),
                "scriptsig": input.script_sig.to_hex_string(),
                "scriptsig_asm": "",
                "is_coinbase": tx.is_coinbase(),
                "sequence": input.sequence.to_consensus_u32(),
            });
            if let (false, Some(fields)) = (witness.is_empty(), value.as_object_mut()) {
                fields.insert("witness".to_owned(), json!(witness));
            }
            value
        })
        .collect();
    Some(json!({
        "txid": txid,
        "version": tx.version.0.cast_unsigned(),
        "locktime": tx.lock_time.to_consensus_u32(),
        "vin": inputs,
        "vout": tx.output.iter().map(output).collect::<Vec<_>>(),
        "size": tx.total_size(),
        "weight": tx.weight().to_wu(),
        "fee": if tx.is_coinbase() { 0 } else { paid_in.saturating_sub(paid_out) },
        "status": status(shown, height),
    }))
}

fn post_tx(body: &[u8], sandbox: &Sandbox, now_ms: i64) -> Option<Answer> {
    let Some(tx) = std::str::from_utf8(body).ok().and_then(|hex| deserialize_hex::<Transaction>(hex).ok()) else {
        return Some(rpc_error(-22, "TX decode failed"));
    };
    let txid = tx.compute_txid();
    let position = sandbox.transaction(txid).ok()?.map(|view| view.position);
    if let Some(tillgate_sandbox::TxPosition::Block { .. }) = position {
        return Some(rpc_error(-27, "Transaction outputs already in utxo set"));
    }
    match sandbox.broadcast(&tx, now_ms) {
        Ok(_) => Some(text(txid.to_string())),
        Err(refusal) => {
            let refusal = refused(refusal);
            (refusal.code != UNANSWERED).then(|| rpc_error(refusal.code, &refusal.message))
        }
    }
}

/// Core's `submitpackage`, which mempool.space's server passes on.
fn post_package(body: &[u8], sandbox: &Sandbox, now_ms: i64) -> Option<Answer> {
    let hexes: Vec<String> = serde_json::from_slice(body).ok()?;
    let package: Vec<Transaction> = hexes.iter().filter_map(|hex| deserialize_hex(hex).ok()).collect();
    let result = match sandbox.broadcast_package(&package, now_ms) {
        Ok(_) => json!({ "package_msg": "success", "tx-results": {} }),
        Err(refusal) => {
            let refusal = refused(refusal);
            if refusal.code == UNANSWERED {
                return None;
            }
            json!({ "package_msg": "transaction failed", "tx-results": { "00": { "error": refusal.message } } })
        }
    };
    Some(Answer::json("200 OK", result.to_string().into_bytes()))
}

fn rpc_error(code: i32, message: &str) -> Answer {
    let error = json!({ "code": code, "message": message });
    plain("400 Bad Request", format!("sendrawtransaction RPC error: {error}"))
}

fn estimates(rate: u64) -> Answer {
    let targets = ["2", "3", "6", "144"];
    let map: serde_json::Map<String, Value> = if rate == 0 {
        serde_json::Map::new()
    } else {
        targets.iter().map(|target| ((*target).to_owned(), json!(rate))).collect()
    };
    Answer::json("200 OK", Value::Object(map).to_string().into_bytes())
}

fn many_estimates(fault: &EsploraFault) -> Answer {
    let EsploraFault::ManyEstimates(bytes) = fault else { return text(String::new()) };
    let unit = r#""6":1,"#;
    Answer::json("200 OK", format!("{{{}{}}}", unit.repeat(bytes / unit.len()), r#""6":1"#).into_bytes())
}

fn json_of(shown: &Shown<'_>, value: &Value) -> Answer {
    let value = match shown.fault {
        Some(EsploraFault::WrongTypes) => json!({ "surprise": [1, null, "x"] }).to_string(),
        _ => value.to_string(),
    };
    Answer::json("200 OK", value.into_bytes())
}

fn text(text: String) -> Answer {
    plain("200 OK", text)
}

fn plain(status: &'static str, text: String) -> Answer {
    Answer { status, headers: vec![("Content-Type", "text/plain".to_owned())], body: text.into_bytes() }
}

/// What a failure of the sandbox's storage looks like from outside.
pub(super) fn broken(error: &SandboxError) -> Answer {
    plain("500 Internal Server Error", error.to_string())
}
