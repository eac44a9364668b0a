//! Tests that the gateway loses no data. They kill it at random moments and at fail points, inject
//! faults of disk, clock, chain and shop, and trace its system calls. They compare its records with
//! its acknowledgements, the sandbox's file and the shop's notifications.

#![cfg(test)]

mod check;
mod check_tests;
mod clocks;
mod durability;
mod expected_records;
mod fail_points;
mod full_disk;
mod injected_faults;
mod installation;
mod kills;
mod laptop;
mod ledger;
mod load;
mod other_copy;
mod payout_load;
mod payouts;
mod random;
mod shipped;
mod trace;

#[path = "../it/harness/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the scenarios of tests/it use all of it")]
mod harness;
