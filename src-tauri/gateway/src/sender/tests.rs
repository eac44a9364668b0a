//! Tests that send payouts on the sandbox's chain, with backend faults, crashes and other copies of
//! the wallet.

mod alarms;
mod behind;
mod chained;
mod copies;
mod covered;
mod fees;
mod further_copy;
mod given_up;
mod held_back;
mod hung;
mod instead;
mod laws;
mod left_conflicts;
#[cfg(target_os = "linux")]
mod locked_keyring;
mod named_rate;
mod other_server;
mod overdue;
mod paid_by_copy;
mod refunds;
mod released;
mod replaced;
mod restored;
mod sent;
mod stored;
mod stuck;
mod support;
mod twins;
