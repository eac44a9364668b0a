//! The list of the sandbox's calls: their paths, and how their bodies are read.

use std::collections::BTreeMap;

use bitcoin::{Address, Network, ScriptBuf, Txid};
use tillgate_domain::id::Id;
use tillgate_sandbox::{
    BroadcastFault, FaultsPatch, MAX_BLOCKS_PER_CALL, MAX_FEE_RATE_SAT_VB, MAX_PARTS, Replace,
    ReplaceTo,
};

use super::body::Body;
use super::error::{BodyFault, CallError, Missing};
use crate::gateway::Gateway;

/// The longest delay of a backend that can be set. It is longer than any time-out of the gateway.
const LATENCY_MAX_MS: u64 = 60_000;

/// The longest step of the clock in one call: ten years.
const ADVANCE_MAX_SECONDS: u64 = 10 * 366 * 24 * 60 * 60;

/// The highest fee estimate that can be set. It is above the highest value of the setting
/// `feeCapSatVb`.
const FEE_ESTIMATE_MAX_SAT_VB: u64 = 100_000;

/// A valid call.
#[derive(Debug)]
pub enum Call {
    /// A question changes nothing, so no look follows it.
    Ask(Question),
    /// A change of the sandbox, which a look follows.
    Change(Change),
}

/// A call that changes nothing.
#[derive(Debug)]
pub enum Question {
    /// The present state of the sandbox.
    Status,
    /// The outputs that pay an address now.
    Outputs { script: ScriptBuf },
}

/// A call that changes the sandbox.
#[derive(Debug)]
pub enum Change {
    /// The customer pays.
    Pay {
        payment: Id,
        /// `None` for the amount that remains to be paid.
        amount_sats: Option<u64>,
        /// Number of transactions that share the sum.
        parts: u32,
        fee_rate_sat_vb: Option<u64>,
        confirmations: u32,
    },
    /// The customer replaces an unconfirmed transaction.
    Replace { txid: Txid, replace: Replace },
    /// A transaction drops out of the mempool.
    Evict { txid: Txid },
    /// Empty blocks are mined.
    MineEmpty { count: u32 },
    /// Blocks are mined.
    Mine {
        count: u32,
        /// Fee rate below which a transaction is not mined, in satoshis per 1,000 vB.
        min_fee_rate_sat_kvb: u64,
    },
    /// The last blocks are replaced.
    Reorg {
        depth: u32,
        /// `true`: the customer's transactions go back to the mempool; `false`: they are
        /// double-spent.
        keep_transactions: bool,
    },
    /// The environment's clock moves forward.
    AdvanceClock { seconds: u64 },
    /// Rates are set or withdrawn.
    SetRates {
        /// By currency; `None` withdraws a rate.
        rates: BTreeMap<String, Option<String>>,
    },
    /// The customer sends coins to any script.
    Send { script: ScriptBuf, amount_sats: u64 },
    /// Faults of the backend or the keyring are set or removed.
    SetFaults { patch: FaultsPatch },
}

/// The function that makes a call from the path's subject (an id, txid or address) and the body.
#[derive(Debug, Clone, Copy)]
enum Parse {
    Ask(fn(&str, &mut Body<'_>) -> Question),
    Change(fn(&Gateway, &str, &mut Body<'_>) -> Result<Change, CallError>),
}

/// The path and method of a call.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// The only method that the path accepts.
    pub method: &'static str,
    /// The path below `/v2`, with the name of its subject in braces.
    pub path: &'static str,
    parse: Parse,
}

/// Every call.
pub static ROUTES: [Route; 11] = [
    Route { method: "GET", path: "/sandbox", parse: Parse::Ask(|_, _| Question::Status) },
    Route {
        method: "GET",
        path: "/sandbox/addresses/{address}",
        parse: Parse::Ask(|address, body| Question::Outputs { script: script_of(address, body) }),
    },
    Route { method: "POST", path: "/sandbox/payments/{payment_id}/pay", parse: Parse::Change(pay) },
    Route {
        method: "POST",
        path: "/sandbox/transactions/{txid}/replace",
        parse: Parse::Change(replace),
    },
    Route {
        method: "POST",
        path: "/sandbox/transactions/{txid}/evict",
        parse: Parse::Change(|_, txid, _| Ok(Change::Evict { txid: txid_of(txid)? })),
    },
    Route { method: "POST", path: "/sandbox/blocks", parse: Parse::Change(mine) },
    Route { method: "POST", path: "/sandbox/reorg", parse: Parse::Change(reorg) },
    Route {
        method: "POST",
        path: "/sandbox/clock",
        parse: Parse::Change(|_, _, body| {
            Ok(Change::AdvanceClock {
                seconds: body.whole("advanceSeconds", 0..=ADVANCE_MAX_SECONDS, None),
            })
        }),
    },
    Route {
        method: "PUT",
        path: "/sandbox/rates",
        parse: Parse::Change(|_, _, body| Ok(Change::SetRates { rates: body.rates() })),
    },
    Route { method: "POST", path: "/sandbox/send", parse: Parse::Change(send) },
    Route { method: "PUT", path: "/sandbox/faults", parse: Parse::Change(faults) },
];

impl Route {
    /// The route of this method and path, and the path's subject.
    pub fn find<'p>(method: &str, path: &'p str) -> Result<(&'static Self, &'p str), CallError> {
        let named = ROUTES.iter().find_map(|route| Some((route, route.subject(path)?)));
        let (route, subject) = named.ok_or(CallError::NoSuchPath)?;
        if route.method != method {
            return Err(CallError::MethodNotAllowed(route.method));
        }
        Ok((route, subject))
    }

    /// The part of `path` that matches the braces; `None` if `path` belongs to another route.
    fn subject<'p>(&self, path: &'p str) -> Option<&'p str> {
        let Some((before, rest)) = self.path.split_once('{') else {
            return (path == self.path).then_some("");
        };
        let after = rest.split_once('}')?.1;
        let subject = path.strip_prefix(before)?.strip_suffix(after)?;
        (!subject.contains('/')).then_some(subject)
    }

    /// Reads a call, and collects all field errors of its body.
    ///
    /// # Errors
    /// The faults of the request.
    pub fn parse(&self, gateway: &Gateway, subject: &str, body: &[u8]) -> Result<Call, CallError> {
        let mut body = Body::parse(body)?;
        let call = match self.parse {
            Parse::Ask(parse) => Call::Ask(parse(subject, &mut body)),
            Parse::Change(parse) => Call::Change(parse(gateway, subject, &mut body)?),
        };
        body.finish(call)
    }
}

fn pay(gateway: &Gateway, id: &str, body: &mut Body<'_>) -> Result<Change, CallError> {
    let not_found = || CallError::from(Missing::Payment(id.to_owned()));
    let payment = id.parse().map_err(|_| not_found())?;
    gateway.store.read(|reader| reader.payment(&payment))?.ok_or_else(not_found)?;
    Ok(Change::Pay {
        payment,
        amount_sats: body.btc("btcAmount", false),
        parts: body.whole("parts", 1..=MAX_PARTS, Some(1)),
        fee_rate_sat_vb: fee_rate(body),
        confirmations: body.whole("confirmations", 0..=MAX_BLOCKS_PER_CALL, Some(0)),
    })
}

fn mine(_: &Gateway, _: &str, body: &mut Body<'_>) -> Result<Change, CallError> {
    let count = body.whole("count", 1..=MAX_BLOCKS_PER_CALL, Some(1));
    let is_empty = body.flag("empty", false);
    let min_fee_rate_sat_kvb =
        body.optional_thousandths("minFeeRate", MAX_FEE_RATE_SAT_VB).unwrap_or(0);
    Ok(if is_empty {
        Change::MineEmpty { count }
    } else {
        Change::Mine { count, min_fee_rate_sat_kvb }
    })
}

fn reorg(_: &Gateway, _: &str, body: &mut Body<'_>) -> Result<Change, CallError> {
    Ok(Change::Reorg {
        depth: body.whole("depth", 1..=u32::MAX, None),
        keep_transactions: body.flag("keepTransactions", true),
    })
}

fn send(_: &Gateway, _: &str, body: &mut Body<'_>) -> Result<Change, CallError> {
    let script = body.text("address").map_or_else(ScriptBuf::new, |text| script_of(&text, body));
    Ok(Change::Send { script, amount_sats: body.btc("btcAmount", true).unwrap_or_default() })
}

fn txid_of(text: &str) -> Result<Txid, CallError> {
    text.parse().map_err(|_| Missing::Transaction(text.to_owned()).into())
}

fn fee_rate(body: &mut Body<'_>) -> Option<u64> {
    body.optional_whole("feeRate", 1..=MAX_FEE_RATE_SAT_VB)
}

fn replace(_: &Gateway, txid: &str, body: &mut Body<'_>) -> Result<Change, CallError> {
    let txid = txid_of(txid)?;
    let to_customer = body.flag("toCustomer", true);
    let amount_sats = body.btc("btcAmount", false);
    if to_customer && amount_sats.is_some() {
        body.field_error("btcAmount", &BodyFault::OnlyToOthers);
    }
    let to = if to_customer { ReplaceTo::Customer } else { ReplaceTo::SameAddress { amount_sats } };
    Ok(Change::Replace { txid, replace: Replace { fee_rate_sat_vb: fee_rate(body), to } })
}

/// The output script of an address of the sandbox's network.
fn script_of(text: &str, body: &mut Body<'_>) -> ScriptBuf {
    match text
        .parse::<Address<_>>()
        .ok()
        .and_then(|address| address.require_network(Network::Regtest).ok())
    {
        Some(address) => address.script_pubkey(),
        None => {
            body.field_error("address", &BodyFault::Address);
            ScriptBuf::new()
        }
    }
}

fn faults(_: &Gateway, _: &str, body: &mut Body<'_>) -> Result<Change, CallError> {
    let patch = FaultsPatch {
        chain_down: body.optional_flag("chainDown"),
        broadcast: broadcast_fault(body),
        keys_locked: body.optional_flag("keysLocked"),
        fee_rate_sat_vb: body.whole_or_null("feeRate", 1..=FEE_ESTIMATE_MAX_SAT_VB),
        latency_ms: body.optional_whole("latencyMs", 0..=LATENCY_MAX_MS),
    };
    Ok(Change::SetFaults { patch })
}

/// The fault for broadcasts, by its name in `broadcast` or by the older flag `broadcastRejects`. A
/// caller may send both, as the status shows them, if they agree.
fn broadcast_fault(body: &mut Body<'_>) -> Option<BroadcastFault> {
    let words = BroadcastFault::ALL.map(BroadcastFault::name);
    let named = body.optional_word("broadcast", &words, BroadcastFault::from_name);
    let rejects = body.optional_flag("broadcastRejects");
    if let (Some(named), Some(rejects)) = (named, rejects)
        && (named == BroadcastFault::Reject) != rejects
    {
        body.field_error("broadcastRejects", &BodyFault::Contradicts(named.name()));
    }
    let by_flag = |rejects| if rejects { BroadcastFault::Reject } else { BroadcastFault::Ok };
    named.or(rejects.map(by_flag))
}
