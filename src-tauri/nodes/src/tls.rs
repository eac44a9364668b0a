//! TLS with a self-signed certificate, as nearly every Electrum server has.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// The configuration of secure connections.
pub(crate) struct Tls {
    config: Arc<ServerConfig>,
}

impl Tls {
    /// With a new certificate for `localhost` and 127.0.0.1.
    pub(crate) fn new() -> io::Result<Self> {
        let names = ["localhost", "127.0.0.1"].map(str::to_owned);
        let made = rcgen::generate_simple_self_signed(names).map_err(io::Error::other)?;
        let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .map_err(io::Error::other)?;
        Ok(Self { config: Arc::new(config) })
    }

    pub(crate) fn accept(
        &self,
        stream: TcpStream,
    ) -> io::Result<StreamOwned<ServerConnection, TcpStream>> {
        let connection =
            ServerConnection::new(Arc::clone(&self.config)).map_err(io::Error::other)?;
        Ok(StreamOwned::new(connection, stream))
    }
}
