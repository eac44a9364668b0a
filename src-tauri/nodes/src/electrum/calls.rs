//! Answers the calls of the Electrum protocol, versions 1.4 to 1.6. Error messages are those of
//! ElectrumX.

use bitcoin::consensus::encode::{deserialize_hex, serialize_hex};
use bitcoin::hashes::Hash as _;
use bitcoin::{Amount, Block, Network, Transaction, Txid, Witness};
use serde_json::{Value, json};
use tillgate_sandbox::{BroadcastRefusal, Sandbox, SandboxError, TxPosition};

use super::fake_transactions;
use super::fault::ElectrumFault;
use super::index::{Entry, Index, script_hash as script_hash_of, status};
use crate::block_proofs::{self, merkle_branch};
use crate::core::calls::fee_too_low;

/// The versions that the server can speak.
pub(super) const VERSIONS: [&str; 3] = ["1.4", "1.4.2", "1.6"];

/// Most headers in one answer.
const HEADERS_MAX: u64 = 2_016;

/// The state that a server shows, and its faults.
pub(super) struct ServerView<'a> {
    pub sandbox: &'a Sandbox,
    pub index: &'a Index,
    pub fault: Option<&'a ElectrumFault>,
    /// Whether each call for a single block header gets the header of block 0.
    pub denies: bool,
    /// The negotiated protocol version.
    pub version: &'a str,
    pub now_ms: i64,
}

/// Why a call failed.
pub(super) struct Refusal {
    pub code: i32,
    pub message: String,
}

pub(super) type Answer = Result<Value, Refusal>;

impl Refusal {
    pub(super) fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl From<SandboxError> for Refusal {
    fn from(error: SandboxError) -> Self {
        Self::new(-32_603, error.to_string())
    }
}

impl ServerView<'_> {
    /// The highest height that is shown, if it is limited.
    fn top(&self) -> Option<u32> {
        match self.fault {
            Some(ElectrumFault::OlderTip(top)) => Some(*top),
            _ => None,
        }
    }

    /// The number added to the height of each block except block 0.
    fn raised_by(&self) -> u32 {
        match self.fault {
            Some(ElectrumFault::Higher(by)) => *by,
            _ => 0,
        }
    }

    fn height(&self) -> u32 {
        let height = self.top().map_or(self.index.height, |top| top.min(self.index.height));
        height.saturating_add(self.raised_by())
    }

    fn block(&self, height: u32) -> Result<Block, Refusal> {
        let none = || Refusal::new(1, format!("height {height} out of range"));
        if height > self.height() {
            return Err(none());
        }
        let meant = if height == 0 { Some(0) } else { height.checked_sub(self.raised_by()) };
        let mut block = self.sandbox.block(meant.ok_or_else(none)?)?.ok_or_else(none)?;
        match self.fault {
            Some(ElectrumFault::OtherNetwork(network)) if height == 0 => {
                block = bitcoin::constants::genesis_block(network);
            }
            Some(ElectrumFault::NoProofOfWork) if height == self.height() => {
                block_proofs::take_work(&mut block.header)
            }
            Some(ElectrumFault::BrokenLink) if height == self.height() => {
                block_proofs::break_link(&mut block.header)
            }
            _ => {}
        }
        Ok(block)
    }

    /// The best block's header, in the form for subscribers.
    pub(super) fn tip(&self) -> Answer {
        let height = self.height();
        Ok(json!({ "height": height, "hex": serialize_hex(&self.block(height)?.header) }))
    }

    /// A script's history, changed by the fault. `Err` if the server refuses the history as too
    /// long.
    fn history(&self, hash: &str) -> Result<Vec<Entry>, Refusal> {
        let mut history = self.index.history(hash, self.top());
        match self.fault {
            Some(ElectrumFault::RefusesPopular(max)) if history.len() > *max => {
                return Err(Refusal::new(1, "history too large"));
            }
            Some(ElectrumFault::Higher(_)) if !history.is_empty() => {
                return Err(Refusal::new(1, "history too large"));
            }
            Some(ElectrumFault::KeepsBack) => history.retain(|entry| entry.height <= 0),
            Some(ElectrumFault::InventedPayments { script, count, .. })
                if script_hash_of(script) == hash =>
            {
                history.extend(fake_transactions::payments(script, *count).map(|tx| Entry {
                    txid: tx.compute_txid(),
                    height: 0,
                    fee_sats: Some(1_000),
                }));
            }
            Some(ElectrumFault::LongHistory(script, count)) if script_hash_of(script) == hash => {
                let old = |number: u32| Entry {
                    txid: fake_transactions::txid(number),
                    height: 1,
                    fee_sats: None,
                };
                history.splice(..0, (0..*count).map(old));
            }
            Some(ElectrumFault::InventedSpend(tx)) if self.index.is_spent_from(tx, hash) => {
                let entry = Entry {
                    txid: tx.compute_txid(),
                    height: i64::from(self.height()),
                    fee_sats: None,
                };
                let mined = history.iter().filter(|entry| entry.height > 0).count();
                history.insert(mined, entry);
            }
            Some(ElectrumFault::InventedWaiting(tx)) if self.touches(tx, hash) => {
                history.push(Entry { txid: tx.compute_txid(), height: 0, fee_sats: Some(1_000) });
            }
            Some(fault @ (ElectrumFault::ForgedConfirmations | ElectrumFault::ConfirmedBy(_))) => {
                let height = if let ElectrumFault::ConfirmedBy(height) = fault {
                    *height
                } else {
                    self.height()
                };
                for entry in history.iter_mut().filter(|entry| entry.height <= 0) {
                    entry.height = i64::from(height);
                    entry.fee_sats = None;
                }
            }
            _ => {}
        }
        Ok(history)
    }

    /// Whether a transaction spends from a script or pays it.
    fn touches(&self, tx: &Transaction, hash: &str) -> bool {
        self.index.is_spent_from(tx, hash)
            || tx.output.iter().any(|output| script_hash_of(&output.script_pubkey) == hash)
    }

    /// A script's status.
    pub(super) fn status(&self, hash: &str) -> Answer {
        Ok(json!(status(&self.history(hash)?)))
    }
}

/// Answers a call that does not depend on the connection.
pub(super) fn answer(method: &str, params: &[Value], view: &ServerView<'_>) -> Answer {
    match method {
        "server.ping" => Ok(Value::Null),
        "server.features" => features(view),
        "blockchain.block.header" => {
            let height = height(params, 0)?;
            Ok(json!(serialize_hex(&view.block(if view.denies { 0 } else { height })?.header)))
        }
        "blockchain.block.headers" => headers(view, params),
        "blockchain.scripthash.get_history" => get_history(view, params, false),
        "blockchain.scripthash.get_mempool" => get_history(view, params, true),
        "blockchain.transaction.get" => transaction(view, params),
        "blockchain.transaction.get_merkle" => merkle(view, params),
        "blockchain.transaction.id_from_pos" => id_from_pos(view, params),
        "blockchain.transaction.broadcast" => broadcast(view, params),
        "blockchain.transaction.broadcast_package" if view.version == "1.6" => {
            broadcast_package(view, params)
        }
        "blockchain.estimatefee" => estimate(view),
        "blockchain.relayfee" if view.version != "1.6" => number("0.00001000"),
        "mempool.get_info" if view.version == "1.6" => Ok(json!({
            "mempoolminfee": number("0.00001000")?,
            "minrelaytxfee": number("0.00001000")?,
            "incrementalrelayfee": number("0.00001000")?,
        })),
        _ => Err(Refusal::new(-32_601, format!("unknown method \"{method}\""))),
    }
}

pub(super) fn at(params: &[Value], index: usize) -> &Value {
    params.get(index).unwrap_or(&Value::Null)
}

/// The script hash that a call names.
pub(super) fn script_hash(params: &[Value]) -> Result<&str, Refusal> {
    let hash = at(params, 0).as_str().filter(|text| text.len() == 64 && hex::decode(text).is_ok());
    hash.ok_or_else(|| Refusal::new(1, "that is no valid script hash"))
}

fn height(params: &[Value], index: usize) -> Result<u32, Refusal> {
    let height = at(params, index).as_u64().and_then(|height| u32::try_from(height).ok());
    height.ok_or_else(|| Refusal::new(1, "that should be a non-negative integer"))
}

fn txid(params: &[Value]) -> Result<Txid, Refusal> {
    let txid = at(params, 0).as_str().and_then(|text| text.parse().ok());
    txid.ok_or_else(|| Refusal::new(1, "that should be a transaction hash"))
}

fn number(text: &str) -> Answer {
    serde_json::from_str(text).map_err(|error| Refusal::new(-32_603, error.to_string()))
}

fn features(view: &ServerView<'_>) -> Answer {
    let network = match view.fault {
        Some(ElectrumFault::OtherNetwork(network)) => *network,
        _ => Network::Regtest,
    };
    Ok(json!({
        "genesis_hash": bitcoin::constants::genesis_block(network).block_hash(),
        "hosts": {},
        "protocol_max": VERSIONS.last(),
        "protocol_min": VERSIONS.first(),
        "pruning": null,
        "server_version": "TillgateTest 1.0",
        "hash_function": "sha256",
    }))
}

fn headers(view: &ServerView<'_>, params: &[Value]) -> Answer {
    let start = height(params, 0)?;
    let count = at(params, 1)
        .as_u64()
        .ok_or_else(|| Refusal::new(1, "that should be a non-negative integer"))?;
    let count = u32::try_from(count.min(HEADERS_MAX)).unwrap_or(0);
    let end = start.saturating_add(count).min(view.height().saturating_add(1));
    let headers = (start..end).map(|height| Ok(serialize_hex(&view.block(height)?.header)));
    let headers: Vec<String> = headers.collect::<Result<_, Refusal>>()?;
    let mut told = json!({ "count": headers.len(), "max": HEADERS_MAX });
    if let Some(fields) = told.as_object_mut() {
        match view.version {
            "1.6" => fields.insert("headers".to_owned(), json!(headers)),
            _ => fields.insert("hex".to_owned(), json!(headers.concat())),
        };
    }
    Ok(told)
}

fn get_history(view: &ServerView<'_>, params: &[Value], waiting_only: bool) -> Answer {
    let mut history = view.history(script_hash(params)?)?;
    if view.fault == Some(&ElectrumFault::MissingHistory) {
        history.clear();
    }
    history.retain(|entry| !waiting_only || entry.height <= 0);
    let told = history.iter().map(|entry| match entry.fee_sats {
        Some(fee) => json!({ "tx_hash": entry.txid, "height": entry.height, "fee": fee }),
        None => json!({ "tx_hash": entry.txid, "height": entry.height }),
    });
    Ok(Value::Array(told.collect()))
}

fn transaction(view: &ServerView<'_>, params: &[Value]) -> Answer {
    let txid = txid(params)?;
    if let Some(tx) = view.fault.and_then(|fault| fake_transactions::transaction(fault, &txid)) {
        return Ok(json!(serialize_hex(&tx)));
    }
    let found = view.index.transaction(&txid, view.top());
    let (tx, position) = found.ok_or_else(|| {
        Refusal::new(
            2,
            "daemon error: DaemonError({'code': -5, 'message': 'No such mempool or blockchain transaction. Use gettransaction for wallet transactions.'})",
        )
    })?;
    let mut tx = tx.clone();
    if let (Some(ElectrumFault::Bloated(bytes)), TxPosition::Block { .. }) = (view.fault, position)
    {
        tx.input
            .iter_mut()
            .for_each(|input| input.witness = Witness::from_slice(&[vec![7; *bytes]]));
    }
    if let Some(ElectrumFault::ForgedTransactions) = view.fault {
        for output in &mut tx.output {
            output.value =
                output.value.checked_add(Amount::from_sat(1_000_000)).unwrap_or(output.value);
        }
    }
    Ok(json!(serialize_hex(&tx)))
}

fn txids(block: &Block) -> Vec<Txid> {
    block.txdata.iter().map(Transaction::compute_txid).collect()
}

fn merkle(view: &ServerView<'_>, params: &[Value]) -> Answer {
    let (txid, height) = (txid(params)?, height(params, 1)?);
    let txids = txids(&view.block(height)?);
    let place = txids.iter().position(|found| *found == txid);
    let forges = matches!(
        view.fault,
        Some(ElectrumFault::ForgedConfirmations | ElectrumFault::InventedSpend(_))
    );
    if place.is_none() && forges {
        // The forged proof is the branch of the block's first transaction. A client that checks it
        // finds the fraud.
        return Ok(json!({ "block_height": height, "merkle": merkle_branch(&txids, 0), "pos": 0 }));
    }
    let place = place
        .ok_or_else(|| Refusal::new(1, format!("tx {txid} not in block at height {height}")))?;
    let mut branch = merkle_branch(&txids, place);
    if view.fault == Some(&ElectrumFault::ForgedMerkle) {
        branch.push(Txid::from_byte_array([9; 32]));
    }
    Ok(json!({ "block_height": height, "merkle": branch, "pos": place }))
}

fn id_from_pos(view: &ServerView<'_>, params: &[Value]) -> Answer {
    let txids = txids(&view.block(height(params, 0)?)?);
    let place = usize::try_from(height(params, 1)?).unwrap_or(usize::MAX);
    let txid = txids.get(place).ok_or_else(|| Refusal::new(1, "no tx at that position"))?;
    if at(params, 2).as_bool() == Some(true) {
        return Ok(json!({ "tx_hash": txid, "merkle": merkle_branch(&txids, place) }));
    }
    Ok(json!(txid))
}

fn broadcast(view: &ServerView<'_>, params: &[Value]) -> Answer {
    let tx = at(params, 0).as_str().and_then(|hex| deserialize_hex::<Transaction>(hex).ok());
    let tx =
        tx.ok_or_else(|| rejected("TX decode failed. Make sure the tx has at least one input."))?;
    let txid = tx.compute_txid();
    if let Some((_, TxPosition::Block { .. })) = view.index.transaction(&txid, None) {
        return Err(rejected("Transaction outputs already in utxo set"));
    }
    match view.sandbox.broadcast(&tx, view.now_ms) {
        Ok(_) => Ok(json!(txid)),
        Err(BroadcastRefusal::Unanswered) => Err(unanswered()),
        Err(refusal) => Err(rejected(&words(&refusal))),
    }
}

fn broadcast_package(view: &ServerView<'_>, params: &[Value]) -> Answer {
    let none = Vec::new();
    let raw = at(params, 0).as_array().unwrap_or(&none).iter();
    let package: Option<Vec<Transaction>> =
        raw.map(|raw| raw.as_str().and_then(|hex| deserialize_hex(hex).ok())).collect();
    let package = package.ok_or_else(|| Refusal::new(1, "TX decode failed"))?;
    let last = package.last().map(Transaction::compute_txid);
    match view.sandbox.broadcast_package(&package, view.now_ms) {
        Ok(_) => Ok(json!({ "success": true })),
        Err(BroadcastRefusal::Unanswered) => Err(unanswered()),
        Err(refusal) => {
            Ok(json!({ "success": false, "errors": [{ "txid": last, "error": words(&refusal) }] }))
        }
    }
}

fn rejected(why: &str) -> Refusal {
    Refusal::new(1, format!("the transaction was rejected by network rules.\n\n{why}\n"))
}

/// Not a code of the protocol: the sandbox's fault demands that the server leaves a broadcast
/// unanswered.
pub(super) const UNANSWERED: i32 = i32::MAX;

fn unanswered() -> Refusal {
    Refusal::new(UNANSWERED, "unanswered")
}

fn words(refusal: &BroadcastRefusal) -> String {
    match refusal {
        BroadcastRefusal::MissingInputs(_) | BroadcastRefusal::InputSpent { .. } => {
            "bad-txns-inputs-missingorspent".to_owned()
        }
        BroadcastRefusal::ImmatureCoinbase { .. } => {
            "bad-txns-premature-spend-of-coinbase".to_owned()
        }
        BroadcastRefusal::ReplacementFeeTooLow { fee_sats, min_sats } => {
            fee_too_low(*fee_sats, *min_sats)
        }
        BroadcastRefusal::Conflict(_) => "bad-txns-spends-conflicting-tx".to_owned(),
        BroadcastRefusal::Policy(why) => format!("min relay fee not met, {why}"),
        BroadcastRefusal::Locked(_) => "non-final".to_owned(),
        BroadcastRefusal::ScriptInvalid { .. } => "mempool-script-verify-flag-failed".to_owned(),
        BroadcastRefusal::Invalid(why) | BroadcastRefusal::Refused(why) => why.to_string(),
        BroadcastRefusal::Unanswered | BroadcastRefusal::Storage(_) => refusal.to_string(),
    }
}

fn estimate(view: &ServerView<'_>) -> Answer {
    let sats = view.sandbox.faults()?.fee_estimate_sat_vb().saturating_mul(1_000);
    if sats == 0 {
        return Ok(json!(-1));
    }
    number(&format!("{}.{:08}", sats / 100_000_000, sats % 100_000_000))
}
