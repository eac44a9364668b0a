//! Accepts connections on a listener that the caller opened, plain or TLS, bounded in number and
//! time. A stop lets running requests end.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::panic::{self, AssertUnwindSafe};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, Request};
use axum::response::{IntoResponse as _, Response};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tillgate_gateway::settings::Settings;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use super::connections::{ConnectionPermit, Peer};
use super::error::Failure;
use super::public_path::without_prefix;
use super::state::Http;
use super::{cross_site, host, router};
use tillgate_gateway::error_type::ErrorType;

/// Size of a connection's buffers for requests and answers. A request's head must fit. At most this
/// much of an answer is rendered before its client reads.
const BUFFER_MAX: usize = 64 * 1_024;

/// Time limit of an idle connection, and of sending a request's head. It is longer than clients
/// keep idle connections, so that the client closes them.
const HEAD_TIMEOUT: Duration = Duration::from_secs(100);

/// Time for a TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Time limit for running requests after the stop. The whole program has 5 seconds to stop.
const GRACE: Duration = Duration::from_secs(2);

/// Pause after a failed accept, for example without free file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The content security policy of every answer except the payment page.
const NEVER_FRAMED: &str = "default-src 'none'; frame-ancestors 'none'";

/// The routes that a listener serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    /// The API and the payment pages.
    Everything,
    /// The API alone.
    Api,
    /// The payment pages alone.
    Pages,
}

/// An address over which API keys would be sent unencrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
#[error(
    "refusing to listen on {0} without encryption, because API keys would travel in the clear: give --tls-cert and \
     --tls-key, or --tls-self-signed, or name the reverse proxy in front of it in the setting trustedProxies"
)]
pub struct ListenRefused(pub SocketAddr);

/// Whether the gateway may listen on an address: loopback always, others with TLS or behind a named
/// proxy.
///
/// # Errors
/// The gateway may not listen there. The error names the remedy.
pub fn may_listen(
    address: SocketAddr,
    tls: bool,
    settings: &Settings,
) -> Result<(), ListenRefused> {
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

/// Serves until `stop`, then waits a few seconds for running requests.
///
/// # Errors
/// When the listener's address cannot be read.
pub async fn serve(
    http: Arc<Http>,
    listener: TcpListener,
    surface: Surface,
    tls: Option<TlsAcceptor>,
    stop: CancellationToken,
) -> io::Result<()> {
    let listen = listener.local_addr()?;
    let routes = match surface {
        Surface::Everything => router::api(&http).merge(router::pages()),
        Surface::Api => router::api(&http),
        Surface::Pages => router::pages(),
    };
    let router = router::finish(routes, Arc::clone(&http));
    let server = Arc::new(Server { router, http, listen, tls, stop: stop.clone() });
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = server.accept(&listener) => accepted,
        };
        match accepted {
            Ok(Some((stream, peer))) => {
                let (one, connection) = (Arc::clone(&server), connections.token());
                // The task continues without its handle.
                drop(server.http.threads.spawn_pinned(move || async move {
                    one.connection(stream, peer).await;
                    drop(connection);
                }));
            }
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    connections.close();
    if tokio::time::timeout(GRACE, connections.wait()).await.is_err() {
        tracing::warn!(
            open = connections.len(),
            "connections were still open when the gateway stopped"
        );
    }
    Ok(())
}

struct Server {
    http: Arc<Http>,
    router: Router,
    /// The actual listening address (no port 0).
    listen: SocketAddr,
    tls: Option<TlsAcceptor>,
    stop: CancellationToken,
}

impl Server {
    /// The next connection; `None` if it was not admitted.
    async fn accept(
        &self,
        listener: &TcpListener,
    ) -> io::Result<Option<(std::net::TcpStream, Peer)>> {
        let (stream, address) = listener.accept().await?;
        let is_proxy = self.http.app.gateway.settings.snapshot().trusts(address.ip());
        let Some(permit) = self.http.connections.admit(address.ip(), is_proxy).await else {
            tracing::warn!(peer = %address, "a connection was closed: all connections up to the limit are busy");
            return Ok(None);
        };
        Ok(Some((stream.into_std()?, Peer { address, permit: Arc::new(permit) })))
    }

    async fn connection(self: Arc<Self>, stream: std::net::TcpStream, peer: Peer) {
        let permit = Arc::clone(&peer.permit);
        let address = peer.address;
        tokio::select! {
            () = permit.must_give_way() => tracing::debug!(peer = %address, "a quiet connection gave way to another"),
            () = self.serve(stream, peer) => {}
        }
    }

    async fn serve(self: Arc<Self>, stream: std::net::TcpStream, peer: Peer) {
        let address = peer.address;
        if !self.may_speak_plain(address) {
            return tracing::warn!(peer = %address, "a connection without TLS, not from a trusted proxy, was closed");
        }
        let stream = match stream.set_nodelay(true).and_then(|()| TcpStream::from_std(stream)) {
            Ok(stream) => stream,
            Err(error) => return tracing::debug!(%error, "a connection closed at once"),
        };
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(self.http.connections.limits().write_timeout));
        let stream = Box::pin(stream);
        let Some(tls) = self.tls.clone() else { return self.requests(stream, peer).await };
        match tokio::time::timeout(HANDSHAKE_TIMEOUT, tls.accept(stream)).await {
            Ok(Ok(stream)) => self.requests(stream, peer).await,
            Ok(Err(error)) => tracing::debug!(peer = %address, %error, "a TLS handshake failed"),
            Err(_) => tracing::debug!(peer = %address, "a TLS handshake took too long"),
        }
    }

    /// Whether a peer may use plain HTTP: loopback, or a proxy that ends TLS.
    fn may_speak_plain(&self, peer: SocketAddr) -> bool {
        self.tls.is_some()
            || is_loopback(self.listen)
            || is_loopback(peer)
            || self.http.app.gateway.settings.snapshot().trusts(peer.ip())
    }

    async fn requests(self: Arc<Self>, stream: impl AsyncRead + AsyncWrite + Unpin, peer: Peer) {
        let server = Arc::clone(&self);
        let address = peer.address;
        let service = service_fn(move |request| {
            let (server, peer) = (Arc::clone(&server), peer.clone());
            async move { Ok::<_, Infallible>(server.answer(request, peer).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .max_buf_size(BUFFER_MAX)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = self.stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                // The time limit is needed because a page's stream of events never ends by itself.
                tokio::time::timeout(GRACE, connection).await.unwrap_or(Ok(()))
            }
        };
        if let Err(error) = ended {
            tracing::debug!(peer = %address, %error, "a connection broke");
        }
    }

    async fn answer(&self, request: Request<Incoming>, peer: Peer) -> Response {
        let _work = peer.permit.work();
        let settings = self.http.app.gateway.settings.snapshot();
        let request = without_prefix(request, &settings);
        let mut response = if !host::is_ours(
            request.uri(),
            request.headers(),
            self.listen,
            &settings,
        ) {
            let message =
                "This gateway is not reached under that Host; the setting allowedHosts can name it";
            Failure::new(ErrorType::HostNotAllowed, message).into_response()
        } else if cross_site::is_forged(&request, self.listen, &settings) {
            let message = "A page of another site may change nothing here: make the call from your own server";
            Failure::new(ErrorType::CrossSiteRequest, message).into_response()
        } else {
            let permit = Arc::clone(&peer.permit);
            let mut request =
                request.map(|body| Body::new(Arriving { body, permit, owed_since: None }));
            request.extensions_mut().insert(peer);
            routed(self.router.clone(), request).await
        };
        let headers = response.headers_mut();
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        headers.entry(X_CONTENT_TYPE_OPTIONS).or_insert(HeaderValue::from_static("nosniff"));
        // The payment page sets a policy of its own, so that a shop can frame it.
        headers.entry(CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(NEVER_FRAMED));
        response
    }
}

/// The answer of the routes; 500 if they panic. A panic ends only its own request.
async fn routed(router: Router, request: Request<Body>) -> Response {
    let mut answering = pin!(router.oneshot(request));
    let answer = poll_fn(|task| {
        match panic::catch_unwind(AssertUnwindSafe(|| answering.as_mut().poll(task))) {
            Ok(polled) => polled.map(Ok),
            Err(payload) => Poll::Ready(Err(payload)),
        }
    });
    match answer.await {
        Ok(Ok(response)) => response,
        Ok(Err(never)) => match never {},
        Err(payload) => {
            let message = payload.downcast_ref::<&str>().copied();
            let message = message.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
            Failure::internal(&format_args!(
                "its handler panicked: {}",
                message.unwrap_or("without a message")
            ))
            .into_response()
        }
    }
}

/// A request's body. While a part is missing, the connection counts as quiet.
struct Arriving {
    body: Incoming,
    permit: Arc<ConnectionPermit>,
    owed_since: Option<u64>,
}

impl HttpBody for Arriving {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(task);
        if frame.is_pending() {
            self.owed_since = Some(self.permit.owes_body(self.owed_since));
        } else if self.owed_since.is_some() {
            self.permit.goes_on();
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use std::fmt;
    use std::sync::Mutex;

    use axum::http::header::CONTENT_TYPE;
    use axum::routing::get;
    use tillgate_machine::environment::Environment;
    use tracing::field::{Field, Visit};
    use tracing::{Event, Level, Subscriber};
    use tracing_subscriber::layer::{self, Layer, SubscriberExt as _};

    use super::*;

    #[test]
    fn other_addresses_than_loopback_need_tls_or_a_named_proxy() {
        let mut settings = Settings::defaults(Environment::Production);
        for (address, plain) in [
            ("127.0.0.1:1", true),
            ("127.8.8.8:1", true),
            ("[::1]:1", true),
            ("0.0.0.0:1", false),
            ("[::]:1", false),
        ] {
            let address = address.parse().unwrap();
            assert_eq!(may_listen(address, false, &settings).is_ok(), plain, "{address}");
            assert!(may_listen(address, true, &settings).is_ok());
        }
        settings.trusted_proxies = vec!["10.0.0.1".parse().unwrap()];
        assert!(may_listen("0.0.0.0:1".parse().unwrap(), false, &settings).is_ok());
    }

    /// Collects the log's errors.
    #[derive(Clone, Default)]
    struct ErrorLog(Arc<Mutex<String>>);

    impl Visit for ErrorLog {
        fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
            self.0.lock().unwrap().push_str(&format!("{}={value:?} ", field.name()));
        }
    }

    impl<S: Subscriber> Layer<S> for ErrorLog {
        fn on_event(&self, event: &Event<'_>, _: layer::Context<'_, S>) {
            if *event.metadata().level() == Level::ERROR {
                event.record(&mut self.clone());
            }
        }
    }

    #[tokio::test]
    async fn a_panicking_handler_answers_500_with_a_logged_reference() {
        async fn broken() -> Response {
            panic!("the handler is broken")
        }
        let log = ErrorLog::default();
        let _logged =
            tracing::subscriber::set_default(tracing_subscriber::registry().with(log.clone()));
        let router = Router::new()
            .route("/v2/broken", get(broken))
            .route("/v2/whole", get(|| async { "whole" }));
        let ask = |path| routed(router.clone(), Request::get(path).body(Body::empty()).unwrap());
        let answer = ask("/v2/broken").await;
        assert_eq!(
            (answer.status(), &answer.headers()[CONTENT_TYPE]),
            (500.try_into().unwrap(), &"application/json".parse().unwrap())
        );
        let body = axum::body::to_bytes(answer.into_body(), 1 << 16).await.unwrap();
        let errors: Vec<serde_json::Value> = serde_json::from_slice(&body).unwrap();
        assert_eq!(errors[0]["errorType"], "INTERNAL_ERROR");
        let message = errors[0]["message"].as_str().unwrap();
        assert!(!message.contains("broken"), "{message}");
        let logged = log.0.lock().unwrap().clone();
        let reference = message.rsplit(' ').next().unwrap();
        assert!(
            logged.contains(reference) && logged.contains("the handler is broken"),
            "{message}: {logged}"
        );
        assert_eq!(ask("/v2/whole").await.status(), 200);
    }
}
