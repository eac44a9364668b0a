//! The sentences about a backend that answers and does not hear of everything.

use tillgate_domain::closing::{CutOff, Standstill};

/// About a backend without a mempool.
pub(crate) const BLOCKS_ONLY: &str = "the Bitcoin node relays no transactions: a payment is seen once a block holds it, and none is accepted unconfirmed; start the node without -blocksonly";

/// Why the backend stands still, with the remedy.
pub(crate) fn told(standstill: Standstill) -> String {
    let (why, remedy) = match standstill {
        Standstill::CutOff(CutOff::SwitchedOff) => (
            "the network of the Bitcoin node is switched off, so it hears of no payments".to_owned(),
            "switch it on with `bitcoin-cli setnetworkactive true`",
        ),
        Standstill::CutOff(CutOff::NoConnections) => (
            "the Bitcoin node has no connections to other nodes, so it hears of no payments".to_owned(),
            "check the node's internet connection, and its options connect and proxy",
        ),
        Standstill::OldBlock { age_ms } => (
            format!(
                "the backend's best block is {} minutes old, so the backend may not hear of payments",
                age_ms / 60_000
            ),
            "check the internet connection of your node, or set another server as backendUrl; check this machine's clock too",
        ),
    };
    format!("{why}: {remedy}; until then a payment closes only a day after its deadline")
}
