//! A private regtest chain inside the program, with a simulated customer.
//!
//! Blocks have real proof of work, merkle roots and witness commitments. Every input is checked by
//! Bitcoin Core's script interpreter. The mempool replaces, refuses and evicts as Bitcoin nodes do.
//! One SQLite file holds everything. Each call commits to the disk before it returns.
//!
//! The sandbox reads no clock (callers give `now_ms`), uses no network, and knows no payments.

mod blocks;
mod chain;
mod change_log;
mod changes;
mod customer;
mod customer_coins;
mod error;
mod faults_rates;
mod given_block;
mod initial_chain;
mod mempool;
mod miner;
mod node;
mod queries;
mod reorg;
mod rules;
mod sandbox;
mod script_check;
mod spending;
mod store;
mod template;
mod transactions;
mod types;
mod world;

pub use error::{BroadcastRefusal, SandboxError};
pub use sandbox::Sandbox;
pub use script_check::{verify as verify_scripts, verify_each as verify_each_script};
pub use spending::{DEFAULT_FEE_RATE_SAT_VB, MAX_FEE_RATE_SAT_VB};
pub use types::{
    Broadcast, BroadcastFault, Changes, Faults, FaultsPatch, MempoolEntry, PaidOutput, Pay,
    Replace, ReplaceTo, Status, Tip, TxPosition, TxView, UnspentOutput,
};
pub use world::{MAX_BLOCKS_PER_CALL, MAX_PARTS, MAX_PAYEES};
