//! The sandbox as a backend.

use std::sync::Arc;
use std::time::Duration;

use bitcoin::Transaction;
use tillgate_domain::time::Timestamp;
use tillgate_sandbox::{BroadcastRefusal, Sandbox, SandboxError, TxView};

use super::{Broadcast, Chain, ChainDown, Tip, TxFacts, TxPosition, View};
use crate::clock::Clock;
use crate::fail_points::{self, Point};

/// Transactions in one answer; bounds its memory.
const VIEW_MAX: usize = 500;

/// The private regtest chain inside the program, misbehaving where it was told to.
pub struct SandboxChain {
    sandbox: Arc<Sandbox>,
    clock: Arc<dyn Clock>,
}

impl SandboxChain {
    /// Asks `sandbox`; what is broadcast enters its mempool at `clock`'s time.
    #[must_use]
    pub fn new(sandbox: Arc<Sandbox>, clock: Arc<dyn Clock>) -> Self {
        Self { sandbox, clock }
    }

    /// Answers late, or not at all, if the sandbox was told so.
    fn suffer_faults(&self) -> Result<(), ChainDown> {
        let faults = self.sandbox.faults().map_err(down)?;
        std::thread::sleep(Duration::from_millis(faults.latency_ms));
        if faults.chain_down {
            return Err(ChainDown("the sandbox was told to be unreachable".to_owned()));
        }
        Ok(())
    }

    fn facts(&self, view: TxView) -> TxFacts {
        let in_mempool = matches!(view.position, tillgate_sandbox::TxPosition::Mempool { .. });
        TxFacts {
            relays_well: in_mempool
                && !view.has_unconfirmed_ancestors
                && view.fee_rate_sat_vb >= self.sandbox.fee_estimate_sat_vb(),
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
            conflict_in_chain: view.conflict_in_chain,
            conflict_in_mempool: view.conflict_in_mempool,
            conflicts: view.conflicts,
        }
    }
}

impl Chain for SandboxChain {
    fn view(&self, cursor: i64) -> Result<View, ChainDown> {
        fail_points::pass(Point::ViewBefore);
        self.suffer_faults()?;
        let changes = self.sandbox.changes_since(cursor, VIEW_MAX).map_err(down)?;
        fail_points::pass(Point::ViewAfter);
        Ok(View {
            cursor: changes.cursor,
            more: changes.more,
            tip: Tip {
                height: changes.tip.height,
                hash: changes.tip.hash,
                time: Timestamp::from_ms(changes.tip.time_ms),
            },
            txs: changes.txs.into_iter().map(|view| self.facts(view)).collect(),
        })
    }

    fn broadcast(&self, tx: &Transaction) -> Result<Broadcast, ChainDown> {
        fail_points::pass(Point::BroadcastBefore);
        self.suffer_faults()?;
        let answer = self.sandbox.broadcast(tx, self.clock.now().ms());
        fail_points::pass(Point::BroadcastAfter);
        match answer {
            Ok(_) => Ok(Broadcast::Accepted),
            Err(BroadcastRefusal::MissingInputs(_) | BroadcastRefusal::InputSpent { .. }) => Ok(Broadcast::InputsSpent),
            Err(BroadcastRefusal::Storage(error)) => Err(down(*error)),
            Err(refusal) => Ok(Broadcast::Refused(refusal.to_string())),
        }
    }

    fn has_mempool(&self) -> bool {
        true
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in map_err")]
fn down(error: SandboxError) -> ChainDown {
    ChainDown(error.to_string())
}
