//! Answers RPC calls as Bitcoin Core does.

use bitcoin::consensus::encode::{deserialize_hex, serialize_hex};
use bitcoin::{Block, Network, OutPoint, Transaction, Txid};
use serde_json::{Value, json};
use tillgate_sandbox::{BroadcastRefusal, MempoolEntry, SandboxError};

use super::fault::CoreFault;
use super::node_view::NodeView;

/// Why a call failed.
pub(crate) struct Refusal {
    pub code: i32,
    pub message: String,
}

impl Refusal {
    pub(super) fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl From<SandboxError> for Refusal {
    fn from(error: SandboxError) -> Self {
        Self::new(-1, error.to_string())
    }
}

type Answer = Result<Value, Refusal>;

/// Answers one call; `now_ms` is the time at which a broadcast enters the mempool.
pub(super) fn answer(method: &str, params: &[Value], view: &NodeView<'_>, now_ms: i64) -> Answer {
    if let Some(CoreFault::Warmup) = view.fault {
        return Err(Refusal::new(-28, "Verifying blocks…"));
    }
    if let Some(CoreFault::Refuses { calls, words }) = view.fault
        && method.starts_with(calls)
    {
        return Err(Refusal::new(-26, *words));
    }
    match method {
        "getblockchaininfo" => blockchain_info(view),
        "getbestblockhash" => {
            let height = view.height()?;
            block_hash(view, &json!(height))
        }
        "getblockhash" => block_hash(view, at(params, 0)),
        "getblockheader" => block_header(view, params),
        "getblock" => block(view, params),
        "getmempoolinfo" => mempool_info(view),
        "getnetworkinfo" => Ok(network_info(view)),
        "getrawmempool" => raw_mempool(view),
        "getrawtransaction" => raw_transaction(view, params),
        "getmempoolentry" => Ok(entry(view, txid(params)?)?.1),
        "getmempoolancestors" => {
            let (entry, _) = entry(view, txid(params)?)?;
            Ok(json!(entry.ancestors))
        }
        "gettxspendingprevout" => spending(view, params),
        "gettxout" => tx_out(view, params),
        "sendrawtransaction" => send(view, params, now_ms),
        "estimatesmartfee" => estimate(view),
        _ => Err(Refusal::new(-32_601, "Method not found")),
    }
}

fn at(params: &[Value], index: usize) -> &Value {
    params.get(index).unwrap_or(&Value::Null)
}

fn blockchain_info(view: &NodeView<'_>) -> Answer {
    let height = view.height()?;
    let genesis_of = match view.fault {
        Some(CoreFault::OtherNetwork(network)) => *network,
        _ => Network::Regtest,
    };
    let chain = match genesis_of {
        Network::Bitcoin => "main",
        Network::Signet => "signet",
        Network::Testnet => "test",
        Network::Testnet4 => "testnet4",
        Network::Regtest => "regtest",
    };
    let ahead = match view.fault {
        Some(CoreFault::HeadersAhead(ahead)) => *ahead,
        _ => 0,
    };
    let mut info = json!({
        "chain": chain,
        "blocks": height,
        "headers": height.saturating_add(ahead),
        "bestblockhash": block_hash(view, &json!(height))?,
        "initialblockdownload": view.fault == Some(&CoreFault::InitialBlockDownload),
        "chainwork": work(view, height)?,
        "pruned": false,
        "warnings": [],
    });
    if let (Some(CoreFault::Pruned(below) | CoreFault::Boasts(below)), Some(fields)) =
        (view.fault, info.as_object_mut())
    {
        fields.insert("pruned".to_owned(), json!(true));
        fields.insert("pruneheight".to_owned(), json!(below));
    }
    Ok(info)
}

fn network_info(view: &NodeView<'_>) -> Value {
    let (connections, is_off) = match view.fault {
        Some(CoreFault::Alone { is_switched_off, .. }) => (0, *is_switched_off),
        _ => (8, false),
    };
    json!({
        "version": 310_000,
        "subversion": "/Tillgate's sandbox:0.1.0/",
        "localrelay": view.fault != Some(&CoreFault::BlocksOnly),
        "networkactive": !is_off,
        "connections": connections,
    })
}

/// The chain's work up to a height. A block on regtest adds two hashes.
fn work(view: &NodeView<'_>, height: u32) -> Result<String, SandboxError> {
    let done = u64::from(height).saturating_add(1).saturating_mul(2);
    Ok(match view.fault {
        Some(CoreFault::Boasts(_)) if height == view.height()? => "f".repeat(30) + &"0".repeat(34),
        Some(CoreFault::Boasts(_)) => "0".repeat(64),
        _ => format!("{done:064x}"),
    })
}

fn block_hash(view: &NodeView<'_>, height: &Value) -> Answer {
    let height = height
        .as_i64()
        .ok_or_else(|| Refusal::new(-3, "JSON value is not of expected type number"))?;
    let found = u32::try_from(height).ok().map(|height| view.block(height)).transpose()?.flatten();
    let block = found.ok_or_else(|| Refusal::new(-8, "Block height out of range"))?;
    Ok(json!(block.block_hash()))
}

fn height_of(view: &NodeView<'_>, params: &[Value]) -> Result<u32, Refusal> {
    let hash = at(params, 0).as_str().and_then(|text| text.parse().ok());
    let hash = hash.ok_or_else(|| Refusal::new(-8, "blockhash must be of length 64"))?;
    view.height_of(hash)?.ok_or_else(|| Refusal::new(-5, "Block not found"))
}

fn block_header(view: &NodeView<'_>, params: &[Value]) -> Answer {
    let height = height_of(view, params)?;
    let block = view.block(height)?.ok_or_else(|| Refusal::new(-5, "Block not found"))?;
    if at(params, 1) == &json!(false) {
        return Ok(json!(serialize_hex(&block.header)));
    }
    Ok(json!({
        "hash": block.block_hash(),
        "confirmations": view.height()?.saturating_sub(height).saturating_add(1),
        "height": height,
        "time": block.header.time,
        "chainwork": work(view, height)?,
        "previousblockhash": block.header.prev_blockhash,
    }))
}

fn block(view: &NodeView<'_>, params: &[Value]) -> Answer {
    let height = height_of(view, params)?;
    if matches!(view.fault, Some(CoreFault::Pruned(below)) if height < *below) {
        return Err(Refusal::new(-1, "Block not available (pruned data)"));
    }
    let block = view.block(height)?.ok_or_else(|| Refusal::new(-5, "Block not found"))?;
    match at(params, 1).as_u64() {
        Some(0) => Ok(json!(serialize_hex(&view.told(block)))),
        Some(1) => {
            let txids: Vec<Txid> = block.txdata.iter().map(Transaction::compute_txid).collect();
            Ok(json!({ "hash": block.block_hash(), "height": height, "tx": txids }))
        }
        _ => Err(Refusal::new(-8, "this test node knows only the verbosities 0 and 1")),
    }
}

fn mempool_info(view: &NodeView<'_>) -> Answer {
    // Core writes amounts in BTC as numbers with eight decimals.
    let min: Value =
        serde_json::from_str("0.00001000").map_err(|error| Refusal::new(-1, error.to_string()))?;
    Ok(json!({
        "loaded": view.fault != Some(&CoreFault::MempoolLoading),
        "size": view.mempool()?.len(),
        "mempoolminfee": min,
        "minrelaytxfee": min,
        "incrementalrelayfee": min,
    }))
}

/// Ignores the parameters: the gateway always calls with `verbose` false and `mempool_sequence`
/// true.
fn raw_mempool(view: &NodeView<'_>) -> Answer {
    let (txids, next) = view.numbered_mempool()?;
    Ok(json!({ "txids": txids, "mempool_sequence": next }))
}

fn txid(params: &[Value]) -> Result<Txid, Refusal> {
    let txid = at(params, 0).as_str().and_then(|text| text.parse().ok());
    txid.ok_or_else(|| Refusal::new(-8, "parameter 1 must be of length 64"))
}

/// The node has no `txindex`: it finds only transactions of the mempool, and of a block that the
/// call names.
fn raw_transaction(view: &NodeView<'_>, params: &[Value]) -> Answer {
    if let Some(hash) = at(params, 2).as_str() {
        let txid = txid(params)?;
        let block = block(view, &[json!(hash), json!(0)])?;
        let block = block.as_str().and_then(|hex| deserialize_hex::<Block>(hex).ok());
        let ids = self::block(view, &[json!(hash), json!(1)])?;
        let place =
            ids["tx"].as_array().and_then(|ids| ids.iter().position(|id| *id == json!(txid)));
        let found = block.zip(place).and_then(|(block, place)| block.txdata.get(place).cloned());
        let tx = found
            .ok_or_else(|| Refusal::new(-5, "No such transaction found in the provided block"))?;
        return Ok(json!(serialize_hex(&tx)));
    }
    let tx = view.in_mempool(txid(params)?)?.ok_or_else(|| {
        Refusal::new(
            -5,
            "No such mempool transaction. Use -txindex or provide a block hash to enable blockchain transaction queries. Use gettransaction for wallet transactions.",
        )
    })?;
    Ok(json!(serialize_hex(&tx)))
}

fn entry(view: &NodeView<'_>, txid: Txid) -> Result<(MempoolEntry, Value), Refusal> {
    let found = match view.in_mempool(txid)? {
        Some(_) => view.sandbox.mempool_entry(txid)?,
        None => None,
    };
    let entry = found.ok_or_else(|| Refusal::new(-5, "Transaction not in mempool"))?;
    let base = btc(entry.fee_sats)?;
    let told = json!({
        "vsize": entry.vsize,
        "time": entry.entered_ms.div_euclid(1_000),
        "ancestorcount": entry.ancestors.len().saturating_add(1),
        "fees": { "base": base, "modified": base, "descendant": btc(entry.fees_with_descendants_sats)? },
    });
    Ok((entry, told))
}

/// An amount in Core's form: a number with eight decimals.
fn btc(sats: u64) -> Result<Value, Refusal> {
    let text = format!("{}.{:08}", sats / 100_000_000, sats % 100_000_000);
    serde_json::from_str(&text).map_err(|error| Refusal::new(-1, error.to_string()))
}

fn spending(view: &NodeView<'_>, params: &[Value]) -> Answer {
    let options = at(params, 1);
    if view.fault == Some(&CoreFault::RefusesSpenders)
        || (view.fault == Some(&CoreFault::KnowsNoOptions) && !options.is_null())
    {
        return Err(Refusal::new(-1, "gettxspendingprevout [{\"txid\":\"hex\",\"vout\":n},...]"));
    }
    let needs_index =
        view.fault == Some(&CoreFault::BuildsSpenders) && options["mempool_only"] != json!(true);
    let none = Vec::new();
    let mut answers = Vec::new();
    for asked in at(params, 0).as_array().unwrap_or(&none) {
        // Core reads `vout` as a signed number here, unlike in `gettxout`.
        if asked["vout"].as_u64().is_some_and(|vout| i32::try_from(vout).is_err()) {
            return Err(Refusal::new(-1, "JSON integer out of range"));
        }
        let outpoint = outpoint(&asked["txid"], &asked["vout"])?;
        let mut told = json!({ "txid": outpoint.txid, "vout": outpoint.vout });
        let spender = if view.ends_at().is_some() {
            None
        } else {
            view.sandbox.spender_in_mempool(outpoint)?
        };
        if spender.is_none() && needs_index {
            return Err(Refusal::new(
                -1,
                "Mempool lacks a relevant spend, and txospenderindex is unavailable.",
            ));
        }
        if let (Some(spender), Some(fields)) = (spender, told.as_object_mut()) {
            fields.insert("spendingtxid".to_owned(), json!(spender));
        }
        answers.push(told);
    }
    Ok(Value::Array(answers))
}

fn outpoint(txid: &Value, vout: &Value) -> Result<OutPoint, Refusal> {
    let txid = txid.as_str().and_then(|text| text.parse().ok());
    let vout = vout.as_u64().and_then(|vout| u32::try_from(vout).ok());
    let (Some(txid), Some(vout)) = (txid, vout) else {
        return Err(Refusal::new(-8, "Invalid parameter, an outpoint is a txid and a vout"));
    };
    Ok(OutPoint { txid, vout })
}

fn tx_out(view: &NodeView<'_>, params: &[Value]) -> Answer {
    let outpoint = outpoint(at(params, 0), at(params, 1))?;
    let with_mempool = at(params, 2).as_bool().unwrap_or(true);
    let Some(unspent) = view.sandbox.unspent(outpoint, with_mempool)? else {
        return Ok(Value::Null);
    };
    Ok(json!({
        "bestblock": block_hash(view, &json!(view.height()?))?,
        "confirmations": unspent.confirmations,
        "value": btc(unspent.output.value.to_sat())?,
        "scriptPubKey": { "hex": unspent.output.script_pubkey.to_hex_string() },
        "coinbase": unspent.is_coinbase,
    }))
}

fn send(view: &NodeView<'_>, params: &[Value], now_ms: i64) -> Answer {
    let tx = at(params, 0).as_str().and_then(|hex| deserialize_hex::<Transaction>(hex).ok());
    let tx = tx.ok_or_else(|| {
        Refusal::new(-22, "TX decode failed. Make sure the tx has at least one input.")
    })?;
    let txid = tx.compute_txid();
    let in_block = matches!(
        view.sandbox.transaction(txid)?.map(|view| view.position),
        Some(tillgate_sandbox::TxPosition::Block { .. })
    );
    if in_block {
        return Err(Refusal::new(-27, "Transaction outputs already in utxo set"));
    }
    match view.sandbox.broadcast(&tx, now_ms) {
        Ok(_) => Ok(json!(txid)),
        Err(refusal) => Err(refused(refusal)),
    }
}

/// Core's error for a refused broadcast.
pub(crate) fn refused(refusal: BroadcastRefusal) -> Refusal {
    match refusal {
        BroadcastRefusal::MissingInputs(_) | BroadcastRefusal::InputSpent { .. } => {
            Refusal::new(-25, "bad-txns-inputs-missingorspent")
        }
        BroadcastRefusal::ImmatureCoinbase { .. } => {
            Refusal::new(-26, "bad-txns-premature-spend-of-coinbase")
        }
        BroadcastRefusal::ReplacementFeeTooLow { fee_sats, min_sats } => {
            Refusal::new(-26, fee_too_low(fee_sats, min_sats))
        }
        BroadcastRefusal::Conflict(_) => Refusal::new(-26, "bad-txns-spends-conflicting-tx"),
        BroadcastRefusal::Policy(why) => Refusal::new(-26, format!("min relay fee not met, {why}")),
        BroadcastRefusal::Invalid(why) => Refusal::new(-26, why),
        BroadcastRefusal::Locked(_) => Refusal::new(-26, "non-final"),
        BroadcastRefusal::ScriptInvalid { .. } => Refusal::new(
            -26,
            "mempool-script-verify-flag-failed (Signature must be zero for failed CHECK(MULTI)SIG operation)",
        ),
        BroadcastRefusal::Refused(why) => Refusal::new(-26, why),
        // The caller sends no answer for this code.
        BroadcastRefusal::Unanswered => Refusal::new(UNANSWERED, "unanswered"),
        BroadcastRefusal::Storage(error) => Refusal::new(-1, error.to_string()),
    }
}

/// Core's message for a replacement that pays too little.
pub(crate) fn fee_too_low(fee_sats: u64, min_sats: u64) -> String {
    let btc = |sats: u64| format!("{}.{:08}", sats / 100_000_000, sats % 100_000_000);
    let (pays, asked) = (btc(fee_sats), btc(min_sats));
    format!(
        "insufficient fee, rejecting replacement, less fees than conflicting txs; {pays} < {asked}"
    )
}

/// Not a code of Core: the sandbox accepted a broadcast, and the node must not answer it.
pub(crate) const UNANSWERED: i32 = 1;

fn estimate(view: &NodeView<'_>) -> Answer {
    let rate = view.sandbox.faults()?.fee_estimate_sat_vb();
    if rate == 0 {
        return Ok(json!({ "errors": ["Insufficient data or no feerate found"], "blocks": 0 }));
    }
    Ok(json!({ "feerate": btc(rate.saturating_mul(1_000))?, "blocks": 6 }))
}
