//! The calls of the sandbox (docs/api.md, "The sandbox, for your own tests"), without HTTP. Shop
//! developers make them over HTTP, and the panel's buttons by a command of the console. [`ROUTES`]
//! lists them.
//!
//! A call makes all its changes before the next look, and exactly one look follows a call that
//! changes the sandbox. Both happen under the lock that allows one look at a time.

mod body;
mod calls;
mod error;
mod money;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bitcoin::{Address, Network, ScriptBuf, Txid};
use serde_json::{Value, json};
use tillgate_sandbox::{BroadcastFault, Faults, Pay, Sandbox};

use crate::app::App;
use crate::gateway::{Gateway, Time};
use crate::watcher::{LookPermit, WatchError};
pub use calls::{Call, ROUTES, Route};
use calls::{Change, Question};
pub use error::CallError;
use error::refused;
pub use error::{BodyFault, Missing};
use tillgate_machine::fail_points::{self, Point};

/// Makes the call with this method and path below `/v2`, such as `/sandbox/blocks`. `body` is
/// `null` if there is none.
///
/// # Errors
/// As [`make`].
pub async fn call(
    app: &Arc<App>,
    method: &str,
    path: &str,
    body: Value,
) -> Result<Value, CallError> {
    let (route, subject) = Route::find(method, path)?;
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let call = route.parse(&app.gateway, subject, body.as_bytes())?;
    make(app, call).await
}

/// Makes a call of the sandbox. When it returns, its effects on payments are stored and their
/// notifications are queued.
///
/// # Errors
/// The reason of the refusal or failure. If the look or the gateway's database failed, the sandbox
/// may have changed already; then the next look finds the change.
pub async fn make(app: &Arc<App>, call: Call) -> Result<Value, CallError> {
    let sandbox = Arc::clone(app.gateway.backend.sandbox.as_ref().ok_or(CallError::NoSuchPath)?);
    let change = match call {
        Call::Ask(Question::Status) => return status(&app.gateway.time, sandbox).await,
        Call::Ask(Question::Outputs { script }) => return outputs(sandbox, script).await,
        Call::Change(change) => change,
    };
    let app = Arc::clone(app);
    // In a task of its own, so that the look follows the change even if the client closes the
    // connection.
    let made = tokio::spawn(async move { change_and_look(&app, sandbox, change).await });
    made.await.map_err(|_| CallError::Interrupted)?
}

/// Changes the sandbox and looks, while no other look runs.
async fn change_and_look(
    app: &App,
    sandbox: Arc<Sandbox>,
    change: Change,
) -> Result<Value, CallError> {
    let gateway = &app.gateway;
    let moves_clock = matches!(change, Change::AdvanceClock { .. });
    let concerns_rates = moves_clock || matches!(change, Change::SetRates { .. });
    // Until the look after a jump of the clock has ended, nothing is decided by the clock, because
    // the last look is too old for the new time. This lock is taken before the permit to look,
    // because the sender's pass below takes that permit again.
    let _jump = if moves_clock { Some(gateway.time.jumps.write().await) } else { None };
    let looking = app.watcher.hold().await;
    let answer = {
        let (gateway, sandbox) = (Arc::clone(gateway), Arc::clone(&sandbox));
        let make = move || {
            fail_points::pass(Point::SandboxBefore);
            let made = make_change(&gateway, &sandbox, change);
            fail_points::pass(Point::SandboxAfter);
            made
        };
        tokio::task::spawn_blocking(make).await.map_err(|_| CallError::Interrupted)??
    };
    if concerns_rates {
        gateway.refresh_rates().await?;
        gateway.signals.note_change();
    }
    follow(app, looking).await?;
    if moves_clock {
        gateway.signals.notifier.notify_one();
    }
    match answer {
        Some(txids) => Ok(json!({ "btcTxIds": txids })),
        None => status(&gateway.time, sandbox).await,
    }
}

/// Runs one look and then the sender's pass, after every change and before the call is answered.
async fn follow(app: &App, mut looking: LookPermit<'_>) -> Result<(), CallError> {
    match looking.look().await {
        // With the fault `chainDown` the look fails, but not the call. The first look without the
        // fault finds the change.
        Ok(()) | Err(WatchError::Chain(_)) => {}
        Err(error) => return Err(error.into()),
    }
    drop(looking);
    Ok(app.sender.pass(&app.watcher).await?)
}

/// Makes the change. Returns the txids of its transactions, or `None` for a kind of change that
/// makes none.
fn make_change(
    gateway: &Gateway,
    sandbox: &Sandbox,
    change: Change,
) -> Result<Option<Vec<String>>, CallError> {
    let now_ms = gateway.time.now().ms();
    let made = |txids: Vec<Txid>| Some(txids.iter().map(Txid::to_string).collect());
    match change {
        Change::Pay { payment, amount_sats, parts, fee_rate_sat_vb, confirmations } => {
            let (script, amount_sats) = money::to_pay(&gateway.store, &payment, amount_sats)?;
            let pay = Pay { script, amount_sats, parts, fee_rate_sat_vb, confirmations };
            sandbox.pay(pay, now_ms).map(made).map_err(refused)
        }
        Change::Replace { txid, replace } => {
            sandbox.replace(txid, replace, now_ms).map(made).map_err(refused)
        }
        Change::Send { script, amount_sats } => {
            sandbox.send(script, amount_sats, now_ms).map(|txid| made(vec![txid])).map_err(refused)
        }
        Change::Evict { txid } => sandbox.evict(txid, now_ms).map(|()| None).map_err(refused),
        Change::MineEmpty { count } => {
            sandbox.mine(count, true, now_ms).map(|_| None).map_err(refused)
        }
        Change::Mine { count, min_fee_rate_sat_kvb } => {
            sandbox.mine_above(count, min_fee_rate_sat_kvb, now_ms).map(|_| None).map_err(refused)
        }
        Change::Reorg { depth, keep_transactions } => {
            sandbox.reorg(depth, keep_transactions, now_ms).map(|_| None).map_err(refused)
        }
        Change::AdvanceClock { seconds } => {
            let offset_ms = sandbox.advance_clock(seconds).map_err(refused)?;
            gateway.time.offset_ms.fetch_max(offset_ms, Ordering::SeqCst);
            Ok(None)
        }
        Change::SetRates { rates } => sandbox.set_rates(&rates).map(|()| None).map_err(refused),
        Change::SetFaults { patch } => sandbox.set_faults(patch).map(|()| None).map_err(refused),
    }
}

async fn status(time: &Time, sandbox: Arc<Sandbox>) -> Result<Value, CallError> {
    let status = tokio::task::spawn_blocking(move || sandbox.status())
        .await
        .map_err(|_| CallError::Interrupted)?
        .map_err(refused)?;
    Ok(json!({
        "height": status.height,
        "tipHash": status.tip_hash.to_string(),
        "mempool": status.mempool.iter().map(Txid::to_string).collect::<Vec<_>>(),
        "clock": time.now().iso_millis(),
        "customerAddress": Address::from_script(&status.customer, Network::Regtest).ok().map(|address| address.to_string()),
        "rates": money::rates_object(&status.rates),
        "faults": faults_object(&status.faults),
    }))
}

/// The faults as JSON. `broadcastRejects` is the older form of `broadcast`, and shows only the
/// fault `reject`.
fn faults_object(faults: &Faults) -> Value {
    json!({
        "chainDown": faults.chain_down,
        "broadcast": faults.broadcast.name(),
        "broadcastRejects": faults.broadcast == BroadcastFault::Reject,
        "keysLocked": faults.keys_locked,
        "feeRate": faults.fee_rate_sat_vb,
        "latencyMs": faults.latency_ms,
    })
}

async fn outputs(sandbox: Arc<Sandbox>, script: ScriptBuf) -> Result<Value, CallError> {
    let outputs = tokio::task::spawn_blocking(move || sandbox.outputs_to(&script))
        .await
        .map_err(|_| CallError::Interrupted)?
        .map_err(refused)?;
    Ok(json!({ "outputs": outputs.iter().map(money::output_object).collect::<Vec<_>>() }))
}

#[cfg(test)]
mod tests;
