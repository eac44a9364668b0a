//! The payment gateway: everything that does IO, and no window.
//!
//! The shells (`http`, `console`, `cli`, and the desktop) parse, call a use case and render; the
//! use cases (`payments`, `anomalies`, `api_keys`, …) load, ask the domain, and write once; the
//! loops (`watcher`, `notifier`, `rates`) call their `*_once` at their own pace.

pub mod anomalies;
pub mod api_keys;
pub mod chain;
pub mod cli;
pub mod clock;
pub mod console;
pub mod data_dir;
pub mod doctor;
pub mod entropy;
pub mod environment;
pub mod fail_points;
pub mod faults;
pub mod gateway;
pub mod http;
pub mod idempotency;
pub mod notifier;
pub mod outbox;
pub mod payments;
pub mod qr;
pub mod rates;
pub mod records;
pub mod resend;
pub mod sandbox_calls;
pub mod secrets;
pub mod settings;
pub mod shown;
pub mod signature;
pub mod store;
#[cfg(test)]
pub mod testing;
pub mod wallet;
pub mod watcher;
