//! Scenarios over HTTP against the real program on its sandbox, from the view of a shop, a customer
//! and a merchant's staff. The tests do not use the gateway's code.

#![cfg(test)]

mod anomalies;
mod architecture;
mod backups;
mod bad_input;
mod both_environments;
mod cli;
mod customers;
mod description;
mod doctor;
mod documents;
mod harness;
mod hostile_backend;
mod idempotency;
mod imports;
mod local_users;
mod machine_failures;
mod memory;
mod network;
mod notifications;
mod other_chain;
mod pages;
mod payouts;
mod payouts_cli;
mod power_cuts;
mod rates;
mod sandbox_faults;
mod serving;
mod story;
mod terminal;
mod transitions;
mod wallet;
