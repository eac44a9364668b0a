//! The sandbox as a backend.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use bitcoin::constants::genesis_block;
use bitcoin::hashes::Hash as _;
use bitcoin::{BlockHash, FeeRate, Network, Transaction, Txid};
use tillgate_domain::chain::{Identity, Tip, TxPosition};
use tillgate_domain::closing::CutOff;
use tillgate_domain::time::Timestamp;
use tillgate_machine::clock::Clock;
use tillgate_machine::fail_points::{self, Point};
use tillgate_sandbox::{BroadcastRefusal, Faults, Sandbox, SandboxError, TxView};
use tillgate_told::Telling;
use tokio::sync::Notify;

use super::port::{
    Broadcast, Chain, ChainDown, Covered, LookAnswer, LookRequest, NodeFeeRates,
    RecentTransactions, Sees, TxFacts,
};

/// Limit of changes in one answer, to bound its memory.
const VIEW_MAX: usize = 500;

/// The private regtest chain inside the program, with its simulated faults.
pub struct SandboxChain {
    sandbox: Arc<Sandbox>,
    clock: Arc<dyn Clock>,
    identity: Identity,
}

/// The end of a look: the number of the last change that it saw, and the best block.
struct Token {
    change: i64,
    height: u32,
    hash: BlockHash,
}

impl SandboxChain {
    /// Uses `sandbox`; a broadcast enters its mempool at `clock`'s time.
    #[must_use]
    pub fn new(sandbox: Arc<Sandbox>, clock: Arc<dyn Clock>) -> Self {
        let genesis = genesis_block(Network::Regtest).block_hash();
        let identity = Identity { genesis, instance: Some(sandbox.identity()) };
        Self { sandbox, clock, identity }
    }

    /// Simulates the delay and the outage that are set. Returns all faults that are set.
    fn suffer_faults(&self) -> Result<Faults, ChainDown> {
        let faults = self.sandbox.faults().map_err(down)?;
        std::thread::sleep(Duration::from_millis(faults.latency_ms));
        if faults.chain_down {
            return Err(ChainDown::of_text("the sandbox was told to be unreachable".to_owned()));
        }
        Ok(faults)
    }

    /// The number of the last change that a token saw; `None` if this chain never had the token's
    /// tip.
    fn last_change(&self, token: &[u8]) -> Result<Option<i64>, ChainDown> {
        let Some(last) = Token::read(token) else { return Ok(None) };
        let was_there = self.sandbox.was_at(last.change, last.height, last.hash).map_err(down)?;
        Ok(was_there.then_some(last.change))
    }
}

impl Chain for SandboxChain {
    fn identity(&self) -> Result<Identity, ChainDown> {
        Ok(self.identity)
    }

    fn tip(&self) -> Result<Tip, ChainDown> {
        self.suffer_faults()?;
        self.sandbox.tip().map(tip).map_err(down)
    }

    fn first_block(&self) -> Result<u32, ChainDown> {
        Ok(0)
    }

    fn software(&self) -> Result<Option<String>, ChainDown> {
        Ok(None)
    }

    fn certificate_to_pin(&self) -> Option<String> {
        None
    }

    fn height_before(&self, _at: Timestamp) -> Result<u32, ChainDown> {
        Ok(0)
    }

    fn server(&self) -> usize {
        0
    }

    fn generation(&self) -> u64 {
        0
    }

    fn look(&self, request: &LookRequest<'_>) -> Result<LookAnswer, ChainDown> {
        fail_points::pass(Point::ViewBefore);
        self.suffer_faults()?;
        let since = match request.token {
            Some(token) => self.last_change(token)?,
            None => None,
        };
        let changes = self.sandbox.changes_since(since.unwrap_or(0), VIEW_MAX).map_err(down)?;
        let mut unknown = Vec::new();
        if !changes.more {
            for txid in request.watch.txids() {
                if !self.sandbox.is_known(*txid).map_err(down)? {
                    unknown.push(*txid);
                }
            }
        }
        fail_points::pass(Point::ViewAfter);
        let tip = tip(changes.tip);
        let ours = changes.txs.into_iter().filter(|view| request.watch.concerns(&view.tx));
        Ok(LookAnswer {
            token: Token { change: changes.cursor, height: tip.height, hash: tip.hash }.write(),
            from_start: since.is_none(),
            left_above: None,
            more: changes.more,
            tip,
            seen_height: tip.height,
            median_time: None,
            txs: ours.map(facts).collect(),
            unknown,
            covered: Covered::Everything,
            refused: HashSet::new(),
            cold_taken: 0,
            states: Vec::new(),
        })
    }

    fn broadcast(&self, package: &[Transaction]) -> Result<Broadcast, ChainDown> {
        fail_points::pass(Point::BroadcastBefore);
        self.suffer_faults()?;
        let answer = self.sandbox.broadcast_package(package, self.clock.now().ms());
        fail_points::pass(Point::BroadcastAfter);
        match answer {
            Ok(tillgate_sandbox::Broadcast::Accepted) => Ok(Broadcast::Accepted),
            Ok(tillgate_sandbox::Broadcast::AlreadyKnown) => Ok(Broadcast::AlreadyKnown),
            Err(refusal) => refused(refusal),
        }
    }

    fn recent_transactions(
        &self,
        txids: &[Txid],
        above: u32,
    ) -> Result<RecentTransactions, ChainDown> {
        self.suffer_faults()?;
        let mut recent = RecentTransactions::default();
        for txid in txids {
            let view = self.sandbox.transaction(*txid).map_err(down)?;
            match view.as_ref().map(|view| view.position) {
                Some(tillgate_sandbox::TxPosition::Block { height, .. }) if height <= above => {}
                Some(
                    tillgate_sandbox::TxPosition::Block { .. }
                    | tillgate_sandbox::TxPosition::Mempool { .. },
                ) => {
                    recent.txs.extend(view.map(|view| (*txid, view.tx)));
                }
                Some(tillgate_sandbox::TxPosition::Absent) | None => {
                    recent.unknown.insert(*txid);
                }
            }
        }
        Ok(recent)
    }

    fn fees_with_descendants(&self, txids: &[Txid]) -> Result<Option<u64>, ChainDown> {
        self.suffer_faults()?;
        let mut highest = None;
        for txid in txids {
            let entry = self.sandbox.mempool_entry(*txid).map_err(down)?;
            highest = highest.max(entry.map(|entry| entry.fees_with_descendants_sats));
        }
        Ok(highest)
    }

    fn fee_rates(&self, _blocks: u16) -> Result<NodeFeeRates, ChainDown> {
        let estimate = Some(self.suffer_faults()?.fee_estimate_sat_vb())
            .filter(|sat_vb| *sat_vb > 0)
            .map(fee_rate);
        Ok(NodeFeeRates::of(estimate, FeeRate::BROADCAST_MIN, FeeRate::BROADCAST_MIN))
    }

    fn has_mempool(&self) -> bool {
        true
    }

    fn cut_off(&self) -> Option<CutOff> {
        None
    }

    fn sees(&self) -> Sees {
        Sees::Everything
    }

    fn wake(&self) -> Option<&Notify> {
        None
    }

    fn fault(&self) -> Option<Telling> {
        None
    }

    fn fault_once_tried(&self) -> Option<Telling> {
        None
    }
}

impl Token {
    fn write(&self) -> Vec<u8> {
        [&self.change.to_be_bytes()[..], &self.height.to_be_bytes(), &self.hash.to_byte_array()]
            .concat()
    }

    fn read(token: &[u8]) -> Option<Self> {
        let (change, rest) = token.split_first_chunk()?;
        let (height, hash) = rest.split_first_chunk()?;
        Some(Self {
            change: i64::from_be_bytes(*change),
            height: u32::from_be_bytes(*height),
            hash: BlockHash::from_slice(hash).ok()?,
        })
    }
}

pub fn tip(tip: tillgate_sandbox::Tip) -> Tip {
    Tip { height: tip.height, hash: tip.hash, time: Timestamp::from_ms(tip.time_ms) }
}

pub fn facts(view: TxView) -> TxFacts {
    TxFacts {
        tx: view.tx,
        position: match view.position {
            tillgate_sandbox::TxPosition::Block { height, time_ms, .. } => {
                TxPosition::Block { height, time: Timestamp::from_ms(time_ms) }
            }
            tillgate_sandbox::TxPosition::Mempool { entered_ms } => {
                TxPosition::Mempool { entered: Timestamp::from_ms(entered_ms) }
            }
            tillgate_sandbox::TxPosition::Absent => TxPosition::Absent,
        },
        conflict_in_chain: view.conflict_height.is_some().into(),
        conflict_height: view.conflict_height,
        conflict_in_mempool: view.conflict_in_mempool.into(),
        conflicts: view.conflicts,
        unconfirmed_ancestors: view.has_unconfirmed_ancestors.into(),
        fee_rate: Some(fee_rate(view.fee_rate_sat_vb)),
    }
}

fn fee_rate(sat_vb: u64) -> FeeRate {
    FeeRate::from_sat_per_vb(sat_vb).unwrap_or(FeeRate::MAX)
}

/// The outcome of a refused broadcast. Silence and storage failures say nothing about the
/// transaction.
fn refused(refusal: BroadcastRefusal) -> Result<Broadcast, ChainDown> {
    match refusal {
        BroadcastRefusal::MissingInputs(_) => Ok(Broadcast::InputsMissing),
        BroadcastRefusal::InputSpent { .. } => Ok(Broadcast::InputsSpent),
        BroadcastRefusal::Conflict(_) | BroadcastRefusal::ReplacementFeeTooLow { .. } => {
            Ok(Broadcast::Conflict(refusal.to_string()))
        }
        BroadcastRefusal::Storage(error) => Err(down(*error)),
        BroadcastRefusal::Unanswered => Err(ChainDown::of_text(refusal.to_string())),
        refusal => Ok(Broadcast::Refused(refusal.to_string())),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "map_err calls it with the error by value")]
fn down(error: SandboxError) -> ChainDown {
    ChainDown::of_text(error.to_string())
}
