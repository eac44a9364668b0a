//! Opens the listeners of a gateway, with their addresses and certificates. An error is a sentence
//! for people.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use tillgate_gateway::gateway::{Gateway, Served};
use tillgate_http::tls::{self, TlsError};
use tillgate_http::{ListenRefused, Surface, base_url, may_listen};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// The most attempts to find a port that is free on both loopback addresses.
const FREE_PORT_TRIES: u32 = 16;

/// The addresses and the encryption to listen with.
#[derive(Debug, Clone)]
pub struct Listen {
    /// The API's address; port 0 picks a free one.
    pub api: SocketAddr,
    /// The address of the payment pages; `None` if it is the API's.
    pub pages: Option<SocketAddr>,
    pub tls: Tls,
    /// The number of gateways in this process, which share its limit of open files.
    pub gateways: u64,
}

/// The encryption of the listeners.
#[derive(Debug, Clone)]
pub enum Tls {
    /// None: on loopback, or behind a reverse proxy.
    None,
    /// A self-signed certificate, stored in the data directory.
    SelfSigned,
    /// The merchant's own certificate.
    Files {
        /// The certificate chain, PEM.
        certificate: PathBuf,
        /// The certificate's private key, PEM.
        key: PathBuf,
    },
}

/// Reason why a gateway cannot listen.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum ListenError {
    #[error(transparent)]
    Refused(#[from] ListenRefused),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(
        "{address} is in use by another program: stop that program, or choose another port with {flag}"
    )]
    InUse {
        address: SocketAddr,
        /// The flag that chooses the port.
        flag: &'static str,
    },
    /// Another program has the port on the loopback address of the other family.
    #[error(
        "{address} is in use by another program, which would answer requests to http://localhost:{port} instead of \
         this gateway: stop that program, or choose another port with {flag}", port = address.port()
    )]
    OtherLoopbackInUse {
        address: SocketAddr,
        /// The flag that chooses the port.
        flag: &'static str,
    },
    #[error("cannot listen on {address}: {source}; choose another address with {flag}")]
    Io {
        address: SocketAddr,
        /// The flag that chooses the address.
        flag: &'static str,
        source: io::Error,
    },
}

/// Open listeners. The system queues their connections until they are served.
pub struct Listening {
    pub listeners: Vec<(TcpListener, Surface)>,
    pub tls: Option<TlsAcceptor>,
    pub served: Served,
}

impl Listening {
    pub async fn open(gateway: &Gateway, listen: Listen) -> Result<Self, ListenError> {
        let tls = acceptor(gateway, &listen)?;
        let settings = gateway.settings.snapshot();
        for address in std::iter::once(listen.api).chain(listen.pages) {
            may_listen(address, tls.is_some(), &settings)?;
        }
        let (api, api_at) = bind(listen.api, "--listen").await?;
        let mut listeners: Vec<(TcpListener, Surface)> = Vec::new();
        let mut pages_at = api_at;
        match listen.pages {
            None => listeners.extend(api.into_iter().map(|api| (api, Surface::Everything))),
            Some(address) => {
                let (pages, at) = bind(address, "--pages-listen").await?;
                pages_at = at;
                listeners.extend(api.into_iter().map(|api| (api, Surface::Api)));
                listeners.extend(pages.into_iter().map(|pages| (pages, Surface::Pages)));
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
                // An unspecified address (`0.0.0.0`, `[::]`) names no server.
                if !address.ip().is_unspecified() {
                    names.push(address.ip().to_string());
                }
            }
            let settings = gateway.settings.snapshot();
            names.extend(settings.allowed_hosts.iter().cloned());
            names.extend(settings.public_url().and_then(|url| url.host_str().map(str::to_owned)));
            tls::self_signed(gateway.machine.data_dir.path(), names).map(Some)
        }
    }
}

/// Listens on an address, and returns it with its real port. `localhost` means both loopback
/// addresses: a listener on one of them needs the other too, or another user's program could answer
/// there in its place.
async fn bind(
    address: SocketAddr,
    flag: &'static str,
) -> Result<(Vec<TcpListener>, SocketAddr), ListenError> {
    let mut tries = FREE_PORT_TRIES;
    loop {
        let (listener, at) = bind_one(address).await.map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => ListenError::InUse { address, flag },
            _ => ListenError::Io { address, flag, source },
        })?;
        let Some(twin) = other_loopback(at, is_v6_only(&listener)) else {
            return Ok((vec![listener], at));
        };
        tries -= 1;
        return match bind_one(twin).await {
            Ok((other, _)) => Ok((vec![listener, other], at)),
            Err(error) if is_missing(&error) => Ok((vec![listener], at)),
            // The caller asked for any port, so another one is tried.
            Err(error)
                if error.kind() == io::ErrorKind::AddrInUse && address.port() == 0 && tries > 0 =>
            {
                continue;
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                Err(ListenError::OtherLoopbackInUse { address: twin, flag })
            }
            Err(source) => Err(ListenError::Io { address: twin, flag, source }),
        };
    }
}

async fn bind_one(address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(address).await?;
    let at = listener.local_addr()?;
    Ok((listener, at))
}

/// The loopback address of the other family, if a listener at `address` does not cover it.
fn other_loopback(address: SocketAddr, is_v6_only: bool) -> Option<SocketAddr> {
    let (v4, v6) = (IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST));
    let twin = match address.ip() {
        IpAddr::V4(Ipv4Addr::LOCALHOST | Ipv4Addr::UNSPECIFIED) => v6,
        IpAddr::V6(Ipv6Addr::LOCALHOST) => v4,
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) if is_v6_only => v4,
        IpAddr::V4(_) | IpAddr::V6(_) => return None,
    };
    Some(SocketAddr::new(twin, address.port()))
}

/// Whether a listener on `[::]` takes no IPv4 connections, so that another program can listen
/// there.
fn is_v6_only(listener: &TcpListener) -> bool {
    #[cfg(unix)]
    return rustix::net::sockopt::ipv6_v6only(listener).unwrap_or(false);
    #[cfg(not(unix))]
    {
        let _ = listener;
        true
    }
}

/// Whether the error says that the machine lacks the address. No program can listen on it then.
fn is_missing(error: &io::Error) -> bool {
    #[cfg(unix)]
    if error.raw_os_error() == Some(rustix::io::Errno::AFNOSUPPORT.raw_os_error()) {
        return true;
    }
    matches!(error.kind(), io::ErrorKind::AddrNotAvailable | io::ErrorKind::Unsupported)
}
