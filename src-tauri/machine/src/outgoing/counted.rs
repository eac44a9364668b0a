//! Connections with a limit of bytes read in each attempt, counted below TLS and HTTP. A server
//! that sends without end is cut off, even in the TLS handshake or in HTTP headers.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tower::Service;

use super::proxy::{Proxy, ProxyError};
use super::resolve::Resolver;
use super::stream::acknowledge;

/// Usual limit of bytes read in one attempt.
pub const BYTES_MAX: usize = 256 * 1_024;

/// A server sent more bytes than the limit.
#[derive(Debug, Clone, Copy, thiserror::Error, tillgate_told::Told)]
#[error("the server sent more than {} KiB", .0 / 1_024)]
pub struct TooMuch(pub(super) usize);

impl TooMuch {
    /// This error, if it caused `error`.
    pub fn behind(error: &hyper::Error) -> Option<&Self> {
        let mut cause: Option<&dyn std::error::Error> = Some(error);
        while let Some(error) = cause {
            let io = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
            if let Some(too_much) = io.and_then(|inner| inner.downcast_ref()) {
                return Some(too_much);
            }
            cause = error.source();
        }
        None
    }
}

/// A server answered a plain request with TLS.
#[derive(Debug, Clone, Copy, thiserror::Error, tillgate_told::Told)]
#[error("it speaks TLS at this port")]
pub struct SpeaksTls;

/// Whether a server's first bytes are an alert of TLS: its answer to a client that does not begin
/// with TLS.
pub fn begins_like_tls(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x15, 0x03])
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The bytes that may still be read in this attempt.
#[derive(Debug, Clone)]
pub struct Budget {
    left: Arc<AtomicUsize>,
    whole: usize,
}

impl Budget {
    fn full(whole: usize) -> Self {
        Self { left: Arc::new(AtomicUsize::new(whole)), whole }
    }

    /// Restores the whole budget after a whole answer, for the next attempt on this connection.
    pub fn refill(&self) {
        self.left.store(self.whole, Ordering::Relaxed);
    }
}

/// Makes counting connections, straight or through a proxy.
#[derive(Clone)]
pub struct Connector {
    http: HttpConnector<Resolver>,
    /// With a proxy, only its name is resolved, and only this machine is reached without it.
    proxy: Option<Proxy>,
    /// Limit of bytes read in one attempt.
    bytes_max: usize,
}

impl Connector {
    /// Sets the longest wait for a connection.
    pub(super) fn reaching_within(mut self, reached_within: Duration) -> Self {
        self.http.set_connect_timeout(Some(reached_within));
        self
    }

    pub(super) fn new(proxy: Option<Proxy>, bytes_max: usize) -> Self {
        let mut http = HttpConnector::new_with_resolver(Resolver);
        // TLS is added above this connector.
        http.enforce_http(false);
        http.set_nodelay(true);
        Self { http, proxy, bytes_max }
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Counted>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<TokioIo<Counted>, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.http.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (bytes_max, is_plain) = (self.bytes_max, uri.scheme_str() == Some("http"));
        let Some(proxy) =
            self.proxy.clone().filter(|proxy| uri.host().is_some_and(|host| proxy.serves(host)))
        else {
            let connecting = self.http.call(uri);
            return Box::pin(async move {
                Ok(counted(connecting.await?.into_inner(), bytes_max, is_plain))
            });
        };
        let connecting = proxy.uri().map(|uri| self.http.call(uri));
        Box::pin(async move {
            let stream = connecting?
                .await
                .map_err(|error| ProxyError::unreachable(&proxy, error))?
                .into_inner();
            Ok(counted(proxy.through(stream, &uri).await?, bytes_max, is_plain))
        })
    }
}

fn counted(stream: TcpStream, bytes_max: usize, is_plain: bool) -> TokioIo<Counted> {
    TokioIo::new(Counted { stream, budget: Budget::full(bytes_max), may_be_tls: is_plain })
}

/// A connection that counts the bytes read.
pub struct Counted {
    stream: TcpStream,
    budget: Budget,
    /// Nothing was read yet from a server that was addressed without TLS.
    may_be_tls: bool,
}

impl Connection for Counted {
    fn connected(&self) -> Connected {
        Connected::new().extra(self.budget.clone())
    }
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.budget.left.load(Ordering::Relaxed) == 0 {
            return Poll::Ready(Err(io::Error::other(TooMuch(self.budget.whole))));
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        acknowledge(&self.stream);
        let read = buffer.filled().len() - before;
        if std::mem::take(&mut self.may_be_tls) && begins_like_tls(&buffer.filled()[before..]) {
            return Poll::Ready(Err(io::Error::other(SpeaksTls)));
        }
        let _ = self.budget.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            Some(left.saturating_sub(read))
        });
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
