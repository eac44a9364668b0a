//! Scenarios over HTTP against the real program on its sandbox, from the view of a shop, a customer and a merchant's
//! staff. The tests do not link the gateway's code; they know only the wire.

#![cfg(test)]

mod anomalies;
mod architecture;
mod backups;
mod bad_input;
mod bent_chain;
mod both;
mod cli;
mod customers;
mod doctor;
mod documents;
mod hardship;
mod harness;
mod hostile_backend;
mod idempotency;
mod imports;
mod network;
mod notifications;
mod other_chain;
mod other_user;
mod pages;
mod payouts;
mod payouts_cli;
mod power_cuts;
mod rates;
mod serving;
mod story;
mod terminal;
mod transitions;
mod wallet;
