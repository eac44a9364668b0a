//! Servers that speak the protocols of Bitcoin nodes over a sandbox's chain, well-behaved and hostile, for tests. They are
//! never shipped. One file for each protocol; [`core`] is Bitcoin Core's JSON-RPC.

pub mod core;
mod http;
mod listener;

pub use core::{CoreFault, CoreNode};

/// A server's clock: milliseconds since 1970.
pub type Clock = Box<dyn Fn() -> i64 + Send + Sync>;
