//! The interface of `/v2` and the payment pages over HTTP: parse, call a use case, render. It holds
//! no SQL and no rule of money. No other module names axum.

mod anomalies;
mod auth;
mod body;
mod connections;
mod cross_site;
mod error;
mod host;
mod list;
mod path;
mod payment_page;
mod payments;
mod payouts;
mod peer;
mod public_path;
mod query;
mod rates;
mod read_permits;
mod reading;
mod receiver;
mod resend;
mod respond;
mod router;
mod sandbox;
mod serve;
mod state;
mod status;
mod stream_permits;
#[cfg(test)]
mod tests;
mod throttle;
pub mod tls;

pub use connections::Limits;
pub use serve::{ListenRefused, Surface, base_url, may_listen, serve};
pub use state::Http;
