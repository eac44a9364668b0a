//! Finds the addresses of servers. All outgoing connections resolve names here.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::dns::Name;
use tower::Service;

/// Reason why a name has no address.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum Unresolved {
    /// Only a proxy reaches such a name, and a resolver would tell strangers which server is meant.
    #[error(
        "{0} can be reached through Tor alone: set proxy to the address of your Tor, like socks5h://127.0.0.1:9050"
    )]
    Onion(String),
    #[error("the name {0} cannot be found")]
    NoSuchName(String, #[source] io::Error),
}

/// The system's resolver, which is never asked about an onion name.
#[derive(Clone)]
pub(super) struct Resolver;

/// Whether a host is an onion service, whose name is never asked of DNS (RFC 7686).
pub fn is_onion(host: &str) -> bool {
    host.trim_end_matches('.')
        .rsplit('.')
        .next()
        .is_some_and(|last| last.eq_ignore_ascii_case("onion"))
}

/// Whether a host is this machine. A proxy does not reach such a server, and nobody overhears its
/// traffic.
pub fn is_this_machine(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost")
        || address.is_ok_and(|address| address.to_canonical().is_loopback())
}

/// The addresses of a server; `port` becomes theirs.
///
/// # Errors
/// When the name has no address, or is an onion name.
pub(super) async fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, Unresolved> {
    if is_onion(host) {
        return Err(Unresolved::Onion(host.to_owned()));
    }
    if let Ok(address) = host.trim_matches(['[', ']']).parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    #[cfg(test)]
    tests::ASKED.lock().push(host.to_owned());
    let found = tokio::net::lookup_host((host, port)).await;
    found.map(Iterator::collect).map_err(|error| Unresolved::NoSuchName(host.to_owned(), error))
}

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = Unresolved;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Unresolved>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Unresolved>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        // The connector replaces the port.
        Box::pin(async move { Ok(resolve(name.as_str(), 0).await?.into_iter()) })
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::Empty;
    use hyper::body::Bytes;
    use hyper_util::client::legacy::Client;
    use hyper_util::rt::TokioExecutor;
    use parking_lot::Mutex;

    use super::super::{connect, connector, failure, tls};
    use super::*;

    /// The names that the system's resolver was asked about.
    pub(super) static ASKED: Mutex<Vec<String>> = Mutex::new(Vec::new());

    async fn requested(url: &str) -> String {
        let client: Client<_, Empty<Bytes>> =
            Client::builder(TokioExecutor::new()).build(connector(tls().unwrap(), None));
        failure(&client.get(url.parse().unwrap()).await.unwrap_err(), url).to_string()
    }

    #[tokio::test]
    async fn an_onion_name_is_never_asked_of_dns() {
        for host in [
            "never-asked.onion",
            "NEVER-ASKED.Onion",
            "never-asked.onion.",
            "sub.never-asked.onion",
        ] {
            let stream = connect(host, 50_001, None).await.unwrap_err().to_string();
            let plain = requested(&format!("http://{host}/")).await;
            let secure = requested(&format!("https://{host}/")).await;
            for told in [stream, plain, secure] {
                let named = told.to_ascii_lowercase();
                assert!(
                    named.contains("never-asked.onion") && named.contains("set proxy"),
                    "{host}: {told}"
                );
            }
        }
        connect("asked.invalid", 1, None).await.unwrap_err();
        requested("http://asked-by-http.invalid/").await;
        let asked = ASKED.lock().clone();
        assert!(
            ["asked.invalid", "asked-by-http.invalid"]
                .iter()
                .all(|name| asked.iter().any(|it| it == name))
        );
        assert!(asked.iter().all(|name| !name.to_ascii_lowercase().contains("onion")), "{asked:?}");
    }

    #[test]
    fn only_names_below_onion_are_onion_names() {
        for host in ["onion", "a.onion", "a.ONION", "a.onion.", "a.onion.."] {
            assert!(is_onion(host), "{host}");
        }
        for host in ["a.onion.example", "aonion", "127.0.0.1", "[::1]", "", "onion.example"] {
            assert!(!is_onion(host), "{host}");
        }
    }

    #[test]
    fn only_loopback_is_this_machine() {
        for (host, is_here) in [
            ("127.0.0.1", true),
            ("localhost", true),
            ("[::1]", true),
            ("[::ffff:127.0.0.1]", true),
            ("192.168.1.7", false),
            ("electrum.example", false),
            ("localhost.example", false),
            ("127.0.0.1.example", false),
        ] {
            assert_eq!(is_this_machine(host), is_here, "{host}");
        }
    }
}
