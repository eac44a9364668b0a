//! The sentences about a backend that answers and does not hear of everything.

use tillgate_domain::closing::{CutOff, Standstill};
use tillgate_domain::id::Id;

/// About a backend without a mempool.
pub(crate) const BLOCKS_ONLY: &str = "the Bitcoin node relays no transactions: a payment is seen once a block holds it, and none is accepted unconfirmed; start the node without -blocksonly";

/// The most payments that a sentence names.
const NAMED_MAX: usize = 3;

/// About payments whose addresses have more transactions than the server reports; `None` without such payments.
pub(crate) fn unreported(payments: &[Id]) -> Option<String> {
    let named = payments.iter().take(NAMED_MAX).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let more = payments.len().saturating_sub(NAMED_MAX);
    let named = if more > 0 { format!("{named} and {more} more") } else { named };
    let (of, their) = match payments.len() {
        0 => return None,
        1 => (format!("the address of payment {named}"), "its"),
        _ => (format!("the addresses of payments {named}"), "their"),
    };
    Some(format!(
        "the server does not report the transactions of {of}, because they are too many: {their} coins are not seen, and {their} deadline closes nothing; set another server as backendUrl, or use a node of your own"
    ))
}

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
