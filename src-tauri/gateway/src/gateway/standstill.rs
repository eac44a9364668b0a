//! The sentences about a backend that answers and does not hear of everything.

use tillgate_domain::closing::{CutOff, Standstill};
use tillgate_domain::id::Id;
use tillgate_told::Told;

/// Why the backend does not hear of everything, with the remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, Told)]
pub enum StandsStill {
    #[error(
        "the network of the Bitcoin node is switched off, so it hears of no payments: switch it on with `bitcoin-cli setnetworkactive true`; until then a payment closes only a day after its deadline"
    )]
    SwitchedOff,
    #[error(
        "the Bitcoin node has no connections to other nodes, so it hears of no payments: check the node's internet connection, and its options connect and proxy; until then a payment closes only a day after its deadline"
    )]
    NoConnections,
    #[error(
        "the backend's best block is {minutes} minutes old, so the backend may not hear of payments: check the internet connection of your node, or set another server as backendUrl; check this machine's clock too; until then a payment closes only a day after its deadline"
    )]
    OldBlock { minutes: i64 },
    #[error(
        "the Bitcoin node relays no transactions: a payment is seen once a block holds it, and none is accepted unconfirmed; start the node without -blocksonly"
    )]
    BlocksOnly,
}

/// Why the backend stands still.
pub const fn told(standstill: Standstill) -> StandsStill {
    match standstill {
        Standstill::CutOff(CutOff::SwitchedOff) => StandsStill::SwitchedOff,
        Standstill::CutOff(CutOff::NoConnections) => StandsStill::NoConnections,
        Standstill::OldBlock { age_ms } => StandsStill::OldBlock { minutes: age_ms / 60_000 },
    }
}

/// The most payments that a sentence names.
const NAMED_MAX: usize = 3;

/// Payments whose addresses have more transactions than the server reports.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Told)]
pub enum Unreported {
    #[error(
        "the server does not report the transactions of the address of payment {0}, because they are too many: its coins are not seen, and its deadline closes nothing; set another server as backendUrl, or use a node of your own"
    )]
    One(String),
    #[error(
        "the server does not report the transactions of the addresses of payments {0}, because they are too many: their coins are not seen, and their deadline closes nothing; set another server as backendUrl, or use a node of your own"
    )]
    Several(String),
    #[error(
        "the server does not report the transactions of the addresses of payments {named} and {more} more, because they are too many: their coins are not seen, and their deadline closes nothing; set another server as backendUrl, or use a node of your own"
    )]
    Many { named: String, more: usize },
}

/// The sentence about such payments; `None` without any.
pub fn unreported(payments: &[Id]) -> Option<Unreported> {
    let named =
        payments.iter().take(NAMED_MAX).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    Some(match (payments.len(), payments.len().saturating_sub(NAMED_MAX)) {
        (0, _) => return None,
        (1, _) => Unreported::One(named),
        (_, 0) => Unreported::Several(named),
        (_, more) => Unreported::Many { named, more },
    })
}
