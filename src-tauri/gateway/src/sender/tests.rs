//! Payouts sent on the sandbox, under all that a backend, a crash or another copy of the wallet may do.

mod alarms;
mod behind;
mod copies;
mod fees;
mod held_back;
mod laws;
mod left_conflicts;
mod made_up;
mod many_alike;
mod overdue;
mod partly_told;
mod payers;
mod payers_elsewhere;
mod refunds;
mod released;
mod replaced;
mod restored;
mod sent;
mod stored;
mod stuck;
mod support;
mod twins;
mod witnesses;
