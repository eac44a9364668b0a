//! Taking connections on a listener that the caller opened: plain or TLS, bounded in number and time,
//! and a stop that lets requests under way end.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::num::NonZero;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, Request, StatusCode};
use axum::response::{IntoResponse as _, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{LocalPoolHandle, TaskTracker};
use tower::ServiceExt as _;

use super::auth::Peer;
use super::error::Failure;
use super::throttle::Throttle;
use super::{Http, host, router};
use crate::gateway::Gateway;
use crate::settings::Settings;

/// Connections at once; a shop needs a handful, and each costs memory.
const CONNECTIONS_MAX: usize = 1_024;

/// Threads that serve connections at most; more than a till ever needs.
const THREADS_MAX: usize = 4;

/// How long a connection may take to send a request's head, and to stand idle. Longer than clients
/// keep theirs open, so that theirs is the end that closes.
const HEAD_TIMEOUT: Duration = Duration::from_secs(100);

/// How long a TLS handshake may take.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long requests under way may take to end after the stop; the whole program has 5 seconds.
const GRACE: Duration = Duration::from_secs(2);

/// How long to wait after the system gave no connection (out of file descriptors).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The policy of every answer but the payment page.
const NEVER_FRAMED: &str = "default-src 'none'; frame-ancestors 'none'";

/// What a listener serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    /// The API and the payment pages.
    Everything,
    /// The API alone.
    Api,
    /// The payment pages alone.
    Pages,
}

/// An address on which API keys would travel in the clear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "refusing to listen on {0} without encryption, because API keys would travel in the clear: give --tls-cert and \
     --tls-key, or --tls-self-signed, or name the reverse proxy in front of it in the setting trustedProxies"
)]
pub struct ListenRefused(pub SocketAddr);

/// Whether an address may be listened on: loopback always, others with TLS or behind a named proxy.
///
/// # Errors
/// When not, with the remedy.
pub fn may_listen(address: SocketAddr, tls: bool, settings: &Settings) -> Result<(), ListenRefused> {
    if tls || is_loopback(address) || !settings.trusted_proxies.is_empty() {
        return Ok(());
    }
    Err(ListenRefused(address))
}

/// The URL of a listener, without a slash at the end: `http://127.0.0.1:7421`.
#[must_use]
pub fn base_url(address: SocketAddr, tls: bool) -> String {
    format!("{}://{address}", if tls { "https" } else { "http" })
}

/// Serves until `stop`, then lets requests under way end for a few seconds.
///
/// # Errors
/// When the listener tells no address.
pub async fn serve(
    gateway: Arc<Gateway>,
    listener: TcpListener,
    surface: Surface,
    tls: Option<TlsAcceptor>,
    stop: CancellationToken,
) -> io::Result<()> {
    let listen = listener.local_addr()?;
    let http = Arc::new(Http { gateway, throttle: Throttle::default(), listen });
    let routes = match surface {
        Surface::Everything => router::api().merge(router::pages()),
        Surface::Api => router::api(),
        Surface::Pages => router::pages(),
    };
    let server = Arc::new(Server { router: router::finish(routes, Arc::clone(&http)), http, tls, stop: stop.clone() });
    let connections = TaskTracker::new();
    // A connection stays on one thread, with a runtime of its own: a request is read, answered and written without
    // waking another thread on the way, as it does where threads share their work.
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(THREADS_MAX);
    let threads = LocalPoolHandle::new(threads);
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = accept(&listener, &permits) => accepted,
        };
        match accepted {
            Ok((stream, peer, permit)) => {
                let server = Arc::clone(&server);
                let connection = connections.token();
                // Dropped, its handle lets it go on.
                drop(threads.spawn_pinned(move || async move {
                    server.connection(stream, peer).await;
                    drop((permit, connection));
                }));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    connections.close();
    if tokio::time::timeout(GRACE, connections.wait()).await.is_err() {
        tracing::warn!(open = connections.len(), "connections were still open when the gateway stopped");
    }
    Ok(())
}

async fn accept(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> io::Result<(std::net::TcpStream, SocketAddr, tokio::sync::OwnedSemaphorePermit)> {
    let permit = Arc::clone(permits).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    Ok((stream.into_std()?, peer, permit))
}

struct Server {
    http: Arc<Http>,
    router: Router,
    tls: Option<TlsAcceptor>,
    stop: CancellationToken,
}

impl Server {
    async fn connection(self: Arc<Self>, stream: std::net::TcpStream, peer: SocketAddr) {
        if !self.may_speak_plain(peer) {
            return tracing::warn!(%peer, "a plain connection from elsewhere than a trusted proxy was closed");
        }
        let stream = match stream.set_nodelay(true).and_then(|()| TcpStream::from_std(stream)) {
            Ok(stream) => stream,
            Err(error) => return tracing::debug!(%error, "a connection closed at once"),
        };
        let Some(tls) = self.tls.clone() else { return self.requests(stream, peer).await };
        match tokio::time::timeout(HANDSHAKE_TIMEOUT, tls.accept(stream)).await {
            Ok(Ok(stream)) => self.requests(stream, peer).await,
            Ok(Err(error)) => tracing::debug!(%peer, %error, "a TLS handshake failed"),
            Err(_) => tracing::debug!(%peer, "a TLS handshake took too long"),
        }
    }

    /// Plain HTTP belongs on loopback, or on the line from a proxy that ends TLS.
    fn may_speak_plain(&self, peer: SocketAddr) -> bool {
        self.tls.is_some()
            || is_loopback(self.http.listen)
            || is_loopback(peer)
            || self.http.gateway.settings.snapshot().trusted_proxies.iter().any(|proxy| proxy.contains(peer.ip()))
    }

    async fn requests(self: Arc<Self>, stream: impl AsyncRead + AsyncWrite + Unpin, peer: SocketAddr) {
        let server = Arc::clone(&self);
        let service = service_fn(move |request| {
            let server = Arc::clone(&server);
            async move { Ok::<_, Infallible>(server.answer(request, peer).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = self.stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                // A page's stream of events never ends by itself.
                tokio::time::timeout(GRACE, connection).await.unwrap_or(Ok(()))
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%peer, %error, "a connection broke");
        }
    }

    async fn answer(&self, request: Request<Incoming>, peer: SocketAddr) -> Response {
        let settings = self.http.gateway.settings.snapshot();
        let mut response = if host::is_ours(request.uri(), request.headers(), self.http.listen, &settings) {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(Peer(peer));
            match self.router.clone().oneshot(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            }
        } else {
            let message = "This gateway is not reached under that Host; the setting allowedHosts can name it";
            Failure::new(StatusCode::MISDIRECTED_REQUEST, "HOST_NOT_ALLOWED", message).into_response()
        };
        let headers = response.headers_mut();
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        headers.entry(X_CONTENT_TYPE_OPTIONS).or_insert(HeaderValue::from_static("nosniff"));
        // The payment page has a policy of its own, by which a shop may frame it.
        headers.entry(CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(NEVER_FRAMED));
        response
    }
}

fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;

    #[test]
    fn other_addresses_than_loopback_need_tls_or_a_named_proxy() {
        let mut settings = Settings::defaults(Environment::Production);
        for (address, plain) in
            [("127.0.0.1:1", true), ("127.8.8.8:1", true), ("[::1]:1", true), ("0.0.0.0:1", false), ("[::]:1", false)]
        {
            let address = address.parse().unwrap();
            assert_eq!(may_listen(address, false, &settings).is_ok(), plain, "{address}");
            assert!(may_listen(address, true, &settings).is_ok());
        }
        settings.trusted_proxies = vec!["10.0.0.1".parse().unwrap()];
        assert!(may_listen("0.0.0.0:1".parse().unwrap(), false, &settings).is_ok());
    }
}
