//! Proof that the gateway loses nothing: it is killed at random moments and at named places, given faults by disk,
//! clock, chain and shop, and watched at its system calls; what it says afterwards is compared with what was
//! acknowledged, with the chain's own file and with what the shop heard.

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
mod migrations;
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
