//! Servers that speak the protocols of Bitcoin nodes over a sandbox's chain, well-behaved and
//! hostile, for tests. They are never shipped. [`core`] is Bitcoin Core's JSON-RPC and ZeroMQ
//! publisher, [`electrum`] the Electrum protocol. [`bitcoind`] and [`electrs`] run real programs.

pub mod bitcoind;
mod block_proofs;
mod clock;
pub mod core;
mod counted;
pub mod electrs;
pub mod electrum;
mod follower;
mod http;
mod listener;
mod tls;

pub use bitcoind::Bitcoind;
pub use clock::Clock;
pub use core::{CoreFault, CoreNode, ZmqFault};
pub use electrs::Electrs;
pub use electrum::{ElectrumFault, ElectrumNode};
