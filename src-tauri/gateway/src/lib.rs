//! The use cases of the payment gateway, and the loops that run them.
//!
//! A use case (`payments`, `anomalies`, `payouts`, …) loads rows, calls the domain's functions, and
//! writes once. The shells (`tillgate-http`, `tillgate-console`, `tillgate-cli`, and the desktop)
//! parse a request, call a use case and render its answer. [`open`] opens the gateway of one
//! environment.

use std::alloc::System;

use zeroizing_alloc::ZeroAlloc;

pub mod access;
pub mod anomalies;
pub mod answer;
mod app;
#[cfg(test)]
mod backend_tests;
pub mod backup;
pub mod books;
pub mod canonical_json;
pub mod error_type;
pub mod funds;
pub mod gateway;
pub mod labels;
pub mod ledger;
#[cfg(test)]
mod news_tests;
pub mod notifications;
pub mod open;
pub mod payments;
pub mod payouts;
pub mod rates;
pub mod records;
pub mod sandbox;
pub mod sender;
pub mod settings;
pub mod settlement;
pub mod setup;
pub mod staff_reason;
pub mod statement;
pub mod takings;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod wallet;
pub mod watcher;

pub use app::App;
pub use gateway::Gateway;

/// Wipes memory when it is freed, so that no library leaves a copy of a secret in freed memory.
#[global_allocator]
static WIPES_FREED_MEMORY: ZeroAlloc<System> = ZeroAlloc(System);
