//! What a gateway listens on: addresses, certificates, and the sentence for people where it cannot.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::{Gateway, Served};
use crate::http::tls::{self, TlsError};
use crate::http::{ListenRefused, Surface, base_url, may_listen};

/// Where to listen, and how.
#[derive(Debug, Clone)]
pub struct Listen {
    /// The API's address; port 0 picks a free one.
    pub api: SocketAddr,
    /// The payment pages' address; `None` for the API's.
    pub pages: Option<SocketAddr>,
    /// Encryption.
    pub tls: Tls,
}

/// Encryption of what is listened on.
#[derive(Debug, Clone)]
pub enum Tls {
    /// None: on loopback, or behind a reverse proxy.
    None,
    /// A certificate of our own making, kept in the data directory.
    SelfSigned,
    /// The merchant's own.
    Files {
        /// The certificate chain, PEM.
        certificate: PathBuf,
        /// Its private key, PEM.
        key: PathBuf,
    },
}

/// Why it cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// API keys would travel in the clear.
    #[error(transparent)]
    Refused(#[from] ListenRefused),
    /// The certificate.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Another program has the port.
    #[error("{address} is in use by another program: stop that one, or choose another port with {flag}")]
    InUse {
        /// The address.
        address: SocketAddr,
        /// Where the port is chosen.
        flag: &'static str,
    },
    /// The system refuses.
    #[error("cannot listen on {address}: {source}; choose another address with {flag}")]
    Io {
        /// The address.
        address: SocketAddr,
        /// Where the address is chosen.
        flag: &'static str,
        /// Why.
        source: io::Error,
    },
}

/// Open listeners: what connects from now on waits to be served.
pub(super) struct Listening {
    pub(super) listeners: Vec<(TcpListener, Surface)>,
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) served: Served,
}

impl Listening {
    /// Opens the listeners.
    pub(super) async fn open(gateway: &Gateway, listen: Listen) -> Result<Self, ListenError> {
        let tls = acceptor(gateway, &listen)?;
        let settings = gateway.settings.snapshot();
        for address in std::iter::once(listen.api).chain(listen.pages) {
            may_listen(address, tls.is_some(), &settings)?;
        }
        let (api, api_at) = bind(listen.api, "--listen").await?;
        let mut listeners = Vec::new();
        let mut pages_at = api_at;
        match listen.pages {
            None => listeners.push((api, Surface::Everything)),
            Some(address) => {
                let (pages, at) = bind(address, "--pages-listen").await?;
                pages_at = at;
                listeners.extend([(api, Surface::Api), (pages, Surface::Pages)]);
            }
        }
        let served = Served {
            api: format!("{}/v2", base_url(api_at, tls.is_some())),
            pages: format!("{}/pay", base_url(pages_at, tls.is_some())),
        };
        Ok(Self { listeners, tls, served })
    }
}

fn acceptor(gateway: &Gateway, listen: &Listen) -> Result<Option<TlsAcceptor>, TlsError> {
    match &listen.tls {
        Tls::None => Ok(None),
        Tls::Files { certificate, key } => tls::from_files(certificate, key).map(Some),
        Tls::SelfSigned => {
            let mut names = vec!["localhost".to_owned()];
            for address in std::iter::once(listen.api).chain(listen.pages) {
                // An address that stands for all of them is nobody's name.
                if !address.ip().is_unspecified() {
                    names.push(address.ip().to_string());
                }
            }
            let settings = gateway.settings.snapshot();
            names.extend(settings.allowed_hosts.iter().cloned());
            names.extend(settings.public_url().and_then(|url| url.host_str().map(str::to_owned)));
            tls::self_signed(gateway.data_dir.path(), names).map(Some)
        }
    }
}

async fn bind(address: SocketAddr, flag: &'static str) -> Result<(TcpListener, SocketAddr), ListenError> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::AddrInUse => ListenError::InUse { address, flag },
        _ => ListenError::Io { address, flag, source },
    };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let at = listener.local_addr().map_err(failed)?;
    Ok((listener, at))
}
