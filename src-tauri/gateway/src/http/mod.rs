//! The interface of `/v2` and the payment pages over HTTP: parse, call a use case, render. Holds no SQL
//! and no rule of money; the only module that names axum.

mod anomalies;
mod auth;
mod body;
mod error;
mod host;
mod json;
mod path;
mod payment_page;
mod payments;
mod query;
mod respond;
mod router;
mod sandbox;
mod serve;
#[cfg(test)]
mod tests;
mod throttle;
pub mod tls;

pub use serve::{ListenRefused, Surface, base_url, may_listen, serve};

use std::net::SocketAddr;
use std::sync::Arc;

use crate::gateway::Gateway;
use throttle::Throttle;

/// What the handlers of one listener share.
pub(crate) struct Http {
    pub(crate) gateway: Arc<Gateway>,
    throttle: Throttle,
    /// The address that is listened on, as it came out (no port 0).
    listen: SocketAddr,
}
