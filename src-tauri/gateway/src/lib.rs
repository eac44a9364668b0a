//! The payment gateway: everything that does IO, except the desktop's window.
//!
//! The shells (`http`, `console`, `cli`, and the desktop) parse a request, call a use case and
//! render its answer. The use cases (`payments`, `anomalies`, `payouts`, …) load rows, call the
//! domain's functions, and write once. `daemon` starts the loops, such as those of the watcher, the
//! sender and the notifier.

use std::alloc::System;

use zeroizing_alloc::ZeroAlloc;

mod access;
mod anomalies;
mod app;
#[cfg(test)]
mod backend_tests;
mod backup;
mod canonical_json;
mod cli;
mod console;
mod daemon;
mod funds;
mod gateway;
mod http;
mod labels;
mod ledger;
#[cfg(test)]
mod news_tests;
mod notifications;
mod payments;
mod payouts;
mod rates;
mod records;
mod sandbox;
mod sender;
mod settings;
mod settlement;
mod setup;
mod staff_reason;
mod statement;
mod takings;
#[cfg(test)]
mod testing;
mod wallet;
mod watcher;

/// Wipes memory when it is freed, so that no library leaves a copy of a secret in freed memory.
#[global_allocator]
static WIPES_FREED_MEMORY: ZeroAlloc<System> = ZeroAlloc(System);

pub use app::App;
pub use cli::{Hosted, NotServing, main};
pub use console::{
    Actor, Command, CommandError, ListNews, NewsItem, Refusal, ShowBackups, Status, ask, dispatch,
};
pub use gateway::Gateway;
pub use tillgate_machine::environment::Environment;
pub use tillgate_machine::locale::locale;
pub use tillgate_store::news::NewsKind;

/// Use cases and rows for the load driver (`src-tauri/bench`), which fills databases. No shell
/// needs them.
pub mod bench {
    pub use crate::daemon::{Options, ensure_wallet, open};
    pub use crate::payments::{Author, Created, Draft, create};
    pub use crate::settings::Override;
    pub use tillgate_chain::Broadcast;
    pub use tillgate_machine::clock::machine_now;
    pub use tillgate_machine::data_dir::{DataDir, IfMissing};
    pub use tillgate_machine::environment::Environment;
    pub use tillgate_machine::secrets::{Purpose, SecretsLocation};
    pub use tillgate_store::StoreError;
    pub use tillgate_store::notify_hosts::NotifyHosts;
    pub use tillgate_store::payment_lists::PaymentFilter;
    pub use tillgate_store::payments::PaymentRow;
}
