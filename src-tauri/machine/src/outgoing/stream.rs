//! Byte streams for protocols other than HTTP, straight or through a proxy.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::Uri;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::proxy::{Proxy, ProxyError};
use super::resolve::{Unresolved, resolve};

/// Reason why there is no connection, for people.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum Unreached {
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    #[error(transparent)]
    Name(#[from] Unresolved),
    #[error("{0}")]
    Server(#[from] io::Error),
}

/// Connects to a server, through `proxy` if there is one and the server is elsewhere. The proxy
/// then resolves the name.
///
/// # Errors
/// When server or proxy cannot be reached.
pub async fn connect(host: &str, port: u16, proxy: Option<&Proxy>) -> Result<TcpStream, Unreached> {
    let Some(proxy) = proxy.filter(|proxy| proxy.serves(host)) else {
        return open(host, port).await;
    };
    let (proxy_host, proxy_port) = proxy.address();
    let stream = open(proxy_host, proxy_port)
        .await
        .map_err(|error| ProxyError::unreachable(proxy, error))?;
    let target: Uri = format!("http://{host}:{port}").parse().map_err(|_| ProxyError::Name)?;
    Ok(proxy.through(stream, &target).await?)
}

async fn open(host: &str, port: u16) -> Result<TcpStream, Unreached> {
    let addresses = resolve(host, port).await?;
    let stream = TcpStream::connect(addresses.as_slice()).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// A stream that acknowledges received bytes at once. Linux otherwise delays an acknowledgement by
/// 40 ms. A server without `TCP_NODELAY` holds back its second small answer until the first is
/// acknowledged.
pub struct Prompt(pub TcpStream);

/// Acknowledges the bytes that `stream` has received. The system forgets the option, so it is set
/// at each read.
pub(super) fn acknowledge(stream: &TcpStream) {
    #[cfg(target_os = "linux")]
    // Without it, answers are late and nothing else.
    let _ = rustix::net::sockopt::set_tcp_quickack(stream, true);
    #[cfg(not(target_os = "linux"))]
    let _ = stream;
}

impl AsyncRead for Prompt {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.0).poll_read(cx, buffer))?;
        acknowledge(&self.0);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Prompt {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use rustix::net::sockopt::tcp_quickack;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// Rounds after which Linux delays acknowledgements, because both sides talk in turn.
    const ROUNDS: usize = 40;

    #[tokio::test]
    async fn what_is_read_is_acknowledged_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let serving = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            while stream.read_exact(&mut [0; 8]).is_ok() {
                stream.write_all(b"answer").unwrap();
            }
        });
        let mut stream = Prompt(connect("127.0.0.1", port, None).await.unwrap());
        assert!(stream.0.nodelay().unwrap());
        for round in 0..ROUNDS {
            stream.write_all(b"question").await.unwrap();
            stream.read_exact(&mut [0; 6]).await.unwrap();
            assert!(tcp_quickack(&stream.0).unwrap(), "round {round}");
        }
        drop(stream);
        serving.join().unwrap();
    }
}
