//! Proof that the gateway loses no data. It is killed at random moments and at named points, gets faults of disk,
//! clock, chain and shop, and is watched at its system calls. Its records are compared with its acknowledgements, the
//! chain's own file and the shop's notifications.

#![cfg(test)]

mod blind;
mod check;
mod clocks;
mod durability;
mod full_disk;
mod injected_faults;
mod kills;
mod laptop;
mod ledger;
mod load;
mod other_copy;
mod payout_load;
mod payouts;
mod points;
mod random;
mod shipped;
mod site;
mod trace;
mod truth;

#[path = "../it/harness/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the scenarios of tests/it use all of it")]
mod harness;
