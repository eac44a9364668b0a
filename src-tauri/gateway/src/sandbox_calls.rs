//! The calls of the sandbox (operation.md, "The sandbox"), free of any transport: shop developers
//! make them over HTTP, the panel's buttons over its own commands.
//!
//! All changes of a call are made before the next look, and exactly one look follows each call,
//! both under the lock by which looks run one at a time.

mod body;
mod error;
mod money;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bitcoin::{Address, Network, ScriptBuf, Txid};
use serde_json::{Value, json};
use tillgate_domain::id::Id;
use tillgate_sandbox::{
    FaultsPatch, MAX_BLOCKS_PER_CALL, MAX_FEE_RATE_SAT_VB, MAX_PARTS, Pay, Replace, ReplaceTo, Sandbox,
};

use crate::fail_points::{self, Point};
use crate::gateway::Gateway;
use crate::rates;
use crate::watcher::WatchError;
use body::Body;
pub use error::CallError;
use error::refused;

/// The slowest answer that can be asked for: longer than any time-out of the gateway's own.
const LATENCY_MAX_MS: u64 = 60_000;

/// The longest step of the clock in one call: ten years.
const ADVANCE_MAX_SECONDS: u64 = 10 * 366 * 24 * 60 * 60;

/// Makes a call of the sandbox. `path` is as below `/v2`, like `/sandbox/blocks`; `body` is `null`
/// where there is none. When it answers, its effects on payments are stored and the notifications
/// that they cause are queued.
///
/// # Errors
/// Why it was refused; nothing of it was kept then.
pub async fn call(gateway: &Arc<Gateway>, method: &str, path: &str, body: Value) -> Result<Value, CallError> {
    let sandbox = Arc::clone(gateway.sandbox.as_ref().ok_or(CallError::NoSuchPath)?);
    let call = Call::parse(gateway, method, path, Body::read(body)?)?;
    let gateway = Arc::clone(gateway);
    // A client that hangs up does not keep the look from following the change.
    let made = tokio::spawn(async move { make(&gateway, sandbox, call).await });
    made.await.map_err(|_| CallError::BrokenOff)?
}

/// A call whose request is as it must be.
#[derive(Debug)]
enum Call {
    Status,
    Pay { payment: Id, amount_sats: Option<u64>, parts: u32, fee_rate_sat_vb: Option<u64>, confirmations: u32 },
    Replace { txid: Txid, replace: Replace },
    Evict { txid: Txid },
    Mine { count: u32, empty: bool },
    Reorg { depth: u32, keep_transactions: bool },
    AdvanceClock { seconds: u64 },
    SetRates { rates: std::collections::BTreeMap<String, Option<String>> },
    Send { script: ScriptBuf, amount_sats: u64 },
    SetFaults { patch: FaultsPatch },
}

impl Call {
    fn parse(gateway: &Gateway, method: &str, path: &str, mut body: Body) -> Result<Self, CallError> {
        let segments: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let allow = |allowed: &'static str| {
            if method == allowed { Ok(()) } else { Err(CallError::MethodNotAllowed(allowed)) }
        };
        let call = match segments.as_slice() {
            ["sandbox"] => {
                allow("GET")?;
                Self::Status
            }
            ["sandbox", "payments", id, "pay"] => {
                allow("POST")?;
                Self::pay(gateway, id, &mut body)?
            }
            ["sandbox", "transactions", txid, "replace"] => {
                allow("POST")?;
                Self::Replace { txid: txid_of(txid)?, replace: replace(&mut body) }
            }
            ["sandbox", "transactions", txid, "evict"] => {
                allow("POST")?;
                Self::Evict { txid: txid_of(txid)? }
            }
            ["sandbox", "blocks"] => {
                allow("POST")?;
                Self::Mine {
                    count: body.whole("count", 1..=MAX_BLOCKS_PER_CALL, Some(1)),
                    empty: body.flag("empty", false),
                }
            }
            ["sandbox", "reorg"] => {
                allow("POST")?;
                Self::Reorg {
                    depth: body.whole("depth", 1..=u32::MAX, None),
                    keep_transactions: body.flag("keepTransactions", true),
                }
            }
            ["sandbox", "clock"] => {
                allow("POST")?;
                Self::AdvanceClock { seconds: body.whole("advanceSeconds", 0..=ADVANCE_MAX_SECONDS, None) }
            }
            ["sandbox", "rates"] => {
                allow("PUT")?;
                Self::SetRates { rates: body.rates() }
            }
            ["sandbox", "send"] => {
                allow("POST")?;
                Self::Send { script: address(&mut body), amount_sats: body.btc("btcAmount", true).unwrap_or_default() }
            }
            ["sandbox", "faults"] => {
                allow("PUT")?;
                Self::SetFaults { patch: faults(&mut body) }
            }
            _ => return Err(CallError::NoSuchPath),
        };
        body.finish(call)
    }

    fn pay(gateway: &Gateway, id: &str, body: &mut Body) -> Result<Self, CallError> {
        let not_found = || CallError::NotFound(format!("there is no payment {id}"));
        let payment = id.parse().map_err(|_| not_found())?;
        gateway.store.read(|reader| reader.payment(&payment))?.ok_or_else(not_found)?;
        Ok(Self::Pay {
            payment,
            amount_sats: body.btc("btcAmount", false),
            parts: body.whole("parts", 1..=MAX_PARTS, Some(1)),
            fee_rate_sat_vb: fee_rate(body),
            confirmations: body.whole("confirmations", 0..=MAX_BLOCKS_PER_CALL, Some(0)),
        })
    }
}

fn txid_of(text: &str) -> Result<Txid, CallError> {
    text.parse().map_err(|_| CallError::NotFound(format!("there is no transaction {text}")))
}

fn fee_rate(body: &mut Body) -> Option<u64> {
    body.optional_whole("feeRate", 1..=MAX_FEE_RATE_SAT_VB)
}

fn replace(body: &mut Body) -> Replace {
    let to_customer = body.flag("toCustomer", true);
    let amount_sats = body.btc("btcAmount", false);
    if to_customer && amount_sats.is_some() {
        body.fault("btcAmount", "goes with \"toCustomer\": false only");
    }
    let to = if to_customer { ReplaceTo::Customer } else { ReplaceTo::SameAddress { amount_sats } };
    Replace { fee_rate_sat_vb: fee_rate(body), to }
}

fn address(body: &mut Body) -> ScriptBuf {
    let Some(text) = body.text("address") else { return ScriptBuf::new() };
    match text.parse::<Address<_>>().ok().and_then(|address| address.require_network(Network::Regtest).ok()) {
        Some(address) => address.script_pubkey(),
        None => {
            body.fault("address", "must be an address of the sandbox's network (regtest), like bcrt1q…");
            ScriptBuf::new()
        }
    }
}

fn faults(body: &mut Body) -> FaultsPatch {
    FaultsPatch {
        chain_down: body.optional_flag("chainDown"),
        broadcast_rejects: body.optional_flag("broadcastRejects"),
        latency_ms: body.optional_whole("latencyMs", 0..=LATENCY_MAX_MS),
    }
}

/// Changes the sandbox and looks, while nobody else looks.
async fn make(gateway: &Arc<Gateway>, sandbox: Arc<Sandbox>, call: Call) -> Result<Value, CallError> {
    if matches!(call, Call::Status) {
        return status(gateway, sandbox).await;
    }
    let moves_clock = matches!(call, Call::AdvanceClock { .. });
    let concerns_rates = moves_clock || matches!(call, Call::SetRates { .. });
    let mut looking = gateway.watcher.hold(gateway).await;
    let answer = {
        let (gateway, sandbox) = (Arc::clone(gateway), Arc::clone(&sandbox));
        let change = move || {
            fail_points::pass(Point::SandboxBefore);
            let changed = change(&gateway, &sandbox, call);
            fail_points::pass(Point::SandboxAfter);
            changed
        };
        tokio::task::spawn_blocking(change).await.map_err(|_| CallError::BrokenOff)??
    };
    if concerns_rates {
        rates::refresh_once(gateway).await?;
        gateway.note_change();
    }
    match looking.look().await {
        // A backend that was told not to answer is no failure of the call: the first look after it sees all.
        Ok(()) | Err(WatchError::Chain(_)) => {}
        Err(error) => return Err(error.into()),
    }
    drop(looking);
    if moves_clock {
        gateway.notifier_wake.notify_one();
    }
    match answer {
        Some(txids) => Ok(json!({ "btcTxIds": txids })),
        None => status(gateway, sandbox).await,
    }
}

/// The change itself; answers the transactions that it made, where it makes some.
fn change(gateway: &Gateway, sandbox: &Sandbox, call: Call) -> Result<Option<Vec<String>>, CallError> {
    let now_ms = gateway.clock.now().ms();
    let made = |txids: Vec<Txid>| Some(txids.iter().map(Txid::to_string).collect());
    match call {
        Call::Status => Ok(None),
        Call::Pay { payment, amount_sats, parts, fee_rate_sat_vb, confirmations } => {
            let (script, amount_sats) = money::to_pay(gateway, &payment, amount_sats)?;
            let pay = Pay { script, amount_sats, parts, fee_rate_sat_vb, confirmations };
            sandbox.pay(pay, now_ms).map(made).map_err(refused)
        }
        Call::Replace { txid, replace } => sandbox.replace(txid, replace, now_ms).map(made).map_err(refused),
        Call::Send { script, amount_sats } => {
            sandbox.send(script, amount_sats, now_ms).map(|txid| made(vec![txid])).map_err(refused)
        }
        Call::Evict { txid } => sandbox.evict(txid, now_ms).map(|()| None).map_err(refused),
        Call::Mine { count, empty } => sandbox.mine(count, empty, now_ms).map(|_| None).map_err(refused),
        Call::Reorg { depth, keep_transactions } => {
            sandbox.reorg(depth, keep_transactions, now_ms).map(|_| None).map_err(refused)
        }
        Call::AdvanceClock { seconds } => {
            let offset_ms = sandbox.advance_clock(seconds).map_err(refused)?;
            gateway.clock_offset_ms.fetch_max(offset_ms, Ordering::SeqCst);
            Ok(None)
        }
        Call::SetRates { rates } => sandbox.set_rates(&rates).map(|()| None).map_err(refused),
        Call::SetFaults { patch } => sandbox.set_faults(patch).map(|()| None).map_err(refused),
    }
}

async fn status(gateway: &Arc<Gateway>, sandbox: Arc<Sandbox>) -> Result<Value, CallError> {
    let status = tokio::task::spawn_blocking(move || sandbox.status())
        .await
        .map_err(|_| CallError::BrokenOff)?
        .map_err(refused)?;
    Ok(json!({
        "height": status.height,
        "tipHash": status.tip_hash.to_string(),
        "mempool": status.mempool.iter().map(Txid::to_string).collect::<Vec<_>>(),
        "clock": gateway.clock.now().iso_millis(),
        "rates": money::rates_object(&status.rates),
        "faults": {
            "chainDown": status.faults.chain_down,
            "broadcastRejects": status.faults.broadcast_rejects,
            "latencyMs": status.faults.latency_ms,
        },
    }))
}

#[cfg(test)]
mod tests;
