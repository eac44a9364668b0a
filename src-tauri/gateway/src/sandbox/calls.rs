//! The list of the sandbox's calls: where each is found, and how its body is read.

use std::collections::BTreeMap;

use bitcoin::{Address, Network, ScriptBuf, Txid};
use tillgate_domain::id::Id;
use tillgate_sandbox::{FaultsPatch, MAX_BLOCKS_PER_CALL, MAX_FEE_RATE_SAT_VB, MAX_PARTS, Replace, ReplaceTo};

use super::CallError;
use super::body::Body;
use crate::gateway::Gateway;

/// The slowest answer that can be asked for: longer than any time-out of the gateway's own.
const LATENCY_MAX_MS: u64 = 60_000;

/// The longest step of the clock in one call: ten years.
const ADVANCE_MAX_SECONDS: u64 = 10 * 366 * 24 * 60 * 60;

/// A call whose request is as it must be.
#[derive(Debug)]
pub(crate) enum Call {
    /// What the sandbox is like now.
    Status,
    /// The customer pays.
    Pay {
        payment: Id,
        /// `None` for what remains.
        amount_sats: Option<u64>,
        /// How many transactions the sum is divided among.
        parts: u32,
        fee_rate_sat_vb: Option<u64>,
        confirmations: u32,
    },
    /// The customer replaces an unconfirmed transaction.
    Replace { txid: Txid, replace: Replace },
    /// A transaction drops out of the mempool.
    Evict { txid: Txid },
    /// Blocks are mined.
    Mine {
        count: u32,
        /// Whether the mempool's transactions stay out of them.
        empty: bool,
    },
    /// The last blocks are replaced.
    Reorg {
        depth: u32,
        /// `true`: the customer's transactions go back to the mempool; `false`: they are double-spent.
        keep_transactions: bool,
    },
    /// The environment's clock moves forward.
    AdvanceClock { seconds: u64 },
    /// Rates are set or withdrawn.
    SetRates {
        /// By currency; `None` withdraws one.
        rates: BTreeMap<String, Option<String>>,
    },
    /// The customer sends coins to anybody.
    Send { script: ScriptBuf, amount_sats: u64 },
    /// The backend misbehaves, or no longer does.
    SetFaults { patch: FaultsPatch },
}

/// Makes a call of what its path names and its body says.
type Read = fn(&Gateway, &str, &mut Body<'_>) -> Result<Call, CallError>;

/// Where a call is found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route {
    /// The one method that the path takes.
    pub method: &'static str,
    /// The path, in which braces stand for what the call is about.
    pub path: &'static str,
    read: Read,
}

/// Every call.
pub(crate) static ROUTES: [Route; 10] = [
    Route { method: "GET", path: "/sandbox", read: |_, _, _| Ok(Call::Status) },
    Route { method: "POST", path: "/sandbox/payments/{payment_id}/pay", read: pay },
    Route { method: "POST", path: "/sandbox/transactions/{txid}/replace", read: replace },
    Route {
        method: "POST",
        path: "/sandbox/transactions/{txid}/evict",
        read: |_, txid, _| Ok(Call::Evict { txid: txid_of(txid)? }),
    },
    Route { method: "POST", path: "/sandbox/blocks", read: mine },
    Route { method: "POST", path: "/sandbox/reorg", read: reorg },
    Route {
        method: "POST",
        path: "/sandbox/clock",
        read: |_, _, body| {
            Ok(Call::AdvanceClock { seconds: body.whole("advanceSeconds", 0..=ADVANCE_MAX_SECONDS, None) })
        },
    },
    Route { method: "PUT", path: "/sandbox/rates", read: |_, _, body| Ok(Call::SetRates { rates: body.rates() }) },
    Route { method: "POST", path: "/sandbox/send", read: send },
    Route { method: "PUT", path: "/sandbox/faults", read: faults },
];

impl Route {
    /// The call of this method and path, and what its path names.
    pub(super) fn find<'p>(method: &str, path: &'p str) -> Result<(&'static Self, &'p str), CallError> {
        let named = ROUTES.iter().find_map(|route| Some((route, route.subject(path)?)));
        let (route, subject) = named.ok_or(CallError::NoSuchPath)?;
        if route.method != method {
            return Err(CallError::MethodNotAllowed(route.method));
        }
        Ok((route, subject))
    }

    /// What `path` names where this call's path has braces; `None` where it is another call's path.
    fn subject<'p>(&self, path: &'p str) -> Option<&'p str> {
        let Some((before, rest)) = self.path.split_once('{') else { return (path == self.path).then_some("") };
        let after = rest.split_once('}')?.1;
        let subject = path.strip_prefix(before)?.strip_suffix(after)?;
        (!subject.contains('/')).then_some(subject)
    }

    /// Reads a call: every field error of its body together.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn read(&self, gateway: &Gateway, subject: &str, body: &[u8]) -> Result<Call, CallError> {
        let mut body = Body::read(body)?;
        let call = (self.read)(gateway, subject, &mut body)?;
        body.finish(call)
    }
}

fn pay(gateway: &Gateway, id: &str, body: &mut Body<'_>) -> Result<Call, CallError> {
    let not_found = || CallError::NotFound(format!("there is no payment {id}"));
    let payment = id.parse().map_err(|_| not_found())?;
    gateway.store.read(|reader| reader.payment(&payment))?.ok_or_else(not_found)?;
    Ok(Call::Pay {
        payment,
        amount_sats: body.btc("btcAmount", false),
        parts: body.whole("parts", 1..=MAX_PARTS, Some(1)),
        fee_rate_sat_vb: fee_rate(body),
        confirmations: body.whole("confirmations", 0..=MAX_BLOCKS_PER_CALL, Some(0)),
    })
}

fn mine(_: &Gateway, _: &str, body: &mut Body<'_>) -> Result<Call, CallError> {
    Ok(Call::Mine { count: body.whole("count", 1..=MAX_BLOCKS_PER_CALL, Some(1)), empty: body.flag("empty", false) })
}

fn reorg(_: &Gateway, _: &str, body: &mut Body<'_>) -> Result<Call, CallError> {
    Ok(Call::Reorg {
        depth: body.whole("depth", 1..=u32::MAX, None),
        keep_transactions: body.flag("keepTransactions", true),
    })
}

fn send(_: &Gateway, _: &str, body: &mut Body<'_>) -> Result<Call, CallError> {
    Ok(Call::Send { script: address(body), amount_sats: body.btc("btcAmount", true).unwrap_or_default() })
}

fn txid_of(text: &str) -> Result<Txid, CallError> {
    text.parse().map_err(|_| CallError::NotFound(format!("there is no transaction {text}")))
}

fn fee_rate(body: &mut Body<'_>) -> Option<u64> {
    body.optional_whole("feeRate", 1..=MAX_FEE_RATE_SAT_VB)
}

fn replace(_: &Gateway, txid: &str, body: &mut Body<'_>) -> Result<Call, CallError> {
    let txid = txid_of(txid)?;
    let to_customer = body.flag("toCustomer", true);
    let amount_sats = body.btc("btcAmount", false);
    if to_customer && amount_sats.is_some() {
        body.field_error("btcAmount", "goes with \"toCustomer\": false only");
    }
    let to = if to_customer { ReplaceTo::Customer } else { ReplaceTo::SameAddress { amount_sats } };
    Ok(Call::Replace { txid, replace: Replace { fee_rate_sat_vb: fee_rate(body), to } })
}

fn address(body: &mut Body<'_>) -> ScriptBuf {
    let Some(text) = body.text("address") else { return ScriptBuf::new() };
    match text.parse::<Address<_>>().ok().and_then(|address| address.require_network(Network::Regtest).ok()) {
        Some(address) => address.script_pubkey(),
        None => {
            body.field_error("address", "must be an address of the sandbox's network (regtest), like bcrt1q…");
            ScriptBuf::new()
        }
    }
}

fn faults(_: &Gateway, _: &str, body: &mut Body<'_>) -> Result<Call, CallError> {
    let patch = FaultsPatch {
        chain_down: body.optional_flag("chainDown"),
        broadcast_rejects: body.optional_flag("broadcastRejects"),
        latency_ms: body.optional_whole("latencyMs", 0..=LATENCY_MAX_MS),
    };
    Ok(Call::SetFaults { patch })
}
