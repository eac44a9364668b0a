//! Byte streams for protocols other than HTTP, straight or through a proxy.

use std::io;

use hyper::Uri;
use tokio::net::TcpStream;

use super::proxy::{Proxy, ProxyError};

/// Reason why there is no connection, for people.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreached {
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    #[error("{0}")]
    Server(#[from] io::Error),
}

/// Connects to a server, through `proxy` if there is one. The proxy then resolves the name.
///
/// # Errors
/// When server or proxy cannot be reached.
pub(crate) async fn connect(host: &str, port: u16, proxy: Option<&Proxy>) -> Result<TcpStream, Unreached> {
    let Some(proxy) = proxy else {
        let stream = TcpStream::connect((host.trim_matches(['[', ']']), port)).await?;
        stream.set_nodelay(true)?;
        return Ok(stream);
    };
    let (proxy_host, proxy_port) = proxy.address();
    let stream = TcpStream::connect((proxy_host.trim_matches(['[', ']']), proxy_port)).await;
    let stream = stream.map_err(|error| ProxyError::unreachable(proxy, error))?;
    stream.set_nodelay(true)?;
    let target: Uri = format!("http://{host}:{port}").parse().map_err(|_| ProxyError::Name)?;
    Ok(proxy.through(stream, &target).await?)
}
