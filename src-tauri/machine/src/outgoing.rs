//! Connections to other machines: limited reads, TLS by the system's certificates, an optional
//! proxy, and errors in sentences. They follow no redirect, take no proxy from the environment, and
//! decompress nothing.

mod counted;
mod failure;
mod headers;
mod proxy;
mod resolve;
mod stream;
mod tls_fault;
mod verifier;

use std::sync::Arc;
use std::time::Duration;

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use rustls::ClientConfig;

pub use counted::{Budget, TooMuch, begins_like_tls};
pub use failure::{Failure, failure};
pub use headers::{date, retry_after_ms, text};
pub use proxy::Proxy;
pub use resolve::is_onion;
pub use stream::{Prompt, Unreached, connect};
pub use tls_fault::{CertificateFault, TlsFault};
pub use verifier::{Verifier, by_system};

use counted::{BYTES_MAX, Connector};

/// Makes connections for `http` and `https`.
pub type Outgoing = HttpsConnector<Connector>;

/// A TLS configuration that trusts the system's certificates.
///
/// # Errors
/// When the system's certificates cannot be read.
pub fn tls() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = by_system(Arc::clone(&provider))?;
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(config
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth())
}

/// Makes connections; those to other machines go through `proxy` if there is one.
pub fn connector(tls: ClientConfig, proxy: Option<Proxy>) -> Outgoing {
    over(tls, Connector::new(proxy, BYTES_MAX))
}

/// The same for large answers, with this limit of bytes and this longest wait for a connection.
pub fn connector_for_large(
    tls: ClientConfig,
    proxy: Option<Proxy>,
    bytes_max: usize,
    reached_within: Duration,
) -> Outgoing {
    over(tls, Connector::new(proxy, bytes_max).reaching_within(reached_within))
}

fn over(tls: ClientConfig, connector: Connector) -> Outgoing {
    let https = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1();
    https.wrap_connector(connector)
}
