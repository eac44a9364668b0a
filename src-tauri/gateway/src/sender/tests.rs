//! Payouts sent on the sandbox, under all that a backend, a crash or another copy of the wallet may do.

mod fees;
mod laws;
mod replaced;
mod sent;
mod support;
mod twins;
