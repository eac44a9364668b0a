//! Tests that send payouts on the sandbox's chain, with backend faults, crashes and other copies of
//! the wallet.

mod behind;
mod copies;
mod covered;
mod fees;
mod further_copy;
mod given_up;
mod instead;
mod laws;
mod left_conflicts;
mod named_rate;
mod other_server;
mod overdue;
mod refunds;
mod released;
mod replaced;
mod sent;
mod stored;
mod twins;
